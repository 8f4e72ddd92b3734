"""Write what follows from the policies here: their JSON in the package, and the suites.

Edit the YAML, which has the comments and the sources; then run ``python3 dev.py ready``.
"""

from __future__ import annotations

from pathlib import Path

from anonrisk import Policy

FOLDER = Path(__file__).parent
PACKAGE = FOLDER.parent / "anonrisk" / "policy" / "ready"


def packaged() -> dict[Path, str]:
    """Give the policies as the package has them, by their paths."""
    return {
        PACKAGE / f"{path.stem}.json": Policy.load(path).to_json() + "\n"
        for path in sorted(FOLDER.glob("*.yaml"))
    }


def suites() -> dict[Path, str]:
    """Give the suites of Great Expectations, by their paths."""
    from anonrisk import gx

    return {
        path.with_suffix(".json"): gx.suite_to_json(Policy.load(path).to_suite(path.stem))
        for path in sorted(FOLDER.glob("*.yaml"))
    }


if __name__ == "__main__":
    for target, text in (packaged() | suites()).items():
        target.write_text(text, encoding="utf-8")
