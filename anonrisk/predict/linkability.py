"""How many people can be followed across a change of their pseudonyms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document

if TYPE_CHECKING:
    from collections.abc import Hashable


@dataclass(frozen=True, repr=False)
class Linkability(Document, render.PrintedTable):
    """How many persons can be linked across a change of pseudonyms; see `anonrisk.linkability`.

    Attributes
    ----------
    n_persons : int
        Number of persons in the table.
    n_changes : int
        Number of changes of pseudonyms that somebody's records lie on both sides of.
    n_both : int
        Pairs of a person and a change with records on both sides of it: what the shares are of.
    n_linked : int
        Those with a value of the quasi-identifier, or a whole set of values, that nobody else has,
        neither before nor after.
    n_false : int
        Values that one person alone has before and another one alone after, over all changes: links
        that are wrong.
    expected : float
        Expected share of right links by an attacker who takes the rarest value that a person keeps,
        or their whole set of values if it stays, and guesses among those who have it after the
        change.
    chance : float
        The same for an attacker who guesses among all persons after the change.
    """

    user: Hashable
    qid: tuple[Hashable, ...]
    n_records: int
    n_dropped: int
    n_persons: int
    n_changes: int
    n_both: int
    n_linked: int
    n_false: int
    expected: float
    chance: float
    missing: str = "value"
    _document = (
        *("user", "qid", "n_records", "n_dropped", "n_persons", "n_changes", "n_both", "n_linked"),
        *("n_false", "expected", "chance", "linked", "missing"),
    )

    @property
    def linked(self) -> float:
        """Share of the pairs of a person and a change that can be linked for certain."""
        return self.n_linked / self.n_both

    def _rows(self) -> list[list[str]]:
        return [
            ["linked for certain", f"{self.n_linked:,}", render.percent(self.linked)],
            [
                "linked, expected",
                f"{self.expected * self.n_both:,.1f}",
                render.percent(self.expected),
            ],
            ["linked by chance", f"{self.chance * self.n_both:,.1f}", render.percent(self.chance)],
        ]

    def _lines(self) -> list[str]:
        changes = render.count_of(self.n_changes, "change")
        wrong = render.count_of(self.n_false, "value")
        return [
            (
                f"{render.count_of(self.n_both, *self._unit())} on both sides of {changes} of "
                f"pseudonyms, matched by {render.joined(self.qid)} (one value, or all of a "
                f"person's); {wrong} would link two different persons"
            )
        ]

    def _unit(self) -> tuple[str, str]:
        # Somebody who is there in five periods in a row goes through four changes.
        if self.n_changes == 1:
            return "person", "persons"
        return "pair of a person and a change", "pairs of a person and a change"

    def _header(self) -> tuple[str, str, str]:
        return "", "persons" if self.n_changes == 1 else "pairs", "share"
