"""The words for roles of columns, and how documents of other tools are read that hold them."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import nearest
from anonrisk.core.documents import Reader
from anonrisk.core.render import kind_name
from anonrisk.errors import RolesDocumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# How each role is called in messages.
ROLE_NAMES = {
    "quasi": "quasi-identifier",
    "sensitive": "sensitive column",
    "direct": "direct identifier",
    "insensitive": "insensitive column",
}
WORDS = (*ROLE_NAMES, "unit")
# How other tools (ARX, sdcMicro, pycanon, Presidio) and the literature call roles, as skeletons.
OTHER_WORDS = {
    word: role
    for role, words in {
        "quasi": "quasiidentifiers quasiidentifier quasiident quasiidentifying qids qid qi indirect"
        " quasiidentifyingattributes indirectidentifiers keyvars keyvariables",
        "sensitive": "sensitiveattributes sensitiveattribute sensatt sa sensiblevar confidential"
        " confidentialattributes",
        "direct": "identifiers identifier identifying identifyingattributes directidentifiers pii"
        " personaldata entities",
        "insensitive": "insensitiveattributes nonsensitive nonsensitiveattributes ignore ignored"
        " safe harmless",
        "unit": "entity person patient subject individual id user userid hhid household",
        "weight": "weightvar weights samplingweight samplingweights",
    }.items()
    for word in words.split()
}
# How alike a key must be to ours to be taken for a slip.
_ALIKE = 0.75


def role_words(value: Any, where: str) -> tuple[str, ...]:
    """Read a role, or a list of them: a unit may be a direct identifier too.

    Examples
    --------
    >>> role_words("quasi", "here"), role_words(["direct", "unit"], "here")
    (('quasi',), ('direct', 'unit'))
    """
    words = value if isinstance(value, list) else [value]
    for word in words:
        if word not in WORDS:
            shown = repr(word) if isinstance(word, str) else kind_name(word)
            raise RolesDocumentError(
                f"{where}: {shown} is not a role; the roles are "
                f"{', '.join(WORDS)}{nearest(word, WORDS)}"
            )
    if not words:
        raise RolesDocumentError(f"{where}: the list of roles is empty; leave it out, or fill it")
    return tuple(words)


def written(words: Sequence[str]) -> Any:
    """Return what `role_words` reads."""
    return words[0] if len(words) == 1 else list(words)


def read_document(source: Any, what: str) -> dict[str, Any]:
    """Read plain values, JSON text, or a file: YAML if its name ends so, else JSON."""
    if isinstance(source, Mapping):
        return dict(source)
    if not isinstance(source, (str, Path)):
        raise RolesDocumentError(
            f"the {what} is a dict, JSON text or a path, not {kind_name(source)}"
        )
    read = Reader(what, RolesDocumentError)
    if isinstance(source, str) and source.lstrip()[:1] in {"{", "["}:
        document = read.json(source)
    else:
        path = Path(source)
        as_yaml = path.suffix.casefold() in {".yaml", ".yml"}
        text = text_of(path, what)
        document = read.yaml(text) if as_yaml else read.json(text)
    if not isinstance(document, dict):
        raise RolesDocumentError(f"the {what} is not a mapping of keys to values")
    return document


def text_of(path: Path, what: str) -> str:
    """Read a file as text."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise RolesDocumentError(f"the {what} {str(path)!r} is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a path"
        raise RolesDocumentError(f"cannot read the {what} {str(path)!r}: {why}") from None


def named_entries(value: Any, where: str) -> dict[str, dict[str, Any]]:
    """Read a list of mappings that each have a name; two of one name are refused."""
    results: dict[str, dict[str, Any]] = {}
    for entry in [] if value is None else _listed(value, where):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            raise RolesDocumentError(f"{where} has an entry without a name")
        if name in results:
            raise RolesDocumentError(f"{where} has two entries named {name!r}")
        results[name] = entry
    return results


def picked(name: str | None, names: Iterable[str], what: str, argument: str) -> str:
    """Choose the entry that is asked for, or the only one there is."""
    known = list(names)
    if name is None and len(known) == 1:
        return known[0]
    if name is None:
        raise RolesDocumentError(
            f"the {what} has {len(known):,} tables, and none was named: give {argument}="
        )
    if name not in known:
        raise RolesDocumentError(f"the {what} has no table {name!r}{nearest(name, known)}")
    return name


def misspelt(key: str, right: str) -> bool:
    """Return whether a key was meant to be ours: passed over, its column would have no role.

    Examples
    --------
    >>> misspelt("anonrsik", "anonrisk"), misspelt("anonymised", "anonrisk")
    (True, False)
    """
    alike = SequenceMatcher(None, key.casefold(), right).ratio()
    return key != right and alike >= _ALIKE


def _listed(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise RolesDocumentError(f"{where} is not a list")
    return value
