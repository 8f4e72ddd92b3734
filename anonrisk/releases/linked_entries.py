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
    # Who is in several pairs of one class: the place of a pair, ascending, and the person.
    again: tuple[Integers, Integers] | None = None


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


def combined(tables: Sequence[Entries], n_links: int) -> tuple[Integers, list[Integers]]:
    """Give each combination of classes that a link has in common, and its pairs in each table."""
    degrees = np.stack([np.bincount(one.links, minlength=n_links) for one in tables])
    total = degrees.astype(np.float64).prod(axis=0).sum()
    refusals.check_combinations(float(total), bounds.MAX_COMBINATIONS)
    everywhere = degrees.min(axis=0) > 0
    first, *others = tables
    places = [np.flatnonzero(everywhere[first.links])]
    keys, bound = first.classes[places[0]], first.n_classes
    for one, degree in zip(others, degrees[1:], strict=True):
        times, starts = degree[first.links[places[0]]], np.cumsum(degree) - degree
        order = np.argsort(one.links, kind="stable")
        entry = order[_runs(starts[first.links[places[0]]], times)]
        columns = ((np.repeat(keys, times), bound), (one.classes[entry], one.n_classes))
        keys, bound = radix.keys_of(columns, closed_up)
        places = [*(np.repeat(place, times) for place in places), entry]
    return keys, places


def _runs(starts: Integers, times: Integers) -> Integers:
    """Give so many places from each start on."""
    before = np.cumsum(times) - times
    return np.asarray(np.arange(times.sum()) + np.repeat(starts - before, times), dtype=np.int64)


def most_persons(tables: Sequence[Entries], keys: Integers, places: list[Integers]) -> Integers:
    """Count for each combination how many can have it at the most, by every value that matches.

    Who matches by several values is one person in each table all the same.
    """
    numbers, n_keys = closed_up(keys)
    persons = [one.persons[place] for one, place in zip(tables, places, strict=True)]
    found = _sums(numbers, n_keys, np.minimum.reduce(persons))
    for one, place, own in zip(tables, places, persons, strict=True):
        if one.again is not None and len(one.again[0]):
            several = _sums(numbers, n_keys, own) - _counted_again(one, numbers, n_keys, place)
            found = np.minimum(found, several)
    return found


def _counted_again(one: Entries, numbers: Integers, n_keys: int, place: Integers) -> Integers:
    """Count how often persons of a table are in a combination a second time, or a later one."""
    assert one.again is not None  # noqa: S101
    pairs, who = one.again
    degree = np.bincount(pairs, minlength=len(one.links))
    times = degree[place]
    refusals.check_combinations(float(times.sum()), bounds.MAX_COMBINATIONS)
    persons = who[_runs((np.cumsum(degree) - degree)[place], times)]
    combination = np.repeat(numbers, times)
    columns = (combination, n_keys), (persons, int(who.max()) + 1)
    different, n_different = closed_up(radix.keys_of(columns, closed_up)[0])
    once = np.empty(n_different, dtype=np.int64)
    once[different] = combination
    every, each = (np.bincount(x, minlength=n_keys) for x in (combination, once))
    return np.asarray(every - each, dtype=np.int64)


def _sums(numbers: Integers, n_keys: int, parts: Integers) -> Integers:
    found = np.zeros(n_keys, dtype=np.int64)
    np.add.at(found, numbers, parts)
    return found


def matching_rows(tables: Sequence[Entries], n_links: int) -> tuple[list[int], list[int]]:
    """Count the rows of each table, and those whose link every other table has."""
    there = np.stack([np.bincount(one.links, minlength=n_links) > 0 for one in tables])
    everywhere = there.sum(axis=0) == len(tables)
    every = [int(one.rows.sum()) for one in tables]
    return every, [int(one.rows[everywhere[one.links]].sum()) for one in tables]
