"""Policies as text: YAML and JSON to plain values and back, refusing what is ambiguous."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.core import documents
from anonrisk.core.paths import as_path, is_there, nearest_beside, why_not
from anonrisk.core.render import kind_name
from anonrisk.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Callable

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
