"""What a verdict covers: the rows that were judged, and for each column the budgets that saw it."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of, joined, named, shown
from anonrisk.core.results import Document, plain, restore_fields, restore_name
from anonrisk.policy import budgets, release_rules
from anonrisk.policy.release_rules import ROW_LABELS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from anonrisk.core.columns import Name, Qid
    from anonrisk.policy.evidence import Evidence
    from anonrisk.policy.release_rules import Published
    from anonrisk.policy.terms import Terms

ATTRIBUTE_NOT_JUDGED = "attribute disclosure not judged"
_MOST_TABLES = 3
_VALUE = "a person is a value of {}"
# Why no budget looks at a column, by its role; none for roles that budgets are about.
_WHY = {
    "direct": "must not be published",
    "insensitive": "insensitive by decision of the policy",
    "unit": "says which person a row belongs to",
    "by": "rows are judged group by group",
    "sensitive": f"{ATTRIBUTE_NOT_JUDGED}: only the sizes of classes protect it",
}
_UNLISTED = "has no role in the policy"
_IGNORED = "not looked at: has no role, and the policy ignores such columns"
_NOT_NAMED = "in no quasi-identifier that has a budget"
# A printed coverage names no more columns than somebody reads.
_NAMED = 12


@dataclass(frozen=True)
class SetAside:
    """Rows that a budget did not judge.

    Attributes
    ----------
    n_rows : int
        How many.
    reason : str
        Why, in words.
    """

    n_rows: int
    reason: str


@dataclass(frozen=True)
class ColumnCoverage:
    """One column that is published.

    Attributes
    ----------
    name : name
        The column.
    role : str or None
        Its role under the policy.
    budgets : tuple of str
        The budgets that looked at it.
    reason : str
        Why none did; empty where one did.
    """

    name: Name
    role: str | None
    budgets: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class RowCoverage:
    """The rows of a table, and those that were judged.

    Attributes
    ----------
    n_rows : int or None
        Rows of the table; None where nothing was counted.
    n_judged : int or None
        Rows that every budget judged, as far as counts tell: those of the budget that saw fewest.
    set_aside : tuple of SetAside
        The others.
    """

    n_rows: int | None = None
    n_judged: int | None = None
    set_aside: tuple[SetAside, ...] = ()

    @classmethod
    def of(cls, measured: Mapping[Qid, Evidence]) -> RowCoverage:
        """Read from the counts of each quasi-identifier which rows they are about."""
        totals, judged = [], []
        apart: dict[SetAside, None] = {}
        for qid, evidence in measured.items():
            if not isinstance(evidence.groups, list):
                continue
            totals.append(evidence.n_rows + evidence.n_dropped)
            judged.append(evidence.n_rows)
            if evidence.n_dropped:
                why = f"a missing value of {joined(qid)} (missing: drop)"
                apart[SetAside(evidence.n_dropped, why)] = None
            for column, n_scored in evidence.n_scored.items():
                judged.append(n_scored)
                if n_scored < evidence.n_rows:
                    why = f"a missing value of {shown(column)} (missing_sensitive: drop)"
                    apart[SetAside(evidence.n_rows - n_scored, why)] = None
        if not totals:
            return cls()
        return cls(max(totals), min(judged), tuple(apart))

    def merged(self, other: RowCoverage) -> RowCoverage:
        """Return what two that looked at one table saw together."""
        if self.n_rows is None or other.n_rows is None:
            return other if self.n_rows is None else self
        return RowCoverage(
            max(self.n_rows, other.n_rows),
            min(self.n_judged or 0, other.n_judged or 0),
            tuple(dict.fromkeys((*self.set_aside, *other.set_aside))),
        )

    def outside(self, n_rows: int, reason: str) -> RowCoverage:
        """Return the same in a table that has more rows, which were set aside for a reason."""
        n_outside = n_rows - (self.n_rows or 0)
        if n_outside <= 0:
            return self
        more = SetAside(n_outside, reason)
        return RowCoverage(n_rows, self.n_judged or 0, (*self.set_aside, more))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        return {
            "rows": self.n_rows,
            "rows_judged": self.n_judged,
            "set_aside": [{"rows": part.n_rows, "reason": part.reason} for part in self.set_aside],
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> RowCoverage:
        """Read what `to_dict` returned."""
        apart = [
            SetAside(_whole(part["rows"]), str(part["reason"])) for part in stored["set_aside"]
        ]
        n_rows, n_judged = (
            None if stored[key] is None else _whole(stored[key]) for key in ("rows", "rows_judged")
        )
        if (n_rows is None) != (n_judged is None):
            raise TypeError
        return cls(n_rows, n_judged, tuple(apart))

    @property
    def contradicts_itself(self) -> bool:
        """Whether the numbers cannot be those of one table."""
        if self.n_rows is None or self.n_judged is None:
            return self.n_rows is not self.n_judged or bool(self.set_aside)
        apart = sum(part.n_rows for part in self.set_aside)
        return not 0 <= self.n_judged <= self.n_rows <= self.n_judged + apart


@dataclass(frozen=True)
class Coverage(Document):
    """What a verdict covers, and what it does not.

    Attributes
    ----------
    rows : RowCoverage
        The rows of the table, those that were judged, and why others were not.
    columns : tuple of ColumnCoverage
        Every column that is published, with its role and the budgets that looked at it.
    not_looked_at : tuple of names
        Columns without a role that the policy ignores; also ``"row labels"``, which number the
        rows and are published too, unless the table is written with ``index=False``.
    unit : name or None
        What is taken for a person: the values of this column, or, if None, each row.
    settings : dict
        The settings of the policy by which less can be looked at; no reasons.
    """

    rows: RowCoverage = field(default_factory=RowCoverage)
    columns: tuple[ColumnCoverage, ...] = ()
    not_looked_at: Qid = ()
    unit: Name | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    _document = ("columns", "not_looked_at", "attributes_not_judged", "settings")
    _parts = (ColumnCoverage,)

    @property
    def roles(self) -> dict[Name, str | None]:
        """The role of each column."""
        return {column.name: column.role for column in self.columns}

    @property
    def attributes_not_judged(self) -> Qid:
        """Sensitive columns whose values no budget looks at, so that sizes alone protect them."""
        return tuple(
            column.name
            for column in self.columns
            if column.role == "sensitive" and not any(map(budgets.about_values, column.budgets))
        )

    @property
    def caveats(self) -> tuple[str, ...]:
        """What keeps a pass from being a plain one, in a few words each."""
        n_unseen = sum(name != ROW_LABELS for name in self.not_looked_at)
        open_ = self.attributes_not_judged
        words = [f"{count_of(n_unseen, 'column')} not looked at"] if n_unseen else []
        return (*words, *([f"{ATTRIBUTE_NOT_JUDGED} for {_listed(open_)}"] if open_ else ()))

    def groups(self) -> Iterator[tuple[tuple[Name, ...], str | None, str]]:
        """Yield columns alike together: names, role, and who looked at them or why nobody did.

        Examples
        --------
        >>> import pandas as pd
        >>> import anonrisk
        >>> df = pd.DataFrame({"zip": ["a", "a"], "age": [34, 34], "illness": ["flu", "asthma"]})
        >>> policy = anonrisk.Policy(quasi=["zip", "age"], sensitive="illness", k=2)
        >>> list(policy.check(df).coverage.groups())[0]
        (('zip', 'age'), 'quasi', 'k')
        """
        alike: dict[tuple[str | None, str], list[Name]] = {}
        for column in self.columns:
            seen_by = ", ".join(column.budgets) or column.reason
            alike.setdefault((column.role, seen_by), []).append(column.name)
        for (role, seen_by), names in alike.items():
            yield tuple(names), role, seen_by

    def lines(self) -> list[str]:
        """Return the account as sentences, for every rendering alike: rows, then columns.

        Examples
        --------
        >>> import pandas as pd
        >>> import anonrisk
        >>> policy = anonrisk.Policy(quasi="zip", unit="patient", k=2)
        >>> df = pd.DataFrame({"zip": ["a", "a"], "patient": [1, 2]})
        >>> for line in policy.check(df).coverage.lines():
        ...     print(line)
        Judged: 2 of 2 rows; a person is a value of patient.
        zip (quasi): k.
        patient (unit): says which person a row belongs to.
        """
        labels = [unseen((ROW_LABELS,))] if ROW_LABELS in self.not_looked_at else []
        return [*self.row_lines(), *self.column_lines(), *labels]

    def column_lines(self) -> list[str]:
        """Return a sentence for columns alike: their role, and who looked at them or why nobody."""
        lines = []
        for names, role, seen_by in self.groups():
            about = f" ({role})" if role else ""
            lines.append(f"{_listed(names)}{about}: {seen_by}.")
        return lines

    def row_lines(self) -> list[str]:
        """Return what is said of rows: how many were judged, why not all, and who is a person."""
        who = person_of(self.unit)
        lines = []
        if self.rows.n_rows is not None:
            total = count_of(self.rows.n_rows, "row")
            lines.append(f"Judged: {self.rows.n_judged:,} of {total}; {who}.")
        elif self.columns:
            lines.append(f"Judged: no row was counted; {who}.")
        return lines + [
            f"Set aside: {count_of(part.n_rows, 'row')}, {shown(part.reason)}."
            for part in self.rows.set_aside
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; no cell."""
        return {**self.rows.to_dict(), "person": plain(self.unit), **super().to_dict()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Coverage:
        """Read what `to_dict` returned."""
        person = restore_name(stored["person"])
        return cls(RowCoverage.from_dict(stored), unit=person, **restore_fields(cls, stored))


def of_table(
    policy: Terms, published: Published, looks: Iterable[tuple[str, Iterable[Name]]] | None = None
) -> Coverage:
    """Build the account of a table's columns under a policy; rows are known once it is counted.

    `looks` are the budgets with the columns that each is about; left out, those of the policy.
    """
    roles = release_rules.described(policy, published)
    unseen = roles["not_looked_at"]
    seen_by: dict[Name, dict[str, None]] = {name: {} for name in roles["columns"]}
    for budget, names in _looks(policy, roles["columns"]) if looks is None else looks:
        for name in names:
            seen_by.setdefault(name, {})[budget] = None
    columns = tuple(
        ColumnCoverage(
            name,
            role,
            tuple(seen_by[name]),
            "" if seen_by[name] else _reason(role, ignored=name in unseen),
        )
        for name, role in roles["columns"].items()
    )
    unit = next((name for name, role in roles["columns"].items() if role == "unit"), None)
    settings = settings_of(policy)
    return Coverage(columns=columns, not_looked_at=unseen, unit=unit, settings=settings)


def settings_of(policy: Terms) -> dict[str, Any]:
    """Return the settings by which less can be looked at, as plain values; reasons stay out."""
    names = ("unlisted", "missing", "missing_sensitive", "max_dropped_fraction", "by")
    answered = [(item.column, item.doubt) for item in policy.acknowledged]
    return {
        **{name: plain(getattr(policy, name)) for name in names},
        "stable_unit": policy.stable_unit is not None,
        "acknowledged": plain(answered),
    }


def person_of(unit: Name | None) -> str:
    """Return what is taken for a person, in words."""
    return "each row is taken for a person" if unit is None else _VALUE.format(shown(unit))


def caveats_of(tables: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the caveats of several tables as those of one, each with the name of its table.

    Of more than a few tables it is their number alone.
    """
    named_tables = {name: caveats for name, caveats in tables.items() if caveats}
    if len(named_tables) > _MOST_TABLES:
        n_tables = f"{len(named_tables):,} of {len(tables):,} tables"
        return (f"with something not judged, or waived, in {n_tables}",)
    return tuple(
        f"{caveat} in {named(name)}" for name, caveats in named_tables.items() for caveat in caveats
    )


def _looks(
    policy: Terms, roles: Mapping[Name, str | None]
) -> Iterator[tuple[str, tuple[Name, ...]]]:
    """List each budget of a policy with the columns that it is about."""
    whole = tuple(name for name, role in roles.items() if role in ("quasi", "weight"))
    joining = tuple(name for name in whole if name not in policy.listed)
    sensitive = tuple(name for name, role in roles.items() if role == "sensitive")
    for rule in policy.rules:
        columns = whole
        if rule.columns is not None:
            columns = (*rule.columns, *(joining if policy.unlisted == "quasi" else ()))
        for budget in rule.budgets:
            values = (budget.sensitive or sensitive) if budget.about_values else ()
            yield budget.name, (*columns, *values)


def _reason(role: str | None, *, ignored: bool) -> str:
    if role is None:
        return _IGNORED if ignored else _UNLISTED
    return _WHY.get(role, _NOT_NAMED)


def _listed(names: Qid) -> str:
    more = len(names) - _NAMED
    words = [*map(named, names[:_NAMED]), *([f"{more:,} more"] if more > 0 else [])]
    return ", ".join(words)


def unseen(names: Qid, most: int | None = None) -> str:
    """Return a sentence that names what nobody looked at, the first of many; empty for none."""
    if not names:
        return ""
    hint = " (write the table with index=False)" if ROW_LABELS in names else ""
    more = 0 if most is None else max(0, len(names) - most)
    lines = [*map(named, names[:most]), *([f"{more:,} more"] if more else [])]
    return f"Not looked at: {', '.join(lines)}{hint}."


def _whole(stored: Any) -> int:
    if isinstance(stored, bool) or not isinstance(stored, int) or stored < 0:
        raise TypeError
    return stored
