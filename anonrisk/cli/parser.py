"""Reads arguments; an option that there is none of gets the nearest one that there is."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from difflib import get_close_matches
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from anonrisk.core import render
from anonrisk.core.arguments import as_percent
from anonrisk.core.columns import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


# What options were called before version 0.9, and are called now.
RENAMED = {
    "--columns": "--qids",
    "--html": "--output",
    "--manifest": "--output",
    "--max-suppression": "--max-suppressed",
    "--time-budget": "--time-limit",
    "--weights": "--column-weights",
}


# Limits, which some look for among the options.
_LIMITS = {
    **{key: key for key in ("k", "ldiv", "tcloseness", "risk")},
    "l": "ldiv",
    "t": "tcloseness",
}
# What others call a command.
_COMMANDS = {
    **dict.fromkeys(("k", "ldiv", "tcloseness", "k-anonymity", "risk", "assess"), "measure"),
    **dict.fromkeys(("anonymize", "anonymise", "recode", "generalize", "suppress"), "plan"),
    **dict.fromkeys(("validate", "gate", "verify", "test"), "check"),
    **dict.fromkeys(("init", "new", "policy", "roles"), "draft"),
    "help": "--help",
}


class Parser(argparse.ArgumentParser):
    """A parser that guesses nothing, but says what may have been meant; so do its commands."""

    def __init__(self, **about: Any) -> None:
        """Make a parser that takes no abbreviations: a new option would change what they mean."""
        super().__init__(**{"allow_abbrev": False, **about})
        self._words: list[str] = []

    @property
    def has_commands(self) -> bool:
        """Whether the first word is a command with options of its own."""
        return self._subparsers is not None

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Reject unknown options first: what argparse finds missing is mostly what was misspelt."""
        args = self._with_first(sys.argv[1:] if args is None else args)
        self._words = list(args)
        known = self._option_string_actions
        for option in self._own_options(args):
            # A value may follow one letter at once, as in -oFILE.
            if option not in known and (option[:2] == "--" or option[:2] not in known):
                self.error(f"there is no option {option}{_meant(option, self)}")
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Write what is wrong with the arguments, in one line whatever is in them, and end.

        The list of every option, which argparse writes above it, would push it out of sight.
        """
        _, missing, names = message.partition("arguments are required: ")
        _, left, words = message.partition("unrecognized arguments: ")
        if missing:
            message = self._missing(names.split(", "))
        elif left:
            message = self._left_over(words)
        about = f"usage: {self.prog} --help shows what there is"
        self.exit(2, f"{about}\n{self.prog}: error: {render.shown(message)}\n")

    def _missing(self, names: list[str]) -> str:
        """Return which arguments are missing, and where they may have gone."""
        words = self._words
        option = next((word for word in reversed(words) if word.startswith("-")), "")
        action = self._option_string_actions.get(option)
        at = self._taken() if "table" in names else None
        if at is not None:
            line = self._line(words[at], *words[:at], *words[at + 1 :])
            return f"put the table first: {line}"
        if "--policy" in names and words and not words[0].startswith("-"):
            for at, word in enumerate(words):
                if at and word.endswith((".yaml", ".yml", ".json")) and action is None:
                    right = self._line(*words[:at], "--policy", *words[at:])
                    return f"say which is the policy: {right}"
            if words[0].endswith((".yaml", ".yml")) and words[1:] and words[1][:1] != "-":
                right = self._line(*words[1:], "--policy", words[0])
                return f"say which is the policy: {right}"
            table = shlex.quote(_without_values(words[0]))
            draft = f"; to write one: anonrisk draft {table} -o policy.yaml"
        else:
            draft = ""
        said = []
        for argument in self._actions:
            known = ("/".join(argument.option_strings), argument.metavar, argument.dest)
            if argument.required and any(name in known for name in names):
                what = " ".join(
                    [*argument.option_strings[:1], str(argument.metavar or argument.dest)]
                )
                about = argument.help or (
                    "" if argument.choices is None else ", ".join(argument.choices)
                )
                said.append(f"{what} ({about})" if about else what)
        return f"missing: {'; '.join(said)}{draft}"

    def _taken(self) -> int | None:
        """Return where a table stands that an option took with its values, if one did."""
        words, first, taken = self._words, None, None
        for at, word in enumerate(words):
            if word.startswith("-"):
                action = self._option_string_actions.get(word)
                first = at + 1 if action is not None and action.nargs == "+" else None
                continue
            if first is None:
                continue
            last = at + 1 == len(words)
            ends = last or words[at + 1].startswith("-")
            # Where others follow, its last value may be a column.
            is_file = at > first and (os.path.lexists(word) or bool(Path(word).suffix))
            if last or (ends and is_file):
                taken = at
        return taken

    def _line(self, *words: str) -> str:
        return shlex.join([*self.prog.split(), *map(_without_values, words)])

    def _left_over(self, words: str) -> str:
        """Return which word belongs to nothing, and what stands before it."""
        word = words.split(" ", maxsplit=1)[0]
        before = self._words[self._words.index(word) - 1] if word in self._words else ""
        shown = _without_values(word)
        if not before.startswith("-"):
            return f"{shown!r} belongs to no option"
        file = f"; to write a file: -o {shlex.quote(shown)}" if before == "--json" else ""
        return f"{before} takes no value, and {shown!r} follows it{file}"

    def _match_argument(self, action: argparse.Action, arg_strings_pattern: str) -> Any:
        """Count the values of an option; one that lacks its value is told what it takes."""
        try:
            return super()._match_argument(action, arg_strings_pattern)
        except argparse.ArgumentError:
            words = (*action.option_strings[-1:], str(action.metavar or action.dest.upper()))
            raise argparse.ArgumentError(
                action, f"a value is missing: write {' '.join(words)}"
            ) from None

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Reject a word that is none of a few, with the nearest of them."""
        if action.choices is None or value in action.choices:
            return
        words = list(map(str, action.choices))
        ours = _COMMANDS.get(value) if self.has_commands else None
        hint = f"; did you mean {ours}?" if ours in (*words, "--help") else nearest(value, words)
        raise argparse.ArgumentError(
            action, f"there is no {value!r}{hint or ';'} choose from {', '.join(words)}"
        )

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Read a value; a number that is none is told by what it should be."""
        try:
            return super()._get_value(action, arg_string)
        except argparse.ArgumentError:
            kinds = {int: "a whole number", float: "a number"}
            if action.type not in kinds:
                raise
            raise argparse.ArgumentError(
                action, f"{arg_string!r} is not {kinds[action.type]}{as_percent(arg_string)}"
            ) from None

    def _with_first(self, args: Sequence[str]) -> Sequence[str]:
        """Repeat at the front what an option says that stands for the first argument."""
        for arg, following in zip_longest(args, args[1:]):
            name, tied, value = arg.partition("=")
            if name == self.get_default("first_option") and (tied or following is not None):
                return [value if tied else following, *args]
        return args

    def _own_options(self, args: Iterable[str]) -> Iterator[str]:
        """Yield what stands where an option of this parser would, as argparse sees it."""
        for arg in args:
            dashed = arg.startswith("-") and arg != "-"
            if arg == "--" or (self.has_commands and not dashed):
                return
            name = arg.partition("=")[0]
            # Words with a blank, and numbers below zero, are values.
            if dashed and " " not in name and not _is_number(arg):
                yield name


def _without_values(word: str) -> str:
    """Leave the values of partitions out of a path: they are cells."""
    from anonrisk.engines.reading.files import without_values

    # What is no path may be a COLUMN=TYPE.
    is_path = "/" in word or os.sep in word or os.path.lexists(word)
    return without_values(word) if is_path and not word.startswith("-") else word


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _meant(option: str, parser: Parser) -> str:
    """Name the option that comes closest, as the end of a sentence; nothing if none is close."""
    if RENAMED.get(option) in parser._option_string_actions:  # noqa: SLF001
        return f": it is called {RENAMED[option]}"
    known = {name.lstrip("-"): name for name in parser._option_string_actions}  # noqa: SLF001
    word = option.lstrip("-").replace("_", "-").casefold()
    if word in _LIMITS and word not in known and "policy" in known:
        return f": a limit stands in the policy, as in budgets: {{{_LIMITS[word]}: …}}"
    begun = [name for name in known if name.startswith(word)]
    close = begun if len(begun) == 1 else get_close_matches(word, known, n=1, cutoff=0.5)
    return f"; did you mean {known[close[0]]}?" if close else ""
