"""Worlds to draw a table and another group from, and how often an interval then holds.

None of them is one that a constant of `anonrisk.predict.another_group` was chosen in: those were
even, lognormal, Dirichlet, gamma, two-level and Zipf's laws with exponents 1 and 1.5.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.stats import binom

from anonrisk import ClassSizes, datasets

N = 1_000
GROUPS = (50, 100, 250, 500, 750, 1_000, 1_250, 1_500, 2_000)
# A cell is one world and one group size.
LEAST, SIGNIFICANCE = 0.93, 0.01
MOST, FROM_MEAN = 0.99, 20


def _shares(chances):
    """One by one from a distribution, of which there is no end."""

    def draw(rng, runs, people):
        below = np.cumsum(chances) / np.sum(chances)
        return np.searchsorted(below, rng.random((runs, people)))

    return draw


def people(codes):
    """From a finite population, nobody twice: the group has nobody of the table."""

    def draw(rng, runs, people):
        return np.array([rng.choice(codes, people, replace=False) for _ in range(runs)])

    return draw


def _columns(*shares):
    joint = np.array([1.0])
    for share in shares:
        joint = np.multiply.outer(joint, share).ravel()
    return _shares(joint)


def _correlated(rng, runs, people):
    """Height and weight, rounded, which go together, and a birth month that does not."""
    x, y = rng.normal(size=(2, runs, people))
    height, weight = np.round(170 + 9 * x), np.round((70 + 11 * (0.8 * x + 0.6 * y)) / 2)
    month = rng.integers(0, 12, (runs, people))
    return ((height * 1_000 + weight) * 12 + month).astype(np.int64)


def codes_of(table, columns):
    return table.groupby(columns, sort=False).ngroup().to_numpy()


@cache
def worlds():
    rng = np.random.default_rng(20)
    ages = np.exp(-4e-4 * (np.exp(0.1 * np.arange(95)) - 1))
    areas = rng.pareto(1.2, 400) + 0.2
    half_dense = np.r_[rng.random(30) + 0.5, np.full(40_000, 30 / 40_000)]
    registry = datasets.citizens(60_000, seed=3)
    registry["year"] = registry["date_of_birth"].astype(str).str[:4]
    patients = datasets.hospital(10_000, seed=4)
    patients["year"] = patients["date_of_birth"].astype(str).str[:4]
    return {
        "independent": _columns(ages, [0.49, 0.51], 1 / np.arange(1, 31.0)),
        "correlated": _correlated,
        "zipf": _shares(np.arange(1, 20_001.0) ** -0.8),
        "geography": _columns(areas, ages[::5], [0.5, 0.5]),
        "twins": people(np.repeat(np.arange(5_000), 2)),
        "few classes": _shares(rng.beta(2, 5, 60)),
        "nearly all differ": _shares(np.exp(rng.normal(size=300_000))),
        "half dense": _shares(half_dense),
        "registry": people(codes_of(registry, ["pc4", "year", "gender"])),
        "towns": people(codes_of(registry, ["town", "year"])),
        "patients": people(codes_of(patients, ["year", "gender", "diagnosis"])),
    }


def histograms(codes):
    """How many classes of each size each row of codes has: a row a run, a column a size."""
    runs, people = codes.shape
    ordered = np.sort(codes, axis=1)
    first = np.ones((runs, people + 1), dtype=bool)
    first[:, 1:people] = ordered[:, 1:] != ordered[:, :-1]
    place = np.flatnonzero(first)
    sizes, (row, column) = np.diff(place), np.divmod(place[:-1], people + 1)
    sizes, row = sizes[column < people], row[column < people]
    most = sizes.max() + 1
    return np.bincount(row * most + sizes, minlength=runs * most).reshape(runs, most)


def some(*names):
    return {name: worlds()[name] for name in names}


def coverage(drawn, groups, runs, ends, sizes=(1,), n=N, seed=7):
    """How often the interval held: rows of world, group size, class size, mean, hits and width.

    `drawn` are worlds by name, and `ends(sizes of a table, group size, class sizes)` gives an
    interval for each class size.
    """
    rng = np.random.default_rng(seed)
    for name, draw in drawn.items():
        codes = draw(rng, runs, n + max(groups))
        tables = [ClassSizes(np.flatnonzero(row), row[row > 0]) for row in histograms(codes[:, :n])]
        for k in groups:
            truth = histograms(codes[:, n : n + k])
            truth = np.pad(truth, ((0, 0), (0, max(sizes))))[:, list(sizes)]
            found = np.array([[tuple(i) for i in ends(each, k, sizes)] for each in tables])
            held = (found[:, :, 0] <= truth) & (truth <= found[:, :, 1])
            width = (found[:, :, 1] - found[:, :, 0]).mean(axis=0)
            for i, j in enumerate(sizes):
                yield name, k, j, truth[:, i].mean(), held[:, i].sum(), width[i]


def too_low(cells, runs):
    """Cells that are below 93%, by a test that errs in one of a hundred such lists."""
    chance = SIGNIFICANCE / len(cells)
    return [cell for cell in cells if binom.cdf(cell[4], runs, LEAST) < chance]


def too_wide(cells, runs):
    """Worlds and group sizes where intervals of numbers that vary hold more often than 99%.

    Of fewer than 20 classes, or fewer than 20 people outside them, no interval of whole numbers
    need hold as seldom as 95%.
    """
    vary = [c for c in cells if c[3] >= FROM_MEAN <= c[1] - c[2] * c[3]]
    found = []
    for place in (0, 1):
        for value in dict.fromkeys(cell[place] for cell in vary):
            hits = [cell[4] for cell in vary if cell[place] == value]
            if np.mean(hits) > MOST * runs:
                found.append((value, np.mean(hits) / runs))
    return found
