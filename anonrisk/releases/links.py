"""Tables that are published together: whom a join singles out.

The join itself is made nowhere. Of each table come the classes with the persons who have them,
under hashes of a key that nobody keeps, or with the few values that tables share; what is joined
are their numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.api.class_sizes import ClassSizes
from anonrisk.api.question import question_of
from anonrisk.core import radix, render
from anonrisk.core.columns import as_names, check_missing
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import joined as listed
from anonrisk.engines import engine_for, refusals
from anonrisk.engines.base import kept
from anonrisk.engines.numpy.count import histogram, histogram_of_persons
from anonrisk.engines.numpy.whole_person import counts_of_alike
from anonrisk.engines.one_state import one_state
from anonrisk.engines.renumber import closed_up
from anonrisk.errors import ArgumentError, EmptyTableError, PolicyError, UnsupportedFrameError
from anonrisk.measures.counts import question
from anonrisk.measures.counts.keyed import KeyedTally
from anonrisk.measures.counts.question import ClassesWithValues, LinkedClasses
from anonrisk.measures.counts.tally import NUMBERS
from anonrisk.pseudonyms.encoding import LETTERS
from anonrisk.pseudonyms.keys import Key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anonrisk.core.columns import Name, Names, Qid
    from anonrisk.core.types import Integers, Missing
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.question import Question
    from anonrisk.measures.counts.tally import Domain, Tally


@dataclass(frozen=True, init=False)
class Link:
    """Which tables an attacker joins, and along which columns.

    Parameters
    ----------
    tables : names
        Two tables or more.
    on : name, names, or mapping of table to them, optional
        The columns along which they are joined; a mapping where tables call them differently. Left
        out, the quasi-identifiers that all of them have.

    Examples
    --------
    >>> Link(["patients", "visits"], {"patients": "id", "visits": "patient"}).to_dict()
    {'tables': ['patients', 'visits'], 'on': {'patients': ['id'], 'visits': ['patient']}}
    """

    tables: tuple[str, ...]
    on: Qid | dict[str, Qid] | None

    def __init__(
        self, tables: Sequence[str], on: Names | Mapping[str, Names] | None = None
    ) -> None:
        """Check that it joins something."""
        named = tuple(tables) if isinstance(tables, (list, tuple)) else ()
        texts = all(isinstance(item, str) for item in named)
        if not texts or len({*named}) < max(len(named), 2):
            raise PolicyError("a link joins two tables or more, each named once")
        columns: Qid | dict[str, Qid] | None = None
        if isinstance(on, dict):
            if {*on} != {*named}:
                raise PolicyError(f"a link says for each of {listed(named)} which columns join it")
            columns = {table: columns_of(on[table]) for table in named}
            if len({len(each) for each in columns.values()}) > 1:
                raise PolicyError("a link joins tables by as many columns of each")
        elif on is not None:
            columns = columns_of(on)
        object.__setattr__(self, "tables", named)
        object.__setattr__(self, "on", columns)

    def columns(self, qids: Mapping[str, Qid]) -> dict[str, Qid]:
        """Return the columns of each table that join it; those left out are what all share."""
        if isinstance(self.on, dict):
            return self.on
        if self.on is not None:
            return dict.fromkeys(self.tables, self.on)
        first, *others = (qids[table] for table in self.tables)
        shared = tuple(name for name in first if all(name in other for other in others))
        if not shared:
            raise ArgumentError(
                f"tables {listed(self.tables)} share no quasi-identifier: say in the link along "
                "which columns they are joined (on:)"
            )
        return dict.fromkeys(self.tables, shared)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        if self.on is None:
            return {"tables": list(self.tables)}
        if isinstance(self.on, dict):
            on: Any = {table: list(names) for table, names in self.on.items()}
        else:
            on = list(self.on)
        return {"tables": list(self.tables), "on": on}


def columns_of(value: Any, role: str = "column of a link") -> Qid:
    """Read the columns of a link, or of a table of it."""
    try:
        return as_names(value, role)
    except ArgumentError as error:
        raise PolicyError(str(error)) from None


# Of what could be joined; keys that are written alike match more than this. Chosen: it makes a
# warning, and no number.
_HARDLY = 0.1


@dataclass(frozen=True, repr=False)
class MatchedTable(render.PrintedFields):
    """How much of a table has something to be joined with.

    Attributes
    ----------
    table : str
        The table.
    n : int
        Its persons; along shared columns, its rows.
    matched : int
        Those in another table of the link, too; along shared columns, those that match a row of
        every other.
    who : {"person", "row"}
        Which of the two are counted.
    """

    table: str
    n: int
    matched: int
    who: str = "person"

    def __str__(self) -> str:
        """Write both numbers."""
        about = render.count_of(self.n, self.who)
        return f"{self.matched:,} of {about} of {render.named(self.table)}"


@dataclass(frozen=True, init=False, eq=False, repr=False)
class LinkedSizes(ClassSizes):
    """How many combinations of classes there are of each size, where tables are joined.

    Made by `anonrisk.releases.links.linked`. Parameters and attributes are those of
    `anonrisk.measures.counts.class_sizes.ClassCounts`, and one more.

    Parameters
    ----------
    matched : sequence of MatchedTable
        Of each table, how much of it was joined. Who is in one table only is in no join, and cannot
        be found by it; but who is missed because keys are written differently can be.

    Examples
    --------
    >>> matched = [MatchedTable("patients", 900, 3), MatchedTable("visits", 40, 3)]
    >>> found = LinkedSizes([3], [1], matched=matched)
    >>> found.match_text
    'matched: 3 of 900 persons of patients, 3 of 40 persons of visits'
    >>> [one.table for one in found.hardly_matched]
    ['patients', 'visits']
    """

    matched: tuple[MatchedTable, ...]

    def __init__(self, *counted: Any, matched: Sequence[MatchedTable] = (), **about: Any) -> None:
        """Check the histogram, and keep what matched."""
        super().__init__(*counted, **about)
        object.__setattr__(self, "matched", tuple(matched))

    @property
    def match_text(self) -> str:
        """How much of each table was joined, in words."""
        return f"matched: {', '.join(map(str, self.matched))}"

    @property
    def hardly_matched(self) -> tuple[MatchedTable, ...]:
        """The tables of which less than a tenth was joined of what the others have room for."""
        total = sum(item.n for item in self.matched)
        return tuple(
            item for item in self.matched if item.matched < _HARDLY * min(item.n, total - item.n)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; no cell of a table is among them."""
        return {**super().to_dict(), "matched": [vars(item) for item in self.matched]}

    def _lines(self) -> list[str]:
        summary = self.match_text
        return [*super()._lines(), summary[0].upper() + summary[1:]]


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
    """Return persons without a row in the table a class of their own there."""
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
    before = np.cumsum([0, *(entry.n_classes for entry in entries)])
    classes = np.concatenate(
        [item.classes + first for item, first in zip(entries, before, strict=False)]
    )
    links = np.concatenate([entry.links for entry in entries])
    order = np.lexsort((classes, links))
    rows = np.concatenate([entry.rows for entry in entries])
    return counts_of_alike(links[order], classes[order], int(before[-1]), rows[order])


def combined(tables: Sequence[Entries], n_links: int) -> tuple[Integers, list[Integers]]:
    """Return each combination of classes that a link has in common, and its pairs in each table."""
    # (n_tables, n_links): how many classes a link has in a table.
    degrees = np.stack([np.bincount(table.links, minlength=n_links) for table in tables])
    total = degrees.astype(np.float64).prod(axis=0).sum()
    refusals.check_combinations(float(total), question.MAX_COMBINATIONS)
    everywhere = degrees.min(axis=0) > 0
    first, *others = tables
    places = [np.flatnonzero(everywhere[first.links])]
    keys, bound = first.classes[places[0]], first.n_classes
    for table, degree in zip(others, degrees[1:], strict=True):
        times, starts = degree[first.links[places[0]]], np.cumsum(degree) - degree
        order = np.argsort(table.links, kind="stable")
        entry = order[_runs(starts[first.links[places[0]]], times)]
        columns = ((np.repeat(keys, times), bound), (table.classes[entry], table.n_classes))
        keys, bound = radix.keys_of(columns, closed_up)
        places = [*(np.repeat(place, times) for place in places), entry]
    return keys, places


def _runs(starts: Integers, times: Integers) -> Integers:
    """Return so many places from each start on."""
    before = np.cumsum(times) - times
    return np.asarray(np.arange(times.sum()) + np.repeat(starts - before, times), dtype=np.int64)


def most_persons(tables: Sequence[Entries], keys: Integers, places: list[Integers]) -> Integers:
    """Count for each combination how many can have it at the most, by every value that matches.

    Who matches by several values is one person in each table all the same.
    """
    numbers, n_keys = closed_up(keys)
    persons = [item.persons[place] for item, place in zip(tables, places, strict=True)]
    sums = _sums(numbers, n_keys, np.minimum.reduce(persons))
    for item, place, own in zip(tables, places, persons, strict=True):
        if item.again is not None and len(item.again[0]):
            several = _sums(numbers, n_keys, own) - _counted_again(item, numbers, n_keys, place)
            sums = np.minimum(sums, several)
    return sums


def _counted_again(entries: Entries, numbers: Integers, n_keys: int, place: Integers) -> Integers:
    """Count how often persons of a table are in a combination a second time, or a later one."""
    assert entries.again is not None  # noqa: S101
    pairs, who = entries.again
    degree = np.bincount(pairs, minlength=len(entries.links))
    times = degree[place]
    refusals.check_combinations(float(times.sum()), question.MAX_COMBINATIONS)
    persons = who[_runs((np.cumsum(degree) - degree)[place], times)]
    combination = np.repeat(numbers, times)
    columns = (combination, n_keys), (persons, int(who.max()) + 1)
    different, n_different = closed_up(radix.keys_of(columns, closed_up)[0])
    once = np.empty(n_different, dtype=np.int64)
    once[different] = combination
    every, each = (np.bincount(x, minlength=n_keys) for x in (combination, once))
    return np.asarray(every - each, dtype=np.int64)


def _sums(numbers: Integers, n_keys: int, parts: Integers) -> Integers:
    result = np.zeros(n_keys, dtype=np.int64)
    np.add.at(result, numbers, parts)
    return result


def matching_rows(tables: Sequence[Entries], n_links: int) -> tuple[list[int], list[int]]:
    """Count the rows of each table, and those whose link every other table has."""
    # (n_tables, n_links)
    there = np.stack([np.bincount(table.links, minlength=n_links) > 0 for table in tables])
    everywhere = there.sum(axis=0) == len(tables)
    every = [int(table.rows.sum()) for table in tables]
    return every, [int(table.rows[everywhere[table.links]].sum()) for table in tables]


def linked(
    tables: Mapping[str, Any],
    link: Link,
    qids: Mapping[str, Names],
    *,
    unit: Name | Mapping[str, Name | None] | None = None,
    missing: Missing = "value",
    whole: bool = False,
) -> LinkedSizes:
    r"""Count the persons whom an attacker finds who joins tables along a link.

    Parameters
    ----------
    tables : mapping of name to table
        Those of the link, and perhaps more.
    link : Link
        Which of them are joined, and along which columns.
    qids : mapping of name to names
        The quasi-identifier of each table.
    unit : name, or mapping of table to name, optional
        The column that says which person a row belongs to.
    missing : {"value", "drop", "error"}
        What a missing quasi-identifier is, as in `anonrisk.classes`.
    whole : bool
        Compare whole persons: all their rows in all tables together. Only along a person's key.

    Returns
    -------
    LinkedSizes
        A class is a combination of classes, one of each table; its size is the number of persons
        who can have it. `matched` says how much of each table was joined.

    Raises
    ------
    TooManyClassesError
        If persons have more combinations than are counted (10,000,000): their number is
        known beforehand, and nothing is joined then.
    EmptyTableError
        If nothing of a table matches: there is no join to measure.

    Notes
    -----
    **Along a person's key**: one column per table that is no quasi-identifier, and the unit where
    there is one. The attacker knows one row of the person in each table. With C_t(p) the classes
    that person p has in table t, the size of a combination is

    .. math:: n(c_1, \dots, c_m) = \left| \{ p : c_1 \in C_1(p), \dots, c_m \in C_m(p) \} \right|

    for every combination that somebody has. To have no row in a table is known too: it is a class
    of its own there, and who is in no other table is counted. A table that has nobody in common
    with another one is refused: its key is another, or written otherwise, and nothing was joined.
    The number of combinations of a person is the product of the numbers of their classes.

    With ``whole=True`` the attacker knows every row of the person: two are alike if the multisets
    of their rows are equal in every table. That k is never larger, and near 1 wherever persons
    have many rows, so that the budget is about the first.

    **Along shared columns**, which are no person's key: every row of one table matches all rows of
    the others with the same shared values v. Of the n_t(c, v) persons (rows, without a unit) of
    class c with these values, as many as the fewest of the tables can be the same ones:

    .. math:: n(c_1, \dots, c_m) = \sum_v \min_t n_t(c_t, v)

    for every combination that matches at all. With a unit, who matches by several values is one
    person all the same: n is then no more than the different persons of class c_t with a value that
    matches, of the table that has the fewest. One is a person singled out: a row of each table, and
    no other that it can be. No more than these can have the combination, and in no table is
    the attacker left with fewer rows; how many really have it, between none and these, neither the
    tables nor the attacker tell. Where the shared columns belong to the quasi-identifier of each
    table, it is the smallest of the matching classes, so that tables of a good k each are as good
    together. Rows that match nothing are not counted, and where none matches there is nothing to
    tell.

    Examples
    --------
    Two tables in which everybody has a twin, and nobody in the join:

    >>> import pandas as pd
    >>> patients = pd.DataFrame({"id": [1, 2, 3, 4], "zip": ["1011", "1011", "1012", "1012"]})
    >>> visits = pd.DataFrame({"id": [1, 2, 3, 4], "day": ["Mon", "Tue", "Mon", "Tue"]})
    >>> link = Link(["patients", "visits"], on="id")
    >>> qids = {"patients": ["zip"], "visits": ["day"]}
    >>> linked({"patients": patients, "visits": visits}, link, qids).k
    1
    """
    check_missing(missing)
    value: tuple[tuple[Any, Any], ...] = (tables, Mapping), (qids, Mapping), (link, Link)
    if not all(isinstance(item, kind) for item, kind in value):
        raise ArgumentError("linked takes tables by their names, a Link, and qids by these names")
    for name in link.tables:
        if name not in tables or name not in qids:
            raise ArgumentError(f"table {name!r} of a link is not given, or its quasi-identifier")
    units: Any = unit if isinstance(unit, dict) else dict.fromkeys(link.tables, unit)
    quasi = {
        name: columns_of(qids[name], f"quasi-identifier of table {name!r}") for name in link.tables
    }
    on = link.columns(quasi)
    asked = [
        _LinkedTable(name, tables[name], quasi[name], on[name], units.get(name), missing)
        for name in link.tables
    ]
    if _by_person(asked):
        return _persons(asked, whole=whole)
    if whole:
        raise ArgumentError(
            f"whole persons are compared along a person's key, not along {listed(asked[0].on)}"
        )
    return _matches(asked)


@dataclass(frozen=True)
class _LinkedTable:
    """One table of a link, and what is asked of it."""

    name: str
    frame: Any
    qid: Qid
    on: Qid
    unit: Name | None
    missing: str

    @property
    def engine(self) -> Engine:
        """What counts it."""
        return engine_for(self.frame)

    def question(self, columns: Qid, unit: Name | None) -> Question:
        """Check every name and type."""
        return question_of(self.frame, list(columns), unit=unit, missing=self.missing)[1]


def _by_person(asked: Sequence[_LinkedTable]) -> bool:
    """Return whether a link is along a person's key."""
    quasi = {name for item in asked for name in item.qid}
    return all(
        len(item.on) == 1 and item.on[0] not in quasi and item.unit in (None, item.on[0])
        for item in asked
    )


def _names(asked: Sequence[_LinkedTable]) -> Qid:
    return tuple(f"{item.name}.{name}" for item in asked for name in item.qid)


def _check_type(asked: Sequence[_LinkedTable], place: int, kinds: Sequence[str]) -> None:
    """Reject to join along columns of different types."""
    columns = [f"{item.name}.{item.on[place]}" for item in asked]
    refusals.check_one_type(list(zip(columns, kinds, strict=True)))


def _sizes(
    asked: Sequence[_LinkedTable],
    **counted: Any,
) -> LinkedSizes:
    return LinkedSizes(**counted, qid=_names(asked), missing=asked[0].missing)


def _matched(
    asked: Sequence[_LinkedTable], n: Iterable[int], n_shared: Iterable[int], who: str = "person"
) -> list[MatchedTable]:
    return [
        MatchedTable(item.name, int(every), int(some), who)
        for item, every, some in zip(asked, n, n_shared, strict=True)
    ]


# ---- along a person's key -----------------------------------------------------------------------


def _persons(asked: Sequence[_LinkedTable], *, whole: bool) -> LinkedSizes:
    """Count along a person's key: on Spark where the tables are, else by hashes in one process."""
    if not whole and all(entry.engine.name == "spark" for entry in asked):
        first, *others = [(entry.frame, entry.question(entry.qid, entry.on[0])) for entry in asked]
        result = asked[0].engine.match(first[0], LinkedClasses(first[1], tuple(others)))
        matched = _matched(asked, result.n_persons, result.n_shared)
        return LinkedSizes(**{**vars(result.sizes), "qid": _names(asked)}, matched=matched)
    key = Key.generate()
    counted = []
    for entry in asked:
        with one_state(entry.frame, "linked"):
            question = entry.question(entry.qid, entry.on[0])
            counted.append(entry.engine.tally(entry.frame, KeyedTally(question, (), key)))
    _check_type(
        asked,
        0,
        [LETTERS[result.kinds[entry.on[0]]] for entry, result in zip(asked, counted, strict=True)],
    )
    persons, n_persons = _numbers(np.concatenate([result.persons for result in counted]))
    ends = np.cumsum([len(result.rows) for result in counted])[:-1]
    entries = [
        Entries(*_numbers(result.classes), links, np.ones(len(links), dtype=np.int64), result.rows)
        for result, links in zip(counted, np.split(persons, ends), strict=True)
    ]
    about: dict[str, Any] = {
        "n_dropped": sum(result.n_dropped for result in counted),
        "matched": _shared_persons(asked, entries, n_persons),
        "unit": asked[0].on[0],
        "n_rows": sum(result.n_rows for result in counted),
    }
    if whole:
        sizes, classes = histogram(counts_of_whole(entries))
        return _sizes(asked, sizes=sizes, classes=classes, whole_persons=True, **about)
    everybody = [with_absent(entry, n_persons) for entry in entries]
    keys, places = combined(everybody, n_persons)
    links, order = everybody[0].links[places[0]], np.argsort(keys, kind="stable")
    sizes, classes, records = histogram_of_persons(keys[order], links[order])
    return _sizes(asked, sizes=sizes, classes=classes, records=records, **about)


def _shared_persons(
    asked: Sequence[_LinkedTable], entries: Sequence[Entries], n_persons: int
) -> list[MatchedTable]:
    """Count whom each table shares; one that shares nobody would pass as unlinked: refused."""
    # (n_tables, n_persons)
    there = np.zeros((len(entries), n_persons), dtype=bool)
    for own, item in zip(there, entries, strict=True):
        own[item.links] = True
    n_shared = (there & (there.sum(axis=0) > 1)).sum(axis=1).tolist()
    refusals.check_shared([item.on[0] for item in asked], n_shared)
    return _matched(asked, there.sum(axis=1), n_shared)


def _numbers(hashes: Any) -> tuple[Integers, int]:
    """Return equal hashes equal numbers, from 0 on."""
    halves = [closed_up(hashes[:, half]) for half in (0, 1)]
    return closed_up(radix.keys_of(halves, closed_up)[0])


# ---- along shared columns -----------------------------------------------------------------------


def _refuse_half_keys(asked: Sequence[_LinkedTable]) -> None:
    """Reject a person's key that is joined with more beside it, or with something else."""
    for item in asked:
        if item.unit is None or item.unit not in item.on:
            continue
        if len(item.on) > 1:
            rest = listed([name for name in item.on if name != item.unit])
            raise ArgumentError(
                f"a link along {listed(item.on)}: {item.unit!r} is the unit of {item.name!r} and "
                "identifies persons by itself"
                f". Write on: {render.named(item.unit)}; {rest} "
                "counts if it is a quasi-identifier"
            )
        each = ", ".join(f"{render.named(two.name)}.{render.named(two.on[0])}" for two in asked)
        raise ArgumentError(
            f"a link along {each}: {item.unit!r} is the unit of {item.name!r}, so that the others "
            "have to be the units of their tables, and no quasi-identifiers, too"
        )


def _matches(asked: Sequence[_LinkedTable]) -> LinkedSizes:
    _refuse_half_keys(asked)
    if len({type(item.engine) for item in asked}) > 1:
        engines = {item.engine.name for item in asked}
        raise UnsupportedFrameError(
            f"tables {listed([item.name for item in asked])} are joined by values that they share, "
            f"and lie in {' and '.join(sorted(engines))}: bring them to one engine"
        )
    tallies = []
    for item in asked:
        columns = tuple(dict.fromkeys((*item.qid, *item.on)))
        with one_state(item.frame, "linked"):
            question = item.question(columns, item.unit)
            more = () if question.unit is None else (question.unit,)
            tally = item.engine.tally(item.frame, ClassesWithValues((*columns, *more)))
        tallies.append(kept(tally, question))
    links, n_links = _shared(asked, [tally for tally, _ in tallies])
    entries = [
        _of_tally(tally, item, own)
        for (tally, _), item, own in zip(tallies, asked, links, strict=True)
    ]
    keys, places = combined(entries, n_links)
    if not len(keys):
        raise EmptyTableError(
            f"no row of {asked[0].name!r} has {listed(asked[0].on)} in common with a row of every "
            "other table of the link: there is no join to measure"
        )
    sizes, classes = histogram(most_persons(entries, keys, places))
    about: dict[str, Any] = {
        "n_rows": sum(tally.n_records for tally, _ in tallies),
        "n_dropped": sum(n for _, n in tallies),
        "matched": _matched(asked, *matching_rows(entries, n_links), who="row"),
    }
    return _sizes(asked, sizes=sizes, classes=classes, **about)


def _shared(asked: Sequence[_LinkedTable], tallies: Sequence[Tally]) -> tuple[list[Integers], int]:
    """Number the combinations of shared values, alike in every table."""
    ends = np.cumsum([tally.n_classes for tally in tallies])[:-1]
    columns = []
    for place, _ in enumerate(asked[0].on):
        own = [item.on[place] for item in asked]
        domains = [tally.domains[name] for tally, name in zip(tallies, own, strict=True)]
        _check_type(asked, place, [_kind(domain) for domain in domains])
        numbers, size = _common(domains)
        coded = [
            number[tally.codes[name]]
            for number, tally, name in zip(numbers, tallies, own, strict=True)
        ]
        columns.append((np.concatenate(coded), size))
    links, n_links = closed_up(radix.keys_of(columns, closed_up)[0])
    return np.split(links, ends), n_links


def _kind(domain: Domain) -> str:
    """Return what values are, whether they happen to be whole or not; without any, they fit all."""
    if not len(domain):
        return "missing"
    return "number" if domain.kind in NUMBERS else domain.kind


def _common(domains: Sequence[Domain]) -> tuple[list[Integers], int]:
    """Return the values of several tables one numbering, missing after the last."""
    values = np.concatenate([np.asarray(domain.values, dtype=object) for domain in domains])
    numbers, size = closed_up(values)
    ends = np.cumsum([len(domain) for domain in domains])[:-1]
    return [np.append(item, size) for item in np.split(numbers, ends)], size + 1


def _of_tally(tally: Tally, item: _LinkedTable, links: Integers) -> Entries:
    """Add up the rows, or the persons, of each class and shared value."""
    columns = [(tally.codes[name], len(tally.domains[name]) + 1) for name in item.qid]
    classes, n_classes = closed_up(radix.keys_of(columns, closed_up)[0])
    pairs, n_pairs = closed_up(classes * (links.max(initial=0) + 1) + links)
    first = np.zeros(n_pairs, dtype=np.int64)
    first[pairs[::-1]] = np.arange(len(pairs))[::-1]
    rows, persons = np.zeros(n_pairs, dtype=np.int64), np.zeros(n_pairs, dtype=np.int64)
    np.add.at(rows, pairs, tally.counts)
    # With a unit, each is a person; columns that are neither class nor link are one.
    units = [name for name in tally.codes if name not in {*item.qid, *item.on}]
    np.add.at(persons, pairs, 1 if units else tally.counts)
    again = _again(pairs, classes, n_classes, tally.codes[units[0]]) if units else None
    return Entries(classes[first], n_classes, links[first], persons, rows, again)


def _again(
    pairs: Integers, classes: Integers, n_classes: int, who: Integers
) -> tuple[Integers, Integers]:
    """Find the persons who have several shared values in one class."""
    columns = (classes, n_classes), (who, int(who.max(initial=0)) + 1)
    own = closed_up(radix.keys_of(columns, closed_up)[0])[0]
    several = np.flatnonzero(np.bincount(own)[own] > 1)
    order = several[np.argsort(pairs[several], kind="stable")]
    return pairs[order], who[order]
