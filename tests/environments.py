"""Environments of their own for tools that bring versions which others do not take."""

from __future__ import annotations

import subprocess
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]


def python_of(name):
    """Make the environment of a tool from its pins, once; give its Python."""
    folder, pins = ROOT / f".venv-{name}", ROOT / "tests" / "pins" / f"{name}.txt"
    done = folder / "done.txt"
    if not done.exists() or done.read_text() != pins.read_text():
        venv.create(folder, clear=True, with_pip=True)
        pip = [folder / "bin" / "python", "-m", "pip", "install", "-q"]
        subprocess.run([*pip, "-r", pins], check=True)
        subprocess.run([*pip, "--no-deps", "-e", ROOT], check=True)
        done.write_text(pins.read_text())
    return folder / "bin" / "python"
