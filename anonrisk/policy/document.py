"""Policies as text: YAML and JSON to plain values and back, refusing what is ambiguous."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.errors import PolicyError

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

# A policy is written by hand; a longer text is another file, given by mistake.
_LONGEST = 4_000_000
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def from_yaml(source: str | Path) -> Any:
    """Read a YAML file, or YAML text; a key written twice is refused."""
    return _parsed(source, _yaml)


def from_json(source: str | Path) -> Any:
    """Read a JSON file, or JSON text; a key written twice is refused, and so is NaN."""
    return _parsed(source, _json)


def from_file(path: str | Path) -> Any:
    """Read a file by its ending: .json as JSON, anything else as YAML."""
    where = Path(path)
    return _parsed(where, _json if is_json(where) else _yaml)


def to_yaml(document: dict[str, Any], *, lines: bool = False) -> str:
    """Write plain values as YAML, in the order given; with `lines` never two keys on one."""
    text: str = _library().safe_dump(
        document, sort_keys=False, allow_unicode=True, default_flow_style=False if lines else None
    )
    return text


def scalar(name: Any) -> str:
    r"""Write one name as YAML on one line, in quotes where YAML would read something else.

    Examples
    --------
    >>> [scalar(name) for name in ("zip", "yes", "1", 1, " a", "a: b", "a\nb")]
    ['zip', "'yes'", "'1'", '1', "' a'", "'a: b'", '"a\\nb"']
    """
    if not isinstance(name, str):
        return str(int(name))
    # What nobody sees is written as an escape, so that whoever edits the file sees it.
    plain = name.isprintable()
    text: str = _library().safe_dump(
        [name], allow_unicode=plain, default_style=None if plain else '"', width=_LONGEST
    )
    return text.removeprefix("- ").removesuffix("\n")


def to_file(path: str | Path, to_json: Callable[[], str], to_yaml: Callable[[], str]) -> None:
    """Write a file by its ending, as `from_file` reads it: .json as JSON, anything else as YAML."""
    where = Path(path)
    text = to_json() + "\n" if is_json(where) else to_yaml()
    try:
        where.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a path, or not a text"
        raise PolicyError(f"cannot write the policy {str(path)!r}: {why}") from None


def is_json(path: Path) -> bool:
    """Tell by its ending whether a file is JSON."""
    return path.suffix.casefold() == ".json"


def canonical(document: Any) -> str:
    """Write plain values as JSON in the one form that a digest is taken of."""
    return json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def _parsed(source: Any, parse: Callable[[str], Any]) -> Any:
    if not isinstance(source, (str, Path)):
        raise PolicyError(f"a policy is read from a path or a text, not from a {_kind(source)}")
    text = _text(source) if _is_path(source) else str(source)
    if len(text) > _LONGEST:
        raise PolicyError("this text is too long to be a policy")
    try:
        return parse(text)
    except RecursionError:
        raise PolicyError("the policy is nested too deeply to be one") from None


def _is_path(source: str | Path) -> bool:
    """Tell a path from a text: every policy holds a colon and more than one line, or a brace."""
    if isinstance(source, Path):
        return True
    one_line = "\n" not in source and "{" not in source
    return one_line and (":" not in source or source.endswith((".yaml", ".yml", ".json")))


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise PolicyError(f"policy {str(path)!r} is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a path"
        raise PolicyError(f"cannot read the policy {str(path)!r}: {why}") from None


def _json(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise PolicyError(
            f"the policy is not JSON: {error.msg} in line {error.lineno}, column {error.colno}"
        ) from None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise PolicyError(f"key {key!r} is written twice in the policy")
        found[key] = value
    return found


def _no_constant(word: str) -> Any:
    raise PolicyError(f"{word} is not a number that a budget can have")


def _library() -> Any:
    try:
        import yaml
    except ImportError:
        raise PolicyError(
            "YAML needs PyYAML, as in pip install 'anonrisk[policy]'; JSON works without"
        ) from None
    return yaml


def _yaml(text: str) -> Any:
    yaml = _library()
    try:
        return yaml.load(text, Loader=_loader(yaml))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = "" if mark is None else f" in line {mark.line + 1}, column {mark.column + 1}"
        what = getattr(error, "problem", None) or "it cannot be read"
        raise PolicyError(f"the policy is not YAML of plain values{place}: {what}") from None
    except (ValueError, TypeError) as error:
        # Dates and numbers that look like one and are not.
        raise PolicyError(f"the policy is not YAML of plain values: {error}") from None


def _loader(yaml: Any) -> Any:
    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """PyYAML's safe loader, which takes the last of two equal keys; this one refuses them."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002
            seen: set[Hashable] = set()
            for key_node, _ in node.value:
                if key_node.tag == "tag:yaml.org,2002:merge":
                    raise PolicyError("merge keys (<<) are not taken: write the keys out")
                key = self.construct_object(key_node, deep=True)
                if not isinstance(key, (str, int, float)) or isinstance(key, bool):
                    line = key_node.start_mark.line + 1
                    raise PolicyError(
                        f"the key in line {line} is not a text; yes, no, on, off and dates "
                        "need quotes in YAML"
                    )
                if key in seen:
                    line = key_node.start_mark.line + 1
                    raise PolicyError(f"key {key!r} is written twice in the policy (line {line})")
                seen.add(key)
            return super().construct_mapping(node, deep)

        def construct_yaml_int(self, node: Any) -> Any:
            """Read a plain number; YAML 1.1 takes 011 for 9 and 1:30 for 90."""
            return int(_plain(node, _WHOLE))

        def construct_yaml_float(self, node: Any) -> Any:
            """Read a plain number; YAML 1.1 takes 1:30.5 for one, and knows .nan and .inf."""
            return float(_plain(node, _DECIMAL))

    Loader.add_constructor("tag:yaml.org,2002:int", Loader.construct_yaml_int)
    Loader.add_constructor("tag:yaml.org,2002:float", Loader.construct_yaml_float)
    return Loader


def _plain(node: Any, pattern: re.Pattern[str]) -> str:
    written = str(node.value)
    if not pattern.fullmatch(written):
        line = node.start_mark.line + 1
        raise PolicyError(
            f"{written!r} in line {line} is not a plain decimal number; a text needs quotes"
        )
    return written


def _kind(given: object) -> str:
    return type(given).__name__
