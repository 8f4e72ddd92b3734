"""Many measures of one table, taken together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.core import render
from anonrisk.core.columns import nearest
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import plain
from anonrisk.errors import ArgumentError
from anonrisk.measures.scores import MEASURES

if TYPE_CHECKING:
    import pandas as pd

    from anonrisk.api.class_sizes import ClassSizes
    from anonrisk.core.columns import Name

# Shares of the records, and chances that are averages over them.
_SHARES = ("uniqueness", "highest_risk", "average_risk")


@dataclass(frozen=True, eq=False, repr=False)
class Assessment(render.PrintedTable):
    """What one pass over a table has to say.

    Attributes
    ----------
    sizes : ClassSizes
        The classes of the quasi-identifier; answers for k, uniqueness, risk and more.
    values : dict of (measure, sensitive column) to number
        Each measure of each sensitive column; the column is None where a measure has none.
    """

    sizes: ClassSizes
    values: dict[tuple[str, Name | None], Any]

    def __getitem__(self, measure: str) -> Any:
        """Return a measure; of several sensitive columns, the worst."""
        results = [value for (name, _), value in self.values.items() if name == measure]
        if not results:
            known = list(dict.fromkeys(name for name, _ in self.values))
            raise ArgumentError(
                f"{measure!r} was not measured{nearest(measure, known) or '; '}"
                f" There are {', '.join(known)}"
            )
        # A measure of class sizes is one number.
        return MEASURES[measure].worst_of(results) if measure in MEASURES else results[0]

    def of(self, measure: str, sensitive: Name | None) -> Any:
        """Return a measure of one sensitive column."""
        try:
            return self.values[measure, sensitive]
        except KeyError:
            raise ArgumentError(f"{measure!r} of {sensitive!r} was not measured") from None

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table: measure, sensitive column, value."""
        import pandas as pd

        rows = [(name, column, float(value)) for (name, column), value in self.values.items()]
        return pd.DataFrame(rows, columns=["measure", "sensitive", "value"])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; no cell of the table is among them."""
        values = [
            {
                "measure": name,
                "sensitive": plain(column),
                "value": value if isinstance(value, int) else plain(float(value)),
                **({"distance": value.distance} if hasattr(value, "distance") else {}),
            }
            for (name, column), value in self.values.items()
        ]
        return {"sizes": self.sizes.to_dict(), "measures": values}

    def _rows(self) -> list[list[str]]:
        rows = []
        for (name, column), value in self.values.items():
            shown = f"{value:,}" if isinstance(value, int) else f"{float(value):.4g}"
            if name in _SHARES:
                shown = render.percent(value)
            distance = getattr(value, "distance", "")
            rows.append([name, "" if column is None else render.named(column), shown, distance])
        return rows

    def _lines(self) -> list[str]:
        who = "record" if self.sizes.unit is None else "person"
        people = render.count_of(self.sizes.n_records, who)
        return [f"{people}, classes of {render.joined(self.sizes.qid)}"]

    def _header(self) -> tuple[str, ...]:
        return "measure", "sensitive", "value", "distance"
