"""What it costs to hold persons back: simulated years of releases, every month judged by the gate.

Persons come, leave and change class by chance. Of each year: how many releases went out, and how
many persons were held back, in percent of those in the table at its end. A month of which nothing
can go out is counted, and is no pass.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from anonrisk.engines import engine_for
from anonrisk.measures.counts.change import RowsOfPersons
from anonrisk.pseudonyms.encoding import encoded, person_hashes
from anonrisk.releases.compare.compare import compare_all
from anonrisk.releases.compare.hold_back import HeldBack, TableHistory, hold_back
from benchmarks import _bench

K = 5
PAGE = _bench.ROOT / "docs" / "releases.md"
KEY = anonrisk.keys.Key(hashlib.sha256(b"anonrisk example, not a secret").digest())


class World(NamedTuple):
    """A table whose persons change, and how often it is published."""

    persons: int = 10_000
    classes: int = 360
    churn: float = 0.01
    moves: float = 0.0
    erased: float = 0.0
    leavers: str = "keep"
    every: int = 1
    months: int = 12


class Year(NamedTuple):
    """What came of it."""

    releases: int
    passed: int
    last: HeldBack


def people(rng: np.random.Generator, world: World, shares: Any, first: int, n: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "q": rng.choice(world.classes, n, p=shares),
            "who": np.arange(first, first + n),
            "s": rng.integers(0, 8, n),
        }
    )


def year(world: World, seed: int) -> Year:
    """Simulate one, publishing what is left after holding persons back."""
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(world.classes, 5.0))
    living = people(rng, world, shares, 0, world.persons)
    first, before = world.persons, None
    states: list[anonrisk.State] = []
    passed, n_releases = 0, 0
    erased: list[int] = []
    for month in range(world.months):
        if month:
            gone = rng.random(len(living)) < world.churn
            left = living["who"][gone].to_numpy()
            erased += left[rng.random(len(left)) < world.erased].tolist()
            new = people(rng, world, shares, first, int(gone.sum()))
            first += len(new)
            living = pd.concat([living[~gone], new], ignore_index=True)
            moved = rng.random(len(living)) < world.moves
            living.loc[moved, "q"] = rng.choice(world.classes, int(moved.sum()), p=shares)
        if month % world.every:
            continue
        n_releases += 1
        current = living.anon.state("q", unit="who", sensitive="s", key=KEY)
        held = hold_back(
            [TableHistory(tuple(state.counts for state in states), current.counts)],
            k=K,
            keep_leavers=world.leavers == "keep",
            erased=person_hashes(KEY, encoded(erased, "who"))
            if erased
            else np.empty((0, 2), dtype=np.uint64),
        )
        engine = engine_for(living)
        rows = engine.keep(living, RowsOfPersons("who", KEY, held.held, others=True))
        if len(held.kept):
            again = engine.keep(before, RowsOfPersons("who", KEY, held.kept))
            rows = pd.concat([rows, again], ignore_index=True)
        if not len(rows):
            continue
        state = rows.anon.state("q", unit="who", sensitive="s", key=KEY)
        worst = max((item.at_risk(K) for item in compare_all(states, state)), default=0)
        if worst == 0 and state.k >= K and state.ldiv("s") >= 2:
            passed += 1
            states.append(state)
            before, erased = rows, []
    return Year(n_releases, passed, held)


WORLDS = (
    World(),
    World(churn=0.05),
    World(churn=0.05, every=3),
    World(erased=0.05),
    World(moves=0.005),
    World(leavers="drop"),
    World(leavers="drop", every=3),
    World(persons=4_000, classes=60, churn=0.02, moves=0.002, erased=0.02),
    World(persons=100_000, churn=0.02, moves=0.002, erased=0.02),
    World(persons=100_000, churn=0.02, moves=0.002, erased=0.02, months=24),
)


def main() -> None:
    asked = _bench.options(__doc__, 10)
    header = (
        *("persons", "classes", "leave a month", "change", "erased", "leavers", "published"),
        *("passed", "waiting", "outdated", "withheld", "listed after leaving"),
    )
    lines = [f"| {' | '.join(header)} |", f"| {' | '.join(['--:'] * len(header))} |"]
    for world in WORLDS:
        large = world.persons > 10_000
        years = [
            year(world, seed)
            for seed in range(max(asked.records // 10, 1) if large else asked.records)
        ]
        shares = [
            np.mean([getattr(each.last, what) / each.last.n_persons for each in years])
            for what in ("waiting", "outdated", "withheld", "left")
        ]
        passed, n = sum(each.passed for each in years), sum(each.releases for each in years)
        row = (
            f"{world.persons:,}",
            f"{world.classes:,}",
            *(f"{share:.1%}" for share in (world.churn, world.moves)),
            f"{world.erased:.0%} of leavers",
            world.leavers,
            ("monthly" if world.every == 1 else f"every {world.every} months")
            + (", 2 years" if world.months == 24 else ""),
            f"{passed:,} of {n:,}",
            *(f"{share:.1%}" for share in shares),
        )
        lines.append(f"| {' | '.join(row)} |")
        print(lines[-1], flush=True)
    title = f"k = {K}, {asked.records:,} simulated years of each (1/10 as many of 100,000 persons)"
    if not asked.no_write:
        _bench.replace("mend", "\n".join((title, "", *lines)), PAGE)


if __name__ == "__main__":
    main()
