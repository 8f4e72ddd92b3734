"""What a release holds, byte by byte: the digests of its files, and of tables that are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anonrisk.releases.content_digest import content_digest
from anonrisk.releases.published_files import PublishedFile, published_files
from anonrisk.releases.table_files import TableFiles

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from anonrisk.core.keys import Key


@dataclass(frozen=True)
class Contents:
    """The files of every table, and keyed digests of tables that are no files.

    Without a key a table that is no file has no digest.
    """

    files: tuple[PublishedFile, ...]
    digests: Mapping[str, str | None]

    @property
    def known(self) -> bool:
        """Whether everything has a digest."""
        return None not in self.digests.values()

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
            name: None if key is None else content_digest(one, key=key)
            for name, one in tables.items()
            if name not in paths
        },
    )
