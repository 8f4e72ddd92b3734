"""What the check of a release costs after one earlier release and after many, in processor time.

The releases before are published to audiences that share nothing, so that only the last check
compares them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from anonrisk import Ledger, Policy, Release
from anonrisk.keys import Key

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench

PAGE = _bench.ROOT / "docs" / "differencing.md"
MONTHS = (2, 6, 12, 24)
CHURN = 0.02
POLICY = Policy(
    quasi=["zip", "sex"],
    sensitive="illness",
    unit="who",
    missing_sensitive="error",
    k=5,
    # Everybody may be exposed: what is measured is the time.
    differencing={"k": 5, "at_most": 10**9},
)


def people(rng: np.random.Generator, first: int, n: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "zip": rng.integers(0, 180, n),
            "sex": rng.integers(0, 2, n),
            "illness": rng.integers(0, 8, n),
            "who": np.arange(first, first + n),
        }
    )


def costs(n: int) -> list[float]:
    """Return the processor time of the check in each of the months."""
    rng = np.random.default_rng(0)
    folder = Path(tempfile.mkdtemp())
    ledger = Ledger(folder / "ledger.db", key=Key.generate(), new=True)
    table, first, times = people(rng, 0, n), n, []
    for month in range(1, MONTHS[-1] + 1):
        if month > 1:
            gone = rng.random(len(table)) < CHURN
            new = people(rng, first, int(gone.sum()))
            table, first = pd.concat([table[~gone], new], ignore_index=True), first + len(new)
        name, others = f"month {month}", [f"audience {i}" for i in range(1, month)]
        if month in MONTHS:
            release = Release({"t": table}, POLICY, name=name)
            start = time.process_time()
            release.check(ledger).raise_for_status()
            times.append(time.process_time() - start)
        audience = f"audience {month}"
        alone = Release({"t": table}, POLICY, name=name, audience=audience, separate=others)
        alone.publish(ledger, by="A. Officer")
    return times


def main() -> None:
    asked = _bench.options(__doc__, 100_000)
    times = costs(asked.records)
    lines = ["| month | processor time of the check | of that in month 2 |", "| --: | --: | --: |"]
    for month, seconds in zip(MONTHS, times, strict=True):
        lines.append(f"| {month} | {seconds:.1f} s | {seconds / times[0]:.1f} |")
    title = f"{asked.records:,} persons, of whom {CHURN:.0%} leave and as many come every month:"
    section = "\n".join((title, "", *lines))
    print(section)
    if not asked.no_write:
        _bench.replace("months", section, PAGE)


if __name__ == "__main__":
    main()
