"""Builds the package anew, and the same from the same sources.

A module that is no longer there must not be in the next wheel, and whoever builds a commit again
must get the bytes that were published. Everything else about the package is in pyproject.toml.
"""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import time
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

# What is written now, as the metadata, has the same mode whoever builds.
os.umask(0o022)


def _mode(path: Path) -> int:
    """Give the mode that a file has in every checkout: only whether it is a program counts."""
    return 0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644


class BuildAnew(build_py):
    """Copies the modules to where nothing is left of an earlier build."""

    def run(self) -> None:
        """Remove what setuptools would take along from build/lib, then build."""
        if self.editable_mode:
            super().run()
            return
        built = Path(self.build_lib, "anonrisk")
        shutil.rmtree(built, ignore_errors=True)
        super().run()
        for path in built.rglob("*"):
            path.chmod(_mode(path))


class SameArchive(sdist):
    """Packs files in order, without the time, the owner and the umask of whoever packs them."""

    def make_archive(self, base_name: str, format: str, **about: str | None) -> str:  # noqa: A002
        """Write the archive; SOURCE_DATE_EPOCH is the time of everything in it."""
        if format != "gztar":
            return str(super().make_archive(base_name, format, **about))
        now = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
        top = Path(about["base_dir"] or ".")
        name = f"{base_name}.tar.gz"
        with (
            Path(name).open("wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=now) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            for path in (top, *sorted(top.rglob("*"))):
                entry = tarfile.TarInfo(path.as_posix())
                entry.mtime, entry.mode = now, _mode(path)
                content = b"" if path.is_dir() else path.read_bytes()
                entry.type = tarfile.DIRTYPE if path.is_dir() else tarfile.REGTYPE
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        return name


setup(cmdclass={"build_py": BuildAnew, "sdist": SameArchive})
