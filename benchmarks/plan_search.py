"""How long a plan is searched for where nobody sets a limit, in processor time, against one k.

Tables of the shape of two that once took minutes: UCI Adult without hierarchies, and a survey of
6,366 women with a t that only warns. With --data PATH, Adult itself (``tables/arx_adult.csv``).
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks._bench import Row

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds of processor time that somebody waits without being asked.
AT_MOST = 10.0
WHOLE = anonrisk.PlanOptions(method="full-domain")
ADULT = {
    "age": 72,
    "workclass": 7,
    "education": 16,
    "marital_status": 7,
    "occupation": 14,
    "race": 5,
    "sex": 2,
    "native_country": 41,
}
SURVEY = {"rate": 5, "age": 6, "years": 7, "children": 6, "educ": 6, "work": 6, "partner": 6}


def drawn(n_records: int, values: dict[str, int], seed: int) -> pd.DataFrame:
    """Draw columns with so many values each, the first ones common, the last ones rare."""
    random = np.random.default_rng(seed)
    columns: dict[str, Any] = {}
    for name, n in values.items():
        share = 1 / np.arange(1, n + 1)
        codes = random.choice(n, n_records, p=share / share.sum())
        columns[name] = codes if n > 50 or name in SURVEY else np.char.add("v", codes.astype(str))
    return pd.DataFrame(columns)


def processor_times(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Time calls in turn, by what they take of the processor."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.process_time()
            call()
            times[name].append(time.process_time() - start)
    return times


def row(
    what: str, plan: Callable[[], object], k: Callable[[], object], rounds: int, *, bar: bool = True
) -> Row:
    """Compare a plan with one k of the same table."""
    times = processor_times({"plan": plan, "k": k}, rounds)
    ours, one = median(times["plan"]), median(times["k"])
    shown = _bench.seconds(ours), _bench.seconds(one)
    barred = (f"≤ {AT_MOST:.0f} s", ours <= AT_MOST) if bar else ()
    return Row(what, *shown, ours / one, *barred)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with tables/arx_adult.csv")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-write", action="store_true", help="leave docs/benchmarks.md alone")
    asked = parser.parse_args()
    tables = {"of Adult's shape": drawn(30_162, ADULT, 1)}
    if asked.data is not None:
        tables["UCI Adult"] = pd.read_csv(asked.data / "tables" / "arx_adult.csv")[list(ADULT)]
    rows = []
    for name, frame in tables.items():
        plan = partial(anonrisk.plan, frame, list(ADULT), 5, options=WHOLE)
        k = partial(anonrisk.k, frame, list(ADULT))
        rows.append(row(f"full-domain, 30,162 records {name}", plan, k, asked.rounds))
    survey = drawn(6_366, SURVEY, 2)
    survey["faith"] = np.random.default_rng(3).integers(0, 4, len(survey))
    policy = anonrisk.Policy(
        quasi=list(SURVEY),
        sensitive="faith",
        missing_sensitive="value",
        k=5,
        tcloseness={"t": 0.2, "distance": "equal", "severity": "warn"},
    )
    k = partial(anonrisk.k, survey, list(SURVEY))
    what = "auto, 6,366 records of a survey, a t that only warns"
    rows.append(row(what, partial(anonrisk.plan, survey, policy=policy), k, asked.rounds))
    made = anonrisk.plan(survey, policy=policy)
    # Nine plans, and only for who asks for them.
    rows.append(row(f"{what}: its prices", partial(made.prices, survey), k, 1, bar=False))
    _bench.report(
        "plan_search",
        "Searching plans, in processor time, against one k",
        _bench.machine("numpy", "pandas"),
        rows,
        write=not asked.no_write,
    )


if __name__ == "__main__":
    main()
