"""`max_suppressed`: the share of records that were suppressed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.measures.counts.question import MarkedRows
from anonrisk.policy.budgets import base
from anonrisk.policy.evidence import Problem, as_given, percent

if TYPE_CHECKING:
    from anonrisk.core.columns import Qid
    from anonrisk.engines.base import Engine
    from anonrisk.policy.evidence import Context, Evidence


def _marked(frame: Any, engine: Engine, qid: Qid, context: Context) -> int:
    return engine.count(frame, MarkedRows(qid, context.suppressed or ""))


MARKED = base.Need("marked", _marked)
# Why an expectation cannot tell of people outside a table.
NOT_LOOKED_FOR = ", where suppressed cells are marked: they are not looked for"


def removed(evidence: Evidence, context: Context) -> str | Problem | None:
    """Return what shows that records or cells were removed from a table, or None."""
    marked, before = evidence.apart.get(MARKED.name), context.n_original
    if isinstance(marked, Problem):
        return marked
    n_rows = evidence.n_rows + evidence.n_dropped
    if before is not None and before != n_rows:
        return f"n_original is {before:,}, and the table has {count_of(n_rows, 'row')}"
    return f"{count_of(marked, 'row')} with a suppressed cell" if marked else None


def no_prediction(evidence: Evidence, context: Context) -> Problem | None:
    """Reject to tell of people outside a table from which rare ones are known to be gone."""
    known = removed(evidence, context)
    if known is None or isinstance(known, Problem):
        return known
    return Problem(
        "where rare records were removed, nothing can be said about people outside the table: "
        f"{known}"
    )


@dataclass(frozen=True)
class MaxSuppressed(base.TableBudget):
    """At most a share of the records may have been removed, or have a suppressed cell."""

    key = "max_suppressed"
    also_called = ("max_suppression", "suppression_limit", "suppression")
    keys = {"at_most": base.SHARE}
    bare = True
    annotation = base.or_list("float | dict[str, Any]")
    what = "The share of suppressed records"
    about_removed = True

    def need(self, context: Context) -> base.Need | None:
        """Count the rows with a marker."""
        return None if context.suppressed is None else MARKED

    def value(self, evidence: Evidence, context: Context) -> base.Value | Problem:
        """Take the share of rows that are marked or gone."""
        marked = evidence.apart.get("marked")
        if isinstance(marked, Problem):
            return marked
        if context.n_original is None and context.suppressed is None:
            return Problem(
                "nothing says what was suppressed: give check(df, n_original=…), the rows before "
                "removal, or suppressed, the text in a suppressed cell"
            )
        n_dropped = evidence.n_dropped
        n_rows = n_dropped + evidence.n_rows
        before = n_rows if context.n_original is None else context.n_original
        if before < n_rows:
            return Problem(f"n_original is {before:,}, but the table has {count_of(n_rows, 'row')}")
        gone = n_dropped if context.dropped_are_removed else 0
        return base.Value(min((before - n_rows + (marked or 0) + gone) / before, 1.0))

    def sentence(self, value: base.Value, subject: base.Subject) -> str:
        """Return how many are suppressed."""
        return (
            f"{percent(value.number, self.limit)} of the rows are suppressed; "
            f"at most {as_given(self.limit)} may be"
        )

    @property
    def likely_meaning(self) -> str:
        """No table loses more than all of its rows."""
        return "1 is every row; 5% is 0.05"

    def not_expected(self, context: Context) -> str:
        """Return the sentence that only whoever removed rows knows of them."""
        return ": a batch does not show what was removed from it"
