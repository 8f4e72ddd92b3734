"""Reading the values of a policy: each is checked, and an error says where and what was meant."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import nearest, several_in_one, skeleton
from anonrisk.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from anonrisk.core.columns import Name, Qid


# How other tools, and the literature, call what a policy has a key for; a budget says its own.
_ALSO_CALLED = {
    **dict.fromkeys(("quasi_identifiers", "quasi_identifier", "qids", "qid"), "quasi"),
    **dict.fromkeys(("identifiers", "identifying", "pii"), "direct"),
    **dict.fromkeys(("entity", "person", "id"), "unit"),
    **dict.fromkeys(("nulls", "null", "na"), "missing"),
}


def mapping(
    given: Any, where: str, keys: Collection[str], also_called: Mapping[str, str] = _ALSO_CALLED
) -> dict[str, Any]:
    """Read a mapping whose keys are all known."""
    if not isinstance(given, Mapping):
        raise PolicyError(f"{where} is a mapping of keys to values, not {_kind(given)}")
    for key in given:
        if key not in keys:
            shown = repr(key) if isinstance(key, str) else _kind(key)
            known = ", ".join(keys)
            raise PolicyError(
                f"{where} has no key {shown}{meant(key, keys, also_called) or '.'} "
                f"There are {known}"
            )
    return dict(given)


def meant(key: object, keys: Collection[str], also_called: Mapping[str, str] = _ALSO_CALLED) -> str:
    """Return which key comes closest, by its letters or by what others call it.

    Examples
    --------
    >>> meant("pii", ["quasi", "direct"])
    "; did you mean 'direct'?"
    """
    word = str(key).casefold()
    other = also_called.get(word, _ALSO_CALLED.get(word))
    return f"; did you mean {other!r}?" if other in keys else nearest(key, keys)


def listed(given: Any, where: str) -> list[Any]:
    """Read a list with something in it."""
    if not isinstance(given, (list, tuple)):
        raise PolicyError(f"{where} is a list, not {_kind(given)}")
    if not given:
        raise PolicyError(f"{where} is an empty list")
    return list(given)


def word(given: Any, where: str, words: Sequence[str]) -> str:
    """Read one of a few words."""
    if not isinstance(given, str) or given not in words:
        shown = repr(given) if isinstance(given, str) else _kind(given)
        hint = nearest(given, words) if isinstance(given, str) else ""
        raise PolicyError(f"{where} is one of {', '.join(map(repr, words))}, not {shown}{hint}")
    return given


def text(given: Any, where: str) -> str:
    """Read a text that is not empty."""
    if not isinstance(given, str) or not given.strip():
        raise PolicyError(f"{where} is a text that is not empty, not {_kind(given)}")
    if not is_text(given):
        raise PolicyError(f"{where} holds half a character, which no file can keep")
    return given


def is_text(given: str) -> bool:
    """Return whether a text can be written: half of a surrogate pair cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in given)


def said(given: Any, where: str, *, most: int = 300) -> str:
    """Read a text that somebody can see, on one line, short enough to stand in every rendering."""
    line = " ".join(text(given, where).split())
    if not skeleton(line):
        raise PolicyError(f"{where} is a text that says something: letters or digits")
    if len(line) > most:
        raise PolicyError(
            f"{where} has {len(line):,} characters, and {most:,} at most: nobody reads more, and "
            "what is cut off may be what matters"
        )
    return line


def flag(given: Any, where: str) -> bool:
    """Read true or false."""
    if not isinstance(given, bool):
        raise PolicyError(f"{where} is true or false, not {_kind(given)}")
    return given


def whole(given: Any, where: str, *, at_least: int) -> int:
    """Read a whole number."""
    _number(given, where, most=math.inf)
    # Some programs write 5 as 5.0, and JSON knows no difference.
    if given != int(given) or not at_least <= int(given) < 2**62:
        raise PolicyError(f"{where} is a whole number, at least {at_least}")
    return int(given)


def share(given: Any, where: str) -> float:
    """Read a share, from 0 to 1."""
    _number(given, where)
    if not 0 <= given <= 1:
        raise PolicyError(f"{where} is a share, from 0 to 1")
    return float(given)


def above_zero(given: Any, where: str, *, at_most: float = math.inf) -> float:
    """Read a number above zero."""
    _number(given, where)
    if not 0 < given <= at_most:
        bound = "" if at_most == math.inf else f", at most {at_most:g}"
        raise PolicyError(f"{where} is a number above 0{bound}")
    return float(given)


def from_one(given: Any, where: str) -> float:
    """Read a number from 1 up."""
    if above_zero(given, where) < 1:
        raise PolicyError(f"{where} is a number from 1 up")
    return float(given)


def from_zero(given: Any, where: str) -> float:
    """Read a number from 0 up."""
    _number(given, where)
    if given < 0:
        raise PolicyError(f"{where} is a number from 0 up")
    return float(given)


def _number(given: Any, where: str, *, most: float = sys.float_info.max) -> None:
    if isinstance(given, bool) or not isinstance(given, Real):
        hint = ""
        if isinstance(given, str) and _spells_a_number(given):
            hint = ": leave out the quotes, and write 0.001 for 1e-3, which YAML takes for text"
        raise PolicyError(f"{where} is a number, not {_kind(given)}{hint}")
    # A whole number may be longer than any float.
    if isinstance(given, Integral) and abs(int(given)) > most:
        raise PolicyError(f"{where} is a number beyond all limits")
    if not isinstance(given, Integral) and not math.isfinite(given):
        raise PolicyError(f"{where} is a finite number")


def _spells_a_number(given: str) -> bool:
    try:
        float(given)
    except ValueError:
        return False
    return True


def name(given: Any, where: str) -> Name:
    """Read the name of a column: a text, or a whole number where pandas numbers its columns."""
    numbered = isinstance(given, (int, float, Integral)) and given == given // 1
    if isinstance(given, bool) or not (isinstance(given, str) or numbered):
        hint = "; yes, no, on, off, null and dates need quotes in YAML"
        raise PolicyError(f"{where} names a column by a text, not by {_kind(given)}{hint}")
    if isinstance(given, str) and not given:
        raise PolicyError(f"{where} names a column by an empty text")
    if not isinstance(given, str) and not abs(given) < 2**63:
        raise PolicyError(f"{where} names a column by a number that is too long to be a name")
    return given if isinstance(given, str) else int(given)


def names(given: Any, where: str) -> Qid:
    """Read a name or a list of names, none of them twice."""
    if not isinstance(given, (list, tuple)):
        wrong = several_in_one(given, quoted=False)
        if wrong:
            raise PolicyError(f"{where}: {wrong}")
        return (name(given, where),)
    found: dict[Name, None] = {}
    for item in listed(given, where):
        column = name(item, where)
        if column in found:
            raise PolicyError(f"{where} names column {column!r} twice")
        found[column] = None
    return tuple(found)


def _kind(given: object) -> str:
    kinds = {"NoneType": "nothing", "str": "a text", "bool": "a true or false", "dict": "a mapping"}
    kind = type(given).__name__
    return kinds.get(kind, f"a {kind}")
