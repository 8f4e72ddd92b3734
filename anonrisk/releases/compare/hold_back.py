"""Whom to hold back, so that a release tells no more together with earlier ones than alone.

Whoever holds all releases tells two persons apart as soon as one release treats them differently.
Persons are therefore grouped by their history, the classes that they had in every release so far,
and from each group nobody comes, goes or moves unless so many of it do the same that each hides
among them, and so many stay behind. A group that is hidden in this sense from all releases at once
is hidden from any two of them, which is what a gate asks.

- Newcomers wait until enough of them can be published in their class together.
- Leavers stay listed until enough of their group can go; or, where the earlier rows are not at
  hand, they go at once and take others of their group along.
- Who must go (an erased person) goes at once, and takes others along.

Who is taken along is drawn by the hashes of persons, which only the holder of the key can foresee.
"""

from __future__ import annotations

from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.engines.renumber import numbered
from anonrisk.errors import StateError
from anonrisk.releases.compare.numbers import entries_of, interned, summed, value_sums

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Booleans, Integers
    from anonrisk.measures.counts.keyed import KeyedCounts
    from anonrisk.pseudonyms.encoding import Hashes

# How often persons whom earlier releases expose already are taken out, with others. Chosen: whoever
# is exposed after the last round fails the check that every mended release goes through.
_ROUNDS = 8


@dataclass(frozen=True)
class TableHistory:
    """A table as it was published, the earliest release first, and as it would be now.

    `blanks` are the hashes of missing values, by column, where these count as none.
    """

    earlier: tuple[KeyedCounts, ...]
    current: KeyedCounts
    blanks: Mapping[Name, Hashes] = field(default_factory=dict)

    @property
    def every(self) -> tuple[KeyedCounts, ...]:
        """All of them, the newest last."""
        return (*self.earlier, self.current)


@dataclass(frozen=True)
class HeldBack:
    """Who is not published, and who stays as the release before has them.

    Attributes
    ----------
    held : array of hashes
        Persons whose rows are left out of the tables.
    kept : array of hashes
        Persons whose rows of the release before are published again.
    n_persons, waiting, outdated, withheld, taken_along, left : int
        As in `MendPrice`.
    """

    held: Hashes
    kept: Hashes
    n_persons: int
    waiting: int
    outdated: int
    withheld: int
    taken_along: int
    left: int


def hold_back(
    tables: Sequence[TableHistory],
    *,
    k: int,
    n_values: int = 2,
    keep_leavers: bool,
    erased: Hashes,
    as_before: bool = False,
) -> HeldBack:
    """Decide for each person whether they are published as they are, as they were, or not.

    Parameters
    ----------
    tables : sequence of TableHistory
        Tables of the same persons, who come and go in all of them at once; each with a unit.
    k : int
        How many persons each must hide among.
    n_values : int
        How many values of each sensitive column they must have.
    keep_leavers : bool
        Whether rows of the release before can be published again.
    erased : array of hashes
        Persons whose earlier rows must not be.
    as_before : bool
        Whether nobody comes, changes or goes but who must, which needs the earlier rows.
    """
    people = _People.of(tables, erased)
    decision = _Decision(people, k, n_values, keep_leavers, as_before)
    must = people.erased
    for _ in range(_ROUNDS):
        fate = decision.fates(must)
        exposed = people.exposed(fate, k) & people.listed & ~must
        if not exposed.any():
            break
        must = must | exposed
    return people.held_back(fate)


# What becomes of a person: published as in the tables, as in the release before, or not at all.
_NOW, _BEFORE, _OUT = range(3)
# The numbers of having no class, and no value.
_ABSENT = _NO_VALUE = 0


@dataclass(frozen=True)
class _Signatures:
    """The classes of each person in every release of a table, equal sets in equal numbers.

    An array (n_persons,) per release.
    """

    earlier: tuple[Integers, ...]
    current: Integers

    @classmethod
    def of(cls, table: TableHistory, who: Sequence[Integers], n: int) -> _Signatures:
        # (n_persons, 2) of each release, all below each other behind a row of nothing, which is 0.
        sums = [summed(ids, item.classes, n) for ids, item in zip(who, table.every, strict=True)]
        nothing = np.zeros((1, 2), dtype=np.uint64)
        *earlier, current = interned(np.concatenate((nothing, *sums)))[0][1:].reshape(-1, n)
        return cls(tuple(earlier), current)

    @property
    def last(self) -> Integers:
        """Those in the release before; in none, if there is no such release."""
        return self.earlier[-1] if self.earlier else np.full_like(self.current, _ABSENT)


@dataclass(frozen=True)
class _PersonValues:
    """The values of each person in a sensitive column, equal sets in equal numbers, none in 0.

    Those of every release that has others than were published last, which come first. Arrays are
    (n_persons,).
    """

    published: tuple[Integers, ...]
    current: Integers

    @classmethod
    def of(cls, table: TableHistory, who: Sequence[Integers], name: Name, n: int) -> _PersonValues:
        sums = [np.zeros((1, 2), dtype=np.uint64)]
        for ids, counts in zip(who, table.every, strict=True):
            values = counts.values[name].values
            if name in table.blanks:
                values = np.where((values == table.blanks[name]).all(axis=1)[:, None], 0, values)
            sums.append(value_sums(values, ids[entries_of(counts, name)], n))
        *earlier, current = interned(np.concatenate(sums))[0][1:].reshape(-1, n)
        last = np.full(n, _NO_VALUE)
        for ids, number in zip(who, earlier, strict=False):
            last[ids] = number[ids]
        published = [last]
        for ids, number in zip(who, earlier, strict=False):
            if (number[ids] != last[ids]).any():
                other = last.copy()
                other[ids] = number[ids]
                published.append(other)
        return cls(tuple(published), current)


@dataclass(frozen=True)
class _People:
    """Everybody of any release, in small numbers, with what the releases say of them.

    `hashes` is (n_persons, 2), all other arrays are (n_persons,).
    """

    hashes: Hashes
    erased: Booleans
    tables: tuple[_Signatures, ...]
    # Equal numbers where all releases so far have the same classes; of being in none, 0.
    history: Integers
    # Equal numbers where the tables have the same classes now, and rows more or fewer alike.
    wanted: Integers
    # Whether the tables have somebody as the release before does.
    unchanged: Booleans
    # By sensitive column.
    values: tuple[_PersonValues, ...]

    @classmethod
    def of(cls, tables: Sequence[TableHistory], erased: Hashes) -> _People:
        hashes = [_persons(counts) for table in tables for counts in table.every] + [erased]
        ids, n = interned(np.concatenate(hashes))
        every = np.empty((n, 2), dtype=np.uint64)
        every[ids] = np.concatenate(hashes)
        parts = np.split(ids, np.cumsum([len(item) for item in hashes[:-1]]))
        signatures, values = [], []
        history = wanted = np.zeros(n, dtype=np.int64)
        unchanged = np.ones(n, dtype=bool)
        for table in tables:
            who, parts = parts[: len(table.every)], parts[len(table.every) :]
            own = _Signatures.of(table, who, n)
            signatures.append(own)
            for number in own.earlier:
                history = _split(history, number)
            wanted = _split(wanted, own.current)
            for before, then in zip(table.earlier, who, strict=False):
                wanted = _split(wanted, _more_rows(before, then, table.current, who[-1], n))
            if table.earlier:
                rows = [
                    summed(ids, counts.classes * counts.rows.astype(np.uint64)[:, None], n)
                    for ids, counts in zip(who[-2:], table.every[-2:], strict=True)
                ]
                unchanged &= (rows[0] == rows[1]).all(axis=1)
            values += [_PersonValues.of(table, who, name, n) for name in table.current.sensitive]
        gone = np.zeros(n, dtype=bool)
        gone[parts[0]] = True
        people = cls(every, gone, tuple(signatures), history, wanted, unchanged, tuple(values))
        return replace(people, unchanged=unchanged & people.alive & people.listed)

    @cached_property
    def alive(self) -> Booleans:
        """Who is in the tables."""
        return self._in_any(table.current for table in self.tables)

    @cached_property
    def listed(self) -> Booleans:
        """Who is in the release before."""
        return self._in_any(table.last for table in self.tables)

    @cached_property
    def published(self) -> Booleans:
        """Who was in any release."""
        return self._in_any(number for table in self.tables for number in table.earlier)

    @cached_property
    def last(self) -> Integers:
        """Equal numbers where the release before has the same classes."""
        last = np.zeros(len(self.hashes), dtype=np.int64)
        for table in self.tables:
            last = _split(last, table.last)
        return last

    @cached_property
    def order(self) -> Integers:
        """The place of each person in an order that the key draws."""
        place = np.empty(len(self.hashes), dtype=np.int64)
        place[np.argsort(self.hashes[:, 0], kind="stable")] = np.arange(len(place))
        return place

    def exposed(self, fate: Integers, k: int) -> Booleans:
        """Return who is among fewer than k with their classes in some release and in this one."""
        exposed = np.zeros(len(fate), dtype=bool)
        for table in self.tables:
            current = np.where(fate == _BEFORE, table.last, table.current)
            current = np.where(fate == _OUT, _ABSENT, current)
            for before in table.earlier:
                group = _split(before, current)
                size, old, new = (np.bincount(item)[item] for item in (group, before, current))
                exposed |= (size < k) & ~((before == current) & (size == old) & (size == new))
        return exposed

    def held_back(self, fate: Integers) -> HeldBack:
        """Return it by hashes."""
        out, before = fate == _OUT, fate == _BEFORE
        gone = out & self.alive & ~self.erased
        return HeldBack(
            # Rows that a state does not count, because a quasi-identifier is missing, go as well.
            held=self.hashes[out | before],
            kept=self.hashes[before],
            n_persons=int(self.alive.sum()),
            waiting=int((gone & ~self.published).sum()),
            outdated=int((before & self.alive).sum()),
            withheld=int((gone & self.published).sum()),
            taken_along=int((gone & self.listed).sum()),
            left=int((before & ~self.alive).sum()),
        )

    def _in_any(self, numbers: Iterable[Integers]) -> Booleans:
        inside = np.zeros(len(self.hashes), dtype=bool)
        for number in numbers:
            inside |= number != _ABSENT
        return inside


def _persons(counts: KeyedCounts) -> Hashes:
    if counts.persons is None:
        raise StateError(
            "without a unit nobody can tell who is new and who left: name the column that says "
            "which person a row belongs to"
        )
    return counts.persons


def _split(number: Integers, by: Integers) -> Integers:
    """Number pairs."""
    return numbered(number * (by.max(initial=0) + 1) + by)[0]


def _more_rows(
    before: KeyedCounts, earlier_ids: Integers, current: KeyedCounts, current_ids: Integers, n: int
) -> Integers:
    """Number the ways in which persons have more rows in their classes now, or fewer."""
    if (before.rows == 1).all() and (current.rows == 1).all():
        return np.zeros(n, dtype=np.int64)
    classes, n_classes = interned(np.concatenate((before.classes, current.classes)))
    old, new = np.split(classes, [len(before.rows)])
    pairs, every = numbered(
        np.concatenate((old + n_classes * earlier_ids, new + n_classes * current_ids))
    )
    change = np.zeros(len(every), dtype=np.int64)
    np.add.at(change, pairs, np.concatenate((-before.rows, current.rows)))
    mine = pairs[len(before.rows) :]
    # 1, 2 or 3: fewer, as many, more.
    sign = (np.sign(change[mine]) + 2).astype(np.uint64)[:, None]
    return interned(summed(current_ids, current.classes * sign, n))[0]


@dataclass(frozen=True)
class _Decision:
    """The rules by which groups come, stay and go."""

    people: _People
    k: int
    n_values: int
    keep_leavers: bool
    as_before: bool

    def fates(self, must: Booleans) -> Integers:
        """Decide about everybody; who must go is not published."""
        people = self.people
        going = people.alive & ~people.unchanged & ~must & (not self.as_before)
        going[going] = self._together(np.flatnonzero(going))
        # Who was left out once comes back with the others, or leaves enough of them behind.
        absent = np.flatnonzero(people.published & ~people.listed)
        for group in _grouped(people.history, absent):
            left = group[~going[group]]
            if len(left) < len(group) and not self._hidden(left, or_none=True):
                going[group] = False
        fate: Integers = np.select([going | people.unchanged, people.listed], [_NOW, _BEFORE], _OUT)
        if not self.keep_leavers:
            must = must | (people.listed & ~people.unchanged & ~going)
        stuck = []
        for group in _grouped(people.history, np.flatnonzero(people.listed)):
            out = np.empty(0, dtype=np.int64)
            if not people.unchanged[group].all() or must[group].any():
                out = self._leaving(group, fate, must)
            if not self._as_they_are(np.setdiff1d(group, out), fate):
                # What they have become would tell what each of them has.
                out = group
            fate[out] = _OUT
            if len(out) and not self._hidden(out):
                stuck.append(out)
        for out in stuck:
            fate[self._company(out, fate)] = _OUT
        return fate

    def _together(self, who: Integers) -> Booleans:
        """Return who of those that would come or move have enough others with them."""
        people = self.people
        group, groups = numbered(_split(people.history, people.wanted)[who])
        enough = np.bincount(group, minlength=len(groups)) >= self.k
        # Newcomers have no values before.
        new = np.zeros(len(groups), dtype=bool)
        new[group] = ~people.published[who]
        for values in people.values:
            enough &= self._several(group, values.current[who], len(groups))
            for before in values.published:
                enough &= new | self._several(group, before[who], len(groups))
        together: Booleans = enough[group]
        return together

    def _leaving(self, group: Integers, fate: Integers, must: Booleans) -> Integers:
        """Choose who of a group is not published; those who move may have to stay for it."""
        people = self.people
        rest = group[(fate[group] == _BEFORE) | people.unchanged[group]]
        out: Integers = rest[must[rest]]
        may: Integers = rest[~must[rest]]
        # Who left is the first to go, then who is listed as they were.
        rank = people.alive.astype(np.int64) + people.unchanged
        may = may[np.lexsort((people.order[may], rank[may]))]
        n_left = 0 if self.as_before else int((~people.alive[may]).sum())
        if len(out):
            taken = self._enough(out, may)
            out, may = np.concatenate((out, may[taken])), may[~taken]
            n_left -= int(taken[:n_left].sum())
        # Whoever left would better go, if that hides everybody.
        more = np.concatenate((out, may[:n_left]))
        if self._hidden(more) and self._hidden(may[n_left:], or_none=True):
            return more
        if self._hidden(out, or_none=True) and self._hidden(may, or_none=True):
            return out
        if not len(out) and self.keep_leavers:
            # Too few would stay where others move.
            fate[group] = np.where(people.unchanged[group], _NOW, _BEFORE)
            return out
        every: Integers = rest if self._hidden(rest) else group
        return every

    def _as_they_are(self, group: Integers, fate: Integers) -> bool:
        """Return whether those who stay have enough values, if need be by those they had."""
        people = self.people
        stay = group[(fate[group] == _BEFORE) | people.unchanged[group]]
        if not len(stay):
            return True
        changed = np.zeros(len(stay), dtype=bool)
        enough = True
        for values in people.values:
            before, current = values.published[0][stay], values.current[stay]
            shown = np.where(fate[stay] == _BEFORE, before, current)
            enough &= self._are_several(shown)
            changed |= before != current
        if enough or not changed.any():
            return True
        if self.keep_leavers:
            fate[stay[changed]] = _BEFORE
        return self.keep_leavers

    def _enough(self, out: Integers, may: Integers) -> Booleans:
        """Mark those whom others take along, so that all of them are hidden."""
        taken = np.zeros(len(may), dtype=bool)
        taken[: max(self.k - len(out), 0)] = True
        for before in self._published_values:
            known = {*before[out].tolist(), *before[may[taken]].tolist()} - {_NO_VALUE}
            for place in np.flatnonzero(~taken):
                if len(known) >= self.n_values:
                    break
                if (value := int(before[may[place]])) not in {_NO_VALUE, *known}:
                    known.add(value)
                    taken[place] = True
        return taken

    def _company(self, out: Integers, fate: Integers) -> Integers:
        """Find others of the same classes, for a group that is too small to go alone."""
        people = self.people
        same = (people.last == people.last[out[0]]) & people.listed & (fate != _OUT)
        same &= people.unchanged | (fate == _BEFORE)
        groups = list(_grouped(people.history, np.flatnonzero(same)))
        none = np.empty(0, dtype=np.int64)
        for group in sorted(groups, key=len, reverse=True):
            may = group[np.argsort(people.order[group])]
            taken = self._enough(none, may)
            if self._hidden(may[taken]):
                company: Integers = may[taken] if self._hidden(may[~taken], or_none=True) else may
                return company
        return none

    @cached_property
    def _published_values(self) -> list[Integers]:
        return [before for values in self.people.values for before in values.published]

    def _hidden(self, who: Integers, *, or_none: bool = False) -> bool:
        """Return whether persons of one group are enough to do the same."""
        if not len(who):
            return or_none
        return len(who) >= self.k and all(
            self._are_several(before[who]) for before in self._published_values
        )

    def _are_several(self, values: Integers) -> bool:
        """Return whether persons have enough different values, or none that could be learned."""
        return bool(self._several(np.zeros_like(values), values, 1)[0])

    def _several(self, group: Integers, values: Integers, n: int) -> Booleans:
        """Return the same of each of n groups."""
        base = values.max(initial=0) + 1
        known = values != _NO_VALUE
        different = np.unique(group[known] * base + values[known]) // base
        n_different = np.bincount(different, minlength=n)
        several: Booleans = (n_different == 0) | (n_different >= self.n_values)
        return several


def _grouped(number: Integers, who: Integers) -> Iterator[Integers]:
    """Yield those who have one number, group by group."""
    ordered = who[np.argsort(number[who], kind="stable")]
    yield from np.split(ordered, np.flatnonzero(np.diff(number[ordered])) + 1) if len(who) else ()
