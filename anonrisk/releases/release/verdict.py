"""What a check of a release found, and what was tried for one that did not pass."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from anonrisk.core import render
from anonrisk.core.documents import Reader
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document, restore
from anonrisk.errors import ArgumentError, ReleaseBlocked
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, PASS, Finding
from anonrisk.policy.trial import outcome_sentence
from anonrisk.policy.verdict import Verdict, tally
from anonrisk.releases.release.answer import ReleaseAnswer
from anonrisk.releases.release.approvals import Approval, Waiver

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anonrisk.policy.explain import Explanation
    from anonrisk.releases.compare.hold_back import HeldBack
    from anonrisk.reporting import Report


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


SCHEMA_VERSION = 1
_READER = Reader("verdict of a release", ArgumentError)
_WORDS = {PASS: "pass", FAIL: "FAIL", COULD_NOT_ASSESS: "COULD NOT ASSESS"}
# What is neither a finding nor a table: text, or a list of texts.
_PLAIN = ("name", "audience", "digest", "head", "checked_at", "library_version")
_LISTS = ("separate", "earlier", "joined")


@dataclass(frozen=True, repr=False)
class ReleaseVerdict(ReleaseAnswer):
    """Whether tables may be published together, after all that was published before.

    ``bool(verdict)`` is true if it passed and false otherwise, as of a `Verdict`.

    Attributes
    ----------
    tables : mapping of name to Verdict
        Of each table, what its policy asks: by itself, joined with others (``linked``), and after
        earlier releases (``differencing``).
    findings : tuple of Finding
        What is about all tables together: approvals, files that changed.
    name, audience : str or None
        What the release is called, and for whom it is.
    separate : tuple of str
        Audiences that, somebody has said, share nothing with this one.
    earlier : tuple of str
        The earlier releases that it was compared with.
    joined : tuple of str
        Along each link, which tables were joined and how much of them matched, in words.
    digest : str or None
        `Release.digest`: what exactly was checked, and what approvals name.
    head : str or None
        The end of the ledger's chain when it was checked.
    waivers : tuple of Waiver
        All that the release has, whether they were needed or not.
    approvals : tuple of Approval
        Those that count.
    approvals_asked : int
        How many must be there before it is published.
    checked_at : str
        When, in UTC; two verdicts that differ in nothing else are equal.
    library_version : str
        The version of anonrisk.
    """

    def raise_for_status(self) -> None:
        """Raise `ReleaseBlocked` unless the release passed."""
        if not self.passed:
            bad = self.failures
            text = " ".join(render.shown(item.sentence) for item in bad[:5])
            more = f" And {len(bad) - 5:,} more." if len(bad) > 5 else ""
            why = text or "Nothing was checked."
            message = f"{self.called} does not pass ({self.status}): {why}{more}"
            raise ReleaseBlocked(message, self)

    def explain(self, *, previous: Any = None) -> ReleaseExplanation:
        """Try what may help, and say what the gate measures then.

        Per budget that a table does not keep by itself, the columns that it would have to lose.
        Where ``differencing`` failed, the release with persons held back by `Release.mend`, with
        the price in persons, judged by every budget. Columns do not help there: who left is seen in
        any class.

        Parameters
        ----------
        previous : table or files, or mapping of name to them
            As in `Release.mend`: with it, rows of people who left are kept; without it, they are
            dropped together with others, which costs more.

        Returns
        -------
        ReleaseExplanation
            With `advice`, `tables`, `mended` and `to_dict`.
        """
        if self._explained is None:
            raise ArgumentError(
                "a stored verdict knows neither its tables nor its ledger: explain the one that "
                "release.check(ledger) returns"
            )
        explanation: ReleaseExplanation = self._explained(self, previous)
        return explanation

    def __reduce__(self) -> tuple[object, ...]:
        """Leave tables and ledger behind when copied or pickled."""
        return type(self).from_json, (self.to_json(),)

    # ---- leaving and coming back ------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; the only cells are groups of `by`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "library": "anonrisk",
            "status": self.status,
            **{key: getattr(self, key) for key in _PLAIN},
            **{key: list(getattr(self, key)) for key in _LISTS},
            "approvals_asked": self.approvals_asked,
            "approvals": [approval.to_dict() for approval in self.approvals],
            "waivers": [waiver.to_dict() for waiver in self.waivers],
            "findings": [finding.to_dict() for finding in self.findings],
            "tables": {name: verdict.to_dict() for name, verdict in self.tables.items()},
        }

    def to_json(self) -> str:
        """Write it as JSON."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `to_json` wrote; a verdict that contradicts itself is refused."""
        try:
            return cls._read(_READER.json(text))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            if isinstance(error, ArgumentError):
                raise
            raise ArgumentError("this is not a verdict of a release written by to_json") from None

    @classmethod
    def _read(cls, stored: dict[str, Any]) -> Self:
        if stored["schema_version"] != SCHEMA_VERSION:
            raise ArgumentError("this verdict was written in another schema version")
        datetime.fromisoformat(stored["checked_at"])
        plain: dict[str, Any] = {key: restore(str | None, stored[key]) for key in _PLAIN}
        plain |= {key: restore(tuple[str, ...], stored[key]) for key in _LISTS}
        verdict = cls(
            tables={
                name: Verdict.from_json(json.dumps(item)) for name, item in stored["tables"].items()
            },
            findings=tuple(map(Finding.from_dict, stored["findings"])),
            waivers=tuple(Waiver(**item) for item in stored["waivers"]),
            approvals=tuple(map(Approval.of, stored["approvals"])),
            approvals_asked=restore(int, stored["approvals_asked"]),
            **plain,
        )
        if stored["status"] != verdict.status:
            raise ArgumentError("the status of this verdict is not that of its findings")
        if any(not verdict._covers(table, name) for name, table in verdict.tables.items()):
            raise ArgumentError("a finding is waived by a waiver that the release does not have")
        return verdict

    def _covers(self, verdict: Verdict, table: str) -> bool:
        """Return whether every finding that is waived has its waiver."""
        known = {
            (waiver.budget, waiver.sentence) for waiver in self.waivers if waiver.table == table
        }
        return all(
            any(
                result.budget == budget and result.sentence.endswith(said) for budget, said in known
            )
            for result in verdict.waived
        )

    # ---- showing ----------------------------------------------------------------------------

    def report(self, title: str | None = None) -> Report:
        """Return it as a page for people who decide: `save("release.html")`, Markdown or JSON."""
        from anonrisk.releases.release.page import report_of

        return report_of(self, title)

    def to_markdown(self) -> str:
        """Write it as Markdown, for a ticket or a pull request."""
        return self.report().to_markdown()

    def _title(self) -> str:
        tables = render.count_of(len(self.tables), "table")
        word = ", ".join((_WORDS[self.status], *self.caveats))
        return f"{word}: {self.called}, {tables}, {tally(self.every_finding)}"

    def __repr__(self) -> str:
        """Print as text: the answer, what is about all, then table by table."""
        lines = [
            f"- {render.shown(finding.sentence)}" for finding in self.findings if not finding.passed
        ]
        head = render.fitted(render.shown(self._title()), *self.about, *lines)
        return "\n\n".join([head, *map(repr, self.tables.values())])

    def _repr_html_(self) -> str:
        lines = [finding.sentence for finding in self.findings if not finding.passed]
        head = render.html_lines([self._title(), *self.about, *lines])
        return head + "".join(table._repr_html_() for table in self.tables.values())
