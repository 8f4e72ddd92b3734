"""What was tried for a release that did not pass, and the price of holding persons back."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document
from anonrisk.policy.trial import outcome_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anonrisk.policy.explain import Explanation
    from anonrisk.releases.compare.hold_back import HeldBack


@dataclass(frozen=True, repr=False)
class MendPrice(Document, render.PrintedFields):
    """What it costs to hold persons back, in persons.

    Attributes
    ----------
    n_persons : int
        Persons in the tables as they would be published now.
    waiting : int
        Of them, those who were never published, and wait for others to come to their class.
    outdated : int
        Of them, those who are published as the release before has them, though they changed.
    withheld : int
        Of them, those who were published once and are not now; hardly anybody of them comes back.
    taken_along : int
        Of these, those who are withheld from now on, as company of others who go.
    left : int
        Persons who are listed still, though they are not in the tables any more.
    """

    n_persons: int
    waiting: int
    outdated: int
    withheld: int
    taken_along: int
    left: int

    @classmethod
    def of(cls, held: HeldBack) -> MendPrice:
        """Take the numbers of a decision."""
        return cls(**{item.name: getattr(held, item.name) for item in fields(cls)})


@dataclass(frozen=True, repr=False)
class MendTrial(Document, render.PrintedLines):
    """What `Release.mend` came to.

    Attributes
    ----------
    leavers : {"keep", "drop"}
        What was done with people who left.
    price : MendPrice or None
        How many persons it costs; None if it could not be tried.
    status : str or None
        What the gate says of the rest, by all budgets.
    why_not : str
        Why it could not be tried.
    """

    leavers: str
    price: MendPrice | None = None
    status: str | None = None
    why_not: str = ""

    @property
    def sentence(self) -> str:
        """Whether it is enough, and what it costs."""
        what = f"differencing: Release.mend(ledger, leavers={self.leavers!r}"
        what += ", previous=…)" if self.leavers == "keep" else ")"
        if self.price is None:
            return outcome_sentence(what, None, "", self.why_not)
        price, every = self.price, render.count_of(self.price.n_persons, "person")
        parts = [
            f"{n:,} {how}"
            for n, how in (
                (price.waiting, "not published yet"),
                (price.outdated, "published as before"),
                (price.withheld, "not published any more"),
                (price.left, "listed after they left"),
            )
            if n
        ]
        return outcome_sentence(what, self.status, f"of {every} {', '.join(parts) or 'nobody'}")

    def _lines(self) -> list[str]:
        return [self.sentence]


@dataclass(frozen=True, repr=False)
class ReleaseExplanation(render.PrintedLines):
    """For budgets of a release that did not pass, what was tried and what came of it.

    Attributes
    ----------
    tables : dict of name to Explanation
        For each table that does not pass by itself, what it would be without some columns.
    mended : MendTrial or None
        Where ``differencing`` failed, the release with persons held back.
    """

    tables: Mapping[str, Explanation]
    mended: MendTrial | None = None

    def advice(self) -> tuple[str, ...]:
        """Return sentences: what was tried for each budget, and whether it is enough."""
        return tuple(self._advice())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; no cell is among them."""
        return {
            "advice": list(self.advice()),
            "tables": {name: item.to_dict() for name, item in self.tables.items()},
            "mended": None if self.mended is None else self.mended.to_dict(),
        }

    def _advice(self) -> Iterator[str]:
        for name, item in self.tables.items():
            yield from (f"{render.shown(name)}: {line}" for line in item.advice())
        if self.mended is not None:
            yield self.mended.sentence
            if self.mended.leavers == "drop":
                yield "With the tables of the release before, explain(previous=…) tries 'keep'."

    def _lines(self) -> list[str]:
        return list(self.advice()) or ["Nothing was found that helps; the findings say why."]
