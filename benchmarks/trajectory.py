"""Unicity against one groupby over (user, item); pseudonyms against Series.map by a dict."""

from __future__ import annotations

import hashlib
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from anonrisk.pseudonyms.keys import Key
from benchmarks import _bench
from benchmarks._bench import Row, compared

if TYPE_CHECKING:
    from collections.abc import Callable

RECORDS = 1_000_000
USERS = 50_000
KEY = Key.from_bytes(hashlib.sha256(b"anonrisk example, not a secret").digest())


def taps(n_records: int, n_items: int, exponent: float) -> pd.DataFrame:
    """Make records of users at stations under Zipf's law."""
    rng = np.random.default_rng(0)
    share = np.arange(1, n_items + 1) ** -exponent
    n_users = max(n_records * USERS // RECORDS, 1)
    return pd.DataFrame(
        {
            "user": rng.integers(0, n_users, n_records),
            "item": rng.choice(n_items, n_records, p=share / share.sum()),
            "time": rng.permutation(n_records),
        }
    )


def unicity(n_records: int) -> list[Row]:
    rows = []
    for n_items, exponent in ((2_500, 0.63), (300, 1.1)):
        frame = taps(n_records, n_items, exponent)
        what = f"{n_items:,} items, exponent {exponent}"

        def points(frame: pd.DataFrame = frame) -> object:
            return anonrisk.trajectory(frame, "item", unit="user", length=4, seed=1)

        def in_order(frame: pd.DataFrame = frame) -> object:
            return anonrisk.trajectory(
                frame, "item", unit="user", length=4, time="time", ordered=True, seed=1
            )

        def runs(frame: pd.DataFrame = frame) -> object:
            return anonrisk.trajectory(
                frame,
                "item",
                unit="user",
                length=4,
                time="time",
                points="consecutive",
                ordered=True,
            )

        times = _bench.interleaved(
            {"any": points, "ordered": in_order, "runs": runs, "groupby": partial(_groupby, frame)},
            rounds=3,
            warm_up=1,
        )
        rows += [
            compared(f"1 to 4 points of each user, {what}", times["any"], times["groupby"], 30),
            compared(f"the same in order, {what}", times["ordered"], times["groupby"]),
            compared(f"every run of 1 to 4 records, {what}", times["runs"], times["groupby"]),
        ]
    return rows


def growth(n_records: int) -> list[Row]:
    """Four times the records and users: a ratio that does not rise is a cost that is linear."""
    rows = []
    for n in (n_records, 4 * n_records):
        frame = taps(n, 2_500, 0.63)
        measure = partial(anonrisk.trajectory, frame, "item", unit="user", length=4, seed=1)
        groupby = partial(_groupby, frame)
        times = _bench.interleaved({"ours": measure, "groupby": groupby}, rounds=3, warm_up=1)
        title = f"1 to 4 points of each user, {n:,} records"
        rows.append(compared(title, times["ours"], times["groupby"], 30))
    return rows


def _groupby(frame: pd.DataFrame) -> object:
    return frame.groupby(["user", "item"], sort=False).size()


def pseudonyms(n_records: int) -> list[Row]:
    rng = np.random.default_rng(0)
    picked = rng.integers(0, 100_000, n_records)
    texts = pd.Series([f"patient {i:06}" for i in range(100_000)])
    numbers = pd.Series(rng.integers(0, 2**50, 100_000))
    rows = []
    for what, values, bar in (("texts", texts, 1.5), ("integers", numbers, 1.5)):
        frame = pd.DataFrame({"who": values[picked].reset_index(drop=True)})
        distinct = pd.DataFrame({"who": values.unique()})
        made = anonrisk.pseudonymize(distinct, "who", key=KEY)["who"]
        mapping = dict(zip(distinct["who"].tolist(), made.tolist(), strict=True))
        contestants: dict[str, Callable[[], object]] = {
            "ours": partial(anonrisk.pseudonymize, frame, "who", key=KEY),
            "map": partial(frame["who"].map, mapping),
        }
        times = _bench.interleaved(contestants, rounds=3, warm_up=1)
        title = f"{n_records:,} {what}, 100,000 different, pseudonyms against map"
        rows.append(compared(title, times["ours"], times["map"], bar))
    return rows


def main() -> None:
    asked = _bench.options(__doc__, records=RECORDS)
    _bench.report(
        "trajectory",
        f"Traces of {asked.records:,} records on pandas, {USERS:,} users a million, and pseudonyms",
        _bench.machine("numpy", "pandas", "pyarrow"),
        [*unicity(asked.records), *growth(asked.records), *pseudonyms(10 * asked.records)],
        write=not asked.no_write,
    )


if __name__ == "__main__":
    main()
