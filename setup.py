"""Builds the package anew: a module that is no longer there must not be in the next wheel.

Everything else about the package is in pyproject.toml.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildAnew(build_py):
    """Copies the modules to where nothing is left of an earlier build."""

    def run(self) -> None:
        """Remove what setuptools would take along from build/lib, then build."""
        if not self.editable_mode:
            shutil.rmtree(Path(self.build_lib, "anonrisk"), ignore_errors=True)
        super().run()


setup(cmdclass={"build_py": BuildAnew})
