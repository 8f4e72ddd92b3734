"""What a release holds, byte by byte: the digests of its files, and of tables that are none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import nearest
from anonrisk.errors import ArgumentError, ManifestError, UnreadableTableError
from anonrisk.policy.problem import Problem, attempt
from anonrisk.releases.content_digest import content_digest
from anonrisk.releases.published_files import PublishedFile, published_files
from anonrisk.releases.table_files import TableFiles

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from anonrisk.core.keys import Key
    from anonrisk.releases.published_table import PublishedTable


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

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that serialise as JSON."""
        return {"files": [vars(file) for file in self.files], "tables": dict(self.digests)}


def contents_of(tables: Mapping[str, Any], key: Key | bytes | None) -> Contents:
    """Read every byte of the files, and every row of tables that are none."""
    paths: dict[str | None, list[Path]] = {
        name: [part.path for part in one.parts()]
        for name, one in tables.items()
        if isinstance(one, TableFiles)
    }
    return Contents(
        published_files(paths) if paths else (),
        {
            name: None if key is None else _digest(one, key)
            for name, one in tables.items()
            if name not in paths
        },
    )


def _digest(table: Any, key: Key | bytes) -> str | None:
    found = attempt(lambda: content_digest(table, key=key))
    return None if isinstance(found, Problem) else found


def compare_rows(
    stated: Iterable[PublishedTable], tables: Mapping[str, Any], key: Key | bytes | None
) -> tuple[str, ...]:
    """Raise unless tables that are no files have the rows that were checked; name them."""
    if not isinstance(tables, Mapping):
        raise ArgumentError(f"tables= maps names to tables, and is no {type(tables).__name__}")
    known = {one.name: one.content_digest for one in stated if one.content_digest is not None}
    for name in tables:
        if name not in known:
            raise ArgumentError(
                f"tables= has {name!r}, which the manifest does not have as a table that is no "
                f"file{nearest(name, known)}"
            )
    for name, digest in known.items():
        if name not in tables:
            raise UnreadableTableError(
                f"table {name!r} is no file, and nobody can tell whether it is what was checked: "
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
