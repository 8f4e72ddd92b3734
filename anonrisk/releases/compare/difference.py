"""From the keyed counts of two releases to what an attacker learns who holds both.

Whoever knows which people are in each release, and in which class, can tell apart no two persons
who have the same class before and the same class now (or are in none): exchange their values, and
both releases stay as they are. These groups are therefore all that hides a person, and a value is
safe where its group has several. The cost is that of a few sorts, whatever the classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.engines.renumber import Numbering, numbered
from anonrisk.errors import EmptyTableError, StateError
from anonrisk.pseudonyms.encoding import agreed
from anonrisk.releases.compare.comparison import (
    ADDED,
    CHANGES,
    MOVED,
    REMOVED,
    STAYED,
    Comparison,
    by_size,
    changed_classes,
    changed_persons,
)
from anonrisk.releases.compare.renewed import chance_by_churn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.arrays import Booleans, Integers
    from anonrisk.core.columns import Name
    from anonrisk.measures.counts.keyed import KeyedCounts
    from anonrisk.pseudonyms.encoding import Hashes


# The number of what is not there.
NONE = -1


def interned(hashes: Hashes) -> tuple[Integers, int]:
    """Return equal hashes equal numbers from 0 on, and how many there are.

    Examples
    --------
    >>> interned(np.array([[7, 1], [5, 1], [7, 2], [7, 1]], dtype=np.uint64))
    (array([0, 1, 2, 0]), 3)
    """
    first, result = numbered(hashes[:, 0])
    item = np.empty(len(result), dtype=np.uint64)
    item[first] = hashes[:, 1]
    if (hashes[:, 1] == item[first]).all():
        return first, len(result)
    # Two hashes that share 64 bits: rare, unless they are made up.
    last = numbered(hashes[:, 1])[0]
    both, pairs = numbered(first * len(hashes) + last)
    return both, len(pairs)


class NumberedHashes:
    """Hashes that are numbered once, to be compared with those of many releases."""

    def __init__(self, hashes: Hashes) -> None:
        self._hashes = hashes
        self._firsts = Numbering(hashes[:, 0])
        self._seconds = np.empty(len(self._firsts.keys), dtype=np.uint64)
        self._seconds[self._firsts.codes] = hashes[:, 1]
        self._by_firsts = bool((hashes[:, 1] == self._seconds[self._firsts.codes]).all())

    def number(self, others: Hashes) -> tuple[Integers, Integers, int]:
        """Return the numbers of others and of these, and how many there are.

        Examples
        --------
        >>> these = np.array([[7, 1], [5, 1], [7, 1]], dtype=np.uint64)
        >>> NumberedHashes(these).number(np.array([[9, 1], [5, 1]], dtype=np.uint64))
        (array([2, 1]), array([0, 1, 0]), 3)
        """
        numbers = self._firsts.look_up(others[:, 0])
        known = numbers != NONE
        if not self._by_firsts or (self._seconds[numbers[known]] != others[known, 1]).any():
            both, n = interned(np.concatenate((others, self._hashes)))
            return both[: len(others)], both[len(others) :], n
        new, n_new = interned(others[~known])
        numbers[~known] = new + len(self._seconds)
        return numbers, self._firsts.codes, len(self._seconds) + n_new


def summed(key: Integers, hashes: Hashes, n: int) -> Hashes:
    """Add up the hashes of each key, whatever their order: equal sets have equal sums.

    Different sets have different ones, as far as random numbers of 128 bits go. Takes keys below n,
    (n_hashes,), and hashes, (n_hashes, 2); the sums are (n, 2).
    """
    sums = np.zeros((n, 2), dtype=np.uint64)
    if _all_different(key):
        sums[key] = hashes
        return sums
    order = np.argsort(key, kind="stable")
    placed = key[order]
    first = np.flatnonzero(np.diff(placed, prepend=NONE))
    sums[placed[first]] = np.add.reduceat(hashes[order], first, axis=0)
    return sums


def _all_different(key: Integers) -> bool:
    return not (np.bincount(key) > 1).any()


def value_sums(counts: KeyedCounts, person: Integers, name: Name, n: int) -> Hashes:
    """Add up the different values of each person, (n, 2); `person` is that of each value."""
    values = counts.values[name].values
    if not _all_different(person):
        # A value that somebody has in several classes is one value.
        distinct, n_values = interned(values)
        _, once = np.unique(person * n_values + distinct, return_index=True)
        person, values = person[once], values[once]
    return summed(person, values, n)


def all_alike(group: Integers, value: Integers) -> Booleans:
    """Return for each member whether all of the group have its value."""
    item = np.empty(group.max(initial=0) + 1, dtype=value.dtype)
    item[group] = value
    differs = np.zeros(len(item), dtype=bool)
    differs[group[value != item[group]]] = True
    return ~differs[group]


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


def added_by(key: Integers, rows: Integers, n: int, *, by_entry: bool = False) -> Integers:
    """Add up rows by key, or count entries, each of which is a person."""
    weights = None if by_entry else rows
    return np.bincount(key, weights=weights, minlength=n).astype(np.int64)


def net_difference(before: KeyedCounts, keyed_counts: KeyedCounts) -> Comparison:
    """Compare the sizes of classes, and where values are known their numbers in each class.

    A class that has one value more and another one less has lost somebody and gained somebody,
    though its size be the same: so many at least came and went. A record has one value, so that
    all who have a value more add up; persons may have several, and only the most count.
    """
    classes, n = interned(np.concatenate((before.classes, keyed_counts.classes)))
    places = np.split(classes, [len(before.rows)])
    sizes = [
        added_by(source, counts.rows, n, by_entry=counts.persons is not None)
        for source, counts in zip(places, (before, keyed_counts), strict=True)
    ]
    columns = [_net_values((before, keyed_counts), places, name, n) for name in before.sensitive]
    gone, come = np.maximum(sizes[0] - sizes[1], 0), np.maximum(sizes[1] - sizes[0], 0)
    for column in columns:
        gone, come = np.maximum(gone, column.certain[0]), np.maximum(come, column.certain[1])
    groups = np.concatenate((gone, come))
    # Each record by its group: all that went from a class, or all that came to it.
    whose = np.repeat(np.arange(2 * n), groups)
    group, least = groups[whose], np.concatenate(sizes)[whose]
    kind = np.where(whose < n, CHANGES.index(REMOVED), CHANGES.index(ADDED))
    learned = {
        name: np.concatenate((column.learned(0, gone), column.learned(1, come)))[whose]
        for name, column in zip(before.sensitive, columns, strict=True)
    }
    anything = np.logical_or.reduce([*learned.values(), np.zeros(len(whose), dtype=bool)])
    return Comparison(
        qid=keyed_counts.qid,
        qid_before=before.qid,
        unit=keyed_counts.unit,
        net=True,
        n_before=int(sizes[0].sum()),
        n_now=int(sizes[1].sum()),
        n_both=None,
        n_classes_both=int(((sizes[0] > 0) & (sizes[1] > 0)).sum()),
        n_added=int(come.sum()),
        n_removed=int(gone.sum()),
        n_split=0,
        new_singletons=int(((sizes[1] == 1) & (sizes[0] != 1)).sum()),
        classes=changed_classes(come, gone),
        persons=changed_persons(group * len(CHANGES) + kind, least, anything),
        learned={name: by_size(group[known]) for name, known in learned.items()},
        missing=keyed_counts.missing,
    )


@dataclass(frozen=True)
class _NetValues:
    """Of one sensitive column, how many records more or fewer each value has in each class."""

    cls: Integers
    # For each pair of class and value: records less, records more; and those of each release.
    changes: tuple[Integers, Integers]
    there: tuple[Integers, Integers]
    n_classes: int
    of_persons: bool

    @cached_property
    def certain(self) -> tuple[Integers, Integers]:
        """By class, how many went and how many came for certain."""
        less, more = np.zeros((2, self.n_classes), dtype=np.int64)
        for result, change in zip((less, more), self.changes, strict=True):
            (np.maximum if self.of_persons else np.add).at(result, self.cls, change)
        return less, more

    def learned(self, which: int, changed: Integers) -> Booleans:
        """Return in which classes all who changed have one value, and the class has others."""
        n_values = np.bincount(self.cls[self.changes[which] > 0], minlength=self.n_classes)
        in_class = np.bincount(self.cls[self.there[which] > 0], minlength=self.n_classes)
        known: Booleans = (n_values == 1) & (self.certain[which] == changed) & (in_class > 1)
        return known


def _net_values(
    releases: tuple[KeyedCounts, KeyedCounts], places: list[Integers], name: Name, n_classes: int
) -> _NetValues:
    values, n_values = interned(
        np.concatenate([release.values[name].values for release in releases])
    )
    cls = np.concatenate(
        [source[entries_of(item, name)] for item, source in zip(releases, places, strict=True)]
    )
    pair, result = numbered(cls * n_values + values)
    parts = np.split(pair, [len(releases[0].values[name].rows)])
    old, new = (
        added_by(part, item.values[name].rows, len(result), by_entry=item.persons is not None)
        for part, item in zip(parts, releases, strict=True)
    )
    changes = (np.maximum(old - new, 0), np.maximum(new - old, 0))
    return _NetValues(
        result // n_values, changes, (old, new), n_classes, releases[0].persons is not None
    )


_ADDED, _REMOVED, _STAYED, _MOVED = map(CHANGES.index, (ADDED, REMOVED, STAYED, MOVED))
# Somebody added to a class who has others in both releases is not in one group with a newcomer.
_ALSO_ELSEWHERE = len(CHANGES)
# Nor is somebody who stayed, with more rows there than before, or with fewer.
_OTHER_ROWS = 2 * len(CHANGES)
_N_KINDS = 3 * len(CHANGES)


def compare_counts(
    before: KeyedCounts,
    keyed_counts: KeyedCounts,
    *,
    of_several: bool = False,
    persons: NumberedHashes | None = None,
) -> Comparison:
    """Compare the keyed counts of two releases, made under one key.

    Where nobody is in both, the unit may be a pseudonym that changed, and says nothing: net changes
    are counted then, as without one.

    Parameters
    ----------
    before, now : KeyedCounts
        With the same unit, sensitive columns and way to take missing values; the quasi-identifier
        may be another one, if there is a unit.
    of_several : bool
        Whether `before` is made of several releases, so that a row may be counted in each of them
        and numbers of rows say nothing.
    persons : NumberedHashes, optional
        The persons of the newer release, for who compares it with several.

    Returns
    -------
    Comparison
        Without any hash.
    """
    _check(before, keyed_counts)
    if before.persons is None or keyed_counts.persons is None:
        return net_difference(before, keyed_counts)
    numbers = (persons or NumberedHashes(keyed_counts.persons)).number(before.persons)
    pairs = _Pairs.of(before, keyed_counts, *numbers, by_rows=not of_several)
    result = _by_person if (pairs.in_before & pairs.in_now).any() else _net_by_person
    return result(pairs)


def of_one_table(before: KeyedCounts, keyed_counts: KeyedCounts) -> bool:
    """Return whether the columns are the same, and somebody is in both."""
    if before.persons is None or keyed_counts.persons is None:
        return False
    columns = [(item.qid, item.unit, item.sensitive) for item in (before, keyed_counts)]
    if columns[0] != columns[1]:
        return False
    n_each = [interned(item)[1] for item in (before.persons, keyed_counts.persons)]
    return interned(np.concatenate((before.persons, keyed_counts.persons)))[1] < sum(n_each)


def together(releases: Sequence[KeyedCounts]) -> KeyedCounts:
    """Return who was in which class, with which values, in any of several releases by person.

    They have the same columns. Numbers of rows say nothing: who was published twice has no more.
    """
    first, *rest = releases
    if not rest:
        return first
    values = {
        name: replace(first.values[name], **_news([item.values[name] for item in releases], _WITH))
        for name in first.sensitive
    }
    more = replace(first, **_news(releases, _BESIDE), values=values, n_dropped=0)
    return first.merge(replace(more, n_rows=int(more.rows.sum())))


# The hashes of an entry, and of a value.
_BESIDE = ("classes", "persons")
_WITH = (*_BESIDE, "values")


def _news(parts: Sequence[Any], columns: Sequence[str]) -> dict[str, Any]:
    """Return what no part has before, but for the first part: (n, 2) of each column, and rows."""
    every = {name: np.concatenate([getattr(item, name) for item in parts]) for name in columns}
    # Each kind has random numbers of its own, so that sums are equal where all of them are.
    key, _ = interned(np.add.reduce(list(every.values())))
    # Numbers grow by one wherever something appears for the first time.
    new = np.diff(np.maximum.accumulate(key), prepend=NONE) > 0
    new[: len(parts[0].rows)] = False
    rows = np.concatenate([item.rows for item in parts])
    return {**{name: hashes[new] for name, hashes in every.items()}, "rows": rows[new]}


def _net_by_person(pairs: _Pairs) -> Comparison:
    n_before, n_now = int(pairs.in_before.sum()), int(pairs.in_now.sum())
    return replace(net_difference(*pairs.counts), n_before=n_before, n_now=n_now, n_both=0)


def _check(before: KeyedCounts, keyed_counts: KeyedCounts) -> None:
    for what, old, new in (
        ("unit", before.unit, keyed_counts.unit),
        ("sensitive columns", before.sensitive, keyed_counts.sensitive),
        ("missing", before.missing, keyed_counts.missing),
    ):
        if old != new:
            raise StateError(
                f"releases are compared by the same {what}: it was {old!r} and is {new!r} now"
            )
    if before.unit is None and before.qid != keyed_counts.qid:
        raise StateError(
            "without a unit, persons cannot be matched across different quasi-identifiers: it was "
            f"{list(before.qid)} and is {list(keyed_counts.qid)} now; give unit= for both"
        )
    for name in sorted(before.kinds.keys() & keyed_counts.kinds.keys(), key=str):
        agreed(name, before.kinds[name], keyed_counts.kinds[name])
    if not len(before.rows) or not len(keyed_counts.rows):
        which = "earlier" if len(keyed_counts.rows) else "newer"
        raise EmptyTableError(f"the {which} release has no record to compare")


# ---- by person ----------------------------------------------------------------------------------


def _by_person(pairs: _Pairs) -> Comparison:
    before, current = pairs.counts
    groups = _Groups.of(pairs)
    sides = {
        name: (_Side.of(pairs, 0, name), _Side.of(pairs, 1, name)) for name in before.sensitive
    }
    learned = {name: groups.learned(both) for name, both in sides.items()}
    # One number for the size of a group and what became of it, so that the least is of both.
    coded = groups.size * len(CHANGES) + groups.kind % len(CHANGES)
    smallest = pairs.least_of(groups.person[groups.changed], coded[groups.changed])
    is_in = smallest != NONE
    anything = np.logical_or.reduce([*learned.values(), np.zeros(pairs.n_persons, dtype=bool)])
    in_both = pairs.in_before & pairs.in_now
    return Comparison(
        qid=current.qid,
        qid_before=before.qid,
        unit=current.unit,
        net=False,
        n_before=int(pairs.in_before.sum()),
        n_now=int(pairs.in_now.sum()),
        n_both=int(in_both.sum()),
        n_classes_both=int(((pairs.size_before > 0) & (pairs.size_now > 0)).sum()),
        n_added=int((~pairs.before).sum()),
        n_removed=int((~pairs.now).sum()),
        n_split=pairs.n_split,
        new_singletons=int(((pairs.least_now == 1) & (pairs.least_before != 1)).sum()),
        classes=changed_classes(
            np.bincount(pairs.cls[~pairs.before], minlength=pairs.n_classes),
            np.bincount(pairs.cls[~pairs.now], minlength=pairs.n_classes),
        ),
        persons=changed_persons(smallest[is_in], pairs.least[is_in], anything[is_in]),
        learned={name: by_size(smallest[known] // len(CHANGES)) for name, known in learned.items()},
        changed_values={
            name: int((in_both & (old.sums != new.sums).any(axis=1)).sum())
            for name, (old, new) in sides.items()
        },
        missing=current.missing,
        by_churn=_by_churn(pairs, list(sides.values())),
    )


def _by_churn(pairs: _Pairs, sides: list[tuple[_Side, _Side]]) -> float:
    """Ask how alike leavers and newcomers are: by their classes, and by their values as well.

    Values that change from release to release tell nothing of who is who, and classes alone may be
    too few; each is asked, and the chance of the less likely one doubled.
    """
    came = pairs.in_now & ~pairs.in_before
    # Half of a hash is enough to count by.
    classes = [sums[:, 0] for sums in pairs.class_sums]
    profiles = [classes]
    if sides:
        # Sums of random hashes of either kind: equal where the classes and all values are.
        profiles.append([sum((side[i].sums[:, 0] for side in sides), classes[i]) for i in (0, 1)])
    chances = []
    for before, current in profiles:
        number, result = numbered(np.concatenate((before[pairs.in_before], current[came])))
        earlier, newcomers = np.split(number, [int(pairs.in_before.sum())])
        gone = earlier[~pairs.in_now[pairs.in_before]]
        counts = [np.bincount(item, minlength=len(result)) for item in (gone, newcomers, earlier)]
        chances.append(chance_by_churn(*counts))
    return min(1.0, len(chances) * min(chances))


@dataclass(frozen=True)
class _Pairs:
    """Every pair of a class and a person of either release, once, in small numbers.

    Hashes are (n, 2), two halves of 64 bits. `cls`, `person`, `before` and `now` are (n_pairs,), as
    `more_rows` is; what is said of classes is (n_classes,), of persons (n_persons,).
    """

    counts: tuple[KeyedCounts, KeyedCounts]
    # Where the entries of each release are among the pairs: (n_entries,) of each.
    places: tuple[Integers, Integers]
    cls: Integers
    person: Integers
    # Whether each pair is in the release.
    before: Booleans
    now: Booleans
    n_classes: int
    n_persons: int
    # Whether it matters how many rows a pair has.
    by_rows: bool

    @classmethod
    def of(
        cls,
        before: KeyedCounts,
        keyed_counts: KeyedCounts,
        who_before: Integers,
        who_now: Integers,
        n_persons: int,
        *,
        by_rows: bool,
    ) -> _Pairs:
        classes, n_classes = interned(np.concatenate((before.classes, keyed_counts.classes)))
        persons = np.concatenate((who_before, who_now))
        old, new, first = _places(classes, persons, n_persons, len(before.rows))
        is_in = np.zeros((2, len(first)), dtype=bool)
        is_in[0, old] = is_in[1, new] = True
        return cls(
            (before, keyed_counts),
            (old, new),
            cls=classes[first],
            person=persons[first],
            before=is_in[0],
            now=is_in[1],
            n_classes=n_classes,
            n_persons=n_persons,
            by_rows=by_rows,
        )

    @cached_property
    def size_before(self) -> Integers:
        return np.bincount(self.cls[self.before], minlength=self.n_classes)

    @cached_property
    def size_now(self) -> Integers:
        return np.bincount(self.cls[self.now], minlength=self.n_classes)

    @cached_property
    def more_rows(self) -> Integers:
        """How many rows more each pair that stayed has now; 0 where that does not matter."""
        result = np.zeros(len(self.cls), dtype=np.int64)
        for counts, places, sign in zip(self.counts, self.places, (-1, 1), strict=True):
            result[places] += sign * counts.rows
        return np.where(self.before & self.now & self.by_rows, result, 0)

    @cached_property
    def least_before(self) -> Integers:
        """The smallest class of each person before; -1 of those who are not there."""
        return self.least_of(self.person[self.before], self.size_before[self.cls[self.before]])

    @cached_property
    def least_now(self) -> Integers:
        return self.least_of(self.person[self.now], self.size_now[self.cls[self.now]])

    @cached_property
    def least(self) -> Integers:
        """The smallest class of each person in either release."""
        both = np.minimum(self.least_before, self.least_now)
        return np.where(both == NONE, np.maximum(self.least_before, self.least_now), both)

    @cached_property
    def in_before(self) -> Booleans:
        return np.not_equal(self.least_before, NONE)

    @cached_property
    def in_now(self) -> Booleans:
        return np.not_equal(self.least_now, NONE)

    @cached_property
    def moved(self) -> Booleans:
        """Who is in both releases, and in no class of both."""
        stays = np.zeros(self.n_persons, dtype=bool)
        stays[self.person[self.before & self.now]] = True
        return self.in_before & self.in_now & ~stays

    def least_of(self, person: Integers, number: Integers) -> Integers:
        """Return the least of the numbers of each person, -1 where there is none."""
        result = np.full(self.n_persons, np.iinfo(np.int64).max)
        np.minimum.at(result, person, number)
        return np.where(result == np.iinfo(np.int64).max, NONE, result)

    @cached_property
    def class_sums(self) -> tuple[Hashes, Hashes]:
        """Add up the classes that each person has in either release: equal sets have equal sums."""
        old, new = (
            summed(self.person[places], counts.classes, self.n_persons)
            for places, counts in zip(self.places, self.counts, strict=True)
        )
        return old, new

    @cached_property
    def way(self) -> Integers:
        """Number the ways from the classes before to those now, for all who moved."""
        old, new = (interned(sums[self.moved])[0] for sums in self.class_sums)
        return numbered(old * self.n_persons + new)[0]

    @cached_property
    def n_split(self) -> int:
        """Classes that are gone, and whose persons went more than one way."""
        way = np.full(self.n_persons, NONE)
        way[self.moved] = self.way
        gone = self.before & (self.size_now[self.cls] == 0) & self.moved[self.person]
        ways = np.unique(self.cls[gone] * self.n_persons + way[self.person[gone]])
        return int((np.bincount(ways // self.n_persons) > 1).sum())


def _places(
    classes: Integers, persons: Integers, n_persons: int, n_before: int
) -> tuple[Integers, Integers, Integers]:
    """Number the pairs of the entries before, of those now, and return where each pair is first."""
    who_before, who_now = np.split(persons, [n_before])
    if not (_all_different(who_before) and _all_different(who_now)):
        places, result = numbered(classes * n_persons + persons)
        first = np.empty(len(result), dtype=np.int64)
        first[places[::-1]] = np.arange(len(places))[::-1]
        return places[:n_before], places[n_before:], first
    # An entry for each person: whose class is the same has the pair of before.
    at = np.full(n_persons, NONE)
    at[who_before] = np.arange(n_before)
    new = at[who_now]
    other = (new == NONE) | (classes[new] != classes[n_before:])
    new[other] = np.arange(n_before, n_before + other.sum())
    first = np.concatenate((np.arange(n_before), n_before + np.flatnonzero(other)))
    return np.arange(n_before), new, first


@dataclass(frozen=True)
class _Groups:
    """Who is in which group of persons with the same class before and the same class now.

    Somebody who has several classes is in a group for each, unless all have changed: then in one
    group, with those who have all of them. Arrays are (n_members,): a person and a group each.
    """

    pairs: _Pairs
    person: Integers
    group: Integers
    kind: Integers
    # The pair that makes somebody a member; of who has moved, none.
    pair: Integers

    @classmethod
    def of(cls, pairs: _Pairs) -> _Groups:
        rest = np.flatnonzero(~pairs.moved[pairs.person])
        person = pairs.person[rest]
        in_other = np.where(pairs.now[rest], pairs.in_before[person], pairs.in_now[person])
        kind = np.where(pairs.now[rest], _ADDED, _REMOVED) + in_other * _ALSO_ELSEWHERE
        kind[pairs.before[rest] & pairs.now[rest]] = _STAYED
        more = pairs.more_rows
        again = np.flatnonzero(more)
        rest = np.concatenate((rest, again))
        kind = np.concatenate((kind, np.where(more[again] > 0, _ADDED, _REMOVED) + _OTHER_ROWS))
        moved = np.flatnonzero(pairs.moved)
        beyond = pairs.n_classes * _N_KINDS
        keys = np.concatenate((pairs.cls[rest] * _N_KINDS + kind, pairs.way + beyond))
        return cls(
            pairs,
            np.concatenate((pairs.person[rest], moved)),
            numbered(keys)[0],
            np.concatenate((kind, np.full(len(moved), _MOVED))),
            np.concatenate((rest, np.full(len(moved), NONE))),
        )

    @cached_property
    def size(self) -> Integers:
        """The number of persons in each member's group."""
        return np.bincount(self.group)[self.group]

    @cached_property
    def changed(self) -> Booleans:
        """Whether the group tells more than its class: one of the same persons does not."""
        pairs = self.pairs
        cls = pairs.cls[self.pair]
        same = (pairs.size_before[cls] == self.size) & (pairs.size_now[cls] == self.size)
        differs: Booleans = (self.kind != _STAYED) | ~same
        return differs

    def learned(self, sides: tuple[_Side, _Side]) -> Booleans:
        """Return which persons' value is learned: their group has one, and no class of theirs."""
        has_moved, other_rows = self.kind == _MOVED, self.kind >= _OTHER_ROWS
        known = np.zeros(len(self.group), dtype=bool)
        summary = known.copy()
        for side in sides:
            value = side.of_pair[self.pair]
            # Who moved shares a group with nobody else: the numbers may be others.
            value[has_moved] = interned(side.sums[self.person[has_moved]])[0]
            if other_rows.any():
                # Of who has other rows than before, these rows are what is learned.
                difference = interned(sides[1].rows - sides[0].rows)[0]
                value = np.where(other_rows, difference[self.pair], value)
            known |= (value != NONE) & all_alike(self.group, value)
            summary |= np.where(has_moved, side.told_person[self.person], side.told[self.pair])
        result = np.zeros(self.pairs.n_persons, dtype=bool)
        result[self.person[known & ~summary & self.changed]] = True
        return result


@dataclass(frozen=True)
class _Side:
    """The values of a sensitive column in one release: equal sets of values have one number."""

    # (n_pairs,): the number of the set, -1 where there is none.
    of_pair: Integers
    # (n_pairs,) and (n_persons,): whether the release alone tells them, because a class has no
    # others.
    told: Booleans
    told_person: Booleans
    # (n_persons, 2): the set of a person, the same in any release.
    sums: Hashes
    # The pair of each value, its hash, and how many rows have it.
    pair: Integers
    values: Hashes
    times: Integers

    @cached_property
    def rows(self) -> Hashes:
        """(n_pairs, 2): the sum of the values of each pair, as often as rows have them."""
        values = self.values * self.times.astype(np.uint64)[:, None]
        return summed(self.pair, values, len(self.of_pair))

    @classmethod
    def of(cls, pairs: _Pairs, which: int, name: Name) -> _Side:
        counts, places = pairs.counts[which], pairs.places[which]
        values, entry = counts.values[name].values, entries_of(counts, name)
        number, _ = interned(summed(entry, values, len(counts.rows)))
        of_pair = np.full(len(pairs.cls), NONE)
        of_pair[places] = number
        summary = np.zeros(len(pairs.cls), dtype=bool)
        summary[places] = all_alike(pairs.cls[places], number)
        told_person = np.zeros(pairs.n_persons, dtype=bool)
        told_person[pairs.person[summary]] = True
        pair = places[entry]
        sums = value_sums(counts, pairs.person[pair], name, pairs.n_persons)
        times = counts.values[name].rows
        return cls(of_pair, summary, told_person, sums, pair, values, times)
