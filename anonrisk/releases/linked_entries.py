"""Classes of several tables as numbers, joined by the persons or the values that they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core import radix
from anonrisk.counts import bounds
from anonrisk.engines import refusals
from anonrisk.engines.numpy.whole_person import counts_of_alike
from anonrisk.engines.renumber import closed_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.arrays import Integers


@dataclass(frozen=True)
class Entries:
    """The classes of one table with the values that join it, each pair once."""

    classes: Integers
    n_classes: int
    # A person, or a combination of shared values.
    links: Integers
    # The persons of each pair, and its rows.
    persons: Integers
    rows: Integers


def with_absent(entries: Entries, n_links: int) -> Entries:
    """Give persons without a row in the table a class of their own there."""
    absent = np.setdiff1d(np.arange(n_links), entries.links)
    ones = np.ones(len(absent), dtype=np.int64)
    return Entries(
        np.concatenate((entries.classes, entries.n_classes * ones)),
        entries.n_classes + 1,
        np.concatenate((entries.links, absent)),
        np.concatenate((entries.persons, ones)),
        np.concatenate((entries.rows, ones)),
    )


def counts_of_whole(entries: Sequence[Entries]) -> Integers:
    """Count the persons who have the same rows in every table."""
    before = np.cumsum([0, *(one.n_classes for one in entries)])
    classes = np.concatenate(
        [one.classes + first for one, first in zip(entries, before, strict=False)]
    )
    links = np.concatenate([one.links for one in entries])
    order = np.lexsort((classes, links))
    rows = np.concatenate([one.rows for one in entries])
    return counts_of_alike(links[order], classes[order], int(before[-1]), rows[order])


def combined(tables: Sequence[Entries], n_links: int) -> tuple[Integers, Integers, Integers]:
    """Give each combination of classes that a link has in common, the link, and its persons."""
    degrees = np.stack([np.bincount(one.links, minlength=n_links) for one in tables])
    total = degrees.astype(np.float64).prod(axis=0).sum()
    refusals.check_combinations(float(total), bounds.MAX_COMBINATIONS)
    everywhere = degrees.min(axis=0) > 0
    first, *others = tables
    there = everywhere[first.links]
    keys, bound = first.classes[there], first.n_classes
    links, persons = first.links[there], first.persons[there]
    for one, degree in zip(others, degrees[1:], strict=True):
        order = np.argsort(one.links, kind="stable")
        times = degree[links]
        place = np.arange(times.sum()) - np.repeat(np.cumsum(times) - times, times)
        entry = order[np.repeat((np.cumsum(degree) - degree)[links], times) + place]
        columns = ((np.repeat(keys, times), bound), (one.classes[entry], one.n_classes))
        keys, bound = radix.keys_of(columns, closed_up)
        links = np.repeat(links, times)
        persons = np.minimum(np.repeat(persons, times), one.persons[entry])
    return keys, links, persons


def matching_rows(tables: Sequence[Entries], n_links: int) -> tuple[list[int], list[int]]:
    """Count the rows of each table, and those whose link every other table has."""
    there = np.stack([np.bincount(one.links, minlength=n_links) > 0 for one in tables])
    everywhere = there.sum(axis=0) == len(tables)
    every = [int(one.rows.sum()) for one in tables]
    return every, [int(one.rows[everywhere[one.links]].sum()) for one in tables]
