"""Names, numbers and people as a report writes them: one form each, bounded, and escaped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of, escaped, named, percent, shown, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anonrisk.api.class_sizes import ClassSizes
    from anonrisk.core.columns import Name
    from anonrisk.reporting.measured import Measured

# A count of fewer people may point at them.
FLOOR = 5
# However long names are, a page stays small.
_LONGEST_NAME, _LONGEST = 200, 2_000
_MOST_LINES = 60
# Names of a quasi-identifier that a sentence lists.
_MOST_LISTED = 8


def cut(text: object, longest: int = _LONGEST, *, lines: bool = False) -> str:
    """Escape a text, and shorten it where it is too long to be read; `lines` keeps its lines."""
    rows = str(text).splitlines()[:_MOST_LINES]
    summary = escaped("\n".join(rows), but="\n") if lines else shown(text)
    return summary if len(summary) <= longest else f"{summary[: longest - 1]}…"


def name_of(name: Name) -> str:
    """Write the name of a column."""
    return cut(visible(name), _LONGEST_NAME)


def and_more(names: Sequence[str], most: int) -> str:
    """List the first names, and say how many there are beside."""
    more = len(names) - most
    lines = list(names[:most]) + ([f"{more:,} more"] if more > 0 else [])
    return lines[0] if len(lines) == 1 else f"{', '.join(lines[:-1])} and {lines[-1]}"


def listed(names: Iterable[Name]) -> str:
    """Write a quasi-identifier as a list in a sentence.

    Examples
    --------
    >>> listed(["pc4", "year_of_birth", "gender"])
    'pc4, year_of_birth and gender'
    """
    return and_more([named(name) for name in names], _MOST_LISTED)


def one_in(risk: float) -> str:
    """Write a chance as people say it.

    Examples
    --------
    >>> one_in(1.0), one_in(0.4), one_in(1 / 1234), one_in(0.0)
    ('1 in 1', '1 in 2.5', '1 in 1,234', 'none')
    """
    if risk <= 0:
        return "none"
    n = 1 / risk
    return f"1 in {n:.3g}" if n < 10 else f"1 in {n:,.0f}"


def number(value: float) -> str:
    """Write a score: whole numbers as such, others with three digits after the point at most.

    Examples
    --------
    >>> number(3), number(3.0), number(0.12345), number(5e-11), number(float("inf"))
    ('3', '3', '0.123', 'less than 0.001', 'without bound')
    """
    if value == float("inf"):
        return "without bound"
    if 0 < value < 0.001:
        return "less than 0.001"
    return f"{value:,.3f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class People:
    """Who a report counts, and what it calls them."""

    sizes: ClassSizes | None
    noun: str
    # The k that the policy asks for, of several the largest; where F comes from, of the risks.
    k: int | None
    basis: str

    @classmethod
    def of(cls, measured: Measured) -> People:
        """Take the words from the unit, and k from the limits."""
        noun = "record" if measured.verdict.unit is None else "person"
        of_k = [finding.limit for finding in measured.verdict.findings if finding.budget == "k"]
        of_k += [finding.parameters.get("k") for finding in measured.verdict.findings]
        stated = [int(k) for k in of_k if k is not None] if measured.judged else []
        basis = "release" if measured.risk is None else measured.risk.basis
        return cls(measured.sizes, noun, max(stated, default=None), basis)

    @property
    def plural(self) -> str:
        """What several of them are called."""
        return f"{self.noun}s"

    @property
    def size(self) -> str | None:
        """How many there are."""
        return None if self.sizes is None else f"{self.sizes.n_records:,}"

    def count(self, number: int) -> str:
        """Write a number of them."""
        return count_of(number, self.noun)

    def below(self, sizes: ClassSizes, k: int) -> tuple[int | None, float | None]:
        """Count those in classes smaller than k, and their share.

        None where they are fewer than the floor, in however many classes: were it only in one,
        not to be told would mean to be the only one who is alone. Whoever is the whole table is
        told of.
        """
        people = sizes.records_below(k)
        if 0 < people < FLOOR and sizes.n_records > 1:
            return None, None
        return people, people / sizes.n_records

    @staticmethod
    def few(sizes: ClassSizes) -> str:
        """Return what stands for a number that is not told: of three, fewer than five are all."""
        return "some" if sizes.n_records < FLOOR else f"fewer than {FLOOR}"

    def share_text(self, people: int | None, sizes: ClassSizes) -> str:
        """Write how many of all that is."""
        whole = self.count(sizes.n_records)
        if people is None:
            return f"{self.few(sizes).capitalize()} of {whole}"
        return f"{people:,} of {whole} ({percent(people / sizes.n_records)})"

    def alone_sentence(self) -> str:
        """Return how many are alone with their combination."""
        if self.sizes is None:
            return "Nothing could be counted."
        people, _ = self.below(self.sizes, 2)
        who = "Nobody" if people == 0 else self.share_text(people, self.sizes)
        be = "is" if people in (0, 1) else "are"
        return f"{who} {be} alone with their {listed(self.sizes.qid)}."

    def hidden_sentence(self, sizes: ClassSizes, k: int) -> str:
        """Return how many are in classes smaller than k."""
        few, _ = self.below(sizes, k)
        who = "Nobody" if few == 0 else self.share_text(few, sizes)
        return f"{who} {'hides' if few in (0, 1) else 'hide'} among fewer than {k:,}."
