"""Small tables whose answers anybody can count: what anonrisk and pycanon say of each."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks.peer_pycanon import PYCANON, environment

PAGE = _bench.ROOT / "docs" / "comparison.md"


class Case(NamedTuple):
    """A table as code, for it is made in two environments; a question; the answer by hand."""

    what: str
    table: str
    measure: str
    right: float


ILL = '"ill": ["flu", "cold", "flu", "cold"]'
CASES = (
    Case("no oddity", f'{{"zip": ["a", "a", "b", "b"], {ILL}}}', "l", 2),
    Case("one of four postal codes is missing", '{"zip": ["a", "a", "a", None]}', "k", 1),
    Case(
        "a category that no record has",
        '{"zip": pd.Categorical(["a", "a", "b", "b"], categories=["a", "b", "c"])}',
        "k",
        2,
    ),
    Case(
        "row labels that begin at 10",
        f'{{"zip": ["a", "a", "b", "b"], {ILL}}}, index=[10, 11, 12, 13]',
        "l",
        2,
    ),
    Case(
        "row labels in another order",
        f'{{"zip": ["a", "a", "b", "b"], {ILL}}}, index=[0, 2, 1, 3]',
        "l",
        2,
    ),
    Case("two values, equally frequent", f'{{"zip": ["a", "a", "a", "a"], {ILL}}}', "entropy l", 2),
    Case("a sensitive column of equal numbers", '{"zip": ["a", "b"], "ill": [5, 5]}', "t", 0),
    Case(
        "a sensitive column of dates",
        '{"zip": ["a", "b"], "ill": pd.to_datetime(["2020-01-01", "2020-01-01"])}',
        "t",
        0,
    ),
)

# Runs in pycanon's environment. An error is told by its type: its text may quote a cell.
CHILD = """
import json, sys
import pandas as pd
from pycanon import anonymity
calls = {
    "k": lambda t: anonymity.k_anonymity(t, ["zip"]),
    "l": lambda t: anonymity.l_diversity(t, ["zip"], ["ill"]),
    "entropy l": lambda t: anonymity.entropy_l_diversity(t, ["zip"], ["ill"]),
    "t": lambda t: anonymity.t_closeness(t, ["zip"], ["ill"]),
}
for table, measure in json.loads(sys.argv[1]):
    try:
        said = float(calls[measure](eval(f"pd.DataFrame({table})")))
    except Exception as error:
        said = type(error).__name__
    print("said", json.dumps(said))
"""


def ours(case: Case) -> float:
    """What anonrisk says."""
    frame = eval(f"pd.DataFrame({case.table})", {"pd": pd})  # noqa: S307 - the cases above
    if case.measure == "k":
        return anonrisk.k(frame, "zip")
    if case.measure == "t":
        return anonrisk.tcloseness(frame, "zip", "ill")
    kind: Any = "entropy" if case.measure == "entropy l" else "distinct"
    return anonrisk.ldiv(frame, "zip", "ill", kind=kind)


def theirs() -> list[float | str]:
    """What pycanon says, or the type of its error."""
    asked = json.dumps([(case.table, case.measure) for case in CASES])
    command: list[str | Path] = [environment(), "-c", CHILD, asked]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    lines = (line.removeprefix("said ") for line in done.stdout.splitlines() if "said " in line)
    return [json.loads(line) for line in lines]


def shown(said: float | str, right: float) -> str:
    if isinstance(said, str):
        return f"raises `{said}`"
    return f"{said:.6g}" if abs(said - right) < 1e-9 else f"**{said:.6g}**"


def main() -> None:
    asked = _bench.options(__doc__)
    header = ("table", "asked", "by hand", "anonrisk", "pycanon")
    rows = [
        (
            case.what,
            case.measure,
            f"{case.right:g}",
            shown(ours(case), case.right),
            shown(said, case.right),
        )
        for case, said in zip(CASES, theirs(), strict=True)
    ]
    lines = (header, ("---", "---", "--:", "--:", "--:"), *rows)
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
    section = (
        f"{_bench.machine('numpy', 'pandas', more=f'{PYCANON} with its own pandas')}\n\n{table}"
    )
    print(section)
    if not asked.no_write:
        _bench.replace("peer_cases", section, PAGE)


if __name__ == "__main__":
    main()
