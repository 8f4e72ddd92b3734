"""A mended release as files: its tables, and the document that publishes them."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from anonrisk.core.documents import to_yaml
from anonrisk.engines.pandas.files import write
from anonrisk.engines.reading import files, raw_files
from anonrisk.errors import ArgumentError, UnwritableTableError
from anonrisk.releases.release import parts
from anonrisk.releases.release.contents import TableFiles
from anonrisk.releases.release.release import Release

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.releases.ledger.ledger import Ledger
    from anonrisk.releases.release.mend import Mended

DOCUMENT = "release.yaml"
# What is published stands alone, without the document.
TABLES = "tables"


def refuse_existing(folder: Path) -> None:
    """Reject a folder that is there already, before anything is counted."""
    try:
        there = folder.exists()
    except OSError as error:
        raise UnwritableTableError(f"cannot write {str(folder)!r}: {error.strerror}") from None
    if there:
        raise ArgumentError(f"--output {str(folder)!r} is there already: name a new folder")


def write_mended(mended: Mended, source: Path, folder: Path, ledger: Ledger) -> Path:
    """Write a new folder whole or not at all, once the files themselves pass; return its document.

    Raises
    ------
    ReleaseBlocked
        If the tables do not pass as files.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            _write(mended, source, beside, folder)
            Release.load(beside / DOCUMENT).check(ledger).raise_for_status()
            beside.rename(folder)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    except OSError as error:
        raise UnwritableTableError(f"cannot write {str(folder)!r}: {error.strerror}") from None
    return folder / DOCUMENT


def _write(mended: Mended, source: Path, beside: Path, folder: Path) -> None:
    before = Release.load(source)
    (beside / TABLES).mkdir()
    tables = {}
    taken: set[str] = set()
    for place, (name, frame) in enumerate(mended.tables.items()):
        table = before.tables[name]
        assert isinstance(table, TableFiles)  # noqa: S101
        before_files = table.parts()
        kind = files.format_of(before_files, table.format)
        called = _file_name(before_files)
        # A table of several files has no name of a file, and two may have the same.
        if called is None or called.casefold() in taken:
            called = f"{place + 1}.{kind}"
        taken.add(called.casefold())
        path = beside / TABLES / called
        sep = table.text.sep or ("\t" if files.Part(path).tabbed else ",")
        write(frame, path, kind, sep=sep, encoding=table.text.encoding or "utf-8")
        tables[name] = {**table.to_dict(), "files": f"{TABLES}/{path.name}", "format": kind}
    document = parts.document_of(source, tables, lambda path: os.path.relpath(path, folder))
    (beside / DOCUMENT).write_text(to_yaml(document), encoding="utf-8")


def _file_name(parts: Sequence[files.Part]) -> str | None:
    """Return what the file of a table is called, without a packing that is not written."""
    if len(parts) > 1 or parts[0].partitions:
        return None
    path = parts[0].path
    while path.suffix.casefold() in raw_files.SUFFIXES and path.suffix.casefold() != raw_files.GZIP:
        path = path.with_suffix("")
    return path.name
