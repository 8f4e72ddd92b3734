"""Predictions against what one would do without them: a histogram, a simulation."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import anonrisk
from anonrisk.predict import Distribution, singletons

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks._bench import Row, compared

CLASSES = 10_000_000
GROUPS = 20_000


def ages() -> Distribution:
    """Make 95 ages with a thin tail, as a population has them."""
    x = np.arange(95)
    p = (1 + 0.25 * np.exp(-(((x - 45) / 14) ** 2))) * np.exp(-4e-4 * (np.exp(0.1 * x) - 1))
    return Distribution.from_probabilities(p / p.sum())


def moments(n_classes: int) -> list[Row]:
    """Mean and variance from class sizes, against collapsing those to their histogram."""
    rng = np.random.default_rng(0)
    sizes = np.minimum(rng.pareto(1.0, n_classes).astype(np.int64) + 1, 1_000_000)
    group = n_classes // 10

    def replaced() -> None:
        found = singletons(Distribution.from_counts(sizes), group)
        assert found.variance > 0

    def drawn() -> None:
        values, number = np.unique(sizes, return_counts=True)
        found = anonrisk.ClassSizes(values, number).predict_singletons(group, draw="subgroup")
        assert found.variance > 0

    times = _bench.interleaved(
        {
            "replaced": replaced,
            "drawn": drawn,
            "unique": lambda: np.unique(sizes, return_counts=True),
        }
    )
    return [
        compared("mean and variance, with replacement", times["replaced"], times["unique"], 3.0),
        compared("mean and variance, records of a table", times["drawn"], times["unique"], 3.0),
    ]


def law() -> Row:
    """The exact law of 600 people among 95 ages, against simulating such groups."""
    known = ages()
    p = np.repeat(known.p, known.values)
    rng = np.random.default_rng(1)
    times = _bench.interleaved(
        {
            "exact": lambda: singletons(known, 600).pmf(),
            "simulated": lambda: (rng.multinomial(600, p, GROUPS) == 1).sum(axis=1),
        }
    )
    return compared("exact law, 95 ages, group of 600", times["exact"], times["simulated"], 1.0)


def main() -> None:
    asked = _bench.options(__doc__, records=CLASSES)
    _bench.report(
        "predict",
        f"Predictions, {asked.records:,} classes (np.unique) and {GROUPS:,} groups (multinomial)",
        _bench.machine("numpy", "scipy"),
        [*moments(asked.records), law()],
        write=not asked.no_write,
    )


if __name__ == "__main__":
    main()
