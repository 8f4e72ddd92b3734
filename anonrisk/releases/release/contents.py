"""What a release holds, byte by byte: its files, and tables that are none."""

from __future__ import annotations

import hmac
import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import nearest
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import kind_name
from anonrisk.engines import engine_for
from anonrisk.engines.one_state import one_state
from anonrisk.engines.reading import files, large, text_files
from anonrisk.engines.reading.files import FORMATS, STDIN, TextFormat
from anonrisk.engines.reading.raw_files import PrivateFolder
from anonrisk.engines.reading.storage import stored
from anonrisk.errors import ArgumentError, ManifestError, PolicyError, UnreadableTableError
from anonrisk.measures.counts.keyed import KeyedTally
from anonrisk.measures.counts.question import Question
from anonrisk.policy import fields
from anonrisk.policy.evidence import Problem, attempt
from anonrisk.pseudonyms.encoding import name_bytes
from anonrisk.pseudonyms.keys import as_key
from anonrisk.pseudonyms.pseudonym import sized
from anonrisk.releases.release.published_files import (
    PublishedFile,
    absolute_path,
    common_folder,
    published_files,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from anonrisk.engines.reading.files import Part, Wanted
    from anonrisk.measures.counts.schema import Stored
    from anonrisk.pseudonyms.keys import Key
    from anonrisk.releases.release.published_files import PublishedTable

KEYS = ("files", "format", "sep", "encoding", "na", "dtypes")


@dataclass(frozen=True)
class TableFiles:
    """Files, folders and patterns of one table, and how they are written.

    Attributes
    ----------
    paths : tuple of str
        As they were given.
    format : str or None
        If the names do not tell it.
    text : TextFormat
        How text files are written.
    folder : Path
        What the paths begin at: of a document, where it stands.
    copies : tuple of Part
        Private copies of the files, which are read in their place.
    """

    paths: tuple[str, ...]
    format: str | None = None
    text: TextFormat = field(default_factory=TextFormat)
    folder: Path = field(default=Path(), compare=False)
    copies: tuple[Part, ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, value: Any, where: str, folder: Path) -> TableFiles:
        """Read a path, a list of paths, or a mapping that says also how they are written."""
        stated = value if isinstance(value, dict) else {"files": value}
        stated = fields.mapping(stated, where, KEYS, {"paths": "files", "path": "files"})
        listed = stated.get("files")
        several = listed if isinstance(listed, (list, tuple)) else [listed]
        paths = tuple(_path(item, f"{where}.files") for item in several)
        if not paths:
            raise PolicyError(f"{where}.files is an empty list")
        kind = stated.get("format")
        if kind is not None:
            fields.word(kind, f"{where}.format", FORMATS)
        return cls(paths, kind, _text(stated, where), folder)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as a document has them."""
        text = {"sep": self.text.sep, "encoding": self.text.encoding, "na": list(self.text.na)}
        more = {"format": self.format, **text, "dtypes": dict(self.text.dtypes)}
        return {"files": list(self.paths), **{key: item for key, item in more.items() if item}}

    def parts(self) -> list[Part]:
        """Find the files, or their copies."""
        return list(self.copies) or files.find([str(self.folder / path) for path in self.paths])

    def stored(self) -> Stored:
        """Count what the files hold besides their rows."""
        parts = self.parts()
        return stored(parts, files.format_of(parts, self.format))

    @property
    def shown(self) -> list[str]:
        """The paths for people; values of partitions are cells, and left out."""
        return list(map(files.without_values, self.paths))

    @contextmanager
    def opened(self, wanted: Wanted) -> Iterator[Any]:
        """Read the table; a large one is scanned where it lies."""
        parts = self.parts()
        scanned = large.opened(parts, wanted, self.text, self.format)
        if scanned is not None:
            with scanned as table:
                yield table
            return
        yield self.in_memory(wanted)

    def in_memory(self, wanted: Wanted) -> Any:
        """Read the table into pandas, however large it is."""
        from anonrisk.engines.pandas.files import read

        return read(self.parts(), wanted, self.text, format=self.format)


def _path(value: Any, where: str) -> str:
    if not isinstance(value, (str, os.PathLike)) or not str(value).strip():
        raise PolicyError(f"{where} names files by paths, not by {kind_name(value)}")
    if str(value) == STDIN:
        raise PolicyError(f"{where}: a release is published as files; a pipe has none")
    return os.fspath(value)


def _text(stated: dict[str, Any], where: str) -> TextFormat:
    encoding = stated.get("encoding")
    if encoding is not None:
        fields.text(encoding, f"{where}.encoding")
    na, dtypes = stated.get("na"), stated.get("dtypes")
    na, dtypes = () if na is None else na, {} if dtypes is None else dtypes
    return text_files.text_format(stated.get("sep"), encoding, na, dtypes, f"{where}.")


_HEADER = b"anonrisk content 1"


def content_digest(frame: Any, *, key: Key | bytes) -> str:
    """Digest all rows of a table: the same rows in any order, on any engine, give the same.

    Never a sum of row hashes, which would be cheaper: the difference of two sums is the hash of the
    row that was added.

    Parameters
    ----------
    frame : DataFrame
        The table; its columns count, whatever their order, and labels of rows do not.
    key : Key or bytes
        Without it a table of few columns could be guessed, and the guess be confirmed.

    Returns
    -------
    str
        HMAC-SHA-256 over the names and types of the columns and the sorted keyed hashes of the
        different rows, with how often each occurs.

    Examples
    --------
    >>> import pandas as pd
    >>> from anonrisk.keys import Key
    >>> df = pd.DataFrame({"zip": ["1011", "1012"], "age": [30, 40]})
    >>> key = Key.generate()
    >>> made = content_digest(df, key=key)
    >>> made == content_digest(df[::-1], key=key)
    True
    >>> made == content_digest(df[:1], key=key)
    False
    """
    secret = as_key(key)
    engine = engine_for(frame)
    schema = engine.schema(frame)
    question = Question((tuple(schema.columns),), None, "value")
    schema.check(question.roles())
    counts = engine.tally(frame, KeyedTally(question, (), secret))
    columns = b"".join(sized(name_bytes(name)) + counts.kinds[name].encode() for name in counts.qid)
    # Sorted by the counts, so that where a row stood in the table is not in it.
    hashes, rows = counts.classes.astype(">u8").tobytes(), counts.rows.astype(">i8").tobytes()
    message = _HEADER + sized(columns) + len(counts.rows).to_bytes(8, "big") + hashes + rows
    digest = hmac.digest(secret.derived("content digest"), message, "sha256")
    return f"hmac-sha256:{digest.hex()}"


@dataclass(frozen=True)
class Contents:
    """The files of every table, and keyed digests of tables that are no files.

    Without a key a table that is no file has no digest, nor has one whose rows no digest can be
    made of.
    """

    files: tuple[PublishedFile, ...]
    digests: Mapping[str, str | None]

    @property
    def unknown(self) -> tuple[str, ...]:
        """The tables that have no digest."""
        return tuple(name for name, digest in self.digests.items() if digest is None)


def contents_of(tables: Mapping[str, Any], key: Key | bytes | None) -> Contents:
    """Read every byte of the files, and every row of tables that are none."""
    return _read(tables, _parts(tables), key, None)


@contextmanager
def held_still(
    tables: Mapping[str, Any], key: Key | bytes | None
) -> Iterator[tuple[Contents, dict[str, Any]]]:
    """Read the same, and yield it with tables that stay as they were read until the end.

    Of files these are private copies of the very bytes that were digested: whoever exchanges a file
    while it is measured, and puts it back, exchanges what nobody looks at. A table in a database is
    seen in one transaction; those of other libraries are what they are.
    """
    with ExitStack() as held:
        for table in tables.values():
            if not isinstance(table, TableFiles):
                # Where there is no transaction, whoever measures the table says why.
                attempt(lambda table=table: held.enter_context(one_state(table, "check")))  # type: ignore[misc]
        parts = _parts(tables)
        if not parts:
            yield _read(tables, parts, key, None), dict(tables)
            return
        folder = PrivateFolder(Path(tempfile.gettempdir()))
        held.callback(folder.remove)
        contents = _read(tables, parts, key, folder.path)
        root = common_folder(part.path for each in parts.values() for part in each)

        def copied(part: Part) -> Part:
            path = folder.path / absolute_path(part.path).relative_to(root)
            return replace(part, path=path, copy_of=part.path)

        copies = {
            name: replace(tables[name], copies=tuple(map(copied, each)))
            for name, each in parts.items()
        }
        yield contents, {**tables, **copies}


def _parts(tables: Mapping[str, Any]) -> dict[str, list[Part]]:
    files = {name: table for name, table in tables.items() if isinstance(table, TableFiles)}
    return {name: table.parts() for name, table in files.items()}


def _read(
    tables: Mapping[str, Any],
    parts: Mapping[str, Sequence[Part]],
    key: Key | bytes | None,
    copies: Path | None,
) -> Contents:
    paths = {name: [part.path for part in each] for name, each in parts.items()}
    return Contents(
        published_files(paths, copies=copies) if paths else (),
        {
            name: None if key is None else _digest(table, key)
            for name, table in tables.items()
            if name not in paths
        },
    )


def _digest(table: Any, key: Key | bytes) -> str | None:
    result = attempt(lambda: content_digest(table, key=key))
    return None if isinstance(result, Problem) else result


def compare_rows(
    stated: Iterable[PublishedTable], tables: Mapping[str, Any], key: Key | bytes | None
) -> tuple[str, ...]:
    """Raise unless tables that are no files have the rows that were checked; name them."""
    if not isinstance(tables, Mapping):
        raise ArgumentError(
            f"tables= must be a mapping of names to tables, not {kind_name(tables)}"
        )
    known = {item.name: item.content_digest for item in stated if item.content_digest is not None}
    for name in tables:
        if name not in known:
            raise ArgumentError(
                f"tables= has {name!r}, which the manifest does not have as a table that is no "
                f"file{nearest(name, known)}"
            )
    for name, digest in known.items():
        if name not in tables:
            raise UnreadableTableError(
                f"table {name!r} is not a file, so that it cannot be compared with what was "
                "checked: "
                "in Python give Manifest.verify tables={name: table} as well, and the ledger's key"
            )
        if key is None:
            raise ArgumentError(
                "tables= takes key= as well: the ledger's, which their digests have"
            )
        if content_digest(tables[name], key=key) != digest:
            raise ManifestError(
                f"table {name!r} is not what was checked: its rows or columns are others, or the "
                "key is not the ledger's"
            )
    return tuple(known)
