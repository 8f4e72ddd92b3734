"""A table of a release that is published as files: read, and known by its bytes."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import kind_name
from anonrisk.engines.reading import files, large, text_files
from anonrisk.engines.reading.files import FORMATS, STDIN, TextFormat
from anonrisk.engines.reading.storage import stored
from anonrisk.errors import PolicyError
from anonrisk.policy import fields

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonrisk.engines.reading.files import Part, Wanted
    from anonrisk.measures.counts.schema import Stored

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
        from anonrisk.engines.pandas.read import read

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
