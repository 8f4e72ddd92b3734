"""The keyed counts of releases in small numbers: persons, classes and values, each with its own."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.engines.renumber import numbered
from anonrisk.errors import StateError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Booleans, Integers
    from anonrisk.measures.counts.keyed import KeyedCounts
    from anonrisk.pseudonyms.encoding import Hashes

# The number of what is not there.
NONE = -1
# At least 2^2 slots a hash: one in eight then shares its slot with another.
_SLOT_BITS = 2


def interned(hashes: Hashes) -> tuple[Integers, int]:
    """Return equal hashes equal numbers from 0 on, and how many there are.

    Examples
    --------
    >>> interned(np.array([[7, 1], [5, 1], [7, 2], [7, 1]], dtype=np.uint64))
    (array([0, 1, 2, 0]), 3)
    """
    (numbers,), every = numbered_alike([hashes])
    return numbers, len(every)


def numbered_alike(parts: Sequence[Hashes]) -> tuple[list[Integers], Hashes]:
    """Return the numbers of hashes, part by part, and the hash of each number."""
    hashes = np.concatenate(parts)
    numbers, firsts = numbered(hashes[:, 0])
    every = np.empty((len(firsts), 2), dtype=np.uint64)
    every[:, 0] = firsts
    every[numbers, 1] = hashes[:, 1]
    if not (hashes[:, 1] == every[numbers, 1]).all():
        # Two hashes that share 64 bits: rare, unless they are made up.
        seconds = numbered(hashes[:, 1])[0]
        numbers, pairs = numbered(numbers * len(hashes) + seconds)
        every = np.empty((len(pairs), 2), dtype=np.uint64)
        every[numbers] = hashes
    return np.split(numbers, np.cumsum([len(item) for item in parts])[:-1]), every


class NumberedHashes:
    """Hashes that are numbered once, to be compared with those of many releases."""

    def __init__(self, hashes: Hashes) -> None:
        (self._own,), self._every = numbered_alike([hashes])
        n = len(self._every)
        # By their first bits most have a slot to themselves; the others are looked for by numbers.
        self._shift = np.uint64(max(64 - n.bit_length() - _SLOT_BITS, 0))
        slots = self._every[:, 0] >> self._shift
        self._slots = np.zeros(1 << (64 - int(self._shift)), dtype=np.int64)
        self._slots[slots] = np.arange(n)
        self._hidden = np.flatnonzero(self._slots[slots] != np.arange(n))

    def number(self, others: Sequence[Hashes]) -> tuple[list[Integers], Integers, int]:
        """Return the numbers of others, release by release, and of these, and how many there are.

        Examples
        --------
        >>> these = np.array([[7, 1], [5, 1], [7, 1]], dtype=np.uint64)
        >>> NumberedHashes(these).number([np.array([[9, 1], [5, 1]], dtype=np.uint64)])
        ([array([2, 1])], array([0, 1, 0]), 3)
        """
        numbers = [self._slots[item[:, 0] >> self._shift] for item in others]
        unseen = [
            np.flatnonzero(
                (self._every[number, 0] != item[:, 0]) | (self._every[number, 1] != item[:, 1])
            )
            for number, item in zip(numbers, others, strict=True)
        ]
        rest = [item[some] for item, some in zip(others, unseen, strict=True)]
        (_, *rest_numbers), every = numbered_alike([self._every[self._hidden], *rest])
        n = len(self._every) + len(every) - len(self._hidden)
        meant = np.concatenate((self._hidden, np.arange(len(self._every), n)))
        for number, some, item in zip(numbers, unseen, rest_numbers, strict=True):
            number[some] = meant[item]
        return numbers, self._own, n


def summed(key: Integers, hashes: Hashes, n: int) -> Hashes:
    """Add up the hashes of each key, whatever their order: equal sets have equal sums.

    Different sets have different ones, as far as random numbers of 128 bits go. Takes keys below n,
    (n_hashes,), and hashes, (n_hashes, 2); the sums are (n, 2).
    """
    sums = np.zeros((n, 2), dtype=np.uint64)
    if all_different(key):
        sums[key] = hashes
        return sums
    order = np.argsort(key, kind="stable")
    placed = key[order]
    first = np.flatnonzero(np.diff(placed, prepend=NONE))
    sums[placed[first]] = np.add.reduceat(hashes[order], first, axis=0)
    return sums


def all_different(key: Integers) -> bool:
    """Return whether no key occurs twice."""
    return not (np.bincount(key) > 1).any()


def value_sums(values: Hashes, person: Integers, n: int) -> Hashes:
    """Add up the different values of each person, (n, 2); `person` is that of each value."""
    if not all_different(person):
        # A value that somebody has in several classes is one value.
        distinct, n_values = interned(values)
        _, once = np.unique(person * n_values + distinct, return_index=True)
        person, values = person[once], values[once]
    return summed(person, values, n)


def entries_of(counts: KeyedCounts, name: Name) -> Integers:
    """Return the entry that each value belongs to; both are sorted in one way."""
    values = counts.values[name]
    hashes = [(values.classes, counts.classes)]
    if values.persons is not None and counts.persons is not None:
        hashes.append((values.persons, counts.persons))
    if all(np.array_equal(*both) for both in hashes):
        return np.arange(len(values.rows))
    new = np.zeros(len(values.rows), dtype=bool)
    new[:1] = True
    for item, _ in hashes:
        new[1:] |= (item[1:] != item[:-1]).any(axis=1)
    if any(not np.array_equal(item[new], entries) for item, entries in hashes):
        raise StateError(f"the values of column {name!r} are not those of the classes beside them")
    return np.cumsum(new) - 1


def added_up(key: Integers, times: Integers, n: int) -> Integers:
    """Return how often each key below n occurs, if each occurs so many times."""
    return np.bincount(key, weights=times, minlength=n).astype(np.int64)


@dataclass(frozen=True)
class SharedNumbers:
    """What the numbers of several releases stand for: hashes, (n, 2), but of persons."""

    # 0 where there is no unit.
    n_persons: int
    classes: Hashes
    values: dict[Name, Hashes]
    # The number of a missing value, where there is one and it counts as none.
    blanks: dict[Name, int]


@dataclass(frozen=True)
class NumberedValues:
    """The values of a sensitive column, (n_values,): that of an entry, in so many rows."""

    entry: Integers
    value: Integers
    rows: Integers


@dataclass(frozen=True)
class NumberedRelease:
    """The entries of a release, (n_entries,): a class and, where there is a unit, a person."""

    numbers: SharedNumbers
    cls: Integers
    person: Integers
    rows: Integers
    values: dict[Name, NumberedValues]

    def known(self, name: Name) -> NumberedValues:
        """Return the values of a column, without missing ones where these count as none."""
        own = self.values[name]
        kept = own.value != self.numbers.blanks.get(name, NONE)
        return NumberedValues(own.entry[kept], own.value[kept], own.rows[kept])

    @cached_property
    def alike(self) -> Integers:
        """(n_persons,): one number for all with the same entries and values, 0 for who has none."""
        keys = [self.cls, self.rows]
        for name, own in self.values.items():
            if len(own.entry) == len(self.cls):
                value, rows = np.empty((2, len(self.cls)), dtype=np.int64)
                value[own.entry], rows[own.entry] = own.value, own.rows
                keys += [value, rows]
            else:
                hashes = so_often(self.numbers.values[name][own.value], own.rows)
                keys.append(interned(summed(own.entry, hashes, len(self.cls)))[0])
        result = np.zeros(self.numbers.n_persons, dtype=np.int64)
        if all_different(self.person):
            result[self.person] = combined(keys) + 1
            return result
        # Of several entries random numbers are added up, one for each kind of entry.
        entry, every = numbered(combined(keys))
        drawn = np.random.default_rng(0).integers(2**64, size=(len(every), 2), dtype=np.uint64)
        sums = summed(self.person, drawn[entry], len(result))
        there = np.flatnonzero(np.bincount(self.person))
        result[there] = interned(sums[there])[0] + 1
        return result

    def of(self, place: Integers) -> NumberedRelease:
        """Return the entries of persons who have a place, who are numbered by it."""
        person = place[self.person]
        kept = np.flatnonzero(person != NONE)
        at = np.full(len(person), NONE)
        at[kept] = np.arange(len(kept))
        values = {}
        for name, own in self.values.items():
            some = np.flatnonzero(at[own.entry] != NONE)
            values[name] = NumberedValues(at[own.entry[some]], own.value[some], own.rows[some])
        return replace(
            self, cls=self.cls[kept], person=person[kept], rows=self.rows[kept], values=values
        )


def so_often(hashes: Hashes, rows: Integers) -> Hashes:
    """Return hashes as sums of as many as there are rows."""
    return hashes * rows.astype(np.uint64)[:, None]


def combined(keys: Sequence[Integers]) -> Integers:
    """Return one number for each combination of numbers."""
    result, most = keys[0], int(keys[0].max(initial=0)) + 1
    for item in keys[1:]:
        key, n = item, int(item.max(initial=0)) + 1
        if most * n > np.iinfo(np.int64).max:
            (result, every), (key, others) = numbered(result), numbered(key)
            most, n = len(every), len(others)
        result, most = result * n + key, most * n
    return result


def numbered_releases(
    releases: Sequence[KeyedCounts], blanks: Mapping[Name, Hashes] | None = None
) -> list[NumberedRelease]:
    """Number the persons, classes and values of releases with the same unit and columns alike.

    With `blanks`, what a missing value of each column hashes to, these count as none.
    """
    *earlier, last = releases
    persons, n_persons = [np.empty(0, dtype=np.int64)] * len(releases), 0
    if last.persons is not None:
        others = [item.persons for item in earlier if item.persons is not None]
        numbers, own, n_persons = NumberedHashes(last.persons).number(others)
        persons = [*numbers, own]
    # Entries are sorted by class: each is numbered once.
    first = [_first_of_runs(item.classes) for item in releases]
    runs, classes = numbered_alike(
        [item.classes[new] for item, new in zip(releases, first, strict=True)]
    )
    columns = {
        name: numbered_alike([item.values[name].values for item in releases])
        for name in last.sensitive
    }
    values = {name: every for name, (_, every) in columns.items()}
    places = {
        name: np.flatnonzero((values[name] == blank).all(axis=1))
        for name, blank in (blanks or {}).items()
    }
    missing = {name: int(place[0]) for name, place in places.items() if len(place)}
    shared = SharedNumbers(n_persons, classes, values, missing)
    return [
        NumberedRelease(
            shared,
            runs[i][np.cumsum(first[i]) - 1],
            persons[i],
            item.rows,
            {
                name: NumberedValues(entries_of(item, name), number[i], item.values[name].rows)
                for name, (number, _) in columns.items()
            },
        )
        for i, item in enumerate(releases)
    ]


def _first_of_runs(hashes: Hashes) -> Booleans:
    """Return which hashes are others than those before them."""
    new = np.ones(len(hashes), dtype=bool)
    new[1:] = (hashes[1:, 0] != hashes[:-1, 0]) | (hashes[1:, 1] != hashes[:-1, 1])
    return new


def together(releases: Sequence[NumberedRelease]) -> NumberedRelease:
    """Return who was in which class, with which values, in any of several releases by person.

    Numbers of rows say nothing: who was published twice has no more.
    """
    numbers = releases[0].numbers
    person, cls = _ever(numbers, [(item.person, item.cls) for item in releases])
    n_classes = len(numbers.classes)
    values = {}
    for name, hashes in numbers.values.items():
        own = [item.values[name] for item in releases]
        who, key = _ever(
            numbers,
            [
                (item.person[held.entry], item.cls[held.entry] * len(hashes) + held.value)
                for item, held in zip(releases, own, strict=True)
            ],
        )
        of_class, value = np.divmod(key, len(hashes))
        pairs = np.concatenate((person * n_classes + cls, who * n_classes + of_class))
        entry = numbered(pairs)[0][len(cls) :]
        values[name] = NumberedValues(entry, value, np.ones_like(value))
    return NumberedRelease(numbers, cls, person, np.ones_like(cls), values)


def _ever(
    numbers: SharedNumbers, parts: Sequence[tuple[Integers, Integers]]
) -> tuple[Integers, Integers]:
    """Return each pair of a person and a number that any part has, once."""
    last = np.full(numbers.n_persons, NONE)
    new = []
    for person, number in parts:
        # From release to release most persons stay as they are, and need not be looked for.
        other = np.flatnonzero(last[person] != number)
        new.append((person[other], number[other]))
        last[person] = number
    persons, others = (np.concatenate(item) for item in zip(*new, strict=True))
    pair, every = numbered(combined([persons, others]))
    once = np.empty(len(every), dtype=np.int64)
    once[pair] = np.arange(len(pair))
    return persons[once], others[once]
