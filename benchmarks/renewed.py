"""How often renewed identifiers are seen, and how often ordinary coming and going is taken for it.

Persons leave by chance and as many come, all with classes and values drawn alike; then a share of
the unit's values is renewed, and one person goes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import anonrisk  # noqa: F401 - registers .anon

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench

TIMES = "\N{MULTIPLICATION SIGN}"
PAGE = _bench.ROOT / "docs" / "differencing.md"


class World(NamedTuple):
    """Two releases, and what became of the persons between them."""

    persons: int
    classes: int
    values: int
    churn: float
    months: int
    # Shares of the persons whose identifier is renewed, each a column of the table.
    renewed: tuple[float, ...] = (0.0, 0.1, 0.3, 0.5, 0.8)


def people(rng: np.random.Generator, world: World, n: int, first: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "q": rng.integers(0, world.classes, n),
            "s": rng.integers(0, world.values, n),
            "who": np.arange(first, first + n),
        }
    )


def seen(world: World, share: float, seed: int) -> bool:
    """Simulate two releases and compare them."""
    rng = np.random.default_rng([seed, *map(int, world[:3])])
    before = people(rng, world, world.persons, 0)
    gone = rng.random(world.persons) < 1 - (1 - world.churn) ** world.months
    new = people(rng, world, int(gone.sum()), world.persons)
    now = pd.concat([before[~gone], new], ignore_index=True)
    chosen = rng.permutation(len(now))[: round(share * len(now))]
    now.loc[chosen, "who"] += 10 * world.persons
    now = now.drop(index=chosen[:1].tolist())
    sensitive = "s" if world.values > 1 else None
    compared = now.anon.compare("q", previous=before, unit="who", sensitive=sensitive)
    return bool(compared.renewed)


WORLDS = tuple(
    World(*table, churn, months)
    for table in ((500, 20, 1), (500, 20, 4), (4_000, 100, 4), (10_000, 360, 8))
    for churn, months in ((0.01, 1), (0.05, 1), (0.05, 6))
)


def main() -> None:
    asked = _bench.options(__doc__, 100)
    shares = WORLDS[0].renewed
    header = (
        "persons",
        "classes",
        "values",
        "left meanwhile",
        *(f"{share:.0%}" for share in shares),
    )
    lines = [f"| {' | '.join(header)} |", f"| {' | '.join(['--:'] * len(header))} |"]
    for world in WORLDS:
        number = [sum(seen(world, share, i) for i in range(asked.records)) for share in shares]
        left = f"{world.churn:.0%}" + (f" {TIMES} {world.months}" if world.months > 1 else "")
        row = (f"{world.persons:,}", f"{world.classes:,}", f"{world.values:,}", left)
        lines.append(f"| {' | '.join((*row, *map(str, number)))} |")
        print(lines[-1], flush=True)
    title = f"Seen in how many of {asked.records:,} simulations, by the share that was renewed:"
    if not asked.no_write:
        _bench.replace("renewed", "\n".join((title, "", *lines)), PAGE)


if __name__ == "__main__":
    main()
