"""Doubts about contents: what they cost on pandas, and how often they are needless on real tables.

`python benchmarks/doubts.py` prints the cost; given files of CSV, also how many of their columns
block, with drafted roles and with every column called insensitive, and how many planted columns of
identifiers are found.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from statistics import median
from unittest.mock import patch

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from test_doubts import MADE, OTHERS, column_of  # type: ignore[import-not-found]

from anonrisk import Policy
from anonrisk.policy import check
from anonrisk.policy.doubts import Examined

RECORDS = 1_000_000
ROUNDS = 9


def table(n: int) -> pd.DataFrame:
    """Make ten columns: texts, whole numbers, an amount and a measurement."""
    rng = np.random.default_rng(1)

    def texts(prefix: str, n_values: int) -> pd.Series:
        words = np.array([f"{prefix}{i}" for i in range(n_values)], dtype=object)
        return pd.Series(words[rng.integers(0, n_values, n)]).astype("str")

    return pd.DataFrame(
        {
            "zip": texts("z", 4000),
            "age": rng.integers(0, 100, n),
            "sex": texts("s", 2),
            "region": texts("region ", 12),
            "job": texts("job ", 300),
            "diagnosis": texts("d", 80),
            "income": np.round(rng.lognormal(10, 0.4, n)),
            "visits": rng.poisson(3, n),
            "score": rng.normal(size=n).round(2),
            "code": texts("code ", 1000),
        }
    )


def cost() -> None:
    """Compare a check of k, l and t with the same check without its look at contents."""
    frame = table(RECORDS)
    policy = Policy(
        quasi=["zip", "age", "sex", "region", "job"],
        sensitive=["diagnosis", "income"],
        insensitive=["visits", "score", "code"],
        k=5,
        ldiv={"l": 2},
        tcloseness={"t": 0.2, "distance": "equal"},
    )
    clocks = {"processor": time.process_time, "wall": time.perf_counter}

    def timed() -> list[float]:
        started = [clock() for clock in clocks.values()]
        policy.check(frame)
        return [clock() - start for clock, start in zip(clocks.values(), started, strict=True)]

    shares = []
    for _ in range(ROUNDS):
        whole = timed()
        with patch.object(check, "examined", lambda *_, **__: Examined()):
            without = timed()
        shares.append([1 - b / a for a, b in zip(whole, without, strict=True)])
    for name, share in zip(clocks, map(median, zip(*shares, strict=True)), strict=True):
        print(f"{RECORDS:,} x 10 on pandas: {share:.0%} of the {name} time of a check")


def blocking(frame: pd.DataFrame, policy: Policy) -> list[tuple[str, str]]:
    """List column and doubt of what blocks."""
    findings = policy.check(frame).findings
    mine = [f for f in findings if f.budget == "contents" and f.status == "could_not_assess"]
    return [(f.parameters["column"], f.parameters["doubt"]) for f in mine]


def accuracy(paths: list[str]) -> None:
    """Count needless blocks, and planted columns that are found."""
    n_columns = n_drafted = n_insensitive = 0
    planted = dict.fromkeys((*MADE, *OTHERS), 0)
    for path in paths:
        frame = pd.read_csv(path)
        drafted = Policy.draft(frame, time_limit=5)
        roles = drafted.roles
        kept = frame.drop(columns=list(roles.direct))
        written = {**drafted.to_dict(), "reviewed": True}
        by_draft = blocking(kept, Policy.from_dict(written))
        first, *others = map(str, kept.columns)
        harsh = blocking(kept, Policy(quasi=first, insensitive=others, k=1)) if others else []
        n_columns += len(kept.columns)
        n_drafted, n_insensitive = n_drafted + len(by_draft), n_insensitive + len(harsh)
        print(f"{Path(path).name}: {len(kept.columns)} columns, {by_draft}, insensitive {harsh}")
        n = min(len(frame), 2000)
        for kind, make in {**MADE, **OTHERS}.items():
            cells = column_of(make, n, 0.3, seed=len(path))
            random.Random(1).shuffle(cells)
            with_one = kept.head(n).assign(planted=cells)
            policy = Policy(quasi=first, insensitive=[*others, "planted"], k=1)
            planted[kind] += any(column == "planted" for column, _ in blocking(with_one, policy))
    n_tables = len(paths)
    print(f"{n_columns} columns: {n_drafted} block by their draft, {n_insensitive} as insensitive")
    missed = {kind: n_tables - n for kind, n in planted.items() if n < n_tables}
    print(f"planted in {n_tables} tables, a third of the rows: missed {missed or 'none'}")


if __name__ == "__main__":
    cost()
    if sys.argv[1:]:
        accuracy(sys.argv[1:])
