"""Write what follows from the policies here and from the budgets.

From the YAML, which has the comments and the sources: its JSON in the package, and the suites. From
the budgets and doubts: their part of the JSON Schema of policies; all else is edited by hand.
``python3 dev.py ready`` runs it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from anonrisk import Policy
from anonrisk.policy import budgets
from anonrisk.policy.terms import DOUBTS, SETTINGS

FOLDER = Path(__file__).parent
WIDTH = 90
PACKAGE = FOLDER.parent / "anonrisk" / "policy" / "ready"


def packaged() -> dict[Path, str]:
    """Return the policies as the package has them, by their paths."""
    return {
        PACKAGE / f"{path.stem}.json": Policy.load(path).to_json() + "\n"
        for path in sorted(FOLDER.glob("*.yaml"))
    }


def suites() -> dict[Path, str]:
    """Return the suites of Great Expectations, by their paths."""
    from anonrisk import gx

    return {
        path.with_suffix(".json"): gx.suite_to_json(Policy.load(path).to_suite(path.stem))
        for path in sorted(FOLDER.glob("*.yaml"))
    }


def schema() -> dict[Path, str]:
    """Return the JSON Schema of policies, by its path."""
    path = PACKAGE.parent / "schema.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["$defs"]["budgets"] = budgets.schema("#/$defs/budgets")
    document["properties"] |= {one.name: one.metadata["schema"] for one in SETTINGS}
    document["$defs"]["acknowledged"]["properties"]["doubt"]["enum"] = list(DOUBTS)
    return {path: _lines(document) + "\n"}


def _lines(value: Any, indent: int = 0) -> str:
    """Write JSON with as much on a line as fits, for people who read it."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, (dict, list)) or len(line) + indent < WIDTH:
        return line
    pairs = value.items() if isinstance(value, dict) else ((None, one) for one in value)
    parts = [
        " " * (indent + 2)
        + ("" if key is None else f"{json.dumps(key)}: ")
        + _lines(one, indent + 2)
        for key, one in pairs
    ]
    first, last = "{}" if isinstance(value, dict) else "[]"
    return first + "\n" + ",\n".join(parts) + "\n" + " " * indent + last


if __name__ == "__main__":
    for target, text in (packaged() | suites() | schema()).items():
        target.write_text(text, encoding="utf-8")
