"""The sensitive values of classes: how often each class has each, and the table.

Columns of ours, beside those of `records`: `c` how often a class has a value, `persons` who are met
first with it in their class, `t` how often the table has it, `t_all` the sum of those, `share` one
over the other, `r` its rank and `last_r` the last of all, `h0`, `h1`, … its groups in a hierarchy;
`of_last` the last rank, `of_lost` and `of_missing` how many values have no place, are missing.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from anonrisk.core.frozen import dataclass
from anonrisk.engines import refusals
from anonrisk.engines.order import check_kinds
from anonrisk.engines.pushed.records import again
from anonrisk.engines.pushed.rows import Numbered, sum_where
from anonrisk.measures.formula import UP_TO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.engines.pushed.records import CountedRecords
    from anonrisk.engines.pushed.rows import Row, Rows
    from anonrisk.measures.counts.question import Sensitive

_NUMBERS = ("whole numbers", "floats", "decimals")
_NO_ORDER = ("text", "bytes")


@dataclass(frozen=True)
class ClassValues:
    """The classes of one question with their sensitive values; nothing runs yet."""

    records: CountedRecords
    sensitive: Sensitive
    # Whether the records of a class are brought together first, and not what is counted of them.
    moved: bool = False

    @property
    def keys(self) -> list[str]:
        """The columns of a class."""
        return [*self.records.about, *self.records.qs]

    @property
    def persons(self) -> bool:
        """Whether persons are counted, and not records."""
        return self.records.question.unit is not None

    @property
    def members(self) -> str:
        """The column whose sum is the size of a class: without persons, how often it has values."""
        return "persons" if self.persons else "c"

    @property
    def of_class(self) -> list[str]:
        """The columns by which a window over classes sorts."""
        return ["hash"] * self.records.table.sorts_by_hash + self.keys

    @cached_property
    def _source(self) -> Rows:
        rows = self.records.rows
        return rows.arrange(*self.records.qs) if self.moved else rows

    @cached_property
    def every(self) -> Rows:
        """The rows of each class and value, and of each person too; the only scan of the table."""
        records = replace(self.records, source=self._source)
        return records.grouped("s", *["u"] * self.persons, pair_rows="count(1)")

    @cached_property
    def counted(self) -> Rows:
        """Each class and value once, with what is told of it; all of a class together."""
        pair, columns = [*self.keys, "s"], {"c": "cast(c as double)"}
        if self.persons:
            over = f"partition by {', '.join((*self.keys, 'u'))} order by s {UP_TO}"
            met = f"row_number() over ({over})"
            marked = self.every.select("*", first=f"if({met} = 1, 1, 0)")
            summary = self.records.refusal_sums("pair_rows", ["u"])
            counted = marked.group(*pair, c="count(1)", persons="sum(first)", **summary)
            columns |= {"persons": "cast(persons as double)"} | {name: name for name in summary}
        else:
            counted, columns = self.every, {"c": "cast(pair_rows as double)"}
        # As floats: sums and quotients of those are floats in every database.
        if self.records.table.sorts_by_hash:
            columns["hash"] = f"xxhash64({', '.join(self.keys)})"
        arranged = counted if self.moved else counted.arrange(*self.keys)
        return arranged.select(*pair, **columns)

    @cached_property
    def values(self) -> Rows:
        """Each value once, with its number in the table, its share, its rank and its groups."""
        if self.moved:
            return self._described(self._counts(self._source))
        return (
            self.values_alone if self.persons else self._described(self._counts(self.counted, "c"))
        )

    @cached_property
    def values_alone(self) -> Rows:
        """The same, where classes are not needed beside them."""
        if self.persons and not self.moved:
            return self._described(self._counts(self.every, "pair_rows"))
        return self._described(self._counts(self.records.rows))

    def _counts(self, rows: Rows, weight: str = "1D") -> Rows:
        """Count the values of records, or of what was counted of them, but of none that is dropped.

        Those add nothing to a sum. By a condition Spark would leave them out before the shuffle,
        and the classes would need a scan and a shuffle of their own: see `count`, too.
        """
        dropped = self.records.dropped
        n = sum_where(f"not ({dropped})", weight) if "d" in self.records.about else f"sum({weight})"
        if self.persons:
            rows = rows.group("s", "u", n_rows=n).where("n_rows > 0")
            return rows.group("s", t="cast(count(1) as double)")
        return rows.group("s", t=n).where("t > 0")

    def _described(self, counts: Rows) -> Rows:
        few = self._numbered(counts.arrange())
        made = {
            "t_all": "sum(t) over (partition by 0)",
            "share": "t / sum(t) over (partition by 0)",
        }
        if self._lists:
            lost = "sum(if(place is null, 1, 0)) over (partition by 0)"
            no_value = "sum(if(s is null, 1, 0)) over (partition by 0)"
            made |= {"of_lost": lost, "of_missing": no_value}
        if self.sensitive.ordered:
            by = "s" if self.sensitive.order is None else "place"
            rank = f"row_number() over (partition by 0 order by if(s is null, 1, 0), {by}) - 1"
            made |= {"r": rank, "last_r": "count(1) over (partition by 0) - 1"}
        return few.select("*", **made)

    def kept(self, rows: Rows) -> Rows:
        """Leave out dropped records."""
        return rows.where("not d") if "d" in self.records.about else rows

    @property
    def _lists(self) -> bool:
        """Whether the caller lists the values."""
        return self.sensitive.hierarchy is not None or self.sensitive.order is not None

    @property
    def levels(self) -> list[str]:
        """Our names of the groups that values have in a hierarchy, from the leaves up."""
        hierarchy = self.sensitive.hierarchy
        return [] if hierarchy is None else [f"h{i}" for i in range(max(hierarchy.height, 1))]

    def _numbered(self, values: Rows) -> Rows:
        """Add the places that values have among those that the caller lists."""
        listed, numbers = self._listed()
        if not numbers:
            return values
        as_text = self.sensitive.hierarchy is not None
        table, column = self.records.table, self.sensitive.column
        return Numbered.of(values, table, column, listed, numbers, as_text=as_text)

    def _listed(self) -> tuple[Sequence[object], Mapping[str, Sequence[int]]]:
        hierarchy, order = self.sensitive.hierarchy, self.sensitive.order
        if hierarchy is not None:
            leaves = list(hierarchy.leaves)
            levels = hierarchy.levels() or [dict.fromkeys(leaves, 0)]
            groups = {f"h{i}": [level[leaf] for leaf in leaves] for i, level in enumerate(levels)}
            return leaves, {"place": range(len(leaves)), **groups}
        return (order, {"place": range(len(order))}) if order is not None else ((), {})

    def told_of_class(self) -> dict[str, str]:
        """Sum up what may be refused over the pairs of a class, but for its own columns."""
        summary = self.records.refusal_sums("n_rows" if self.persons else "c", ["s"])
        if self.persons:
            summary |= again(self.records.refusal_sums("", ["u"]))
        if self._lists:
            summary |= {name: f"max({name})" for name in ("of_lost", "of_missing")}
        return summary | ({"of_last": "max(last_r)"} if self.sensitive.ordered else {})

    def check(self) -> None:
        """Reject an order or a hierarchy of what the column does not hold."""
        sensitive = self.sensitive
        if not sensitive.ordered and sensitive.hierarchy is None:
            return
        column = sensitive.column
        kind = self.records.table.hold({column: "sensitive column"})[column]
        if sensitive.hierarchy is not None:
            if kind in {"floats", "decimals"}:
                raise refusals.no_hierarchy(column)
        elif sensitive.order is not None:
            held = {"nothing": None, **dict.fromkeys(_NUMBERS, "numbers")}.get(kind, kind)
            check_kinds(column, sensitive.order, held)
        elif kind in _NO_ORDER:
            raise refusals.not_ordered(column)

    def look(self) -> None:
        """Reject values that the caller does not list, where classes are not fetched to tell."""
        if self._lists:
            fields = {name: f"max({name})" for name in ("of_lost", "of_missing")}
            if self.sensitive.ordered:
                fields["of_last"] = "max(last_r)"
            table = self.records.table
            self.refuse(table.fetch_rows(self.values_alone.group(**fields), "look values up"))

    def refuse(self, rows: Sequence[Row]) -> None:
        """Reject too many values, and values that the caller does not list."""
        sensitive, kept = self.sensitive, [row for row in rows if not row.get("d")]
        if sensitive.ordered and kept:
            refusals.check_ordered(sensitive.column, _most(kept, "of_last") + 1)
        if not self._lists or not kept:
            return
        lost, no_value = _most(kept, "of_lost"), _most(kept, "of_missing")
        # A missing value has no place of its own, and needs one only in a hierarchy; one that is
        # refused anyhow is told as such.
        where = "order" if sensitive.hierarchy is None else "hierarchy"
        if n := lost - (no_value if where == "order" or sensitive.missing == "error" else 0):
            raise refusals.unknown_values(sensitive.column, n, where)


def _most(rows: Sequence[Row], name: str) -> int:
    return max((int(row[name]) for row in rows if row[name] is not None), default=0)
