"""Names of columns: what a caller may write, and the only text about names that are wrong."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, TypeAlias

from anonrisk.errors import (
    ArgumentError,
    ColumnNotFoundError,
    DuplicateColumnError,
    NoColumnsError,
    RepeatedColumnError,
)
from anonrisk.render import count_of

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Sequence

    Name: TypeAlias = Hashable
    Qid: TypeAlias = tuple[Hashable, ...]

MISSING = ("value", "drop", "error")


def nearest(word: object, words: Iterable[object]) -> str:
    """Say which known word comes closest, as the end of a sentence; nothing if none is close.

    Examples
    --------
    >>> nearest("zp", ["zip", "age"])
    "; did you mean 'zip'?"
    >>> nearest("diagnosis", ["zip", "age"])
    ''
    """
    # Compared without regard to case: the commonest slip is 'ZIP' for 'zip'.
    spelled = {str(known).casefold(): known for known in words}
    close = get_close_matches(str(word).casefold(), spelled, n=1, cutoff=0.5)
    return f"; did you mean {spelled[close[0]]!r}?" if close else ""


def as_names(given: Any, role: str, columns: Collection[Name] = ()) -> Qid:
    """Read a name or a list of names; a tuple counts as one name where a column is called that.

    Examples
    --------
    >>> as_names("zip", "quasi-identifier"), as_names(["zip", "age"], "quasi-identifier")
    (('zip',), ('zip', 'age'))
    """
    if isinstance(given, str) or not hasattr(given, "__iter__"):
        names: Qid = (given,)
    elif isinstance(given, tuple) and given in columns:
        names = (given,)
    else:
        names = tuple(given)
    for name in names:
        if name is None or getattr(name, "__hash__", None) is None:
            raise ArgumentError(
                f"a {role} is given by the name of a column, not by a {type(name).__name__}"
            )
    if not names:
        raise NoColumnsError(f"no {role} given: the list is empty")
    repeated = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if repeated is not None:
        raise RepeatedColumnError(f"{role} {repeated!r} is named twice")
    return names


def require(names: Iterable[Name], role: str, columns: Sequence[Name]) -> None:
    """Refuse names that the table lacks, or has more than once."""
    for name in names:
        occurrences = columns.count(name)
        if not occurrences:
            hint = nearest(name, columns) or "."
            size = count_of(len(columns), "column")
            raise ColumnNotFoundError(
                f"{role} {name!r} is not a column{hint} The table has {size}."
            )
        if occurrences > 1:
            raise DuplicateColumnError(
                f"{role} {name!r} is the name of {occurrences} columns of this table; "
                "give each column a name of its own"
            )


def check_missing(missing: str) -> None:
    """Refuse a policy for missing values that does not exist."""
    if missing == "wildcard":
        raise ArgumentError(
            "missing='wildcard' is not offered: use 'value' (missing is a value like any other), "
            "'drop' or 'error'"
        )
    if missing not in MISSING:
        hint = nearest(missing, MISSING)
        raise ArgumentError(f"missing={missing!r} is not one of 'value', 'drop', 'error'{hint}")
