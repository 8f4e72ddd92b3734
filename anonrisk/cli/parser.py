"""Reads arguments; an option that there is none of gets the nearest one that there is."""

from __future__ import annotations

import argparse
import sys
from difflib import get_close_matches
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NoReturn

from anonrisk.core import render

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


# What options were called before version 0.9, and are called now.
RENAMED = {
    "--columns": "--qids",
    "--html": "--output",
    "--manifest": "--output",
    "--max-suppression": "--max-suppressed",
    "--weights": "--column-weights",
}


class Parser(argparse.ArgumentParser):
    """A parser that guesses nothing, but says what may have been meant; so do its commands."""

    def __init__(self, **about: Any) -> None:
        """Make a parser that takes no abbreviations: a new option would change what they mean."""
        super().__init__(**{"allow_abbrev": False, **about})

    @property
    def has_commands(self) -> bool:
        """Whether the first word is a command with options of its own."""
        return self._subparsers is not None

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Reject unknown options first: what argparse finds missing is mostly what was misspelt."""
        args = self._with_first(sys.argv[1:] if args is None else args)
        known = self._option_string_actions
        for option in self._own_options(args):
            # A value may follow one letter at once, as in -oFILE.
            if option not in known and (option[:2] == "--" or option[:2] not in known):
                self.error(f"there is no option {option}{_meant(option, self)}")
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Return what is wrong with the arguments, in one line whatever is in them, and end."""
        super().error(render.shown(message))

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
    begun = [name for name in known if name.startswith(word)]
    close = begun if len(begun) == 1 else get_close_matches(word, known, n=1, cutoff=0.5)
    return f"; did you mean {known[close[0]]}?" if close else ""
