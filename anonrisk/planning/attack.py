"""What someone learns from a release who knows how it was made."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

from anonrisk.core import render
from anonrisk.core.columns import nearest
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    import pandas as pd

    from anonrisk.core.columns import Name, Qid

# What a chance may be above a limit by rounding.
HAIR = 1e-9


@dataclass(frozen=True)
class Credibility(Document):
    """How sure one can be of a person's sensitive value, by the method and without it.

    Attributes
    ----------
    column : name
        The sensitive column.
    exact : bool
        Whether all tables that could have led to the release were tried; otherwise figures of the
        method are upper bounds.
    by_release : float
        The largest share that a value has of a class: what the release alone says.
    highest : float
        The largest credibility of a value for a person, given the method too, or a bound of it.
    limit : float or None
        1 / l of the plan's goal about the column, where it has one.
    n_above : int or None
        The persons whose credibility, or its bound, is above the limit.
    n_certain : int or None
        The persons whose value is certain; None where it is not exact.
    n_raised : int or None
        The persons of whom the method says more than the release alone; None where it is not
        exact.
    n_unbounded : int
        The persons whose bound is 1, of whom nothing is known; 0 where it is exact.
    """

    column: Name
    exact: bool
    by_release: float
    highest: float
    limit: float | None = None
    n_above: int | None = None
    n_certain: int | None = None
    n_raised: int | None = None
    n_unbounded: int = 0


@dataclass(frozen=True)
class ExcludedCells(Document):
    """Cells whose label includes several values, and whether it excludes some.

    Attributes
    ----------
    n_cells : int
        The cells of the release whose label includes more than one value of the table.
    n_rest : int
        Those that exclude some of the values of the part they are labelled by, which have labels
        of their own: `rest of …`. No other label includes a value that its cells cannot have,
        neither by the release alone nor with the recodings in hand.
    """

    n_cells: int
    n_rest: int


@dataclass(frozen=True, repr=False)
class PlanAttack(Document, render.PrintedTable):
    """What someone learns who knows a release, its method and everybody's quasi-identifiers.

    Not what the plan's own figures tell of the table before: see `anonrisk.Plan.to_dict`.

    Attributes
    ----------
    qid : tuple of names
        The quasi-identifiers.
    n_persons : int
        The persons of the table, one per record.
    n_left_out : int
        Those who are not in the release, which tells that their classes break a goal.
    credibility : tuple of Credibility
        One per sensitive column.
    excluded_cells : ExcludedCells
        Labels that exclude what other labels have.
    """

    qid: Qid
    n_persons: int
    n_left_out: int
    credibility: tuple[Credibility, ...]
    excluded_cells: ExcludedCells
    _by_person: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    _document = ("qid", "n_persons", "n_left_out", "credibility", "excluded_cells")

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the cells of the table."""
        return {**vars(self), "_by_person": {}}

    def by_person(self, column: Name) -> pd.DataFrame:
        """Return who is at risk: cells of the table, which no print of this result has.

        Parameters
        ----------
        column : name
            The sensitive column.

        Returns
        -------
        pandas.DataFrame
            One row per combination of quasi-identifiers: `persons` who have it, the largest share
            `by_release` of a value, and its largest `credibility`.
        """
        if column not in self._by_person:
            known = nearest(column, self._by_person)
            raise ArgumentError(
                f"{column!r} is not a sensitive column of this result, or the result is a stored "
                f"copy, which holds no cells{known}"
            )
        frame: pd.DataFrame = self._by_person[column]()
        return frame

    def _lines(self) -> list[str]:
        return [
            (
                f"What someone who knows the release, the method and everybody's "
                f"{render.joined(self.qid)} learns about "
                f"{render.count_of(self.n_persons, 'person')}"
            )
        ]

    def _header(self) -> tuple[str, ...]:
        return ("sensitive", "release alone", "with the method", "above the limit", "certain")

    def _rows(self) -> list[tuple[str, ...]]:
        return [_row(known) for known in self.credibility]

    def _notes(self) -> list[str]:
        notes = [_meaning(known, self.n_persons) for known in self.credibility]
        cells = self.excluded_cells
        notes.append(
            f"labels: of {render.count_of(cells.n_cells, 'generalised cell')} {cells.n_rest:,} "
            'exclude values that others have, and say so: "rest of"'
        )
        if self.n_left_out:
            who = render.count_of(self.n_left_out, "person")
            notes.append(
                f"left out: {who}; that they are missing tells that their classes break a goal. "
                "Their values are taken to be known as a whole"
            )
        return notes


def _row(known: Credibility) -> tuple[str, ...]:
    method = render.percent(known.highest)
    if not known.exact:
        method = "not bounded" if known.n_unbounded else f"at most {method}"
    above = "-"
    if known.limit is not None:
        above = f"{known.n_above:,} (> {render.percent(known.limit)})"
    certain = "-" if known.n_certain is None else f"{known.n_certain:,}"
    return render.named(known.column), render.percent(known.by_release), method, above, certain


def _meaning(known: Credibility, n_persons: int) -> str:
    name = render.named(known.column)
    if known.exact:
        return (
            f"{name}: exact; of {known.n_raised:,} of {n_persons:,} persons the method tells more "
            "than the release alone"
        )
    return (
        f"{name}: too many tables could have led to this release to try them all; figures are "
        f"upper bounds that hold for any method, and {known.n_unbounded:,} of {n_persons:,} "
        "persons are not bounded"
    )
