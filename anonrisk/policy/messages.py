"""What the sentences of a verdict are made of, in words that a privacy officer reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anonrisk.core import render

if TYPE_CHECKING:
    from anonrisk.core.columns import Name

# What a prediction from a sample rests on.
SINGLY = "if persons were drawn singly"
_WORDS_OF_YAML = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])


def label(group: Any) -> str:
    """Write the value of a `by` column; naming the column was asking for it."""
    try:
        # The missing value of pandas comes first: compared, it is neither true nor false.
        missing = group is None or type(group).__name__ == "NAType" or group != group  # noqa: PLR0124
        return "(missing)" if missing else str(group)
    # Objects may raise whatever they like, and what they say is not what was asked for.
    except Exception:  # noqa: BLE001
        return f"({render.kind_name(group)})"


def percent(share: float, limit: float | None = None) -> str:
    """Write a share as results do; with all its digits where its limit, just missed, looks kept.

    Examples
    --------
    >>> percent(1 / 3), percent(1 / 3, 0.01), percent(0.01001, 0.01)
    ('33.3%', '33.3%', '1.001%')
    """
    written = render.percent(share)
    alike = limit is not None and share != limit and written == render.percent(limit)
    return as_given(share) if alike else written


def as_given(limit: float) -> str:
    """Write the limit on a share as a policy has it.

    Examples
    --------
    >>> as_given(0.01), as_given(0.00025)
    ('1%', '0.025%')
    """
    return f"{100 * limit:.6g}%"


def in_short(number: float | None) -> str:
    """Write a number for a table, of four digits; a dash where there is none.

    Examples
    --------
    >>> in_short(1_000), in_short(1 / 3), in_short(None)
    ('1,000', '0.3333', '-')
    """
    if number is None:
        return "-"
    return f"{number:,}" if isinstance(number, int) else f"{number:.4g}"


def inside(group: str | None) -> str:
    """Begin a sentence about one group."""
    return "" if group is None else f"In {render.visible(group)}: "


def pasted(name: Name) -> str:
    """Write a name so that it can be pasted into a list of YAML or JSON.

    Examples
    --------
    >>> pasted("zip"), pasted("no"), pasted("first name"), pasted(7)
    ('zip', '"no"', '"first name"', '7')
    """
    text = str(name)
    plain = text.isidentifier() and text.isascii() and text.casefold() not in _WORDS_OF_YAML
    return text if plain else json.dumps(text) if isinstance(name, str) else text
