"""What a release holds, byte by byte: the digests of its files, and of tables that are none."""

from __future__ import annotations

import hmac
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import nearest
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import kind_name
from anonrisk.engines import engine_for
from anonrisk.engines.one_state import one_state
from anonrisk.engines.reading.private_folder import PrivateFolder
from anonrisk.errors import ArgumentError, ManifestError, UnreadableTableError
from anonrisk.measures.counts.keyed import KeyedTally
from anonrisk.measures.counts.question import Question
from anonrisk.policy.problem import Problem, attempt
from anonrisk.pseudonyms.encoding import name_bytes
from anonrisk.pseudonyms.keys import as_key
from anonrisk.pseudonyms.pseudonym import sized
from anonrisk.releases.release.published_files import (
    PublishedFile,
    absolute_path,
    common_folder,
    published_files,
)
from anonrisk.releases.release.table_files import TableFiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from anonrisk.engines.reading.files import Part
    from anonrisk.pseudonyms.keys import Key
    from anonrisk.releases.release.published_table import PublishedTable


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
