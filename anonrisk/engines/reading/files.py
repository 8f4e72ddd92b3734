"""Files that hold a table: which ones a path means, of which format, and what may be wrong."""

from __future__ import annotations

import glob
import os
import re
import sys
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from anonrisk.core.arguments import is_there, nearest_beside
from anonrisk.core.columns import nearest
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of, shown
from anonrisk.engines.reading import raw_files
from anonrisk.errors import (
    AnonRiskError,
    ArgumentError,
    MissingLibraryError,
    UnreadableTableError,
    raise_alone,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

FORMATS = ("csv", "parquet", "feather", "orc", "jsonl")
# Those whose files say what their columns are.
TYPED = ("parquet", "feather", "orc")
TITLES = {
    "csv": "CSV",
    "parquet": "Parquet",
    "feather": "Feather",
    "orc": "ORC",
    "jsonl": "JSON lines",
}
DTYPES = ("text", "number", "date")
STDIN = "-"
_SUFFIXES = {
    **dict.fromkeys((".csv", ".tsv", ".tab", ".txt"), "csv"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".feather", ".arrow", ".ipc"), "feather"),
    ".orc": "orc",
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), "jsonl"),
}
_TABBED = (".tsv", ".tab")
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
# What Hive and Spark call the folder of rows that have no value in the column, and others do.
_NO_VALUE = ("__HIVE_DEFAULT_PARTITION__", "")


@dataclass(frozen=True)
class Wanted:
    """The columns that a question is about; all others are named but not read.

    Attributes
    ----------
    columns : tuple of str or None
        Their names; None for every column, where the table itself may say which matter.
    numbers, dates : frozenset of str
        Those that the question takes for numbers, as a sampling weight, or for dates.
    missing : str or None
        What a missing quasi-identifier means to the question, where it is known.
    inferred : frozenset of str, or None
        Those of a CSV file that are numbers or dates if all their cells are, written as these are
        written back; None for every column but `texts`.
    texts : frozenset of str
        Those that stay text whatever their cells are.
    """

    columns: tuple[str, ...] | None = None
    numbers: frozenset[str] = frozenset()
    dates: frozenset[str] = frozenset()
    missing: str | None = None
    inferred: frozenset[str] | None = frozenset()
    texts: frozenset[str] = frozenset()


@dataclass
class Inferred:
    """What a reader found the cells of CSV files to be.

    Attributes
    ----------
    kinds : dict of str to {"text", "number", "date"}
        Of columns whose cells were to tell it; text only where numbers stay as they are written.
    codes : set of str
        Of these texts, those with numbers that begin with a zero: hardly amounts.
    short : set of str
        Numbers of which whole ones are written without a point.
    written : dict of str to Series
        Cells as they are in the files, of numbers that would be written otherwise.
    """

    kinds: dict[str, str] = field(default_factory=dict)
    codes: set[str] = field(default_factory=set)
    short: set[str] = field(default_factory=set)
    written: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TextFormat:
    """How text files are written.

    Attributes
    ----------
    sep, encoding : str or None
        What separates two cells of a CSV file, and how its letters are written.
    na : tuple of str
        Texts that mean a missing value, beside the empty one.
    dtypes : mapping of str to {"text", "number", "date"}
        What the cells of a column of a CSV file are; text unless said otherwise.
    """

    sep: str | None = None
    encoding: str | None = None
    na: tuple[str, ...] = ()
    dtypes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """One file of a table, the columns that its folders stand for, and of which it is a copy."""

    path: Path
    partitions: Mapping[str, str | None] = field(default_factory=dict)
    copy_of: Path | None = None

    @property
    def place(self) -> str:
        """The path; the values of partitions are cells, and left out."""
        if str(self.path) == STDIN:
            return "standard input"
        return without_values(str(self.copy_of or self.path))

    @property
    def shown(self) -> str:
        """The path for messages."""
        return self.place if str(self.path) == STDIN else repr(self.place)

    @property
    def tabbed(self) -> bool:
        """Whether the name says that tabs separate the cells."""
        return any(suffix.casefold() in _TABBED for suffix in self.path.suffixes)


def without_values(path: str) -> str:
    """Leave the values of partitions out of a path: they are cells.

    Examples
    --------
    >>> without_values("admissions/zip=1011/part-0.parquet")
    'admissions/zip=…/part-0.parquet'
    >>> without_values("admissions/zip=1011")
    'admissions/zip=…'
    """
    folders, last = re.sub(r"=[^/\\]*(?=[/\\])", "=…", path), re.split(r"[/\\]", path)[-1]
    # The last piece is a folder, unless its ending is that of a table.
    if "=" not in last or _format_by_name(Path(last)) is not None:
        return folders
    return folders[: len(folders) - len(last)] + last.partition("=")[0] + "=…"


def refuse_blank(paths: Sequence[str]) -> None:
    """Reject a path without a name: an unset variable would mean whatever lies in this folder."""
    if not all(path.strip() for path in paths):
        raise ArgumentError(
            "a path is empty; name the file, the folder or the table "
            "(is a variable of the shell not set?)"
        )


def find(paths: Sequence[str]) -> list[Part]:
    """List the files that paths, folders and patterns mean, in order."""
    refuse_blank(paths)
    parts = [part for path in paths for part in _parts_of(path)]
    seen: set[object] = set()
    for part in parts:
        where = _identities(part)
        if where & seen:
            # Every person in it would have a twin to hide behind.
            raise ArgumentError(
                f"{part.shown} is named twice, or together with a packed copy of itself"
            )
        seen |= where
    keys = {tuple(part.partitions) for part in parts}
    if len(keys) > 1:
        raise UnreadableTableError(
            "the folders of this table are not partitioned by the same columns"
        )
    return parts


def format_of(parts: Sequence[Part], text: str | None) -> str:
    """Return the format that all the files have, by what the caller says or how they are called."""
    refuse_spreadsheets(parts)
    if text is not None:
        return text
    result = {_suffix_format(part) for part in parts}
    if len(result) == 1:
        return result.pop()
    raise UnreadableTableError(
        f"these files are of more than one format ({', '.join(sorted(result))}); "
        "name those of one table, or say --format"
    )


def refuse_ignored(kind: str, text: TextFormat) -> None:
    """Reject what a caller says of cells that nobody reads as text: it would change nothing."""
    if text.dtypes and kind != "csv":
        raise ArgumentError("--dtypes is for CSV: other tables declare the types of their cells")
    if text.na and kind not in ("csv", "jsonl", "json"):
        raise ArgumentError(
            "--na is for CSV and JSON lines: in other tables make what means missing null"
        )


@contextmanager
def readable(part: Part, kind: str) -> Iterator[None]:
    """Replace every error of reading a file by one of ours: theirs may quote a cell."""
    try:
        yield
    except AnonRiskError:
        raise
    except ImportError:
        raise MissingLibraryError(
            f"{part.shown} needs pyarrow: pip install 'anonrisk[arrow]'"
        ) from None
    except OSError as error:
        # Damaged gzip files are an OSError too, without a reason of the system.
        why = error.strerror or "it is damaged"
        raise UnreadableTableError(f"cannot read {part.shown}: {why}") from None
    except MemoryError:
        raise UnreadableTableError(
            f"{part.shown} does not fit into memory; Spark reads it in parts: "
            "spark-submit spark_jobs/check.py"
        ) from None
    except Exception as error:  # noqa: BLE001
        raise_alone(
            UnreadableTableError(
                f"{part.shown} is not a {kind} file, or is damaged ({type(error).__name__})"
            )
        )


def refuse_spreadsheets(parts: Sequence[Part]) -> None:
    """Reject files that are called as spreadsheets are."""
    for part in parts:
        if part.path.suffix.casefold() in _SPREADSHEETS:
            raise UnreadableTableError(f"{part.shown} is a spreadsheet; save it as CSV or Parquet")


def nameless(part: Part) -> UnreadableTableError:
    """Return an error: a file has no first line."""
    return UnreadableTableError(f"{part.shown} is empty: it does not even have column names")


def same_columns(first: Part, wanted: Collection[str], part: Part, got: Collection[str]) -> None:
    """Reject a file that has other columns than the first one."""
    for missing in [name for name in wanted if name not in got]:
        raise UnreadableTableError(
            f"the files differ: {part.shown} has no column {missing!r}, which {first.shown} has"
        )
    for more in [name for name in got if name not in wanted]:
        raise UnreadableTableError(
            f"the files differ: {part.shown} has a column {more!r}, which {first.shown} does not "
            "have"
        )


def check_names(wanted: Wanted, dtypes: Mapping[str, str], columns: Collection[str]) -> None:
    """Reject names that were written with commas, and types of columns that are not there."""
    for name in wanted.columns or ():
        pieces = [piece.strip() for piece in name.split(",")]
        if len(pieces) > 1 and name not in columns and all(item in columns for item in pieces):
            raise ArgumentError(
                f"{name!r} is not a column: separate names by spaces, as in {' '.join(pieces)}"
            )
    for name in dtypes:
        if name not in columns:
            raise ArgumentError(f"--dtypes: {name!r} is not a column{nearest(name, columns)}")


def not_all(name: str, kind: str, n_cells: int) -> UnreadableTableError:
    """Return an error: some cells are not what the caller takes them for."""
    return UnreadableTableError(
        f"column {name!r} does not hold {kind}s alone, but {count_of(n_cells, 'other cell')}; "
        f"say --dtypes {shown(name)}=text, or which text means missing with --na"
    )


def digits(number: str) -> str:
    """Return the digits of a number that count, wherever its point is.

    Examples
    --------
    >>> digits("-0.0250"), digits("2.5e+20"), digits("0.0")
    ('25', '25', '')
    """
    return re.sub(r"[eE].*|[^0-9a-zA-Z]", "", number).strip("0")


def not_exact(name: str, n_cells: int) -> UnreadableTableError:
    """Return an error: cells that are written differently would be the same number."""
    what = count_of(n_cells, "number")
    return too_many_digits(name, what, f"say --dtypes {shown(name)}=text")


def too_many_digits(
    name: str, what: str = "numbers", advice: str = "write them as texts"
) -> UnreadableTableError:
    """Return the same error, of cells that are numbers in the file."""
    return UnreadableTableError(
        f"column {name!r} has {what} with more digits than a floating-point number keeps, so that "
        f"different ones would count as the same; {advice}"
    )


def blank(line: str) -> UnreadableTableError:
    """Return an error: nobody can tell whether a line of a table of one column is a row."""
    return UnreadableTableError(
        f"{line} is blank: with one column that may be a missing value or no row at all; "
        'write "" for a missing value'
    )


def in_folders_too(name: str) -> UnreadableTableError:
    """Return an error: nobody can tell which of two columns of one name is meant."""
    return UnreadableTableError(f"column {name!r} is in the files and in their folders")


def _identities(part: Part) -> set[object]:
    """Return what identifies a file: it has many paths, by links several names, and is packed."""
    whole = part.path.resolve()
    plain = whole
    while plain.suffix.casefold() in raw_files.SUFFIXES:
        plain = plain.with_suffix("")
    result: set[object] = {whole, plain}
    try:
        state = os.fstat(sys.stdin.fileno()) if str(part.path) == STDIN else part.path.stat()
    except (OSError, ValueError, AttributeError):
        # Standard input may be closed, or no file; reading what is not there says so.
        return result
    # Some file systems do not number their files.
    return result | {(state.st_dev, state.st_ino)} if state.st_ino else result


def _elsewhere(path: str, here: Path) -> str:
    """Return what was probably meant by a table that is not there, as the end of a sentence."""
    if "://" in path:
        return (
            ": files of this machine are read here; anonrisk.sql.table reads a database, and the "
            "jobs of spark_jobs/ whatever Spark reaches"
        )
    return nearest_beside(here, _SUFFIXES)


def _parts_of(path: str) -> list[Part]:
    if path == STDIN:
        return [Part(Path(STDIN))]
    here = Path(path)
    if is_there(here):
        above = _above(here if here.is_dir() else here.parent)
        return _inside(here, above) if here.is_dir() else [Part(here, _partitions(above, here))]
    if not glob.has_magic(path):
        raise UnreadableTableError(
            f"there is no file or folder {without_values(path)!r}{_elsewhere(path, here)}"
        )
    base = _base(here)
    matches = [Path(match) for match in sorted(glob.glob(path, recursive=True))]  # noqa: PTH207
    files = [match for match in matches if _is_file(match)]
    folders = [match for match in matches if match.is_dir()]
    # A pattern such as data/** gives folders and what is in them.
    loose = [file for file in files if not any(folder in file.parents for folder in folders)]
    parts = [Part(item, _partitions(base, item)) for item in loose if _is_part(base, item)]
    outer = [item for item in folders if not any(other in item.parents for other in folders)]
    parts += [part for folder in outer for part in _inside(folder, base)]
    if not parts:
        raise UnreadableTableError(f"no file matches {without_values(path)!r}")
    return parts


def _inside(folder: Path, base: Path) -> list[Part]:
    files = sorted(_below(folder))
    parts = [Part(path, _partitions(base, path)) for path in files if _is_part(folder, path)]
    if not parts:
        where = without_values(str(folder))
        raise UnreadableTableError(f"there is no file in the folder {where!r}")
    return parts


def _below(folder: Path) -> Iterator[Path]:
    """List all files in a folder; what cannot be looked into is refused, not passed over."""

    def refuse(error: OSError) -> None:
        where = without_values(str(error.filename))
        raise UnreadableTableError(f"cannot look into {where!r}: {error.strerror}")

    for top, folders, names in os.walk(folder, onerror=refuse):
        # What a scan, even one that was killed, has put down beside the files is no part of them.
        folders[:] = [name for name in folders if not raw_files.is_private_folder(Path(top, name))]
        for name in folders:
            if Path(top, name).is_symlink():
                where = without_values(str(Path(top, name)))
                raise UnreadableTableError(
                    f"{where!r} is a link to another folder, which is not followed: name that one"
                )
        yield from (path for path in (Path(top, name) for name in names) if _is_file(path))


def _is_file(path: Path) -> bool:
    """Return whether a path is a file; a link that leads nowhere is one that is not there."""
    if path.is_symlink() and not path.exists():
        where = without_values(str(path))
        raise UnreadableTableError(f"{where!r} is a link to a file that is not there")
    return path.is_file()


def _is_part(base: Path, path: Path) -> bool:
    """Return whether a file of a folder is part of the table; what may be one is not passed over.

    Spark writes markers such as _SUCCESS, and passes over all names that begin so.
    """
    if not _hidden(base, path):
        return True
    if "_delta_log" in path.parts:
        raise UnreadableTableError(
            "this is a Delta table, whose folder holds rows that were deleted as well; read it by "
            "a Spark job with --format delta"
        )
    if _format_by_name(path) is not None:
        where = without_values(str(path))
        raise UnreadableTableError(
            f"{where!r} would be skipped, because its name begins with _ or a dot: name it "
            "explicitly, or remove it"
        )
    return False


def _above(folder: Path) -> Path:
    """Return the folder above those that stand for columns, as out/ for out/country=NL."""
    while "=" in folder.name:
        folder = folder.parent
    return folder


def base_of(paths: Sequence[str]) -> str | None:
    """Return the folder above all paths that lie in folders which stand for columns, if any do.

    Examples
    --------
    >>> base_of(["s3://b/out/country=NL", "s3://b/out/country=BE/a.csv"]), base_of(["out"])
    ('s3://b/out', None)
    """
    result = {_base_of(path.rstrip("/").split("/")) for path in paths}
    if len(result) > 1:
        raise ArgumentError(
            "some of the paths lie in folders that stand for columns, as country=NL, and not all "
            "under the same folder; name that one"
        )
    return result.pop() if result else None


def _base_of(pieces: list[str]) -> str | None:
    if "=" not in pieces[-1]:
        # It may be a file in such a folder.
        pieces = pieces[:-1]
    if not pieces or "=" not in pieces[-1]:
        return None
    while pieces and "=" in pieces[-1]:
        pieces = pieces[:-1]
    return "/".join(pieces) or "."


def look_over(paths: Sequence[str]) -> None:
    """Reject what a reader of folders would pass over, where the paths are of this machine."""
    for path in paths:
        here = Path(path.removeprefix("file:"))
        if here.exists() or (glob.has_magic(path) and _base(here).is_dir()):
            _parts_of(str(here))


def _base(pattern: Path) -> Path:
    fixed: list[str] = []
    for piece in pattern.parts:
        if glob.has_magic(piece):
            break
        fixed.append(piece)
    return Path(*fixed)


def _hidden(base: Path, path: Path) -> bool:
    """Return whether a file is a log or a marker: Spark writes _SUCCESS and .crc files."""
    return any(
        piece.startswith((".", "_")) and "=" not in piece for piece in path.relative_to(base).parts
    )


def _partitions(base: Path, path: Path) -> dict[str, str | None]:
    pairs = [piece.split("=", 1) for piece in path.relative_to(base).parts[:-1] if "=" in piece]
    return {
        unquote(key): unquote(value) if value not in _NO_VALUE else None for key, value in pairs
    }


def _format_by_name(path: Path) -> str | None:
    """Return the format of a file by its name, unpacked."""
    suffixes = [suffix.casefold() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in raw_files.SUFFIXES:
        suffixes.pop()
    return _SUFFIXES.get(suffixes[-1]) if suffixes else None


def _suffix_format(part: Part) -> str:
    if str(part.path) == STDIN:
        return "csv"
    known = _format_by_name(part.path)
    if known is None:
        raise UnreadableTableError(
            f"the name of {part.shown} does not show its format; "
            f"say --format {', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
        )
    return known
