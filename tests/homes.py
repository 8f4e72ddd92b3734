"""Worlds of homes to draw a table and another group from, and how an interval holds.

Nothing in `anonrisk.predict.clusters` was chosen in these worlds, but for what is done at the
table's size and beyond: it was mended where intervals missed, or were too wide, in some of them.
"""

from __future__ import annotations

import numpy as np

from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.counts.population import ClusteredClasses
from anonrisk.predict import sample_risk, table
from anonrisk.predict.population import Sample, bounds

RATIOS = (0.1, 0.25, 0.5, 1, 1.5, 2)
MOST_HOMES = 350 * 4


def _homes(rng, shares):
    sizes = rng.choice(len(shares), MOST_HOMES, p=np.divide(shares, np.sum(shares))) + 1
    return np.repeat(np.arange(len(sizes)), sizes)


def _areas(rng):
    """Persons share one of 150 areas with their home, and one of 12 values is their own."""
    home = _homes(rng, [1, 1, 1, 1, 1])
    return home, rng.integers(0, 150, home[-1] + 1)[home] * 12 + rng.integers(0, 12, len(home))


def _villages(rng):
    """Villages of unequal size are shared, an age in five years and a sex are not."""
    home = _homes(rng, [35, 30, 13, 13, 6, 3])
    areas = np.random.default_rng(1).pareto(1.2, 300) + 0.2
    area = np.searchsorted(np.cumsum(areas) / areas.sum(), rng.random(home[-1] + 1))
    return home, (area[home] * 20 + rng.integers(0, 19, len(home))) * 2 + (
        rng.random(len(home)) < 0.5
    )


def _tenants(rng):
    """Area, kind of house and the number of people at home are shared, the year of birth is not."""
    home = _homes(rng, [3, 3, 2, 2, 1, 1])
    size = np.bincount(home)
    shared = (rng.integers(0, 20, len(size)) * 3 + rng.integers(0, 3, len(size))) * 7 + size
    return home, shared[home] * 95 + rng.integers(0, 95, len(home))


def _siblings(rng):
    """Area and origin are shared, and an age in ten years often is."""
    home = _homes(rng, [1, 1, 1, 1, 1, 1])
    n = home[-1] + 1
    shared = rng.integers(0, 40, n) * 6 + rng.integers(0, 6, n)
    age = np.where(
        rng.random(len(home)) < 0.6, rng.integers(0, 9, n)[home], rng.integers(0, 9, len(home))
    )
    return home, (shared[home] * 9 + age) * 2 + rng.integers(0, 2, len(home))


def _few_classes(rng):
    """Twelve areas, two sexes and three ages: hardly anybody is alone but in a small group."""
    home = _homes(rng, [1, 1, 1, 1, 1, 1])
    return home, rng.integers(0, 12, home[-1] + 1)[home] * 6 + rng.integers(0, 6, len(home))


def _nearly_all_differ(rng):
    home = _homes(rng, [2, 2, 1, 1, 1, 1])
    return home, rng.integers(0, 60, home[-1] + 1)[home] * 400 + rng.integers(0, 400, len(home))


def _large_families(rng):
    """A tenth of the homes have ten people, the others one; areas are small."""
    size = np.where(rng.random(MOST_HOMES) < 0.1, 10, 1)
    home = np.repeat(np.arange(len(size)), size)
    return home, rng.integers(0, 1000, len(size))[home] * 3 + rng.integers(0, 3, len(home))


def _nursing_homes(rng):
    """Homes of one to four, and one of 50 has 40 people."""
    size = np.where(rng.random(MOST_HOMES) < 0.02, 40, rng.integers(1, 5, MOST_HOMES))
    home = np.repeat(np.arange(len(size)), size)
    return home, rng.integers(0, 100, len(size))[home] * 20 + rng.integers(0, 20, len(home))


WORLDS = {
    "areas": _areas,
    "villages": _villages,
    "tenants": _tenants,
    "siblings": _siblings,
    "few classes": _few_classes,
    "nearly all differ": _nearly_all_differ,
    "large families": _large_families,
    "nursing homes": _nursing_homes,
}


def real(table, cluster, qids):
    """Return a world whose homes are those of a table, in any order."""
    table = table.sort_values(cluster, kind="stable")
    code = table.groupby(qids, dropna=False).ngroup().to_numpy()
    size = table.groupby(cluster).size().to_numpy()
    first = np.cumsum(size) - size

    def world(rng):
        chosen = rng.permutation(len(size))[:MOST_HOMES]
        home = np.repeat(np.arange(len(chosen)), size[chosen])
        before = np.cumsum(size[chosen]) - size[chosen]
        return home, code[(first[chosen] - before)[home] + np.arange(len(home))]

    return world


def clustered(home, code):
    """Count the classes of codes with the homes that they come from."""
    parts, members = np.unique(np.stack([code, home]), axis=1, return_counts=True)
    class_of = np.unique(parts[0], return_inverse=True)[1]
    sizes, classes = np.unique(np.bincount(class_of, members).astype(int), return_counts=True)
    cluster_of = np.unique(parts[1], return_inverse=True)[1]
    return ClusteredClasses(ClassCounts(sizes, classes), class_of, cluster_of, members, "home")


def coverage(worlds, ratios, runs, sizes=(1,), n_homes=350, seed=7):
    """Rows of world, ratio, class size, hits, hits if persons are drawn singly, width and ideal.

    Another group has other homes, up to `ratio` times as many people as the table. The ideal
    is the width of the middle 95% of the distance between the estimate and what it has.
    """
    rng = np.random.default_rng(seed)
    for name, world in worlds.items():
        found = {}
        for _ in range(runs):
            home, code = world(rng)
            other = home >= n_homes
            counted = clustered(home[~other], code[~other])
            ends = np.cumsum(np.bincount(home[other] - n_homes))
            for ratio in ratios:
                k = int(ends[ends <= ratio * counted.n].max())
                truth = np.unique(code[other][:k], return_counts=True)[1]
                for known in (counted, counted.sizes):
                    told = table.classes(
                        known, k, max(sizes), "auto", method="exact", n_values=None
                    )
                    for j in sizes:
                        low, high = told.interval(j)
                        n = int((truth == j).sum())
                        row = (low <= n <= high, high - low, told.classes[j - 1] - n)
                        found.setdefault((ratio, j), ([], []))[known is not counted].append(row)
        for (ratio, j), rows in found.items():
            (held, widths, away), (singly, *_) = (np.array(each).T for each in rows)
            low, high = np.quantile(away, [0.025, 0.975])
            yield name, ratio, j, int(held.sum()), int(singly.sum()), widths.mean(), high - low


def bounded(home, code, chosen):
    """Whether all risks of a sample of homes are below their bounds, and those of persons singly.

    Homes and codes are those of the population, `chosen` tells who is in the sample.
    """
    counted = clustered(home[chosen], code[chosen])
    known = sample_risk.Sampling(counted.n / len(home), len(home))
    own, size = np.unique(code[chosen], return_counts=True)
    risks = 1 / np.bincount(code)[own]
    parts = np.bincount(counted.class_of)
    kind = np.unique(np.stack([size, parts]), axis=1, return_inverse=True)[1].ravel()
    bound = sample_risk.of_clusters(counted, known).journalist.risks[kind]
    singly = sample_risk.of_sample(counted.sizes, known).journalist.risks
    singly = singly[np.unique(size, return_inverse=True)[1]]
    return (risks <= bound).all(), (risks <= singly).all()


def population(home, code, chosen):
    """Whether bounds of a population hold the uniques, singletons and matches; their widths.

    As in `bounded`; and what those of persons drawn singly do.
    """
    counted = clustered(home[chosen], code[chosen])
    size = np.bincount(code)[code]
    alone = size[chosen & np.isin(code, np.flatnonzero(np.bincount(code[chosen]) == 1))]
    share = (alone == 1).mean() if len(alone) else 0
    truths = ((size == 1).sum(), share, (1 / alone).sum())
    sample = Sample.of(counted.sizes, len(home))
    for known in (counted, None):
        found = bounds(sample, known)
        told = (found.uniques, found.singletons_unique or (0, 0), found.matches)
        held = [low <= truth <= high for (low, high), truth in zip(told, truths, strict=True)]
        yield [*held, (found.uniques.high - found.uniques.low) / len(home), found.widened > 1]
