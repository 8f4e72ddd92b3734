"""Why a draft says what it does, and the draft as text that a person edits."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from anonrisk._version import __version__
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of, folded
from anonrisk.policy import document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anonrisk.core.columns import Name
    from anonrisk.policy.drafting.propose import Proposal

_ROLES = {
    "quasi": "Together these may single somebody out. In doubt a column belongs here.",
    "sensitive": "What must not be learned about a person.",
    "direct": "Names a person: must be gone before the table is published.",
    "insensitive": "None of these.",
    "unit": "Whose row it is, where a person may have several: persons are counted, not rows.",
}
_HEADER = (
    "A draft, and no policy yet. Every role is a guess from names and counts: a person must "
    'decide. Read each line and move it to the role that is right. Then delete the line "reviewed: '
    'false", or make it true; until then no table passes.'
)
# Comments stand in one column, unless a name is longer than this.
_WIDEST = 32


@dataclass(frozen=True)
class Drafted:
    """Why a draft proposes what it does.

    Attributes
    ----------
    proposals : dict of column to Proposal
        Role and reason of every column, in the table's order.
    notes : tuple of str
        What else a person must know.
    ready : str
        The ready policy that the budgets are from.
    n_rows : int or None
        Rows of the table; None where no column could be counted.
    left_out : dict
        Budgets of the ready policy that it cannot have without a sensitive column.
    """

    proposals: Mapping[Name, Proposal]
    notes: tuple[str, ...]
    ready: str
    n_rows: int | None
    left_out: Mapping[str, Any]

    @property
    def headline(self) -> str:
        """What it was made from."""
        columns = count_of(len(self.proposals), "column")
        rows = "" if self.n_rows is None else f" and {count_of(self.n_rows, 'row')}"
        return f"Draft from a table of {columns}{rows}, with the budgets of {self.ready}"

    @property
    def counts(self) -> str:
        """How many columns have each role."""
        counter = Counter(proposal.role for proposal in self.proposals.values())
        return ", ".join(f"{counter[role]:,} {role}" for role in _ROLES if counter[role])

    def rows(self) -> list[list[str]]:
        """List column, role and reason."""
        return [[_shown(c), p.role, p.reason] for c, p in self.proposals.items()]

    def to_yaml(self, written: dict[str, Any]) -> str:
        """Write the policy as YAML with the reasons as comments (needs PyYAML)."""
        rest = dict(written)
        first = ("version", "name", "description", "reviewed")
        top = {key: rest.pop(key) for key in first if key in rest}
        roles, asked = rest.pop("roles", {}), rest.pop("budgets")
        parts = [
            *(line for text in (_HEADER, *self._about()) for line in _comment(text)),
            document.to_yaml(top, lines=True),
            "roles:",
            *self._roles(roles),
            "",
            # Last, so that those which are left out can follow.
            document.to_yaml({**rest, "budgets": asked}).rstrip("\n"),
            *self._commented_budgets(),
        ]
        return "\n".join(parts) + "\n"

    def _about(self) -> Iterator[str]:
        yield ""
        yield f"{self.headline}, by anonrisk {__version__}."
        yield from self.notes

    def _roles(self, roles: Mapping[str, Any]) -> Iterator[str]:
        for role, meaning in _ROLES.items():
            yield from _comment(meaning, "  ")
            if role == "unit":
                yield self._unit(roles.get("unit"))
                continue
            yield f"  {role}:"
            items = {column: document.scalar(column) for column in roles.get(role, ())}
            width = min(max(map(len, items.values()), default=0), _WIDEST)
            for column, item in items.items():
                # One line, however long: whoever edits it moves whole lines.
                yield f"    - {item.ljust(width)}  # {self._reason(column)}"

    def _unit(self, unit: Name | None) -> str:
        if unit is None:
            return "  unit:"
        return f"  unit: {document.scalar(unit)}  # {self._reason(unit)}"

    def _reason(self, column: Name) -> str:
        proposal = self.proposals.get(column)
        return f"the ready policy {self.ready} names it" if proposal is None else proposal.reason

    def _commented_budgets(self) -> Iterator[str]:
        if self.left_out:
            yield "  # Only with a sensitive column:"
            for line in document.to_yaml(dict(self.left_out)).splitlines():
                yield f"  # {line}"


def _comment(text: str, indent: str = "") -> list[str]:
    mark = f"{indent}# "
    return [line.rstrip() for line in folded(f"{mark}{text}", indent=mark)]


def _shown(column: Name) -> str:
    """Write a name on one line, whatever is in it."""
    text = str(column)
    return text if text.isprintable() and text == text.strip() else repr(text)
