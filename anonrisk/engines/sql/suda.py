"""Minimal sample uniques in SQL: a grouping for each set of columns says who is alone with it.

Columns of ours: `a3`, … whether a record is alone with a set, `m3`, … whether the set is minimal;
the number's bits are the columns of the set.
"""

from __future__ import annotations

from functools import reduce
from itertools import combinations
from operator import add, mul
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.core.render import count_of
from anonrisk.engines.refused import ROWS_READ_AGAIN, refused
from anonrisk.engines.sql.numbers import double
from anonrisk.engines.sql.rewrite import MARK, check_marks, check_new, own, with_marks
from anonrisk.engines.sql.table import any_missing
from anonrisk.engines.sql.text import check_logarithms
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.change import Totals
from anonrisk.measures.suda import exponent, weights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from anonrisk.engines.sql.sets import SqlSets
    from anonrisk.engines.sql.table import SqlTable

# Terms of a sum that every database reads.
_MOST_SETS = 500
# The number of a record, and of one that is alone.
_ID: Any = sa.column(f"{MARK}id")
_OF: Any = sa.column(f"{MARK}of")


def scores(
    counter: SqlSets,
    max_size: int,
    names: list[str],
    risk: Callable[[Totals], float | None],
) -> tuple[SqlTable, SqlTable, Totals]:
    """Score every record; `risk` is what DIS-SUDA adds to 1 / score^power, if it is asked for."""
    table = counter.searched.table
    if not table.dialect.keeps_steps:
        raise refused(ROWS_READ_AGAIN)
    check_new(table, [name for name in names if name])
    check_logarithms(table, "ln(")
    result = _MarkedUniques(counter, max_size)
    totals = result.totals()
    odds = risk(totals)
    return result.records(names[:1], odds), result.records(names, odds), totals


class _MarkedUniques:
    """The scores of each record, as expressions over a query that marks its minimal uniques."""

    def __init__(self, counter: SqlSets, max_size: int) -> None:
        self.table, self.drops = counter.searched.table, counter.searched.drops
        self.cells = counter.searched.cells
        self.weights = weights(len(self.cells), max_size)
        self.sets = [
            sum(1 << i for i in positions)
            for size in range(1, len(self.weights) + 1)
            for positions in combinations(range(len(self.cells)), size)
        ]
        if len(self.sets) > _MOST_SETS:
            raise ArgumentError(
                f"{count_of(len(self.sets), 'set')} of columns, and a database takes {_MOST_SETS} "
                "at most: give fewer columns, or a smaller max_size"
            )
        check_marks(self.table, MARK)
        self.rows = self._minimal(self._alone())

    def _alone(self) -> Any:
        """Mark the sets with which a record is alone among those that count.

        Each set is grouped once, and gives the numbers of the records that are alone: a window
        over the whole table for each takes several times as long.
        """
        number = sa.func.row_number().over().label(_ID.name)
        numbered = sa.select(*own(self.table).values(), number).select_from(self.table.source)
        # Made once, so that a record has one number.
        rows = numbered.cte(f"{MARK}rows").prefix_with("MATERIALIZED")
        results = []
        for s in self.sets:
            name: Any = sa.literal_column(str(s))
            item = sa.select(name.label("s"), sa.func.min(_ID).label("id")).select_from(rows)
            if self.drops:
                item = item.where(sa.not_(any_missing(self.cells)))
            inside = [cell for i, cell in enumerate(self.cells) if s >> i & 1]
            results.append(item.group_by(*inside).having(sa.func.count() == 1))
        alone = sa.union_all(*results).subquery(f"{MARK}alone")
        marks = {
            _mark("a", s).name: sa.func.max(sa.case((alone.c.s == s, 1), else_=0))
            for s in self.sets
        }
        named = (mark.label(name) for name, mark in marks.items())
        subquery = sa.select(alone.c.id.label(_OF.name), *named).group_by(alone.c.id).subquery()
        every = rows.outerjoin(subquery, _ID == _OF)
        known: dict[str, Any] = {name: sa.func.coalesce(sa.column(name), 0) for name in marks}
        return with_marks(self.table, known, every)

    def _minimal(self, alone: Any) -> Any:
        """Mark the sets of which no part would do; one column less is enough to look at."""
        marks = {}
        for s in self.sets:
            parts = [s & ~(1 << i) for i in range(len(self.cells)) if s >> i & 1]
            more = [1 - _mark("a", part) for part in parts if part]
            marks[_mark("m", s).name] = reduce(mul, more, _mark("a", s))
        return with_marks(self.table, marks, alone)

    def _sum(self, sets: Sequence[int], *, weighted: bool = True) -> Any:
        """Add up the minimal uniques among some sets, or their weights."""
        terms = [
            _mark("m", s) * (double(self.weights[s.bit_count() - 1]) if weighted else 1)
            for s in sets
        ]
        return reduce(add, terms)

    def _scores(self) -> list[Any]:
        """Return the score and each column's part of it."""
        with_column = ([s for s in self.sets if s >> i & 1] for i in range(len(self.cells)))
        return [self._sum(self.sets), *map(self._sum, with_column)]

    def totals(self) -> Totals:
        """Add up all scores, in one statement."""
        score, *parts = self._scores()
        of_size = [
            self._sum([s for s in self.sets if s.bit_count() == size], weighted=False)
            for size in range(1, len(self.weights) + 1)
        ]
        columns = [score.label("score"), *(x.label(f"x{i}") for i, x in enumerate(of_size + parts))]
        rows = sa.select(*columns).select_from(self.rows)
        if self.drops:
            rows = rows.where(sa.not_(any_missing(self.cells)))
        subquery = rows.subquery("scored")
        adjusted = sa.func.exp(-exponent(len(self.cells)) * sa.func.ln(subquery.c.score))
        asked = sa.select(
            sa.func.count(),
            sa.func.sum(subquery.c.score),
            sa.func.max(subquery.c.score),
            sa.func.sum(adjusted),
            *(sa.func.sum(subquery.c[f"x{i}"]) for i in range(len(of_size + parts))),
        ).where(subquery.c.score > 0)
        (row,) = self.table.fetch(asked, "score the records")
        n_scored, total, largest, adjustment, *rest = (value or 0 for value in row)
        return Totals(
            int(n_scored),
            float(total),
            float(largest),
            float(adjustment),
            tuple(int(n) for n in rest[: len(of_size)]),
            tuple(float(part) for part in rest[len(of_size) :]),
        )

    def records(self, names: list[str], odds: float | None) -> SqlTable:
        """Return a query of the user's table with the scores that have a name."""
        score, *parts = self._scores()
        positive = score > 0
        safe = sa.case((positive, score), else_=double(1.0))
        number = sa.cast(self._sum(self.sets, weighted=False), sa.BigInteger)
        falling = sa.func.exp(-exponent(len(self.cells)) * sa.func.ln(safe))
        dis = sa.case((positive, 1 / (1 + double(odds or 0.0) * falling)), else_=double(0.0))
        made = [double(score), number, dis, *(double(part) / safe for part in parts)]
        if self.drops:
            made = [sa.case((any_missing(self.cells), sa.null()), else_=value) for value in made]
        # What has no name was not asked for.
        new = {name: value for name, value in zip(names, made, strict=False) if name}
        return self.table.made({**own(self.table), **new}, self.rows)


def _mark(kind: str, s: int) -> Any:
    return sa.column(f"{MARK}{kind}{s}")
