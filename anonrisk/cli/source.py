"""Where tables come from: files that pandas reads or DuckDB scans, or whatever Spark reads."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Protocol

from anonrisk.cli.options import pair
from anonrisk.core.progress import shown, tell
from anonrisk.core.render import count_of, visible
from anonrisk.engines.reading import files, large, text_files
from anonrisk.engines.reading.files import DTYPES, FORMATS, TextFormat
from anonrisk.engines.reading.storage import stored
from anonrisk.errors import AnonRiskError, ArgumentError, UnreadableTableError
from anonrisk.policy.terms import wanted_by

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from anonrisk.engines.reading.files import Inferred, Part, Wanted
    from anonrisk.measures.counts.schema import Stored
    from anonrisk.policy.terms import Terms


class Source(Protocol):
    """Reads tables for commands, which do not know from where."""

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the options that say which table and how it is written."""

    @contextmanager
    def open(self) -> Iterator[None]:
        """Hold on to what reading needs, until the result is delivered."""
        yield

    def read(
        self, args: argparse.Namespace, wanted: Wanted, paths: Sequence[str] | None = None
    ) -> Any:
        """Read the table that the arguments name, or another one, written alike."""

    def files(self, args: argparse.Namespace) -> tuple[str, ...]:
        """List the files that the arguments name, for whoever reads the result."""

    def stored(self) -> Stored:
        """Count what the files of the table that was read hold besides its rows."""

    @property
    def inferred(self) -> Inferred:
        """What the cells of text files were found to be."""

    def write(self, text: str, path: str) -> bool:
        """Write a result where only this source can; tell whether that was so."""

    def starts(self, command: str) -> list[str] | None:
        """Return the words that start a command on such tables; None where there is none."""


# Commands that ask nothing of a table that a database is not asked for.
_SCANNED = ("check", "find-qids", "lint", "measure", "predict", "report")


def _command(parser: argparse.ArgumentParser) -> str:
    return parser.prog.rpartition(" ")[2]


class Files:
    """CSV, Parquet and JSON lines files, read by pandas; large ones are scanned."""

    def __init__(self) -> None:
        """Nothing was read yet."""
        self._parts: list[Part] = []
        self._kind = ""
        self._stack = ExitStack()
        self.inferred = files.Inferred()

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the table and how it is written."""
        parser.add_argument(
            "table",
            nargs="*" if _command(parser) == "lint" else "+",
            help="files, folders or patterns of one table; - reads CSV from a pipe",
        )
        group = parser.add_argument_group("table")
        group.add_argument("--format", choices=FORMATS, help="if the names do not tell it")
        if _command(parser) in _SCANNED:
            group.add_argument(
                "--engine",
                choices=("pandas", "scan"),
                help="read the table into memory, or scan its files with DuckDB in 2 GB of it "
                "(default: by size)",
            )
        text_options(group)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Remove what scanning has put down, in the end."""
        with self._stack:
            yield

    def read(
        self, args: argparse.Namespace, wanted: Wanted, paths: Sequence[str] | None = None
    ) -> Any:
        """Read with pandas, or open what is scanned; a terminal sees how far it is."""
        from anonrisk.engines.pandas.files import read

        try:
            result = files.find(args.table if paths is None else paths)
        except UnreadableTableError as error:
            if paths is None and len(args.table) > 1:
                raise UnreadableTableError(
                    f"{error}; if it is the name of a column, write --qids before it"
                ) from None
            raise
        if paths is None:
            # What a verdict names is what was read, whatever arrives in a folder meanwhile.
            self._parts, self._kind = result, files.format_of(result, args.format)
        with shown():
            table = self._scanned(args, wanted, result)
            if table is not None:
                return self._stack.enter_context(table)
            return read(
                result,
                wanted,
                text_format(args),
                format=args.format,
                progress=lambda n_rows: tell(f"reading, {count_of(n_rows, 'row')}"),
                inferred=self.inferred,
            )

    @staticmethod
    def _scanned(args: argparse.Namespace, wanted: Wanted, result: Sequence[Part]) -> Any:
        """Open files that are scanned, if somebody says so, or by their size; else None."""
        said = getattr(args, "engine", "pandas")
        if said == "scan":
            from anonrisk.tables import scanned

            return scanned(result, wanted, text_format(args), format=args.format)
        if said == "pandas":
            return None
        beside: list[list[Part]] = []
        for paths in (args.table, getattr(args, "population", None)):
            # What is wrong with another table is said when that one is read.
            with suppress(AnonRiskError):
                beside += [files.find(paths)] if paths else []
        return large.opened(result, wanted, text_format(args), args.format, beside)

    def files(self, args: argparse.Namespace) -> tuple[str, ...]:
        """List the files, one by one, that were read."""
        read = tuple(part.place for part in self._parts)
        return read or tuple(map(files.without_values, args.table))

    def stored(self) -> Stored:
        """Look at the files, whichever engine reads the table."""
        with shown():
            tell("looking at what the files hold besides the rows")
            return stored(self._parts, self._kind)

    def write(self, text: str, path: str) -> bool:  # noqa: ARG002
        """Leave it to the caller: a path is a file."""
        return False

    def starts(self, command: str) -> list[str]:
        """Every command takes files."""
        return ["anonrisk", command]


class SparkSource:
    """Any source of Spark; the session starts with the first table, after arguments are read."""

    def __init__(self, job: str) -> None:
        """Remember which command the job is."""
        self._job = job
        self._local: tuple[list[Part], str] = ([], "")
        self._stack = ExitStack()
        self._session: Any = None
        self.inferred = files.Inferred()

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the table and how it is stored."""
        from anonrisk.engines.spark.read import FORMATS as SOURCES

        parser.add_argument("table", nargs="*", help="paths of one table, or its name")
        parser.add_argument("--input", nargs="+", help="the same, as an option")
        group = parser.add_argument_group("table")
        group.add_argument("--format", choices=SOURCES, default="parquet", help="default: parquet")
        group.add_argument(
            "--option",
            type=pair("VALUE"),
            action="append",
            default=[],
            metavar="KEY=VALUE",
            help="an option of Spark's reader, as recursiveFileLookup=true",
        )
        text_options(group)

    @contextmanager
    def open(self) -> Iterator[None]:
        """Stop the session in the end, if it was started here."""
        with self._stack:
            yield

    def read(
        self, args: argparse.Namespace, wanted: Wanted, paths: Sequence[str] | None = None
    ) -> Any:
        """Read with Spark; lazy."""
        from anonrisk.engines.spark.read import local_files, read

        named = [*args.table, *(args.input or [])] if paths is None else list(paths)
        files.refuse_blank(named)
        if not named:
            raise ArgumentError("no table given: name it, or its path")
        options = dict(args.option)
        text = text_format(args)
        frame = read(self._spark(), named, wanted, text, format=args.format, options=options)
        if paths is None:
            self._local = local_files(frame, args.format), args.format
        return frame

    def files(self, args: argparse.Namespace) -> tuple[str, ...]:
        """List the paths as they were given: Spark reads them where the data is."""
        return tuple(map(files.without_values, (*args.table, *(args.input or ()))))

    def stored(self) -> Stored:
        """Look at files of this machine; those of a cluster nobody but Spark opens."""
        return stored(*self._local)

    def write(self, text: str, path: str) -> bool:
        """Write to a file system that Spark knows; a plain path is a file of this machine."""
        if "://" not in path and not path.startswith("dbfs:"):
            return False
        from anonrisk.engines.spark.read import write

        write(self._spark(), text, path)
        return True

    def starts(self, command: str) -> list[str] | None:
        """Only this very job is known to be there."""
        return ["spark-submit", sys.argv[0]] if command == self._job else None

    def _spark(self) -> Any:
        from anonrisk.engines.spark.read import session

        if self._session is None:
            self._session = self._stack.enter_context(session(f"anonrisk {self._job}"))
        return self._session


def text_options(group: argparse._ArgumentGroup) -> None:
    """Add how text files are written."""
    group.add_argument("--sep", help=r"what separates cells of CSV, as ';' or '\t' (default: ,)")
    group.add_argument("--encoding", help="of text files, as latin-1 (default: utf-8)")
    group.add_argument(
        "--na",
        nargs="+",
        action="extend",
        default=[],
        metavar="TEXT",
        help="texts that mean missing; of CSV the empty cell always does, and nothing else",
    )
    group.add_argument(
        "--dtypes",
        nargs="+",
        action="extend",
        default=[],
        type=pair("TYPE", DTYPES),
        metavar="COLUMN=TYPE",
        help=f"what cells of CSV are: {', '.join(DTYPES)} (default: text, so that 01234 keeps "
        "its zero; a plan infers it)",
    )


def said_of(inferred: Inferred) -> list[str]:
    """Return what was inferred of a file, and how it is changed, a line for each type."""
    lines = []
    for kind, other in (("number", "text"), ("date", "text"), ("text", "number")):
        names = [name for name, result in inferred.kinds.items() if result == kind]
        if names:
            what = "Numbers that stay text, as they" if kind == "text" else f"Read as {kind}s"
            why = " would be written otherwise" if kind == "text" else ""
            # A code is no amount: as a number it would lose its zeros.
            example = next((name for name in names if name not in inferred.codes), None)
            how = "" if example is None else f" (changed by --dtypes {visible(example)}={other})"
            lines.append(f"{what}{why}: {', '.join(map(visible, names))}{how}")
    return lines


def text_format(args: argparse.Namespace) -> TextFormat:
    """Read how text files are written."""
    sep = "\t" if args.sep == r"\t" else args.sep
    return text_files.text_format(sep, args.encoding, args.na, dict(args.dtypes), "--")


def wanted(
    *columns: Any,
    unit: str | None = None,
    numbers: Any = (),
    dates: Any = (),
    missing: str | None = None,
    inferred: Iterable[str] | None = (),
    texts: Iterable[Any] = (),
) -> Wanted:
    """List the columns that a command needs; every one where no quasi-identifier is named."""
    about = (
        frozenset(numbers),
        frozenset(dates),
        missing,
        None if inferred is None else frozenset(inferred),
        frozenset(map(str, texts)),
    )
    if not columns[0]:
        return files.Wanted(None, *about)
    names = [name for column in columns for name in column or ()]
    names += [] if unit is None else [unit]
    return files.Wanted(tuple(dict.fromkeys(names)), *about)


def wanted_for_plan(
    policy: Terms, *, numbers: Iterable[Any] = (), dates: Any = (), texts: Iterable[Any] = ()
) -> Wanted:
    """List what a plan for a policy needs: every column, quasi-identifiers with inferred types."""
    named = (name for rule in policy.rules for name in rule.columns or ())
    quasi = {*policy.roles.quasi, *named}
    return wanted(
        None,
        numbers=[*numbers, *wanted_by(policy).numbers],
        dates=dates,
        inferred=None if policy.unlisted == "quasi" else map(str, quasi),
        texts=[*texts, *policy.listed.difference(quasi)],
    )
