"""How likely it is that two persons come to share a pseudonym."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from anonrisk.core.arguments import whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedLines, percent
from anonrisk.errors import ArgumentError, CollisionError
from anonrisk.pseudonyms.pseudonym import USUAL_BITS, Form

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from anonrisk.core.literals import Alphabet

# One in a million.
MOST_LIKELY = 1e-6
_OFTEN, _TRILLION = 0.01, 10**12


@dataclass(frozen=True, repr=False)
class CollisionChance(PrintedLines):
    """How likely it is that any two of so many persons share a pseudonym.

    Attributes
    ----------
    people : int
        How many persons there are.
    bits : int
        Bits of a pseudonym.
    chance : float
        That any two of them share one.
    limit : float
        What is refused above it, unless the caller says so: one in a million.
    """

    people: int
    bits: int
    chance: float
    limit: float = MOST_LIKELY

    @property
    def is_within(self) -> bool:
        """Whether it is within the limit."""
        return self.chance <= self.limit

    def _lines(self) -> list[str]:
        judged = "within" if self.is_within else "above"
        text = f"Any two of {self.people:,} people share a pseudonym of {self.bits} bits:"
        return [f"{text} {_said(self.chance)}, {judged} the limit ({_said(self.limit)})"]


def collision_chance(
    people: int,
    *,
    format: Alphabet = "hex",  # noqa: A002
    length: int | None = None,
) -> CollisionChance:
    """Return how likely it is that any two of so many persons share a pseudonym.

    Parameters
    ----------
    people : int
        How many persons will ever get one, of one key and one scope. With pseudonyms that change by
        period, count each person once a period.
    format, length
        How pseudonyms are written, as in `anonrisk.pseudonymize`.

    Returns
    -------
    CollisionChance
        The chance, and whether it is within one in a million.

    Notes
    -----
    ``1 - exp(-n (n - 1) / 2 ** (bits + 1))``, the birthday approximation: HMAC-SHA-256 is taken to
    draw each pseudonym by chance.

    When it misleads: it is about chance. Who has the key can look for two names that collide.

    Examples
    --------
    >>> collision_chance(10**9, length=16)
    Any two of 1,000,000,000 people share a pseudonym of 64 bits: a chance of 2.7%,
    above the limit (one in 1,000,000)
    >>> collision_chance(10**9).chance < 1e-20
    True
    """
    form = Form.of(format, length)
    return _chance(whole_number(people, "people", at_least=1), form, MOST_LIKELY)


def safe_form(format_: Any, length: Any, people: Any, max_collision: Any) -> Form:
    """Read how pseudonyms are written, and refuse what two persons may come to share."""
    form = Form.of(format_, length)
    if isinstance(max_collision, bool) or not isinstance(max_collision, (int, float)):
        raise ArgumentError("max_collision= is a chance, above 0 and at most 1")
    if not 0 < max_collision <= 1:
        raise ArgumentError("max_collision= is a chance, above 0 and at most 1")
    if people is None:
        if form.bits >= USUAL_BITS:
            return form
        example = _chance(10**6, form, max_collision)
        raise ArgumentError(
            f"length={form.length} of {form.format} is {form.bits} bits, fewer than the usual "
            f"{USUAL_BITS}: say people=, how many persons there will be. Of a million, any two "
            f"share a pseudonym: {_said(example.chance)}"
        )
    chance = _chance(whole_number(people, "people", at_least=1), form, max_collision)
    if not chance.is_within:
        raise ArgumentError(
            f"of people={chance.people:,} any two share a pseudonym of {chance.bits} bits: "
            f"{_said(chance.chance)}, above max_collision= ({_said(max_collision)}). Take a longer "
            "length=, or none for the usual one"
        )
    return form


def refuse_collisions(pseudonyms: Sequence[str], source: Iterable[Hashable]) -> None:
    """Reject pseudonyms of which two different values have got the same."""
    n_different = len(set(pseudonyms))
    # What they are of is counted only where it may matter.
    if n_different < len(pseudonyms) and n_different < len(set(source)):
        raise CollisionError(
            "two different values have come to share a pseudonym; nothing was done. Take a longer "
            "length="
        )


def _said(chance: float) -> str:
    """Write a chance as people read it."""
    if chance >= _OFTEN:
        return f"a chance of {percent(chance)}"
    if chance * _TRILLION < 1:
        return "less than one in a trillion"
    times = 1 / chance
    return f"one in {round(times, 1 - math.floor(math.log10(times))):,.0f}"


def _chance(people: int, form: Form, limit: float) -> CollisionChance:
    expected = float(people) * (float(people - 1) / 2.0 ** (form.bits + 1))
    return CollisionChance(people, form.bits, -math.expm1(-expected), limit)
