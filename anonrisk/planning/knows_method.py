"""What becomes of a table by a plan, seen by someone who knows everybody's quasi-identifiers."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import radix
from anonrisk.core.frozen import dataclass
from anonrisk.errors import AnonRiskError, ArgumentError, PlanError
from anonrisk.measures.counts.tally import Tally
from anonrisk.measures.recode.regions import NumberRanges
from anonrisk.measures.scores import FORMULAS
from anonrisk.planning.attack import HAIR, Credibility, ExcludedCells, PlanAttack, Worlds, bounds
from anonrisk.planning.class_rules import Coded, Requirements
from anonrisk.planning.losses import GroupedColumn
from anonrisk.planning.regions.multidimensional import located

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Booleans, Floats, Integers
    from anonrisk.measures.counts.tally import Domain
    from anonrisk.measures.recode.regions import Regions
    from anonrisk.planning.class_rules import SensitiveGoal
    from anonrisk.planning.plan import Plan


@dataclass(frozen=True)
class Sighting:
    """A table and what a plan makes of it, by combination of quasi-identifiers.

    Attributes
    ----------
    tally : Tally
        The table, with quasi-identifiers, what the method looks at, and what is asked about.
    people : Tally
        The combinations alone.
    number : array (n_rows,)
        The combination of each row of the tally.
    labels : list of array (n_combinations,)
        Of each column the label that a combination gets.
    kept : array (n_combinations,)
        Whether its records are in the release.
    """

    tally: Tally
    people: Tally
    number: Integers
    labels: Sequence[Any]
    kept: Booleans

    @classmethod
    def of(cls, plan: Plan, tally: Tally) -> Sighting:
        """Find the labels of a plan, and whom it leaves out."""
        people = tally.only(plan.qids)
        number = _places(tally, people, plan.qids)
        if plan.regions is not None:
            labels = _by_region(plan, people)
            return cls(tally, people, number, labels, np.ones(people.n_classes, dtype=bool))
        labels, groups = [], []
        for name in plan.qids:
            column = GroupedColumn.of(
                plan.recodings[name], name, people.domains[name], people.margin(name)
            )
            known = people.domains[name].texts() if column.labels is None else column.labels
            written = np.array([*known, column.recoding.for_missing], dtype=object)
            groups.append(column.groups[people.codes[name]])
            labels.append(written[np.where(groups[-1] < len(known), groups[-1], len(known))])
        rules, allowed = plan.class_rules, plan.may_leave_out(tally.n_records)
        required = Requirements(tally, plan.qids, rules, allowed=allowed)
        codes = [group[number] for group in groups]
        codes += [tally.codes[name] for name in required.beside]
        coded = Coded(codes, tally.counts, [int(code.max(initial=0)) + 1 for code in codes])
        kept = np.zeros(people.n_classes, dtype=bool)
        kept[number[required.kept(coded).rows]] = True
        return cls(tally, people, number, labels, kept)

    def __eq__(self, other: object) -> bool:
        """Return whether two tables of the same persons are published alike."""
        return (
            isinstance(other, Sighting)
            and np.array_equal(self.kept, other.kept)
            and all(map(np.array_equal, self.labels, other.labels))
        )

    __hash__ = None  # type: ignore[assignment]

    @cached_property
    def classes(self) -> Integers:
        """The class of each combination; those that are left out are one."""
        codes = [np.unique(label.astype(str), return_inverse=True)[1] for label in self.labels]
        # A missing cell is not the text that it is written as.
        codes += [
            np.array([cell is None for cell in label], dtype=np.int64) for label in self.labels
        ]
        keys, _ = radix.keys_of([(code, int(code.max()) + 1) for code in codes])
        return np.asarray(
            np.unique(np.where(self.kept, keys, -1), return_inverse=True)[1], dtype=np.int64
        )


def _places(tally: Tally, people: Tally, qid: Qid) -> Integers:
    """Find the combination of each row of a tally among those of people."""
    sizes = [len(tally.domains[name]) + 1 for name in qid]
    both = [np.concatenate((people.codes[name], tally.codes[name])) for name in qid]
    keys, _ = radix.keys_of(zip(both, sizes, strict=True))
    order = np.argsort(keys[: people.n_classes])
    place = np.searchsorted(keys[: people.n_classes][order], keys[people.n_classes :])
    return np.asarray(order[place], dtype=np.int64)


def _by_region(plan: Plan, people: Tally) -> list[Any]:
    regions = _regions_of(plan, people)
    written = plan.regions.labels() if plan.regions is not None else {}
    labels = []
    for name in plan.qids:
        if name in written:
            number, names = written[name]
            labels.append(np.array([*names, None], dtype=object)[number[regions]])
        else:
            values = np.array([*people.domains[name].texts(), None], dtype=object)
            labels.append(values[people.codes[name]])
    return labels


def _regions_of(plan: Plan, people: Tally) -> Integers:
    """Find the region of each combination."""
    assert plan.regions is not None  # noqa: S101
    regions = located(plan.regions, people)
    if (regions < 0).any():
        raise PlanError("the plan was made for another table: its regions do not hold every record")
    return regions


def attacked(
    plan: Plan,
    tally: Tally,
    make: Callable[[Tally], Plan],
    *,
    goals: tuple[SensitiveGoal, ...],
    sensitive: Qid,
    hidden: Qid,
    by_counts: bool,
) -> PlanAttack:
    """Measure what the release, the method and everybody's quasi-identifiers tell.

    `goals` are those of the method, `make`, and `hidden` the columns beside the quasi-identifiers
    that it looks at; `by_counts`, whether it tells the values of each apart by their counts only.
    """
    before = plan.before
    assert before is not None  # noqa: S101
    seen = Sighting.of(plan, tally)
    if (tally.n_records, seen.people.n_classes) != (before.n_records, before.n_classes):
        raise PlanError("the plan was made for another table: it has other records")
    leads_here = partial(_leads_to, seen, make)
    # A bound holds for what the method makes of this table, too.
    if not leads_here(tally):
        raise PlanError(
            "the plan was made for another table, or was changed, or its method is not repeatable: "
            "made again from this table, it is another one"
        )
    known: list[Credibility] = []
    by_person: dict[Name, Callable[[], pd.DataFrame]] = {}
    chances = None
    if hidden and sensitive:
        names = (*dict.fromkeys((*hidden, *sensitive)),)
        chances = _chances(seen, names, leads_here, by_counts=by_counts)
    for name in sensitive:
        result, highest, alone = _credibility(seen, name, goals, chances, blind=not hidden)
        known.append(result)
        by_person[name] = partial(to_frame, seen.people, alone, highest)
    return PlanAttack(
        plan.qids,
        tally.n_records,
        int(seen.people.counts[~seen.kept].sum()),
        tuple(known),
        _excluded(plan, seen),
        by_person,
    )


@dataclass(frozen=True)
class _Chances:
    """How likely hidden values are, (n_combinations, n_values), and the codes of these."""

    shares: Floats
    codes: dict[Name, Integers]


def _leads_to(seen: Sighting, make: Callable[[Tally], Plan], table: Tally) -> bool:
    """Return whether a method makes of a table of the same persons what was seen."""
    try:
        plan = make(table)
    except AnonRiskError:
        return False
    return Sighting.of(plan, table) == seen


def _chances(
    seen: Sighting, names: Qid, leads_here: Callable[[Tally], bool], *, by_counts: bool
) -> _Chances | None:
    """Try every table that could have led here; None where there are too many."""
    values = seen.tally.only(names)
    if seen.people.n_classes * values.n_classes > _MOST_CELLS:
        return None
    counts = np.zeros((seen.people.n_classes, values.n_classes), dtype=np.int64)
    np.add.at(counts, (seen.number, _places(seen.tally, values, names)), seen.tally.counts)
    alike = by_counts and len(names) == 1
    shares = Worlds(counts, seen.classes, alike).credibilities(
        lambda world: leads_here(_table(seen.people, values, world))
    )
    return None if shares is None else _Chances(shares, values.codes)


# Larger tables have too many arrangements, and need not be laid out to see that.
_MOST_CELLS = 100_000


def _table(people: Tally, values: Tally, counts: Integers) -> Tally:
    """Return the table in which so many persons of each combination have each value."""
    who, which = np.nonzero(counts)
    codes = {name: code[who] for name, code in people.codes.items()}
    codes |= {name: code[which] for name, code in values.codes.items()}
    return Tally({**people.domains, **values.domains}, codes, counts[who, which])


def _credibility(
    seen: Sighting,
    name: Name,
    goals: Sequence[SensitiveGoal],
    chances: _Chances | None,
    *,
    blind: bool,
) -> tuple[Credibility, Floats, Floats]:
    """Measure one column; beside it the highest credibility by combination, and without method."""
    classes, sizes = seen.classes, seen.people.counts
    n_values = len(seen.tally.domains[name]) + 1
    keys = classes[seen.number] * n_values + seen.tally.codes[name]
    pairs, pair = np.unique(keys, return_inverse=True)
    times = np.bincount(pair, seen.tally.counts)
    totals = np.bincount(classes, sizes)
    most = np.zeros(len(totals), dtype=np.int64)
    np.maximum.at(most, pairs // n_values, np.rint(times).astype(np.int64))
    alone = np.asarray((most / totals)[classes], dtype=np.float64)
    if blind:
        highest = alone
    elif chances is not None:
        by_value = np.zeros((len(sizes), n_values))
        np.add.at(by_value.T, chances.codes[name], chances.shares.T)
        highest = by_value.max(axis=1)
    else:
        highest = bounds(sizes, classes, most)
    exact = blind or chances is not None
    asked = [g.limit for g in goals if g.column == name and FORMULAS[g.score].measure == "ldiv"]
    limit = 1 / max(asked) if asked else None
    certain = int(sizes[highest > 1 - HAIR].sum())
    return (
        Credibility(
            name,
            exact,
            float(alone.max()),
            min(float(highest.max()), 1.0),
            limit,
            None if limit is None else int(sizes[highest > limit + HAIR].sum()),
            certain if exact else None,
            int(sizes[highest > alone + HAIR].sum()) if exact else None,
            0 if exact else certain,
        ),
        highest,
        alone,
    )


def to_frame(people: Tally, alone: Floats, highest: Floats) -> pd.DataFrame:
    """Return the persons with what is believed of each."""
    import pandas as pd

    numbers = {"persons": people.counts, "by_release": alone, "credibility": highest}
    for name in numbers.keys() & people.codes.keys():
        raise ArgumentError(f"the table already has a column {name!r}; rename it")
    cells = {name: _cells(people.domains[name])[code] for name, code in people.codes.items()}
    return pd.concat([pd.DataFrame(cells), pd.DataFrame(numbers)], axis=1)


def _cells(domain: Domain) -> Any:
    if domain.kind == "boolean":
        # A tally has them as they are written.
        return np.array([*(domain.values == "true").tolist(), None], dtype=object)
    unit = {"date": "D", "timestamp": "us"}.get(domain.kind)
    values = domain.values if unit is None else domain.values.astype(f"datetime64[{unit}]")
    return np.array([*values.astype(object), None], dtype=object)


def _excluded(plan: Plan, seen: Sighting) -> ExcludedCells:
    """Count the cells whose label includes several values of the table, and which are a rest."""
    people, regions = seen.people, plan.regions
    owners = None if regions is None else _regions_of(plan, people)
    wide = rest = 0
    for c, name in enumerate(plan.qids):
        domain, margin = people.domains[name], people.margin(name)
        if regions is not None:
            several = _several(regions, c, domain, margin)[owners]
            rest += int(people.counts[regions.rests[owners, c]].sum())
        else:
            column = GroupedColumn.of(plan.recodings[name], name, domain, margin)
            held = np.bincount(column.groups[margin > 0], minlength=column.n_groups)
            several = (held > 1)[column.groups[people.codes[name]]] & seen.kept
        wide += int(people.counts[several].sum())
    return ExcludedCells(wide, rest)


def _several(regions: Regions, c: int, domain: Domain, margin: Integers) -> Booleans:
    """Return which regions have a label that includes several values of the table."""
    recoding = list(regions.columns.values())[c]
    places = np.append(recoding.groups(domain)[0], recoding.missing)[margin > 0]
    values = np.bincount(places[places >= 0], minlength=recoding.n_places)
    before = np.append(0, np.cumsum(values))
    first, last = regions.boxes[:, c].T
    # The rest of a star names no end.
    star = regions.rests[:, c] & isinstance(recoding, NumberRanges)
    first, last = np.where(star, 0, first), np.where(star, recoding.missing, last)
    return np.asarray(before[last + 1] - before[first] > 1)
