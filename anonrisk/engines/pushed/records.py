"""The records that a question is about, under names of ours, and what is told of them on the way.

Columns of ours: `q0`, `q1`, … the quasi-identifying columns, `s` the sensitive value, `u` the
person, `g` the group, `w` the number of the quasi-identifier asked about, `d` whether the record is
dropped. How many rows miss what, and where every cell has a type of its own those types, come out
of the statement that counts: a look of its own would be a scan.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.engines import refusals
from anonrisk.engines.pushed.rows import Cells, any_missing, sum_where
from anonrisk.errors import EmptyTableError, EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.pushed.rows import PushedTable, Row, Rows
    from anonrisk.measures.counts.question import Question, Sensitive


@dataclass(frozen=True)
class CountedRecords:
    """The records of one question, once for each of its quasi-identifiers."""

    table: PushedTable
    question: Question
    by: Name | None = None
    sensitive: Sensitive | None = None
    # Where somebody else makes the records under names of ours.
    source: Rows | None = None

    @cached_property
    def names(self) -> dict[str, Name]:
        """Our name of each column, and its own."""
        names: dict[str, Name] = {f"q{i}": name for i, name in enumerate(self.question.columns)}
        if self.sensitive is not None:
            names["s"] = self.sensitive.column
        if self.question.unit is not None:
            names["u"] = self.question.unit
        if self.by is not None:
            names["g"] = self.by
        return names

    @property
    def roles(self) -> dict[Name, str]:
        """Every column that is needed, with the role it has in messages."""
        more = {} if self.by is None else {self.by: "grouping column"}
        if self.sensitive is not None:
            more[self.sensitive.column] = "sensitive column"
        return self.question.roles(more)

    @property
    def qs(self) -> list[str]:
        """Our names of the quasi-identifying columns."""
        return [q for q in self.names if q.startswith("q")]

    @cached_property
    def sets(self) -> list[list[str]]:
        """The quasi-identifiers by our names of their columns, each once whatever its order."""
        every = ([q for q in self.qs if self.names[q] in qid] for qid in self.question.qids)
        return [list(item) for item in dict.fromkeys(map(tuple, every))]

    def number(self, qid: Qid) -> int:
        """Return the number of a quasi-identifier among the sets."""
        return self.sets.index([q for q in self.qs if self.names[q] in qid])

    @property
    def about(self) -> list[str]:
        """What classes are counted apart by, beside their cells."""
        several = len(self.sets) > 1
        return ["w"] * several + ["g"] * (self.by is not None) + ["d"] * bool(self._needed)

    @property
    def _needed(self) -> list[str]:
        """The columns without which a record is dropped."""
        no_value = self.sensitive is not None and self.sensitive.missing == "drop"
        return (self.qs if self.question.missing == "drop" else []) + ["s"] * no_value

    @property
    def dropped(self) -> str:
        """The condition that a record is dropped, of a question about one quasi-identifier."""
        return any_missing(self._needed)

    @property
    def rows(self) -> Rows:
        """The records under names of ours."""
        return self.source or Cells.of(self.table, self.names, self.roles)

    def grouped(self, *keys: str, **sums: str) -> Rows:
        """Group by class, and perhaps more, for each quasi-identifier; mark what is dropped."""
        keys = (*(["g"] if self.by is not None else []), *keys)
        dropped = self.dropped
        if len(self.sets) == 1:
            made = self.rows.group(*keys, *self.qs, **sums)
        else:
            made = self.rows.group_sets(self.sets, *keys, name="w", **sums)
            each = (f"w = {w} and ({any_missing(item)})" for w, item in enumerate(self.sets))
            dropped = " or ".join(each)
        return made.select("*", d=dropped) if "d" in self.about else made

    def refusal_sums(self, weight: str, names: Iterable[str] | None = None) -> dict[str, str]:
        """Sum up what may be refused, over rows each of which stands for many.

        Of all columns, or of those by their names of ours.
        """
        asked = {"n_rows": f"sum({weight})"}
        for name in self.names if names is None else names:
            if self._refuses(name):
                asked[f"no_{name}"] = sum_where(f"{name} is null", weight)
            if self.table.typed_by_cell:
                kind = f"nullif(typeof({name}), 'null')"
                asked |= {f"first_{name}": f"min({kind})", f"last_{name}": f"max({kind})"}
        return asked

    def _refuses(self, name: str) -> bool:
        """Return whether a missing value of a column is refused."""
        if name == "s" and self.sensitive is not None:
            return self.sensitive.missing == "error"
        return name == "u" or (name in self.qs and self.question.missing == "error")

    def refuse(self, rows: Sequence[Row]) -> None:
        """Reject what was told of the records."""
        if not rows:
            raise self._no_rows()
        if self.table.typed_by_cell:
            self.table.check_types(
                self.roles, {name: _ends(rows, q) for q, name in self.names.items()}
            )
        # Every quasi-identifier has seen every row, so that the first one can speak for all.
        unit = self.question.unit
        if unit is not None and (n := sum_of(rows, "no_u", 0)):
            raise refusals.missing_unit(unit, n)
        if self.question.missing == "error":
            gaps = {
                self.names[q]: sum_of(
                    rows, f"no_{q}", next(w for w, item in enumerate(self.sets) if q in item)
                )
                for q in self.qs
            }
            if any(gaps.values()):
                raise refusals.missing_values(gaps)
        if self.sensitive is not None and self._refuses("s"):
            # Dropped rows may have no value either, which is no fault of theirs.
            lost = sum(int(row["no_s"]) for row in rows if not row.get("d"))
            if lost:
                raise refusals.missing_sensitive(self.sensitive.column, lost)

    def _no_rows(self) -> Exception:
        """Return the error for a table without rows, or for a driver that has lost them."""
        expected = self.table.n_rows()
        if expected:
            return lost_rows(expected, 0)
        return EmptyTableError("the table has no records; there is nothing to measure")


# How what is told of records is put together, by the beginning of its name; all else is added up.
_ENDS = {"first": "min", "last": "max", "of": "max"}


def again(sums: Mapping[str, str], source: Mapping[str, str] | None = None) -> dict[str, str]:
    """Sum up once more what `CountedRecords.refusal_sums` has summed up, or texts made of it."""
    texts = source or {name: name for name in sums}
    return {name: f"{_ENDS.get(name.partition('_')[0], 'sum')}({texts[name]})" for name in sums}


def none_of(sums: Iterable[str]) -> dict[str, str]:
    """Write what `CountedRecords.refusal_sums` says of no record."""
    return {name: "null" if name.partition("_")[0] in _ENDS else "0" for name in sums}


def sum_of(rows: Sequence[Row], name: str, w: int) -> int:
    """Add up a number of one quasi-identifier."""
    return sum(int(row[name]) for row in rows if row.get("w", 0) == w)


def _ends(rows: Sequence[Row], q: str) -> tuple[Any, Any]:
    firsts = [row[f"first_{q}"] for row in rows if row[f"first_{q}"] is not None]
    lasts = [row[f"last_{q}"] for row in rows if row[f"last_{q}"] is not None]
    return min(firsts, default=None), max(lasts, default=None)


def lost_rows(expected: int, result: int) -> EngineError:
    """Return an error: two counts of the same rows disagree."""
    return EngineError(
        f"the table had {expected:,} rows at first and {result:,} when they were grouped: it "
        "changes while it is measured, or rows are lost on the way"
    )
