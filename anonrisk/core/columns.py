"""Names of columns: what a caller may write, and the only text about names that are wrong."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import KeysView
from datetime import date
from numbers import Number
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, cast, get_args

from anonrisk.core.render import count_of, kind_name
from anonrisk.core.types import Missing, MissingOrWildcard
from anonrisk.errors import (
    ArgumentError,
    ColumnNotFoundError,
    DuplicateColumnError,
    NoColumnsError,
    RepeatedColumnError,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    class Labels(Protocol):
        """An Index of pandas. A Series, which holds cells, becomes a frame in another way."""

        def to_frame(self, *, index: bool = ...) -> Any:
            """Return the labels as cells."""

    # What pandas takes for a label and nobody takes for a number: a float names no column.
    Name: TypeAlias = str | int | date | tuple[Any, ...]
    Names: TypeAlias = Name | Sequence[Name] | AbstractSet[Name] | Labels | NDArray[Any]
    Qid: TypeAlias = tuple[Name, ...]

# A table as the caller gave it, where one of the same kind comes back.
FrameT = TypeVar("FrameT")
MISSING: tuple[str, ...] = get_args(Missing)
MISSING_OR_WILDCARD: tuple[str, ...] = get_args(MissingOrWildcard)
# Commas, and everything that ends a line.
_BETWEEN = re.compile("[,\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
# Letters that nobody sees, although Unicode does not count them among its formatting characters.
_UNSEEN = frozenset(
    chr(code)
    for first, last in (
        *((0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800)),
        *((0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xE0000, 0xE0FFF)),
    )
    for code in range(first, last + 1)
)
# Accents, of whatever script; marks of scripts in which they are letters stay.
_ACCENTS = frozenset(
    chr(code)
    for first, last in ((0x0300, 0x036F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF))
    for code in range(first, last + 1)
)
# Letters that look like those of the Latin alphabet, in either case, or are one with a stroke.
# Full-width and mathematical letters are folded by Unicode itself.
_LOOKALIKES = {
    ord(letter): latin
    for letters, latin in (
        *(("аαɑᴀ", "a"), ("вβʙ", "b"), ("сϲᴄ", "c"), ("ԁđðᴅ", "d"), ("еεᴇ", "e"), ("ꜰƒ", "f")),  # noqa: RUF001
        *(("ɡցɢ", "g"), ("нһηհħʜ", "h"), ("іιıɩɪӏ", "i"), ("јϳᴊ", "j"), ("кκᴋ", "k")),  # noqa: RUF001
        *(("łլʟ", "l"), ("мμᴍ", "m"), ("νոɴ", "n"), ("оοօøᴏ", "o"), ("рρᴘ", "p"), ("ԛզ", "q")),  # noqa: RUF001
        *(("ʀ", "r"), ("ѕꜱ", "s"), ("тτŧᴛ", "t"), ("սᴜ", "u"), ("ѵᴠ", "v"), ("ԝωաᴡ", "w")),  # noqa: RUF001
        *(("хχ", "x"), ("уυүʏ", "y"), ("ζᴢ", "z"), ("æ", "ae"), ("œ", "oe")),  # noqa: RUF001
    )
    for letter in letters
}
# What a join adds to a name that both of its tables have: pandas, Polars, databases.
_MERGED = re.compile(r"(?:_(?:x|y|left|right)|[._:]\d{1,3})$", re.IGNORECASE)


def skeleton(name: object) -> str:
    """Return what is left of a name without case, accents, white space, punctuation, the unseen.

    Letters that look like Latin ones are those. Two names with one skeleton are spelt otherwise and
    may well be one column. Names that are not texts, and those of which nothing is left, have none.

    Examples
    --------
    >>> skeleton("First Name") == skeleton("first_name") == skeleton("(FIRST-NAME)\u200b")
    True
    >>> skeleton("n\u0430m\u00e9"), skeleton("SSN#")
    ('name', 'ssn')
    >>> skeleton("_"), skeleton(0)
    ('', '')
    """
    if not isinstance(name, str):
        return ""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    letters = unicodedata.normalize("NFD", folded).translate(_LOOKALIKES)
    return unicodedata.normalize("NFC", "".join(filter(_is_seen, letters)))


def _is_seen(letter: str) -> bool:
    """Return whether a character makes a difference between names."""
    category = unicodedata.category(letter)
    return (
        letter not in _UNSEEN
        and letter not in _ACCENTS
        and not letter.isspace()
        and category[0] not in "PSZ"
        and category not in ("Cc", "Cf")
    )


def spelt(name: object) -> str:
    r"""Return a name in quotes, and escaped beside it where its letters look like others.

    Examples
    --------
    >>> spelt("zip"), spelt("z" + chr(0x456) + "p").partition(" ")[2]
    ("'zip'", "(written 'z\\u0456p')")
    """
    doubtful = isinstance(name, str) and any(ord(item) in _LOOKALIKES for item in name.casefold())
    return f"{name!r} (written {name!a})" if doubtful else repr(name)


def unmerged(name: object) -> object:
    """Return a name without what a join has added to it.

    Examples
    --------
    >>> unmerged("name_x"), unmerged("name.1"), unmerged("name")
    ('name', 'name', 'name')
    """
    return _MERGED.sub("", name) if isinstance(name, str) else name


def nearest(word: object, words: Iterable[object]) -> str:
    """Return which known word comes closest, as the end of a sentence; nothing if none is close.

    Examples
    --------
    >>> nearest("zp", ["zip", "age"])
    "; did you mean 'zip'?"
    >>> nearest("diagnosis", ["zip", "age"])
    ''
    """
    from difflib import get_close_matches

    # Compared without regard to case: the commonest slip is 'ZIP' for 'zip'.
    spelled = {str(known).casefold(): known for known in words}
    close = get_close_matches(str(word).casefold(), spelled, n=1, cutoff=0.5)
    return f"; did you mean {spelled[close[0]]!r}?" if close else ""


def as_name(value: Any, role: str) -> Name:
    """Read one name; a column itself is not a name, and its cells must not end up in a message.

    Examples
    --------
    >>> as_name("zip", "unit")
    'zip'
    """
    plain = isinstance(value, (str, bytes, Number, tuple, date))
    if not plain or not _hashable(value):
        raise ArgumentError(
            f"a {role} is given by the name of a column, not by {kind_name(value)}: write it, "
            "as in 'zip'"
        )
    return cast("Name", value)


def _is_list(value: Any) -> bool:
    """Return whether this is a list of names. A Series is not: it holds cells."""
    if isinstance(value, (list, tuple, set, frozenset, KeysView)):
        return True
    array = hasattr(value, "tolist") and not hasattr(value, "iloc")
    return array and getattr(value, "ndim", 0) == 1


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def several_in_one(
    value: Any, columns: Collection[Name] = (), *, quoted: bool = True
) -> str | None:
    """Return what is wrong with one text in place of a list: a comma may separate several names.

    Taken for one name, a direct identifier of that name is nowhere, and the gate passes. Inside a
    list it is a name.

    Examples
    --------
    >>> several_in_one("name, ssn")
    "'name, ssn' is one name; write a list: ['name', 'ssn']"
    >>> several_in_one("name, ssn", quoted=False)
    "'name, ssn' is one name; write a list: [name, ssn]"
    >>> several_in_one("name")
    """
    if not isinstance(value, str) or not _BETWEEN.search(value):
        return None
    pieces = [piece.strip() for piece in _BETWEEN.split(value) if piece.strip()]
    item = value in columns or not pieces
    # Only what needs no quotes in YAML is shown without.
    plain = not quoted and all(re.fullmatch(r"\w[\w .-]*", piece) for piece in pieces)
    meant = [repr(value)] if item else pieces if plain else map(repr, pieces)
    return f"{value!r} is one name; write a list: [{', '.join(meant)}]"


def as_names(value: Any, role: str, columns: Collection[Name] = ()) -> Qid:
    """Read a name or a list of names; a tuple counts as one name where a column is called that.

    Examples
    --------
    >>> as_names("zip", "quasi-identifier"), as_names(["zip", "age"], "quasi-identifier")
    (('zip',), ('zip', 'age'))
    """
    if isinstance(value, tuple) and _hashable(value) and value in columns:
        names: Qid = (value,)
    elif _is_list(value):
        names = tuple(as_name(name, role) for name in value)
    else:
        names = (as_name(value, role),)
        wrong = several_in_one(value, columns)
        if wrong:
            raise ArgumentError(f"{role}: {wrong}")
    if not names:
        raise NoColumnsError(f"no {role} given: the list is empty; write ['zip', 'age']")
    repeated = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if repeated is not None:
        raise RepeatedColumnError(f"{role} {repeated!r} is named twice: leave one out")
    return names


def _separate(name: Name, columns: Sequence[Name]) -> str:
    """Return how names are written that a comma has made one, as the end of a sentence."""
    pieces = [piece.strip() for piece in name.split(",")] if isinstance(name, str) else []
    known = [piece for piece in pieces if piece in columns]
    if len(pieces) < 2 or not known:
        return ""
    return f"; write each name by itself, without a comma: {' '.join(map(repr, known))}."


def require(names: Iterable[Name], role: str, columns: Sequence[Name]) -> None:
    """Reject names that the table lacks, or has more than once."""
    for name in names:
        occurrences = columns.count(name)
        if not occurrences:
            hint = _separate(name, columns) or nearest(name, columns) or "."
            size = count_of(len(columns), "column")
            raise ColumnNotFoundError(
                f"{role} {name!r} is not a column{hint} The table has {size}."
            )
        if occurrences > 1:
            raise DuplicateColumnError(
                f"{role} {name!r} is the name of {occurrences} columns of this table; "
                "give each column a name of its own"
            )


def require_hierarchies(names: Iterable[Name], qid: Qid) -> None:
    """Reject hierarchies of columns that are no quasi-identifiers here.

    Examples
    --------
    >>> require_hierarchies(["zp"], ("zip", "age"))
    Traceback (most recent call last):
    ...
    anonrisk.errors.ColumnNotFoundError: the hierarchy of 'zp' is of no quasi-identifier; ...
    """
    for name in names:
        if name not in qid:
            hint = nearest(name, qid) or ": add the column to them, or leave its hierarchy out"
            raise ColumnNotFoundError(f"the hierarchy of {name!r} is of no quasi-identifier{hint}")


def check_missing(missing: Any, *, wildcard: bool = False) -> None:
    """Reject a policy for missing values that does not exist, or that is not for this call."""
    words = MISSING_OR_WILDCARD if wildcard else MISSING
    if not isinstance(missing, str) or missing not in words:
        if isinstance(missing, str) and missing == "wildcard":
            raise no_wildcard()
        value = repr(missing) if isinstance(missing, str) else kind_name(missing)
        hint = nearest(missing, words) if isinstance(missing, str) else ""
        raise ArgumentError(f"missing={value} is not one of {', '.join(map(repr, words))}{hint}")


def no_wildcard() -> ArgumentError:
    """Return what is measured where a missing cell matches every value, and what to do here."""
    return ArgumentError(
        "missing='wildcard' lets classes overlap, which k, uniqueness, classes, sizes, summary, "
        "at_risk by k and the prosecutor's risk can take, and this cannot: use 'value' (missing is "
        "a value like any other), 'drop' or 'error'"
    )
