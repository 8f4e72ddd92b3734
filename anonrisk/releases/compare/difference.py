"""From the keyed counts of two releases to what an attacker learns who holds both.

Whoever knows which people are in each release, and in which class, can tell apart no two persons
who have the same class before and the same class now (or are in none): exchange their values, and
both releases stay as they are. These groups are therefore all that hides a person, and a value is
safe where its group has several. The cost is that of a few sorts, whatever the classes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.engines.renumber import numbered
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
    chance_by_churn,
    changed_classes,
    changed_persons,
)
from anonrisk.releases.compare.numbers import (
    NONE,
    added_up,
    all_different,
    combined,
    interned,
    numbered_releases,
    so_often,
    summed,
    together,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Booleans, Integers
    from anonrisk.measures.counts.keyed import KeyedCounts
    from anonrisk.pseudonyms.encoding import Hashes
    from anonrisk.releases.compare.numbers import NumberedRelease, NumberedValues


# ---- net changes --------------------------------------------------------------------------------


def _net_difference(
    counts: tuple[KeyedCounts, KeyedCounts],
    before: NumberedRelease,
    current: NumberedRelease,
    *,
    by_parts: bool,
) -> Comparison:
    """Compare the sizes of classes, and where values are known their numbers in each class.

    A class that has one value more and another one less has lost somebody and gained somebody,
    though its size be the same: so many at least came and went. A record has one value, so that
    all who have a value more add up; persons may have several, and only the most count.
    """
    n = len(current.numbers.classes)
    sizes = [added_up(item.cls, _counted(item, item.rows), n) for item in (before, current)]
    columns = [_net_values(before, current, name, by_parts=by_parts) for name in current.values]
    gone, come = np.maximum(sizes[0] - sizes[1], 0), np.maximum(sizes[1] - sizes[0], 0)
    for column in columns:
        gone, come = np.maximum(gone, column.certain[0]), np.maximum(come, column.certain[1])
    # A group is all that went from a class, or all that came to it.
    groups, least = np.concatenate((gone, come)), np.concatenate(sizes)
    kind = np.repeat([CHANGES.index(REMOVED), CHANGES.index(ADDED)], n)
    learned = {
        name: np.concatenate(
            [column.learned(i, item, sizes[i]) for i, item in enumerate((gone, come))]
        )
        for name, column in zip(current.values, columns, strict=True)
    }
    anything = np.logical_or.reduce([*learned.values(), np.zeros(2 * n, dtype=bool)])
    return Comparison(
        qid=counts[1].qid,
        qid_before=counts[0].qid,
        unit=counts[1].unit,
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
        persons=changed_persons(groups * len(CHANGES) + kind, least, anything, groups),
        learned={name: by_size(groups, known * groups) for name, known in learned.items()},
        missing=counts[1].missing,
    )


def _counted(release: NumberedRelease, rows: Integers) -> Integers:
    """Return how many each entry is: rows, or one person."""
    return np.ones_like(rows) if release.numbers.n_persons else rows


@dataclass(frozen=True)
class _NetValues:
    """Of one sensitive column, how many records more or fewer each value has in each class."""

    cls: Integers
    # For each pair of class and value: records less, records more; and those of each release.
    changes: tuple[Integers, Integers]
    there: tuple[Integers, Integers]
    n_classes: int
    of_persons: bool
    by_parts: bool
    # Of records or persons whose value is known, by class, in each release; None if all are.
    known: tuple[Integers, Integers] | None

    @cached_property
    def certain(self) -> tuple[Integers, Integers]:
        """By class, how many went and how many came for certain."""
        less, more = np.zeros((2, self.n_classes), dtype=np.int64)
        for result, change in zip((less, more), self.changes, strict=True):
            (np.maximum if self.of_persons else np.add).at(result, self.cls, change)
        return less, more

    def learned(self, which: int, changed: Integers, size: Integers) -> Booleans:
        """Return in which classes all who changed have some value, and not all of the class."""
        change, there = self.changes[which], self.there[which]
        if self.known is not None:
            size = self.known[which]
            changed = np.maximum(size - self.known[1 - which], self.certain[which])
        by_all = (change > 0) & (change == changed[self.cls])
        if not self.by_parts:
            by_all &= there < size[self.cls]
        known = np.zeros(self.n_classes, dtype=bool)
        known[self.cls[by_all]] = True
        return known


def _net_values(
    before: NumberedRelease, current: NumberedRelease, name: Name, *, by_parts: bool
) -> _NetValues:
    releases, n_values = (before, current), len(current.numbers.values[name])
    columns = [item.known(name) for item in releases]
    pair, result = numbered(
        np.concatenate(
            [
                item.cls[own.entry] * n_values + own.value
                for item, own in zip(releases, columns, strict=True)
            ]
        )
    )
    parts = np.split(pair, [len(columns[0].entry)])
    old, new = (
        added_up(part, _counted(item, own.rows), len(result))
        for part, item, own in zip(parts, releases, columns, strict=True)
    )
    changes = (np.maximum(old - new, 0), np.maximum(new - old, 0))
    n_classes = len(current.numbers.classes)
    known = None
    if name in current.numbers.blanks:
        before_known, now_known = (
            _known_of_classes(item, own) for item, own in zip(releases, columns, strict=True)
        )
        known = before_known, now_known
    return _NetValues(
        result // n_values,
        changes,
        (old, new),
        n_classes,
        current.numbers.n_persons > 0,
        by_parts,
        known,
    )


def _known_of_classes(release: NumberedRelease, own: NumberedValues) -> Integers:
    """Count by class the records, or the persons, who have some value."""
    rows = added_up(own.entry, own.rows, len(release.cls))
    times = np.minimum(rows, 1) if release.numbers.n_persons else rows
    return added_up(release.cls, times, len(release.numbers.classes))


_ADDED, _REMOVED, _STAYED, _MOVED = map(CHANGES.index, (ADDED, REMOVED, STAYED, MOVED))
# Somebody added to a class who has others in both releases is not in one group with a newcomer.
_ALSO_ELSEWHERE = len(CHANGES)
# Nor is somebody who stayed, with more rows there than before, or with fewer.
_OTHER_ROWS = 2 * len(CHANGES)
_N_KINDS = 3 * len(CHANGES)


def compare_counts(
    before: KeyedCounts, keyed_counts: KeyedCounts, *, of_several: bool = False
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

    Returns
    -------
    Comparison
        Without any hash.
    """
    refuse_different(before, keyed_counts)
    numbers = numbered_releases([before, keyed_counts])
    return _compared((before, keyed_counts), *numbers, by_rows=not of_several, by_parts=False)


def compare_with_all(
    earlier: Sequence[KeyedCounts],
    keyed_counts: KeyedCounts,
    *,
    by_parts: bool = False,
    blanks: Mapping[Name, Hashes] | None = None,
) -> Iterator[Comparison]:
    """Compare the keyed counts of a release with each earlier one, then with them together.

    Together are those with one quasi-identifier, where there is a unit. With `by_parts` only some
    of its columns may be known, of which classes are larger: that one of these has not changed, or
    tells a value alone, then excuses nothing. `blanks` are the hashes of missing values, by
    column, where these count as none.
    """
    if not earlier:
        return
    for before in earlier:
        refuse_different(before, keyed_counts)
    *numbers, current = numbered_releases([*earlier, keyed_counts], blanks)
    unions: dict[Qid, list[NumberedRelease]] = {}
    for before, item in zip(earlier, numbers, strict=True):
        yield _compared((before, keyed_counts), item, current, by_rows=True, by_parts=by_parts)
        unions.setdefault(before.qid, []).append(item)
    for qid, releases in unions.items():
        if len(releases) > 1 and keyed_counts.unit is not None:
            first = next(before for before in earlier if before.qid == qid)
            every = together(releases)
            yield _compared((first, keyed_counts), every, current, by_rows=False, by_parts=by_parts)


def _compared(
    counts: tuple[KeyedCounts, KeyedCounts],
    before: NumberedRelease,
    current: NumberedRelease,
    *,
    by_rows: bool,
    by_parts: bool,
) -> Comparison:
    if not current.numbers.n_persons:
        return _net_difference(counts, before, current, by_parts=by_parts)
    pairs = _Pairs.of(before, current, by_rows=by_rows, by_parts=by_parts)
    if pairs.n_of(pairs.in_before & pairs.in_now):
        return _by_person(counts, pairs)
    n_before, n_now = pairs.n_of(pairs.in_before), pairs.n_of(pairs.in_now)
    net = _net_difference(counts, before, current, by_parts=by_parts)
    return replace(net, n_before=n_before, n_now=n_now, n_both=0)


def of_one_table(before: KeyedCounts, keyed_counts: KeyedCounts) -> bool:
    """Return whether the columns are the same, and somebody is in both."""
    if before.persons is None or keyed_counts.persons is None:
        return False
    columns = [(item.qid, item.unit, item.sensitive) for item in (before, keyed_counts)]
    if columns[0] != columns[1]:
        return False
    n_each = [interned(item)[1] for item in (before.persons, keyed_counts.persons)]
    return interned(np.concatenate((before.persons, keyed_counts.persons)))[1] < sum(n_each)


def refuse_different(before: KeyedCounts, keyed_counts: KeyedCounts) -> None:
    """Reject releases that cannot be compared: by other columns, or of nobody."""
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


def _by_person(counts: tuple[KeyedCounts, KeyedCounts], pairs: _Pairs) -> Comparison:
    before, current = counts
    groups = _Groups.of(pairs)
    sides = {
        name: (_Side.of(pairs, 0, name), _Side.of(pairs, 1, name)) for name in before.sensitive
    }
    learned = {name: groups.learned(both) for name, both in sides.items()}
    # One number for the size of a group and what became of it, so that the least is of both.
    coded = groups.size * len(CHANGES) + groups.kind % len(CHANGES)
    smallest = pairs.least_of(groups.person[groups.changed], coded[groups.changed])
    is_in = smallest != NONE
    anything = np.logical_or.reduce([*learned.values(), np.zeros(len(pairs.times), dtype=bool)])
    in_both = pairs.in_before & pairs.in_now
    added, removed = (pairs.sizes(~inside) for inside in (pairs.before, pairs.current))
    return Comparison(
        qid=current.qid,
        qid_before=before.qid,
        unit=current.unit,
        net=False,
        n_before=pairs.n_of(pairs.in_before),
        n_now=pairs.n_of(pairs.in_now),
        n_both=pairs.n_of(in_both),
        n_classes_both=int(((pairs.size_before > 0) & (pairs.size_now > 0)).sum()),
        n_added=int(added.sum()),
        n_removed=int(removed.sum()),
        n_split=pairs.n_split,
        new_singletons=pairs.n_of((pairs.least_now == 1) & (pairs.least_before != 1)),
        classes=changed_classes(added, removed),
        persons=changed_persons(
            smallest[is_in], pairs.least[is_in], anything[is_in], pairs.times[is_in]
        ),
        learned={
            name: by_size(smallest[known] // len(CHANGES), pairs.times[known])
            for name, known in learned.items()
        },
        changed_values={
            name: pairs.n_of(in_both & (old.sums != new.sums).any(axis=1))
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
        times, gone = pairs.times[pairs.in_before], ~pairs.in_now[pairs.in_before]
        left, come, every = (
            added_up(profile, persons, len(result))
            for profile, persons in (
                (earlier[gone], times[gone]),
                (newcomers, pairs.times[came]),
                (earlier, times),
            )
        )
        chances.append(chance_by_churn(left, come, every))
    return min(1.0, len(chances) * min(chances))


@dataclass(frozen=True)
class _Pairs:
    """Every pair of a class and a person of either release, once, in small numbers.

    Of persons who have the same entries and values before, and the same now, the same is told: one
    stands for all. `cls`, `person`, `before` and `current` are (n_pairs,), as `more_rows` is; what
    is said of classes is (n_classes,), of persons (n_persons,).
    """

    # The entries of these persons, and the hashes of their classes.
    releases: tuple[NumberedRelease, NumberedRelease]
    hashes: Hashes
    # Where the entries of each release are among the pairs: (n_entries,) of each.
    places: tuple[Integers, Integers]
    cls: Integers
    person: Integers
    # Whether each pair is in the release.
    before: Booleans
    current: Booleans
    # How many each person stands for.
    times: Integers
    # Whether it matters how many rows a pair has.
    by_rows: bool
    # Whether some columns of a class may be known, and not the others.
    by_parts: bool

    @classmethod
    def of(
        cls, before: NumberedRelease, current: NumberedRelease, *, by_rows: bool, by_parts: bool
    ) -> _Pairs:
        somewhere = np.flatnonzero(before.alike | current.alike)
        kind, every = numbered(combined([before.alike[somewhere], current.alike[somewhere]]))
        place = np.full(len(before.alike), NONE)
        standing = np.empty(len(every), dtype=np.int64)
        standing[kind] = somewhere
        place[standing] = np.arange(len(every))
        old, new = before.of(place), current.of(place)
        persons = np.concatenate((old.person, new.person))
        classes = np.concatenate((old.cls, new.cls))
        hashes = current.numbers.classes
        if len(hashes) > len(classes):
            # Those of other releases would only be carried along.
            classes, own = numbered(classes)
            hashes = hashes[own]
        in_old, in_new, first = _places(classes, persons, len(every), len(old.cls))
        is_in = np.zeros((2, len(first)), dtype=bool)
        is_in[0, in_old] = is_in[1, in_new] = True
        return cls(
            (old, new),
            hashes,
            (in_old, in_new),
            cls=classes[first],
            person=persons[first],
            before=is_in[0],
            current=is_in[1],
            times=np.bincount(kind),
            by_rows=by_rows,
            by_parts=by_parts,
        )

    def n_of(self, some: Booleans) -> int:
        """Return how many persons they are, by whether each person here is one of them."""
        return int(self.times[some].sum())

    def sizes(self, some: Booleans) -> Integers:
        """Return how many persons each class has, in some of the pairs."""
        return added_up(self.cls[some], self.times[self.person[some]], len(self.hashes))

    @cached_property
    def size_before(self) -> Integers:
        return self.sizes(self.before)

    @cached_property
    def size_now(self) -> Integers:
        return self.sizes(self.current)

    @cached_property
    def more_rows(self) -> Integers:
        """How many rows more each pair that stayed has now; 0 where that does not matter."""
        result = np.zeros(len(self.cls), dtype=np.int64)
        for release, places, sign in zip(self.releases, self.places, (-1, 1), strict=True):
            result[places] += sign * release.rows
        return np.where(self.before & self.current & self.by_rows, result, 0)

    @cached_property
    def least_before(self) -> Integers:
        """The smallest class of each person before; -1 of those who are not there."""
        return self.least_of(self.person[self.before], self.size_before[self.cls[self.before]])

    @cached_property
    def least_now(self) -> Integers:
        return self.least_of(self.person[self.current], self.size_now[self.cls[self.current]])

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
        stays = np.zeros(len(self.times), dtype=bool)
        stays[self.person[self.before & self.current]] = True
        return self.in_before & self.in_now & ~stays

    def least_of(self, person: Integers, number: Integers) -> Integers:
        """Return the least of the numbers of each person, -1 where there is none."""
        result = np.full(len(self.times), np.iinfo(np.int64).max)
        np.minimum.at(result, person, number)
        return np.where(result == np.iinfo(np.int64).max, NONE, result)

    @cached_property
    def class_sums(self) -> tuple[Hashes, Hashes]:
        """Add up the classes that each person has in either release: equal sets have equal sums."""
        old, new = (
            summed(self.person[places], self.hashes[self.cls[places]], len(self.times))
            for places in self.places
        )
        return old, new

    @cached_property
    def way(self) -> Integers:
        """Number the ways from the classes before to those now, for all who moved."""
        old, new = (interned(sums[self.moved])[0] for sums in self.class_sums)
        return numbered(old * len(self.times) + new)[0]

    @cached_property
    def n_split(self) -> int:
        """Classes that are gone, and whose persons went more than one way."""
        way = np.full(len(self.times), NONE)
        way[self.moved] = self.way
        gone = self.before & (self.size_now[self.cls] == 0) & self.moved[self.person]
        ways = numbered(self.cls[gone] * len(self.times) + way[self.person[gone]])[1]
        return int((np.bincount(ways // len(self.times)) > 1).sum())


def _places(
    classes: Integers, persons: Integers, n_persons: int, n_before: int
) -> tuple[Integers, Integers, Integers]:
    """Number the pairs of the entries before, of those now, and return where each pair is first."""
    who_before, who_now = np.split(persons, [n_before])
    if not (all_different(who_before) and all_different(who_now)):
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


def all_alike(group: Integers, value: Integers) -> Booleans:
    """Return for each member whether all of the group have its value, but for who has none."""
    item = np.empty(group.max(initial=0) + 1, dtype=value.dtype)
    known = value != NONE
    item[group[known]] = value[known]
    differs = np.zeros(len(item), dtype=bool)
    differs[group[known & (value != item[group])]] = True
    return ~differs[group]


def _set_numbers(sums: Hashes) -> Integers:
    """Number sums of hashes, equal ones alike; -1 where nothing is summed."""
    return np.where(sums.any(axis=1), interned(sums)[0], NONE)


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
        in_other = np.where(pairs.current[rest], pairs.in_before[person], pairs.in_now[person])
        kind = np.where(pairs.current[rest], _ADDED, _REMOVED) + in_other * _ALSO_ELSEWHERE
        kind[pairs.before[rest] & pairs.current[rest]] = _STAYED
        more = pairs.more_rows
        again = np.flatnonzero(more)
        rest = np.concatenate((rest, again))
        kind = np.concatenate((kind, np.where(more[again] > 0, _ADDED, _REMOVED) + _OTHER_ROWS))
        moved = np.flatnonzero(pairs.moved)
        beyond = len(pairs.hashes) * _N_KINDS
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
        times = self.pairs.times[self.person]
        return added_up(self.group, times, 0)[self.group]

    @cached_property
    def changed(self) -> Booleans:
        """Whether the group tells more than its class: one of the same persons does not."""
        pairs = self.pairs
        cls = pairs.cls[self.pair]
        same = (pairs.size_before[cls] == self.size) & (pairs.size_now[cls] == self.size)
        if pairs.by_parts and ((pairs.before != pairs.current) | (pairs.more_rows != 0)).any():
            same[:] = False
        differs: Booleans = (self.kind != _STAYED) | ~same
        return differs

    def learned(self, sides: tuple[_Side, _Side]) -> Booleans:
        """Return which persons' value is learned: their group has one, and no class of theirs."""
        has_moved, other_rows = self.kind == _MOVED, self.kind >= _OTHER_ROWS
        known = np.zeros(len(self.group), dtype=bool)
        disclosed = known.copy()
        for side in sides:
            value = side.of_pair[self.pair]
            # Who moved shares a group with nobody else: the numbers may be others.
            value[has_moved] = _set_numbers(side.sums[self.person[has_moved]])
            if other_rows.any():
                # Of who has other rows than before, these rows are what is learned.
                difference = _set_numbers(sides[1].rows - sides[0].rows)
                value = np.where(other_rows, difference[self.pair], value)
            known |= (value != NONE) & all_alike(self.group, value)
            disclosed |= np.where(
                has_moved, side.disclosed_person[self.person], side.disclosed[self.pair]
            )
        # What a class of theirs tells may be another value.
        overlap = (known & disclosed & self.changed).any()
        known &= ~disclosed
        one_each = all(all_different(self.pairs.person[side.pair]) for side in self._asked(sides))
        if overlap or other_rows.any() or not one_each:
            known |= self._shared(sides)
        result = np.zeros(len(self.pairs.times), dtype=bool)
        result[self.person[known & self.changed]] = True
        return result

    def _asked(self, sides: Sequence[Any]) -> Sequence[Any]:
        """Return those of sides whose values stood beside each other: of one release each."""
        return sides if self.pairs.by_rows else sides[1:]

    def _shared(self, sides: tuple[_Side, _Side]) -> Booleans:
        """Return whose group all have some value, beside others, that not all of a class have."""
        pairs, n_values = self.pairs, sides[0].n_values
        n_pairs, n_groups = len(pairs.cls), self.group.max(initial=-1) + 1
        # Who moved is a member by all of their classes, others by one.
        holder = np.arange(n_pairs)
        holder = np.where(pairs.moved[pairs.person], n_pairs + pairs.person, holder)
        held = [holder[side.pair] * n_values + side.value for side in sides]
        class_keys = np.concatenate(
            [key[side.of_class] for key, side in zip(held, sides, strict=True)]
        )
        known = np.zeros(len(self.group), dtype=bool)

        def mark(members: Integers, keys: Integers, holders: Integers) -> None:
            at = np.full(n_pairs + len(pairs.times), NONE)
            at[np.where(self.pair == NONE, n_pairs + self.person, self.pair)[members]] = members
            # All of whom anything is known.
            some = at[np.unique(holders)]
            everybody = np.bincount(self.group[some[some != NONE]], minlength=n_groups)
            keys = np.unique(keys[~np.isin(keys, class_keys)])
            member, value = at[keys // n_values], keys % n_values
            member, value = member[member != NONE], value[member != NONE]
            number, every = numbered(self.group[member] * n_values + value)
            by_all = np.bincount(number) == everybody[every // n_values]
            known[member[by_all[number]]] = True

        other_rows = self.kind >= _OTHER_ROWS
        for keys in self._asked(held):
            mark(np.flatnonzero(~other_rows), keys, keys // n_values)
        if other_rows.any():
            number, every = numbered(np.concatenate(held))
            more = np.concatenate((-sides[0].times, sides[1].times))
            change = np.bincount(number, weights=more, minlength=len(every))
            for keys in (every[change > 0], every[change < 0]):
                mark(np.flatnonzero(other_rows), keys, every[change != 0] // n_values)
        # Of a group all or none are marked, but for who has no value.
        by_group = np.zeros(n_groups, dtype=bool)
        by_group[self.group[known]] = True
        return by_group[self.group]


@dataclass(frozen=True)
class _Side:
    """The values of a sensitive column in one release: equal sets of values have one number."""

    # (n_pairs,): the number of the set, -1 where there is none.
    of_pair: Integers
    # (n_pairs,) and (n_persons,): whether the release alone tells them, because a class has no
    # others.
    disclosed: Booleans
    disclosed_person: Booleans
    # (n_persons, 2): the set of a person, the same in any release.
    sums: Hashes
    # The pair of each value, its number and its hash, and how many rows have it.
    pair: Integers
    value: Integers
    values: Hashes
    times: Integers
    # Whether all of its class have the value.
    of_class: Booleans
    n_values: int

    @cached_property
    def rows(self) -> Hashes:
        """(n_pairs, 2): the sum of the values of each pair, as often as rows have them."""
        return summed(self.pair, so_often(self.values, self.times), len(self.of_pair))

    @classmethod
    def of(cls, pairs: _Pairs, which: int, name: Name) -> _Side:
        release, places = pairs.releases[which], pairs.places[which]
        own, hashes = release.known(name), release.numbers.values[name]
        values = hashes[own.value]
        number = _set_numbers(summed(own.entry, values, len(release.cls)))
        of_pair = np.full(len(pairs.cls), NONE)
        of_pair[places] = number
        disclosed = np.zeros(len(pairs.cls), dtype=bool)
        disclosed[places] = all_alike(pairs.cls[places], number) & (not pairs.by_parts)
        disclosed_person = np.zeros(len(pairs.times), dtype=bool)
        disclosed_person[pairs.person[disclosed]] = True
        pair = places[own.entry]
        person, value = pairs.person[pair], own.value
        if not all_different(person):
            # A value that somebody has in several classes is one value.
            person, value = np.divmod(numbered(person * len(hashes) + value)[1], len(hashes))
        sums = summed(person, hashes[value], len(pairs.times))
        of_value = numbered(pairs.cls[pair] * len(hashes) + own.value)[0]
        everybody = np.bincount(pairs.cls[places[number != NONE]], minlength=len(pairs.hashes))
        of_class = np.bincount(of_value)[of_value] == everybody[pairs.cls[pair]]
        of_class &= not pairs.by_parts
        return cls(
            of_pair,
            disclosed,
            disclosed_person,
            sums,
            pair,
            own.value,
            values,
            own.rows,
            of_class,
            len(hashes),
        )
