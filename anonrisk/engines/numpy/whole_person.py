"""Whole persons from codes (T14): alike are those who have the same rows, each as often.

Nothing is hashed without a second look: numbers are equal where what they stand for is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core import radix
from anonrisk.engines.numpy.count import Encoded, histogram, runs_of
from anonrisk.engines.renumber import closed_up
from anonrisk.measures.counts.class_sizes import ClassCounts

if TYPE_CHECKING:
    from anonrisk.core.types import Integers
    from anonrisk.engines.numpy.table import CodedTable
    from anonrisk.measures.counts.question import Question


def whole_persons(table: CodedTable, question: Question) -> ClassCounts:
    """Count the persons who have the same rows, all of them together."""
    encoded = Encoded.of(table, question)
    unit = encoded.unit
    assert unit is not None  # noqa: S101
    classes, bound = encoded.keys(question.qid)
    units, kept = unit.values.astype(np.int64), encoded.kept(question.qid)
    if kept is not None:
        classes, units = classes[kept], units[kept]
    sizes, kinds = histogram(alike(units, unit.cardinality, classes, bound))
    return ClassCounts(
        sizes,
        kinds,
        qid=question.qid,
        unit=question.unit,
        missing=question.missing,
        n_rows=len(classes),
        n_dropped=encoded.n_rows - len(classes),
        whole_persons=True,
    )


def alike(units: Integers, n_units: int, classes: Integers, bound: int) -> Integers:
    """Count the persons of each kind; a row is the number of a person and that of a class."""
    classes, bound = radix.with_room(classes, bound, n_units, closed_up)
    rows = units * bound + classes
    rows.sort()
    starts = runs_of(rows)
    times = np.diff(starts, append=len(rows))
    return counts_of_alike(rows[starts] // bound, rows[starts] % bound, bound, times)


def counts_of_alike(persons: Integers, classes: Integers, bound: int, times: Integers) -> Integers:
    """Count the persons of each kind, from the rows that a person has in a class, in that order."""
    each = (classes, bound), (times, int(times.max(initial=0)) + 1)
    numbers = radix.keys_of(each, closed_up)[0]
    return _counts_of_equal(persons, *closed_up(numbers))


def _counts_of_equal(persons: Integers, numbers: Integers, n_numbers: int) -> Integers:
    """Count the persons whose numbers are the same; `persons` ascend, everybody's in one order.

    Two neighbours become one number again and again, until a person has one left. Each round halves
    the numbers, so that all of them together cost no more than the first two. Persons with other
    rows, or with more of them, never come to the same number in the same round: a pair has a number
    of its own, and so has one without a neighbour.
    """
    results = [np.zeros(0, dtype=np.int64)]
    while len(numbers):
        starts = runs_of(persons)
        lengths = np.diff(starts, append=len(persons))
        results.append(np.bincount(closed_up(numbers[starts[lengths == 1]])[0]))
        several = np.repeat(lengths > 1, lengths)
        persons, numbers, lengths = persons[several], numbers[several], lengths[lengths > 1]
        place = np.arange(len(persons)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        left = np.flatnonzero(place % 2 == 0)
        # The last of an odd number has no neighbour, which is a number of its own.
        right = np.zeros(len(left), dtype=np.int64)
        paired = np.append(place[1:] > 0, False)[left]
        right[paired] = numbers[left[paired] + 1] + 1
        pairs = radix.keys_of(((numbers[left], n_numbers), (right, n_numbers + 1)), closed_up)[0]
        numbers, n_numbers = closed_up(pairs)
        persons = persons[left]
    return np.concatenate(results)
