"""Many sets of the same columns in SQL: several share a statement, only histograms leave.

Columns of ours: those of `count`, `w` the number of a set among those of a statement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from anonrisk.counts.class_sizes import ClassCounts
from anonrisk.engines.pushed.records import lost_rows
from anonrisk.engines.sql import coarsen, shape
from anonrisk.engines.sql.searched import SearchedColumns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anonrisk.core.columns import Qid
    from anonrisk.counts.coarser import Coarsening
    from anonrisk.counts.counter import Positions
    from anonrisk.counts.question import Question
    from anonrisk.counts.shapes import Numerals, Shape
    from anonrisk.engines.sql.table import SqlTable


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
        histogram = self._of_records if self.searched.unit is None else self._of_persons
        parts = [part for w, positions in enumerate(sets) for part in histogram(w, positions)]
        found: list[dict[int, list[int]]] = [{} for _ in sets]
        for w, n, *counts in self.searched.table.fetch(sa.union_all(*parts), "count the classes"):
            so_far = found[int(w)].setdefault(int(n), [0, 0, 0])
            found[int(w)][int(n)] = [a + int(b) for a, b in zip(so_far, counts, strict=True)]
        return [
            self._made(positions, of_set) for positions, of_set in zip(sets, found, strict=True)
        ]

    def _made(self, positions: Positions, found: dict[int, list[int]]) -> ClassCounts:
        counted = [(n, *found[n]) for n in sorted(found)]
        n_rows = sum(row[3] for row in counted)
        if n_rows != self.searched.n_rows:
            raise lost_rows(self.searched.n_rows, n_rows)
        return ClassCounts(
            [row[0] for row in counted],
            [row[1] for row in counted],
            None if self.searched.unit is None else [row[2] for row in counted],
            qid=[self.columns[i] for i in positions],
            unit=self.searched.question.unit,
            missing=self.searched.question.missing,
            n_rows=n_rows,
            n_dropped=self.searched.n_dropped,
        )

    def _of_records(self, w: int, positions: Positions) -> list[Any]:
        """Give set, size, classes, persons and rows."""
        rows = self.searched.rows(**{f"q{i}": self._cells[i] for i in positions}).subquery()
        classes = sa.select(_COUNT.label("n")).select_from(rows).group_by(*rows.c).subquery()
        n_rows = classes.c.n * _COUNT
        return [sa.select(_whole(w), classes.c.n, _COUNT, _whole(0), n_rows).group_by(classes.c.n)]

    def _of_persons(self, w: int, positions: Positions) -> list[Any]:
        """Give the same twice: for classes, and for persons by the smallest of their classes."""
        cells = {f"q{i}": self._cells[i] for i in positions}
        rows = self.searched.rows(**cells, u=self.searched.unit).subquery()
        once = sa.select(*rows.c, _COUNT.label("rows")).group_by(*rows.c).subquery()
        size = _COUNT.over(partition_by=[once.c[q] for q in cells])
        # As a table of its own, which databases make once for both.
        sized = sa.select(once.c.u, once.c.rows, size.label("n")).cte(f"z{w}")
        classes = sa.select(sized.c.n, _COUNT.label("m"), sa.func.sum(sized.c.rows).label("rows"))
        of = classes.group_by(sized.c.n).subquery()
        smallest = sa.select(sa.func.min(sized.c.n).label("n")).group_by(sized.c.u).subquery()
        # Every class has n rows there, so that nothing is left of this division.
        n_classes = sa.cast(of.c.m, sa.BigInteger) // sa.cast(of.c.n, sa.BigInteger)
        return [
            sa.select(_whole(w), of.c.n, n_classes, _whole(0), of.c.rows),
            sa.select(_whole(w), smallest.c.n, _whole(0), _COUNT, _whole(0)).group_by(smallest.c.n),
        ]

    def coarsen(self, n_values: Sequence[int]) -> dict[int, tuple[int, Coarsening]]:
        """Take up a coarser version of each column that has one."""
        found = coarsen.coarser(self.searched, n_values)
        made: dict[int, tuple[int, Coarsening]] = {}
        for i, (cell, how) in found.items():
            made[i] = len(self._cells), how
            self.columns = (*self.columns, self.columns[i])
            self._cells.append(cell)
        return made

    def shapes(self) -> list[Shape]:
        """Look at the cells of all columns in one statement."""
        return shape.shapes(self.searched)

    def numerals(self) -> list[Numerals]:
        """Count the numbers and dates of all columns in one statement."""
        return shape.numerals(self.searched)


_COUNT = sa.func.count()


def _whole(number: int) -> Any:
    """Write a number that is ours into the statement."""
    return sa.literal_column(str(number))
