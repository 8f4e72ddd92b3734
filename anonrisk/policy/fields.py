"""Reading the documents and values of a policy: an error says where and what was meant."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from decimal import Decimal, DecimalException
from numbers import Integral, Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.core import documents
from anonrisk.core.arguments import as_path, as_percent, is_there, nearest_beside, why_not
from anonrisk.core.columns import nearest, several_in_one, skeleton
from anonrisk.core.render import kind_name
from anonrisk.core.roles_documents import OTHER_WORDS
from anonrisk.errors import PolicyError
from anonrisk.policy.evidence import pasted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from anonrisk.core.columns import Name, Qid

_ENDINGS = (".yaml", ".yml", ".json")
# A policy is written by hand; a longer text is another file, given by mistake.
_LONGEST = 4_000_000
_READER = documents.Reader("policy", PolicyError, most_values=documents.BY_HAND)


def from_yaml(source: str | Path) -> Any:
    """Read a YAML file, or YAML text; a key written twice is refused."""
    return _parsed(source, _READER, "yaml")


def from_json(source: str | Path) -> Any:
    """Read a JSON file, or JSON text; a key written twice is refused, and so is NaN."""
    return _parsed(source, _READER, "json")


def from_file(path: str | Path, reader: documents.Reader = _READER) -> Any:
    """Read a file by its ending: .json as JSON, anything else as YAML."""
    where = as_path(path, f"a {reader.what}", PolicyError)
    return _parsed(where, reader, "json" if is_json(where) else "yaml")


def to_yaml(document: dict[str, Any], *, lines: bool = False) -> str:
    """Write plain values as YAML, in the order given; with `lines` never two keys on one."""
    _READER.library()
    return documents.to_yaml(document, default_flow_style=False if lines else None)


def scalar(name: Any) -> str:
    r"""Write one name as YAML on one line, in quotes where YAML would read something else.

    Examples
    --------
    >>> [scalar(name) for name in ("zip", "yes", "1", 1, " a", "a: b", "a\nb")]
    ['zip', "'yes'", "'1'", '1', "' a'", "'a: b'", '"a\\nb"']
    """
    if not isinstance(name, str):
        return str(int(name))
    _READER.library()
    text = documents.to_yaml([name], width=_LONGEST, default_flow_style=False)
    return text.removeprefix("- ").removesuffix("\n")


def to_file(path: str | Path, to_json: Callable[[], str], to_yaml: Callable[[], str]) -> None:
    """Write a file by its ending, as `from_file` reads it: .json as JSON, anything else as YAML."""
    where = as_path(path, "a policy", PolicyError)
    text = to_json() + "\n" if is_json(where) else to_yaml()
    try:
        where.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        raise PolicyError(f"cannot write the policy {str(path)!r}: {why_not(error)}") from None


def is_json(path: Path) -> bool:
    """Return by its ending whether a file is JSON."""
    return path.suffix.casefold() == ".json"


def _parsed(source: Any, reader: documents.Reader, form: str) -> Any:
    what = reader.what
    if not isinstance(source, (str, Path)):
        raise PolicyError(f"a {what} is read from a path or a text, not from {kind_name(source)}")
    if isinstance(source, str) and not source.strip():
        raise PolicyError(f"the text of the {what} is empty")
    text = _text(source, what) if _is_path(source) else str(source)
    if len(text) > _LONGEST:
        raise PolicyError(f"this text is too long to be a {what}")
    return reader.json(text) if form == "json" else reader.yaml(text)


def _is_path(source: str | Path) -> bool:
    """Return whether it is a path: a policy holds a colon and several lines, or a brace."""
    if isinstance(source, Path):
        return True
    one_line = "\n" not in source and "{" not in source
    return one_line and (":" not in source or source.endswith(_ENDINGS))


def _text(path: str | Path, what: str) -> str:
    try:
        with Path(path).open(encoding="utf-8-sig") as file:
            # Some files have no end.
            return file.read(_LONGEST + 1)
    except UnicodeDecodeError:
        raise PolicyError(f"{what} {str(path)!r} is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        raise PolicyError(
            f"cannot read the {what} {str(path)!r}: {why_not(error)}{_instead(Path(path), what)}"
        ) from None


def _instead(path: Path, what: str) -> str:
    """Return the file that may have been meant, or the command that writes one."""
    if is_there(path):
        return ""
    draft = f"; write one with: anonrisk draft TABLE -o {path}" if what == "policy" else ""
    return nearest_beside(path, _ENDINGS) or draft


# A text of more letters than that is no number that somebody put into quotes.
_LONGEST_NUMBER = 30
# How other tools, and the literature, call what a policy has a key for, as skeletons; a budget says
# its own.
_ALSO_CALLED = {
    **OTHER_WORDS,
    **dict.fromkeys(("nulls", "null", "na"), "missing"),
    **dict.fromkeys(("min", "minimum", "atleast", "threshold"), "at_least"),
    **dict.fromkeys(("max", "maximum", "atmost", "limit"), "at_most"),
    **dict.fromkeys(("limits", "rules", "measures", "privacymodels", "thresholds"), "budgets"),
    **dict.fromkeys(("columns", "attributes", "attributetypes", "variables"), "roles"),
    "kind": "variant",
}
# What a part of a policy looks like, for whoever wrote something else in its place.
WRITTEN = {
    "the policy": "version: 1, roles: {quasi: [zip, age]}, budgets: {k: 5}, a line for each",
    "roles": "roles: {quasi: [zip, age], sensitive: [diagnosis]}",
    "budgets": "budgets: {k: 5}",
    "qids": "qids: [{columns: [zip, age], budgets: {k: 5}}]",
    "acknowledged": "acknowledged: [{column: zip, doubt: names, reason: …}]",
}


def mapping(
    value: Any, where: str, keys: Collection[str], also_called: Mapping[str, str] = _ALSO_CALLED
) -> dict[str, Any]:
    """Read a mapping whose keys are all known."""
    if not isinstance(value, Mapping):
        raise PolicyError(
            f"{where} must be a mapping of keys to values, not {_kind(value)}{_written(where)}"
        )
    for key in value:
        if key not in keys:
            shown = repr(key) if isinstance(key, str) else _kind(key)
            known = ", ".join(keys)
            raise PolicyError(
                f"{where} has no key {shown}{meant(key, keys, also_called) or '.'} "
                f"There are {known}"
            )
    return dict(value)


def meant(key: object, keys: Collection[str], also_called: Mapping[str, str] = _ALSO_CALLED) -> str:
    """Return which key comes closest, by its letters or by what others call it.

    Examples
    --------
    >>> meant("PII", ["quasi", "direct"]), meant("keyVars", ["quasi", "direct"])
    ("; did you mean 'direct'?", "; did you mean 'quasi'?")
    """
    other = ours(key, also_called)
    return f"; did you mean {other!r}?" if other in keys else nearest(key, keys)


def ours(key: object, also_called: Mapping[str, str]) -> str | None:
    """Return the key of a policy for what others call otherwise; None where there is none."""
    word = skeleton(key)
    return also_called.get(word, _ALSO_CALLED.get(word))


def _written(where: str) -> str:
    """Return what belongs there, as the end of a sentence."""
    example = WRITTEN.get(where.partition("[")[0])
    return "" if example is None else f": write {example}"


def listed(value: Any, where: str) -> list[Any]:
    """Read a list with something in it."""
    if not isinstance(value, (list, tuple)):
        raise PolicyError(f"{where} must be a list, not {_kind(value)}{_written(where)}")
    if not value:
        raise PolicyError(f"{where} is an empty list")
    return list(value)


def word(value: Any, where: str, words: Sequence[str]) -> str:
    """Read one of a few words."""
    if not isinstance(value, str) or value not in words:
        shown = repr(value) if isinstance(value, str) else _kind(value)
        hint = nearest(value, words) if isinstance(value, str) else ""
        raise PolicyError(
            f"{where} must be one of {', '.join(map(repr, words))}, not {shown}{hint}"
        )
    return value


def text(value: Any, where: str) -> str:
    """Read a text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        kind = "an empty one" if isinstance(value, str) else _kind(value)
        raise PolicyError(f"{where} must be a non-empty text, not {kind}")
    if not is_text(value):
        raise PolicyError(f"{where} holds half a character, which no file can store")
    return value


def is_text(value: str) -> bool:
    """Return whether a text can be written: half of a surrogate pair cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in value)


def said(value: Any, where: str, *, most: int = 300) -> str:
    """Read a text that somebody can see, on one line, short enough to stand in every rendering."""
    line = " ".join(text(value, where).split())
    if not skeleton(line):
        raise PolicyError(f"{where} must be a text with letters or digits")
    if len(line) > most:
        raise PolicyError(
            f"{where} has {len(line):,} characters; at most {most:,} are allowed, because what "
            "is cut off may be what matters"
        )
    return line


def flag(value: Any, where: str) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise PolicyError(f"{where} must be true or false, not {_kind(value)}")
    return value


def whole(value: Any, where: str, *, at_least: int) -> int:
    """Read a whole number."""
    _number(value, where, most=math.inf, example=str(max(at_least, 5)))
    # Some programs write 5 as 5.0, and JSON knows no difference.
    if value != int(value) or not at_least <= int(value) < 2**62:
        raise PolicyError(f"{where} must be a whole number, at least {at_least}")
    return int(value)


def share(value: Any, where: str, *, example: str = "0.01") -> float:
    """Read a share, from 0 to 1."""
    _number(value, where, example=example)
    if not 0 <= value <= 1:
        raise PolicyError(f"{where} must be a share, from 0 to 1{as_percent(value)}")
    return float(value)


def above_zero(value: Any, where: str, *, at_most: float = math.inf) -> float:
    """Read a number above zero."""
    _number(value, where)
    if not 0 < value <= at_most:
        bound = "" if at_most == math.inf else f", at most {at_most:g}"
        raise PolicyError(f"{where} must be a number above 0{bound}")
    return float(value)


def from_one(value: Any, where: str) -> float:
    """Read a number from 1 up."""
    if above_zero(value, where) < 1:
        raise PolicyError(f"{where} must be a number from 1 up")
    return float(value)


def from_zero(value: Any, where: str) -> float:
    """Read a number from 0 up."""
    _number(value, where)
    if value < 0:
        raise PolicyError(f"{where} must be a number from 0 up")
    return float(value)


def _number(
    value: Any, where: str, *, most: float = sys.float_info.max, example: str = "0.2"
) -> None:
    key = where.rpartition(".")[2]
    if isinstance(value, bool) or not isinstance(value, Real):
        spelt = _spelt_number(value)
        hint = "" if spelt is None else ", without quotes or a percent sign"
        raise PolicyError(
            f"{where} must be a number, not {_kind(value)}: write {key}: {spelt or example}{hint}"
        )
    # A whole number may be longer than any float.
    if isinstance(value, Integral) and abs(int(value)) > most:
        raise PolicyError(f"{where} is too large a number")
    if not isinstance(value, Integral) and not math.isfinite(value):
        raise PolicyError(f"{where} must be a finite number")


def readable(value: Any, read: Callable[[Any, str], Any], otherwise: str = "…") -> str:
    """Write what was said so that it can be read: the number or the share that was meant.

    Examples
    --------
    >>> [readable(value, share, "0.01") for value in (0.2, 20, "20%", -1)]
    ['0.2', '0.2', '0.2', '0.01']
    """
    spelt = _spelt_number(value)
    meant: list[Any] = [value] if spelt is None else [value, float(spelt)]
    meant += [item / 100 for item in meant if isinstance(item, (int, float)) and 1 < item <= 100]
    for item in meant:
        try:
            read(item, "")
        except PolicyError:
            continue
        return _as_yaml(item) or otherwise
    return otherwise


def _as_yaml(value: Any) -> str | None:
    """Write a number, a text or a list of texts so that it can be pasted."""
    if isinstance(value, str):
        return pasted(value)
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return f"[{', '.join(map(pasted, value))}]"
    return _spelt_number(str(value))


def _spelt_number(value: Any) -> str | None:
    """Return the number that a text spells, as YAML takes it for one: 1e-3 is a text to it.

    Examples
    --------
    >>> _spelt_number("5"), _spelt_number("1%"), _spelt_number("1e-3"), _spelt_number("five")
    ('5', '0.01', '0.001', None)
    """
    if not isinstance(value, str) or len(value) > _LONGEST_NUMBER:
        return None
    share = value.rstrip().endswith("%")
    try:
        number = Decimal(value.rstrip().removesuffix("%")) / (100 if share else 1)
    except DecimalException:
        return None
    # Nobody means a number of a hundred digits.
    plain = number.is_finite() and abs(number.adjusted()) < _LONGEST_NUMBER
    return f"{number.normalize():f}" if plain else None


def name(value: Any, where: str) -> Name:
    """Read the name of a column: a text, or a whole number where pandas numbers its columns."""
    numbered = isinstance(value, (int, float, Integral)) and value == value // 1
    if isinstance(value, bool) or not (isinstance(value, str) or numbered):
        hint = "; yes, no, on, off, null and dates need quotes in YAML"
        if isinstance(value, (list, tuple)):
            hint = f": write one name, as in {where.rpartition('.')[2]}: patient"
        elif isinstance(value, Mapping):
            hint = f": write a list, as in {where.rpartition('.')[2]}: [zip, age]"
        raise PolicyError(f"{where} names a column by a text, not by {_kind(value)}{hint}")
    if isinstance(value, str) and not value:
        raise PolicyError(f"{where} names a column by an empty text")
    if not isinstance(value, str) and not abs(value) < 2**63:
        raise PolicyError(f"{where} names a column by a number that is too long to be a name")
    return value if isinstance(value, str) else int(value)


def names(value: Any, where: str) -> Qid:
    """Read a name or a list of names, none of them twice."""
    if not isinstance(value, (list, tuple)):
        wrong = several_in_one(value, quoted=False)
        if wrong:
            raise PolicyError(f"{where}: {wrong}")
        return (name(value, where),)
    results: dict[Name, None] = {}
    for item in listed(value, where):
        column = name(item, where)
        if column in results:
            raise PolicyError(f"{where} names column {column!r} twice")
        results[column] = None
    return tuple(results)


def _kind(value: object) -> str:
    kinds = {"NoneType": "nothing", "str": "a text", "bool": "a boolean", "dict": "a mapping"}
    return kinds.get(type(value).__name__, kind_name(value))
