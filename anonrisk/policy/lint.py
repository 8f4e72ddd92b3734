"""`Policy.lint`: what a policy says that it can hardly mean, before any row is looked at."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import nearest, skeleton, spelt
from anonrisk.core.render import PrintedTable, count_of, fitted, shown
from anonrisk.engines.one_state import one_state
from anonrisk.policy import limits, release_rules
from anonrisk.policy.messages import pasted
from anonrisk.policy.rules import LISTS, SINGLE
from anonrisk.policy.table import published_by
from anonrisk.policy.weaker import weaker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonrisk.core.columns import Name, Qid
    from anonrisk.policy.release_rules import Published
    from anonrisk.policy.terms import Terms
    from anonrisk.policy.weaker import Baseline

ERROR, WARN = "error", "warn"
# Where in a policy a finding about columns is settled.
_PLACES = {"direct": "roles.direct", "unlisted": "unlisted"}
_ROLES = {"quasi": "quasi-identifier", "sensitive": "sensitive column", "unit": "unit"}


@dataclass(frozen=True)
class Remark:
    """One thing that a policy says and can hardly mean.

    Attributes
    ----------
    severity : {"error", "warn"}
        Whether no table can pass, or the policy is weaker than one it is compared with; or whether
        somebody should look.
    what : str
        What it is about: ``"nothing_decides"``, ``"vacuous"``, ``"attribute_disclosure"``,
        ``"no_direct"``, ``"name"``, ``"column"``, ``"direct"``, ``"unlisted"``, ``"table"`` or
        ``"weaker"``.
    where : str
        The place in the policy, as ``"budgets.k"``.
    sentence : str
        What is wrong, and what was probably meant; names of columns, and no cell.
    """

    severity: str
    what: str
    where: str
    sentence: str


@dataclass(frozen=True, repr=False)
class LintResult(PrintedTable):
    """What `Policy.lint` has to say; it prints as text and as HTML.

    ``bool(result)`` is true if there is no remark of severity ``"error"``.

    Attributes
    ----------
    remarks : tuple of Remark
        Those that are errors first.
    policy_name : str or None
        What the policy is called.
    """

    remarks: tuple[Remark, ...]
    policy_name: str | None = None

    @property
    def errors(self) -> tuple[Remark, ...]:
        """The remarks by which no table passes, or the policy is weaker than another."""
        return tuple(one for one in self.remarks if one.severity == ERROR)

    @property
    def warnings(self) -> tuple[Remark, ...]:
        """All other remarks."""
        return tuple(one for one in self.remarks if one.severity != ERROR)

    def __bool__(self) -> bool:
        """Mean that there is no error."""
        return not self.errors

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; no cell."""
        remarks = [asdict(one) for one in self.remarks]
        return {"policy": self.policy_name, "remarks": remarks}

    def __repr__(self) -> str:
        """Print as text: a sentence for each remark, with its place in the policy."""
        told = (f"- {one.severity}, {one.where}: {shown(one.sentence)}" for one in self.remarks)
        return fitted(*self._lines(), *told)

    def _lines(self) -> list[str]:
        of = "" if self.policy_name is None else f" {shown(self.policy_name)}"
        if not self.remarks:
            return [f"Policy{of}: nothing to remark"]
        counts = (count_of(len(self.errors), "error"), count_of(len(self.warnings), "warning"))
        return [f"Policy{of}: {', '.join(counts)}"]

    def _header(self) -> tuple[str, ...]:
        return ("severity", "what", "where", "in words") if self.remarks else ()

    def _rows(self) -> list[list[str]]:
        return [[one.severity, one.what, one.where, one.sentence] for one in self.remarks]


def lint(policy: Terms, frame: Any = None, against: Baseline | None = None) -> LintResult:
    """Read a policy as somebody would who has seen many; see `Policy.lint`."""
    remarks = [*of_terms(policy)]
    if frame is not None:
        with one_state(frame, "lint"):
            published = published_by(frame)
        remarks += _of_table(policy, published)
    if against is not None:
        told = weaker(policy, against)
        remarks += [Remark(ERROR, "weaker", where, sentence) for where, sentence in told]
    ordered = sorted(dict.fromkeys(remarks), key=lambda one: one.severity != ERROR)
    return LintResult(tuple(ordered), policy.name)


def of_terms(policy: Terms) -> Iterator[Remark]:
    """Look at the policy alone."""
    yield from _of_limits(policy)
    yield from _of_roles(policy)
    yield from _of_names(policy)


def _of_limits(policy: Terms) -> Iterator[Remark]:
    if policy.advisory:
        return
    every = [*limits.placed(policy)]
    for where, _, budget in every:
        if budget.vacuous:
            yield Remark(WARN, "vacuous", where, f"No table can break {limits.said(budget)}.")
    if every and limits.nothing_decides(budget for *_, budget in every):
        told = limits.undecided([budget for *_, budget in every], of_policy=True)
        yield Remark(ERROR, "nothing_decides", "budgets", f"{told[0].upper()}{told[1:]}.")


def _of_roles(policy: Terms) -> Iterator[Remark]:
    every = [budget for *_, budget in limits.placed(policy)]
    about = [budget for budget in every if budget.about_values and not budget.vacuous]
    judged = {name for b in about for name in b.sensitive or policy.roles.sensitive}
    open_ = [name for name in policy.roles.sensitive if name not in judged]
    if open_:
        names = ", ".join(map(repr, open_))
        listed = ", ".join(map(pasted, open_))
        yield Remark(
            WARN,
            "attribute_disclosure",
            "roles.sensitive",
            f"No budget judges what is learned of {names}: where all of a class have one value, it "
            f"is known of everybody in it. Add to budgets  ldiv: {{l: 2, sensitive: [{listed}]}}",
        )
    if policy.unlisted == "ignore" and not policy.roles.direct:
        yield Remark(
            WARN,
            "no_direct",
            "roles.direct",
            "No direct identifier is named, and columns without a role are not looked at "
            "(unlisted: ignore): a column of names would be published. Name them, or say "
            "unlisted: refuse.",
        )


def _of_names(policy: Terms) -> Iterator[Remark]:
    """Look for names that are no texts, and for two that look alike."""
    seen: dict[str, tuple[str, Name]] = {}
    for where, name in _named(policy):
        if not isinstance(name, str):
            yield Remark(
                WARN,
                "name",
                where,
                f"A column is named by the number {name}, and names are texts: write '{name}', in "
                "quotes.",
            )
            continue
        shape = skeleton(name)
        other = seen.setdefault(shape, (where, name))[1] if shape else name
        if other != name:
            yield Remark(
                WARN,
                "name",
                where,
                f"{spelt(name)} and {spelt(other)} look alike, and are two names.",
            )


def _named(policy: Terms) -> Iterator[tuple[str, Name]]:
    roles = policy.roles
    for role in LISTS:
        yield from ((f"roles.{role}", name) for name in getattr(roles, role))
    for role in SINGLE:
        if getattr(roles, role) is not None:
            yield f"roles.{role}", getattr(roles, role)
    for rule in policy.rules:
        yield from (("qids", name) for name in rule.columns or ())
    if policy.by is not None:
        yield "by", policy.by


def _of_table(policy: Terms, published: Published) -> Iterator[Remark]:
    """Look at the columns of a table: what a gate would say of their names."""
    for finding in release_rules.of_columns(policy, published):
        # That nobody has read a draft is what its first line says.
        if not finding.passed and finding.budget != "reviewed":
            severity = ERROR if finding.blocks() else WARN
            place = _PLACES.get(finding.budget, "roles")
            yield Remark(severity, finding.budget, place, finding.sentence)
    direct, insensitive = {*policy.roles.direct}, {*policy.roles.insensitive}
    for where, name in _named(policy):
        if name in published.names or name in direct or name in insensitive:
            continue
        role = _ROLES.get(where.removeprefix("roles."), "column")
        meant = _alike(name, published.names) or nearest(name, published.names) or "."
        size = count_of(len(published.names), "column")
        told = f"{role} {name!r} is not in the table{meant} The table has {size}."
        yield Remark(ERROR, "column", where, told[0].upper() + told[1:])

    for doubt in policy.acknowledged:
        if doubt.column not in published.names:
            meant = _alike(doubt.column, published.names)
            meant = meant or nearest(doubt.column, published.names) or "."
            told = f"Acknowledged column {doubt.column!r} is not in the table{meant}"
            yield Remark(WARN, "column", "acknowledged", told)


def _alike(name: Name, names: Qid) -> str:
    """Name the column that is spelt otherwise and looks the same."""
    shape = skeleton(name)
    found = next((one for one in names if shape and skeleton(one) == shape), None)
    return "" if found is None else f"; did you mean {spelt(found)}?"
