"""Many sets of the same columns in SQL: several share a statement, only histograms leave.

Columns of ours: `a3`, … whether a record is alone with a set, `m3`, … whether the set is minimal;
the number's bits are the columns of the set.
"""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from itertools import combinations
from operator import add, mul
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.core.render import count_of
from anonrisk.engines import refusals
from anonrisk.engines.pushed.count import Histogram, lost_rows, set_histograms
from anonrisk.engines.pushed.rows import Made
from anonrisk.engines.refusals import ROWS_READ_AGAIN, refused
from anonrisk.engines.sql import schema
from anonrisk.engines.sql.rewrite import MARK, check_marks, check_new, own, with_marks
from anonrisk.engines.sql.schema import double, let_look, matches
from anonrisk.engines.sql.table import any_missing, kind_of_cells, look
from anonrisk.engines.sql.text import check_logarithms
from anonrisk.errors import ArgumentError, UnsupportedColumnError
from anonrisk.measures.counts.change import Totals
from anonrisk.measures.counts.counter import (
    CODE,
    DAY,
    MOST_WORDS,
    Commonest,
    EqualBins,
    FirstCharacters,
    halved,
)
from anonrisk.measures.counts.shapes import (
    DATES,
    FRACTION,
    NATIONAL_NUMBERS,
    SHAPES,
    WHOLE,
    Numerals,
    Shape,
)
from anonrisk.measures.suda import exponent, weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.sql.table import SqlTable
    from anonrisk.measures.counts.class_sizes import ClassCounts
    from anonrisk.measures.counts.counter import Coarsening, Positions
    from anonrisk.measures.counts.question import Question

    _Coarser = dict[int, tuple[Any, Coarsening]]


class SearchedColumns:
    """The cells of some columns, and how many records have them."""

    def __init__(self, table: SqlTable, question: Question) -> None:
        """Set columns apart that cannot be compared, and refuse what the question refuses."""
        self.table, self.question = table, question
        self.kinds, self.unsupported = kinds_of(table, question.qid)
        columns = tuple(self.kinds)
        self.cells = [table.cell(name, kind) for name, kind in self.kinds.items()]
        cells = dict(zip(columns, self.cells, strict=True))
        unit, self.unit = question.unit, None
        more: dict[Name, Any] = {}
        if unit is not None:
            self.unit = more[unit] = table.cell(unit, table.kinds({unit: "unit"})[unit])
        self.drops = question.missing == "drop"
        result = look(table, {**cells, **more}, columns if self.drops else ())
        if unit is not None and result.n_missing[unit]:
            raise refusals.missing_unit(unit, result.n_missing[unit])
        gaps = {name: result.n_missing[name] for name in columns}
        if question.missing == "error" and any(gaps.values()):
            raise refusals.missing_values(gaps)
        self.n_dropped = result.n_incomplete
        self.n_rows = result.n_rows - result.n_incomplete
        self.n_known = [self.n_rows - (0 if self.drops else n) for n in gaps.values()]

    def rows(self, **cells: Any) -> Any:
        """Select cells, under names, of the records that count."""
        chosen = sa.select(*(cell.label(name) for name, cell in cells.items()))
        chosen = chosen.select_from(self.table.source)
        return chosen.where(sa.not_(any_missing(self.cells))) if self.drops else chosen


def kinds_of(table: SqlTable, names: Qid) -> tuple[dict[Name, str], dict[Name, str]]:
    """Find the types of the columns that can be compared, and say of the others why not."""
    try:
        return table.kinds(dict.fromkeys(names, "column")), {}
    except UnsupportedColumnError:
        kinds: dict[Name, str] = {}
        unsupported: dict[Name, str] = {}
    for name in names:
        try:
            kinds |= table.kinds({name: "column"})
        except UnsupportedColumnError as error:
            unsupported[name] = str(error)
    return kinds, unsupported


def shapes(searched: SearchedColumns) -> list[Shape]:
    """Count the cells that look like an identifier, of all columns in one statement."""
    looks = [
        _looks(searched.table, cell, kind)
        for cell, kind in zip(searched.cells, searched.kinds.values(), strict=True)
    ]
    result = iter(_counted(searched, [look for source in looks for look in source.values()]))
    return [
        Shape(known, {kind: next(result) for kind in source})
        for known, source in zip(searched.n_known, looks, strict=True)
    ]


def numerals(searched: SearchedColumns) -> list[Numerals]:
    """Count the whole numbers, fractions and dates of all columns in one statement."""
    asked = [
        is_one
        for cell, kind in zip(searched.cells, searched.kinds.values(), strict=True)
        for is_one in _numerals(searched.table, cell, kind)
    ]
    counted = _counted(searched, asked)
    return [Numerals(*counted[i : i + 3]) for i in range(0, len(counted), 3)]


def _looks(table: SqlTable, cell: Any, kind: str) -> dict[str, Any]:
    """Return, for each kind of identifier, whether a cell has its shape."""
    held = kind_of_cells(kind)
    if held == "whole numbers":
        inside = [sa.and_(cell >= low, cell < high) for low, high in NATIONAL_NUMBERS]
        return {"national id": sa.or_(*inside)}
    if held != "text":
        return {}
    looks = {name: matches(table, cell, pattern) for name, pattern in SHAPES.items()}
    dates = matches(table, cell, DATES)
    looks["telephone number"] = sa.and_(looks["telephone number"], sa.not_(dates))
    return looks


def _numerals(table: SqlTable, cell: Any, kind: str) -> list[Any]:
    held = kind_of_cells(kind)
    known = cell.is_not(None)
    if held == "text":
        return [matches(table, cell, pattern) for pattern in (WHOLE, FRACTION, DATES)]
    if held == "whole numbers":
        return [known, sa.false(), sa.false()]
    if held in {"floats", "decimals"}:
        whole = sa.func.round(cell) == cell
        return [whole, sa.not_(whole), sa.false()]
    return [sa.false(), sa.false(), known if held in {"dates", "timestamps"} else sa.false()]


def _counted(searched: SearchedColumns, conditions: Sequence[Any]) -> list[int]:
    """Count the records for which each condition holds."""
    if conditions:
        let_look(searched.table)
    result: list[int] = []
    for first in range(0, len(conditions), _MOST_COLUMNS):
        each = enumerate(conditions[first : first + _MOST_COLUMNS])
        cells = {f"x{i}": sa.case((is_one, 1), else_=0) for i, is_one in each}
        rows = searched.rows(**cells).subquery()
        ((*sums,),) = searched.table.fetch(
            sa.select(*(sa.func.sum(x) for x in rows.c)), "look at the columns"
        )
        result += (int(n or 0) for n in sums)
    return result


def coarser(searched: SearchedColumns, n_values: Sequence[int]) -> _Coarser:
    """Return the cells of coarser columns, by the place of those that have one."""
    table = searched.table
    held = dict(enumerate(map(kind_of_cells, searched.kinds.values())))
    texts = {i: sa.cast(searched.cells[i], sa.Text) for i in held if held[i] == "text"}
    numbers = {
        i: number
        for (i, cell), kind in zip(enumerate(searched.cells), searched.kinds.values(), strict=True)
        if i not in texts and (number := schema.as_number(table, cell, kind)) is not None
    }
    facts: dict[int, list[Any]] = {}
    for first in range(0, len(held), _MOST_COLUMNS // 3):
        part = range(first, first + _MOST_COLUMNS // 3)
        some = (
            {i: cell for i, cell in by_place.items() if i in part} for by_place in (texts, numbers)
        )
        facts |= _facts(searched, *some)
    made: _Coarser = {}
    for i in held:
        result: tuple[Any, Coarsening] | None = None
        if i in texts:
            result = _of_texts(searched, texts[i], n_values[i], facts[i])
        elif i in numbers:
            n_different = n_values[i] - (searched.n_known[i] < searched.n_rows)
            result = _of_numbers(table, numbers[i], n_different, *facts[i])
        if result is not None:
            made[i] = result
    return made


def _facts(
    searched: SearchedColumns, texts: dict[int, Any], numbers: dict[int, Any]
) -> dict[int, list[Any]]:
    """Look at all columns in one statement.

    Of numbers the least and the largest; of texts the length of the longest, how many are no code
    and how many are no day.
    """
    if texts:
        schema.let_look(searched.table)
    columns = {f"x{i}": cell for i, cell in {**texts, **numbers}.items()}
    for i, text in texts.items():
        for kind, pattern in (("code", CODE), ("day", DAY)):
            columns[f"{kind}{i}"] = schema.contains(searched.table, text, pattern)
    if not columns:
        return {}
    seen = searched.rows(**columns).subquery().c
    asked = {i: [sa.func.min(seen[f"x{i}"]), sa.func.max(seen[f"x{i}"])] for i in numbers}
    for i in texts:
        others = [
            sa.func.sum(sa.case((seen[f"{kind}{i}"] == sa.false(), 1), else_=0))
            for kind in ("code", "day")
        ]
        asked[i] = [sa.func.max(sa.func.length(seen[f"x{i}"])), *others]
    statement = sa.select(*(fact for facts in asked.values() for fact in facts))
    ((*fetched,),) = searched.table.fetch(statement, "look at the columns")
    result = iter(fetched)
    return {i: [next(result) for _ in facts] for i, facts in asked.items()}


def _of_numbers(
    table: SqlTable, number: Any, n_different: int, low: Any, high: Any
) -> tuple[Any, EqualBins] | None:
    how = None if low is None else halved(float(low), float(high), n_different)
    if how is None:
        return None
    place = table.dialect.floor((number - _double(how.low)) * _double(how.scale))
    last = how.number - 1
    return sa.case((place > last, last), else_=place), how


def _of_texts(
    searched: SearchedColumns, text: Any, n_values: int, facts: Sequence[Any]
) -> tuple[Any, FirstCharacters | Commonest] | None:
    """Return the beginnings of codes, or the commonest words."""
    longest, n_words, n_no_days = facts
    if not n_words:
        first = FirstCharacters.of(int(longest or 0), days=not n_no_days)
        return None if first is None else (sa.func.substr(text, 1, first.length), first)
    if n_values > MOST_WORDS:
        return None
    words = searched.rows(x=text).where(text.is_not(None)).subquery()
    counted = sa.select(words.c.x, sa.func.count().label("n")).group_by(words.c.x)
    result = searched.table.fetch(counted, "look at the columns")
    how = Commonest.of({word: int(n) for word, n in result})
    if how is None:
        return None
    # Found again by their counts, so that no word stands in the text of a statement.
    by_letters = schema.by_letters(searched.table, words.c.x)
    order = (
        counted.order_by(sa.func.count().desc(), by_letters.asc()).limit(len(how.words)).subquery()
    )
    common = searched.table.dialect.is_among(text, order.c.x)
    # What begins with a plus is a word; the others are none.
    word = sa.case(
        (common, sa.literal_column("'+'", sa.Text) + text), else_=sa.literal_column("''")
    )
    return sa.case((text.is_not(None), word), else_=sa.null()), how


def _double(number: float) -> Any:
    return sa.cast(sa.literal(number), sa.Double())


# Measured on PostgreSQL, 15 sets: of 100,000 rows it takes two thirds of the time to read the table
# for each set, of 1,000,000 three quarters to keep what was read once.
_MANY_ROWS = 300_000
# A statement of PostgreSQL has at most 1,664 columns, one of SQLite 2,000.
_MOST_COLUMNS = 1_500


class SqlSets:
    """Counts the classes of sets of columns, up to `batch` of them in a statement."""

    # Databases may hold the classes of all sets of a statement at once.
    batch = 16

    def __init__(self, table: SqlTable, question: Question) -> None:
        """Set columns apart that cannot be compared, and refuse what the question refuses."""
        self.searched = SearchedColumns(table, question)
        self.unsupported = self.searched.unsupported
        self.columns: Qid = tuple(self.searched.kinds)
        self._cells = list(self.searched.cells)

    def count(self, sets: Sequence[Positions]) -> Iterator[ClassCounts]:
        """Count the classes of each set, several in a statement."""
        for first in range(0, len(sets), self.batch):
            yield from self._together(sets[first : first + self.batch])

    def _together(self, sets: Sequence[Positions]) -> list[ClassCounts]:
        used = sorted({i for positions in sets for i in positions})
        cells = {f"q{i}": self._cells[i] for i in used}
        if self.searched.unit is not None:
            cells["u"] = self.searched.unit
        rows = Made(
            tuple(cells), self.searched.rows(**cells), few=self.searched.n_rows < _MANY_ROWS
        )
        names = [[f"q{i}" for i in positions] for positions in sets]
        plan = set_histograms(rows, names, unit=self.searched.unit is not None)
        result: dict[int, Histogram] = defaultdict(Histogram)
        for row in self.searched.table.fetch_rows(plan, "count the classes"):
            result[int(row["w"])].add(row)
        return [self._made(positions, result[w]) for w, positions in enumerate(sets)]

    def _made(self, positions: Positions, histogram: Histogram) -> ClassCounts:
        if histogram.n_rows != self.searched.n_rows:
            raise lost_rows(self.searched.n_rows, histogram.n_rows)
        histogram.n_dropped = self.searched.n_dropped
        return histogram.class_sizes(
            self.searched.question, tuple(self.columns[i] for i in positions)
        )

    def coarsen(self, n_values: Sequence[int]) -> dict[int, tuple[int, Coarsening]]:
        """Take up a coarser version of each column that has one."""
        result = coarser(self.searched, n_values)
        made: dict[int, tuple[int, Coarsening]] = {}
        for i, (cell, how) in result.items():
            made[i] = len(self._cells), how
            self.columns = (*self.columns, self.columns[i])
            self._cells.append(cell)
        return made

    def shapes(self) -> list[Shape]:
        """Look at the cells of all columns in one statement."""
        return shapes(self.searched)

    def numerals(self) -> list[Numerals]:
        """Count the numbers and dates of all columns in one statement."""
        return numerals(self.searched)


# Terms of a sum that every database reads.
_MOST_SETS = 500
# The number of a record, and of one that is alone.
_ID: Any = sa.column(f"{MARK}id")
_OF: Any = sa.column(f"{MARK}of")


def suda_scores(
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
