"""A release matched with a population in SQL: pairs of class sizes leave, with how many there are.

Columns of ours, beside those of `count`: `f` and `size_in` the sizes of a class in the release and
in the population, `home` the household, `step` a risk on the grid.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sqlalchemy as sa

from anonrisk.counts import bounds
from anonrisk.counts.class_sizes import ClassCounts
from anonrisk.counts.matched import GRID, Attacker
from anonrisk.engines import refusals
from anonrisk.engines.numpy.match import MatchedPairs, of_pairs
from anonrisk.engines.sql.database import same_place
from anonrisk.engines.sql.numbers import LARGEST, at_most_one, double, exp
from anonrisk.engines.sql.table import any_missing, kind_of_cells, look
from anonrisk.engines.sql.text import check_logarithms
from anonrisk.errors import TooManyClassesError, UnsupportedColumnError, UnsupportedFrameError

if TYPE_CHECKING:
    from anonrisk.core.columns import Name
    from anonrisk.counts.matched import Matched
    from anonrisk.counts.question import Against, Question
    from anonrisk.engines.sql.table import SqlTable

_NUMBERS = ("whole numbers", "floats", "decimals")
# Types of columns that hold nothing, which is like any other.
_NOTHING = ("empty", '"NULL"')


def matched(table: SqlTable, question: Question, against: Against) -> Matched:
    """Find the size that each class of the release has in the population."""
    sides = SqlSides(table, question, against)
    pairs = sides.pairs()
    return of_pairs(pairs, sides.sizes(pairs))


def households(table: SqlTable, question: Question, against: Against) -> Attacker:
    """Give the risk that a record has by any member of its household."""
    check_logarithms(table, "ln(")
    sides = SqlSides(table, question, against)
    sides.pairs()
    rows = table.fetch(sides.households(), "find the risk of households")
    steps, records, highest, summed, lost = (
        np.array([float(x) for x in column]) for column in zip(*rows, strict=True)
    )
    if lost.any() and against.household is not None:
        raise refusals.missing_household(against.household, int(lost.sum()))
    average = float(summed.sum() / records.sum())
    return Attacker("household", average, float(highest.max()), steps / GRID, records)


class SqlSides:
    """Release and population under one set of names; what is wrong with them is refused."""

    def __init__(self, table: SqlTable, question: Question, against: Against) -> None:
        self.table, self.question, self.against = table, question, against
        self.drops = question.missing == "drop"
        self.qs = [f"q{i}" for i in range(len(question.columns))]
        roles = question.roles()
        if against.household is not None:
            roles[against.household] = "household"
        if against.weight is not None:
            roles[against.weight] = "weight"
        kinds = table.kinds(roles)
        self.weight_range = (1.0, 1.0)
        cells = {name: table.cell(name, kind) for name, kind in kinds.items()}
        if against.weight is not None:
            if kind_of_cells(kinds[against.weight]) not in _NUMBERS:
                raise refusals.not_a_number(against.weight)
            self._check_weights(double(cells[against.weight]), cells)
        found = look(table, cells, question.columns)
        gaps = {name: found.n_missing[name] for name in question.columns}
        self._cells, self._others = cells, {}
        if against.population is not None:
            self._check_same_database(against.population)
            others = self._check_types(kinds, against.population)
            self._others = {
                name: against.population.cell(name, kind) for name, kind in others.items()
            }
            more = look(against.population, self._others, ()).n_missing
            gaps = {name: n + more[name] for name, n in gaps.items()}
        if question.missing == "error" and any(gaps.values()):
            raise refusals.missing_values(gaps)
        self.n_dropped = found.n_incomplete if self.drops else 0
        if found.n_rows == self.n_dropped:
            # Says how many were dropped.
            ClassCounts([], [], n_dropped=self.n_dropped)

    def _check_weights(self, weight: Any, cells: dict[Name, Any]) -> None:
        """Refuse weights that are missing, infinite or below 1; find the ends of the others."""
        infinite = sa.or_(weight > double(LARGEST), weight < double(-LARGEST))
        unknown = sa.or_(weight.is_(None), infinite)
        known = sa.case((unknown, sa.null()), else_=weight)
        left_out = any_missing(cells[name] for name in self.question.columns if self.drops)
        counted = sa.case((left_out, sa.null()), else_=known)
        query = sa.select(
            sa.func.sum(sa.case((unknown, 1), else_=0)),
            sa.func.sum(sa.case((known < 1, 1), else_=0)),
            sa.func.min(counted),
            sa.func.max(counted),
        ).select_from(self.table.source)
        ((n_missing, n_small, low, high),) = self.table.fetch(query, "look at the weights")
        assert self.against.weight is not None  # noqa: S101
        refusals.check_weights(self.against.weight, int(n_missing or 0), int(n_small or 0))
        # An empty table has none, and is refused in a moment.
        self.weight_range = (float(low or 1), float(high or 1))

    def _check_same_database(self, population: SqlTable) -> None:
        if not same_place(self.table.database, population.database):
            raise UnsupportedFrameError(
                "release and population are looked at in one statement: give both as tables of "
                "the same connection, engine or URL"
            )

    def _check_types(self, kinds: dict[Name, str], population: SqlTable) -> dict[Name, str]:
        """Refuse columns that differ in type."""
        names = self.question.columns
        others = population.kinds(dict.fromkeys(names, "quasi-identifier of the population"))
        for name in names:
            both = [kinds[name], others[name]]
            held = [kind_of_cells(kind) for kind in both]
            if held[0] != held[1] and not set(both).intersection(_NOTHING):
                raise UnsupportedColumnError(
                    f"quasi-identifier {name!r} mixes types: {held[0]} in the release, "
                    f"{held[1]} in the population"
                )
        return others

    def rows(self) -> Any:
        """Select the records that count, each with what it adds to `f` and to `size_in`."""
        against = self.against
        size = _whole(int(against.population is None))
        if against.weight is not None:
            size = double(self._cells[against.weight])
        home = sa.null() if against.household is None else self._cells[against.household]
        sides = [self._side(self.table, self._cells, 1, size, home)]
        if against.population is not None:
            sides.append(self._side(against.population, self._others, 0, _whole(1), sa.null()))
        return sa.union_all(*sides).subquery("r")

    def _side(self, table: SqlTable, cells: Any, f: int, size: Any, home: Any) -> Any:
        keys = [cells[name] for name in self.question.columns]
        named = (key.label(q) for key, q in zip(keys, self.qs, strict=True))
        chosen = sa.select(*named, _whole(f).label("f"), size.label("size_in"), home.label("home"))
        chosen = chosen.select_from(table.source)
        return chosen.where(sa.not_(any_missing(keys))) if self.drops else chosen

    def pairs(self) -> MatchedPairs:
        """Count the classes by their two sizes; refuse a population that does not fit."""
        rows = self.rows()
        classes = sa.select(
            sa.func.sum(rows.c.f).label("f"), sa.func.sum(rows.c.size_in).label("size_in")
        )
        of = classes.group_by(*(rows.c[q] for q in self.qs)).subquery("k")
        query = sa.select(of.c.f, of.c.size_in, sa.func.count().label("classes"))
        query = query.group_by(of.c.f, of.c.size_in).limit(bounds.MAX_CLASSES + 1)
        found = self.table.fetch(query, "match the classes")
        if len(found) > bounds.MAX_CLASSES:
            raise TooManyClassesError(
                f"the classes have more than {bounds.MAX_CLASSES:,} different sizes and sums of "
                "weights, too many to bring out of the database; round the weights first"
            )
        pairs = MatchedPairs(
            np.array([int(f) for f, _, _ in found]),
            np.array([float(size_in) for _, size_in, _ in found]),
            np.array([int(classes) for _, _, classes in found]),
        )
        if self.against.population is not None:
            pairs.check_population()
        return pairs

    def sizes(self, pairs: MatchedPairs) -> ClassCounts:
        """Give the classes of the release."""
        found: dict[int, int] = {}
        for f, classes in zip(pairs.f.tolist(), pairs.classes.tolist(), strict=True):
            if f:
                found[f] = found.get(f, 0) + classes
        sizes = sorted(found)
        return ClassCounts(
            sizes,
            [found[f] for f in sizes],
            qid=self.question.qid,
            missing=self.question.missing,
            n_dropped=self.n_dropped,
        )

    def households(self) -> Any:
        """Select records by the risk of their household, on the grid."""
        rows = self.rows()
        size = sa.func.sum(rows.c.size_in).over(partition_by=[rows.c[q] for q in self.qs])
        sized = sa.select(rows.c.f, rows.c.home, double(size).label("size_in")).subquery("z")
        # The logarithm of what is certain is no number, so that certainty goes by itself.
        certain = sa.func.max(sa.case((sized.c.size_in <= 1, 1), else_=0))
        safe = sa.case((sized.c.size_in <= 1, 0.0), else_=at_most_one(sized.c.size_in))
        homes = sa.select(
            sized.c.home,
            sa.func.count().label("members"),
            certain.label("certain"),
            sa.func.sum(safe).label("safe"),
        )
        of = homes.where(sized.c.f == 1).group_by(sized.c.home).subquery("h")
        risk = sa.case((of.c.certain == 1, 1.0), else_=1 - exp(of.c.safe))
        risks = sa.select(of.c.home, of.c.members, double(risk).label("risk")).subquery("a")
        step = sa.func.ceil(risks.c.risk * GRID - double(1e-6)).label("step")
        steps = sa.select(risks.c.home, risks.c.members, risks.c.risk, step).subquery("s")
        return sa.select(
            steps.c.step,
            sa.func.sum(steps.c.members).label("records"),
            sa.func.max(steps.c.risk).label("highest"),
            sa.func.sum(steps.c.risk * steps.c.members).label("summed"),
            sa.func.sum(sa.case((steps.c.home.is_(None), steps.c.members), else_=0)).label("lost"),
        ).group_by(steps.c.step)


def _whole(number: int) -> Any:
    """Write a number that is ours into the statement."""
    return sa.literal_column(str(number))
