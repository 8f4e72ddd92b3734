"""Plain values as text that programs read, YAML and JSON, and back.

A file may have been written by somebody who wants the gate to hang or to stumble: how much a text
stands for is known before any of it is made, and every way to be wrong is one error of ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of, escaped

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from anonrisk.errors import AnonRiskError

# What build servers look for in a line; see `anonrisk.core.render.shown`.
_COMMANDS = ("::", "##")
# A few lines of YAML may stand for more than any memory holds; no text without aliases that is
# short enough to be read reaches these.
_MOST_VALUES = 1_000_000
_MOST_LETTERS = 10_000_000
_DEEPEST = 100
# Values in YAML that a person writes. Chosen: they are read within a second, at most 0.1 ms each.
BY_HAND = 10_000
_LETTERS_EACH = 40
# Longer numbers take Python long to read, or make it raise.
_MOST_DIGITS = 1_000
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


# What each document is known by, and what takes it, for whoever gives one in place of another.
_KINDS = {
    "plan": ({"anonrisk_plan"}, "anonrisk apply PLAN TABLE does what it says"),
    "release": ({"tables"}, "anonrisk release check RELEASE judges it"),
    "policy": (
        {"budgets", "roles"},
        "anonrisk plan TABLE --policy FILE -o plan.json makes a plan by it; check judges by it",
    ),
}


def another_kind(stored: Any, what: str) -> str:
    """Return what a document is that was given as another, and what takes it; empty if unknown.

    Examples
    --------
    >>> another_kind({"version": 1, "tables": {}}, "policy")
    'this is a release, not a policy: anonrisk release check RELEASE judges it'
    """
    if not isinstance(stored, Mapping) or _KINDS[what][0] & stored.keys():
        return ""
    for kind, (keys, taken) in _KINDS.items():
        if keys & stored.keys():
            return f"this is a {kind}, not a {what}: {taken}"
    return ""


def canonical(document: Any) -> str:
    """Write plain values as JSON in the one form that a digest is taken of.

    Examples
    --------
    >>> canonical({"b": [1, "x"], "a": None})
    '{"a":null,"b":[1,"x"]}'
    """
    return json.dumps(
        document, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


@dataclass(frozen=True)
class Reader:
    """Reads one kind of document, and says what is wrong with it.

    Attributes
    ----------
    what : str
        What the document is, as messages call it.
    error : type
        What is raised.
    words : tuple of str
        Keys of the document that YAML 1.1 takes for true or false, as ``on``.

    Examples
    --------
    >>> from anonrisk.errors import PolicyError
    >>> Reader("policy", PolicyError).json('{"k": 5}')
    {'k': 5}
    """

    what: str
    error: type[AnonRiskError]
    words: tuple[str, ...] = ()
    # How many values YAML may have; JSON is read fast.
    most_values: int = _MOST_VALUES

    def json(self, text: str | bytes) -> Any:
        """Read JSON; a key written twice is refused, and so is NaN."""
        try:
            read = json.loads(
                text,
                object_pairs_hook=self._without_repeats,
                parse_constant=self._no_constant,
                parse_int=self._whole,
            )
        except json.JSONDecodeError as error:
            place = f"line {error.lineno}, column {error.colno}"
            raise self.error(f"the {self.what} is not JSON: {error.msg} in {place}") from None
        except RecursionError:
            raise self._too_deep() from None
        except (TypeError, UnicodeDecodeError):
            raise self.error(f"the {self.what} is not JSON text") from None
        self._check_depth(read)
        return read

    def yaml(self, text: str) -> Any:
        """Read YAML (needs PyYAML); a key written twice is refused."""
        yaml = self.library()
        self.check_length(1, len(text))
        try:
            loader = _loader(yaml, self)(text)
            try:
                node = loader.get_single_node()
                if node is None:
                    return None
                _Size(self).of(node)
                return loader.construct_document(node)
            finally:
                loader.dispose()
        except yaml.YAMLError as error:
            raise self._not_yaml(_why(error, text)) from None
        except RecursionError:
            raise self._too_deep() from None
        except self.error:
            raise
        except (AttributeError, TypeError, ValueError) as error:
            # Dates and numbers that look like one and are not.
            why = "put what looks like a date or a number into quotes"
            raise self._not_yaml(f": {error}; {why}") from None

    def library(self) -> Any:
        """Return PyYAML, or say how it is installed."""
        try:
            import yaml
        except ImportError:
            raise self.error(
                "YAML needs PyYAML, as in pip install 'anonrisk[policy]'; JSON works without"
            ) from None
        return yaml

    def digits(self, written: str) -> str:
        """Reject a number that is too long to be one."""
        if len(written) > _MOST_DIGITS:
            digits = count_of(len(written), "digit")
            raise self.error(f"a number of {digits} is too long for a {self.what}")
        return written

    def check_length(self, n_values: int, n_letters: int = 0) -> None:
        """Reject YAML that takes longer to read than anybody should wait."""
        most_letters = _LETTERS_EACH * self.most_values
        if n_values > self.most_values or n_letters > most_letters:
            raise self.error(
                f"the {self.what} has more than {self.most_values:,} values, or {most_letters:,} "
                "letters, which take long to read as YAML: write it as JSON"
            )

    def too_large(self) -> AnonRiskError:
        """Return an error: aliases stand for too much."""
        return self.error(
            f"the {self.what} is too large with its aliases (*) written out: write the values "
            "themselves"
        )

    def _too_deep(self) -> AnonRiskError:
        return self.error(f"the {self.what} is nested too deeply")

    def _not_yaml(self, why: str) -> AnonRiskError:
        return self.error(f"the {self.what} is not YAML of plain values{why}")

    def _without_repeats(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        results: dict[str, Any] = {}
        for key, value in pairs:
            if key in results:
                raise self.error(f"key {key!r} is written twice in the {self.what}")
            results[key] = value
        return results

    def _no_constant(self, word: str) -> Any:
        raise self.error(f"{word} is not a number that a {self.what} can have")

    def _whole(self, written: str) -> int:
        return int(self.digits(written))

    def _check_depth(self, read: Any) -> None:
        level = [read]
        for _ in range(_DEEPEST):
            level = [inner for outer in level for inner in _inside(outer)]
            if not level:
                return
        raise self._too_deep()

    def check_depth(self, depth: int) -> None:
        """Reject what is nested too deeply."""
        if depth > _DEEPEST:
            raise self._too_deep()


def to_yaml(document: Any, **style: Any) -> str:
    r"""Write plain values as YAML, in the order given (needs PyYAML).

    Letters stay as they are, unless one of them is not printable: a terminal may obey it. A text
    that a build server may obey keeps to its line.

    Examples
    --------
    >>> print(to_yaml({"name": "né"}), to_yaml({"name": chr(0x202E)}), sep="")
    name: né
    name: "\u202E"
    """
    import yaml

    class Dumper(yaml.SafeDumper):
        """PyYAML's safe dumper, which breaks a line where a text has a line break."""

    def written(dumper: Any, text: str) -> Any:
        plain = text.isprintable() and not any(sign in text for sign in _COMMANDS)
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')

    Dumper.add_representer(str, written)
    about = {"Dumper": Dumper, "sort_keys": False, **style}
    text: str = yaml.dump(document, allow_unicode=True, **about)
    if text != escaped(text, but="\n"):
        text = yaml.dump(document, allow_unicode=False, **about)
    return text


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


@dataclass
class _Size:
    """How much a node of YAML stands for with its aliases written out, each node asked once."""

    reader: Reader
    known: dict[int, tuple[int, int, int]] = field(default_factory=dict)

    def of(self, node: Any, depth: int = 1) -> tuple[int, int, int]:
        """Return the number of values, of letters, and of levels."""
        self.reader.check_depth(depth)
        counted = self.known.get(id(node))
        if counted is None:
            counted = self._counted(node, depth)
            self.known[id(node)] = counted
        self.reader.check_depth(depth + counted[2] - 1)
        return counted

    def _counted(self, node: Any, depth: int) -> tuple[int, int, int]:
        if isinstance(node.value, str):
            return 1, len(node.value), 1
        values, letters, levels = 1, 0, 0
        for entry in node.value:
            # The entries of a mapping are pairs of nodes.
            for inner in entry if isinstance(entry, tuple) else (entry,):
                more, written, deep = self.of(inner, depth + 1)
                values, letters, levels = values + more, letters + written, max(levels, deep)
                if values > _MOST_VALUES or letters > _MOST_LETTERS:
                    raise self.reader.too_large()
        return values, letters, levels + 1


def _why(error: Any, text: str) -> str:
    r"""Return where a text is not YAML, and what to do about it; no word of the text is quoted.

    Examples
    --------
    >>> import yaml
    >>> def why(text):
    ...     try:
    ...         yaml.safe_load(text)
    ...     except yaml.YAMLError as error:
    ...         return _why(error, text)
    >>> why("roles:\n  quasi: [zip]\n   unit: pid")
    ' in line 3: it is indented by 3 spaces, the line above by 2; indent keys of one level alike'
    >>> why("name: a: b")
    ' in line 1: it has a second colon; put a text with a colon into quotes'
    """
    mark, begun = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    if mark is None:
        return ": it cannot be read; save it as text in UTF-8"
    lines, problem = text.splitlines(), str(error.problem)
    line = lines[mark.line] if mark.line < len(lines) else ""
    opened = f"that opens in line {begun.line + 1} is not closed" if begun is not None else ""
    quoted = "quoted scalar" in str(error.context)
    second = problem.startswith("mapping values") and ":" in line[: mark.column]
    # The first that holds is said; what PyYAML says itself may quote the text.
    reasons = {
        "it is indented by a tab; use spaces": "'\\t'" in problem,
        "put a text that begins with a sign (@ * & % !) into quotes": problem.startswith(
            ("found character", "found undefined alias", "found duplicate anchor")
        ),
        "it has a tag (!), which plain values have none of: leave it out": problem.startswith(
            "could not determine a constructor"
        ),
        f"the quote {opened}": quoted and opened,
        f"the bracket {opened} before": problem.startswith("expected ','") and opened,
        "a second document begins (---); keep one in a file": "another document" in problem,
        "a key needs a colon and a space behind it, as in k: 5": "expected ':'" in problem,
        "it has a second colon; put a text with a colon into quotes": second,
        _indented(lines, mark.line): problem.startswith(("expected <block end>", "mapping values")),
    }
    why = next((reason for reason, holds in reasons.items() if holds), None)
    return f" in line {mark.line + 1}: {why or 'something in it is not YAML; use quotes'}"


def _indented(lines: list[str], number: int) -> str:
    """Return how far a line is indented, and the one above it."""
    filled = [line for line in lines[:number] if line.strip() and not line.lstrip().startswith("#")]
    pair = ("".join(lines[number : number + 1]), filled[-1] if filled else "")
    own, above = (len(line) - len(line.lstrip(" ")) for line in pair)
    if own == above:
        return "it does not go on where the line above ends; close its quotes and brackets"
    return (
        f"it is indented by {count_of(own, 'space')}, the line above by {above:,}; indent keys of "
        "one level alike"
    )


def _loader(yaml: Any, reader: Reader) -> Any:
    class Loader(yaml.SafeLoader):  # type: ignore[misc]
        """PyYAML's safe loader, which takes the last of two equal keys; this one refuses them."""

        n_values = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            """Read a value, unless there were too many."""
            self.n_values += 1
            reader.check_length(self.n_values)
            return super().compose_node(parent, index)

        def fetch_flow_collection_start(self, token: Any) -> None:
            """Open a bracket; PyYAML's time grows with the square of how many are open."""
            reader.check_depth(self.flow_level)
            super().fetch_flow_collection_start(token)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002
            seen: set[Hashable] = set()
            for key_node, _ in node.value:
                if key_node.tag == "tag:yaml.org,2002:merge":
                    raise reader.error("merge keys (<<) are not supported: write the keys out")
                if key_node.value in reader.words:
                    key_node.tag = "tag:yaml.org,2002:str"
                key = self.construct_object(key_node, deep=True)
                line = key_node.start_mark.line + 1
                _check_key(key, line, reader)
                if key in seen:
                    raise reader.error(
                        f"key {key!r} is written twice in the {reader.what} (line {line})"
                    )
                seen.add(key)
            return super().construct_mapping(node, deep)

        def construct_yaml_int(self, node: Any) -> Any:
            """Read a plain number; YAML 1.1 takes 011 for 9 and 1:30 for 90."""
            return int(_plain(node, _WHOLE, reader))

        def construct_yaml_float(self, node: Any) -> Any:
            """Read a plain number; YAML 1.1 takes 1:30.5 for one, and knows .nan and .inf."""
            return float(_plain(node, _DECIMAL, reader))

    Loader.add_constructor("tag:yaml.org,2002:int", Loader.construct_yaml_int)
    Loader.add_constructor("tag:yaml.org,2002:float", Loader.construct_yaml_float)
    return Loader


def _check_key(key: Any, line: int, reader: Reader) -> None:
    if not isinstance(key, (str, int, float)) or isinstance(key, bool):
        raise reader.error(
            f"the key in line {line} is not a text; yes, no, on, off and dates need quotes in YAML"
        )


def _plain(node: Any, pattern: re.Pattern[str], reader: Reader) -> str:
    written = reader.digits(str(node.value))
    if not pattern.fullmatch(written):
        line = node.start_mark.line + 1
        raise reader.error(
            f"{written!r} in line {line} is not a plain decimal number; a text needs quotes"
        )
    return written
