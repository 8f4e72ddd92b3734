"""Docstrings that stand on their own, though each parameter and error is explained in one place.

In a docstring, ``As in `anonrisk.classes`.`` below the names of parameters, or of errors that are
raised, stands for what is said of them there; `fill` puts it in its place, so that `help` never
sends a reader elsewhere. Below no name it stands for all that is said there.
"""

from __future__ import annotations

import inspect
import re
from textwrap import fill as fill_lines
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# The names of parameters, and of errors.
_PARAMETERS, _RAISES = (
    re.compile(rf"({title}\n-+\n)(.*?)(?=\n\n[A-Z][A-Za-z ]+\n-{{3,}}\n|\Z)", re.DOTALL)
    for title in ("Parameters", "Raises")
)
_ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)
_REFERENCE = re.compile(r"\s*As in `anonrisk\.(\w+)`[.;:,]?\s*(.*)", re.DOTALL)
_INDENT = "    "
_WIDTH = 92


def fill(function: Callable[..., Any], known: Callable[[str], Callable[..., Any]]) -> None:
    """Complete what a docstring says of parameters and errors; `known` finds other functions.

    Examples
    --------
    >>> def first(qids):
    ...     '''Do this.
    ...
    ...     Parameters
    ...     ----------
    ...     qids : names
    ...         The columns.
    ...     '''
    >>> def second(qids):
    ...     '''Do that.
    ...
    ...     Parameters
    ...     ----------
    ...     qids
    ...         As in `anonrisk.first`. At least two.
    ...     '''
    >>> fill(second, {"first": first}.__getitem__)
    >>> second.__doc__.splitlines()[-2:]
    ['qids : names', '    The columns. At least two.']
    """
    # Without docstrings, as Python leaves them out on request, there is nothing to fill in.
    if function.__doc__:
        text = inspect.cleandoc(function.__doc__)
        for section in (_PARAMETERS, _RAISES):
            if result := section.search(text):
                filled = "\n".join(_filled(function, section, known).values())
                text = text[: result.start(2)] + filled + text[result.end(2) :]
        function.__doc__ = text


def without_first(text: str | None) -> str | None:
    """Leave out the first parameter, which a method has in front of its dot."""
    result = _PARAMETERS.search(text or "")
    if text is None or result is None:
        return text
    rest = "".join(_ENTRY.split(result[2])[2:])
    section = result[1] + rest if rest else ""
    return text[: result.start()] + section + text[result.end() :].lstrip("\n" if not rest else "")


def _entries(function: Callable[..., Any], section: re.Pattern[str]) -> dict[str, str]:
    """List what a section says of parameters or errors, by their names as they stand there."""
    result = section.search(inspect.cleandoc(str(function.__doc__)))
    blocks = _ENTRY.split(result[2])[1:] if result else []
    return {block.partition("\n")[0].partition(" : ")[0]: block.rstrip("\n") for block in blocks}


def _filled(
    function: Callable[..., Any],
    section: re.Pattern[str],
    known: Callable[[str], Callable[..., Any]],
) -> dict[str, str]:
    """Put what is said elsewhere in the place of each reference to it."""
    made: dict[str, str] = {}
    for names, block in _entries(function, section).items():
        reference = _REFERENCE.fullmatch(block.partition("\n")[2] or block)
        if reference is None:
            made[names] = block
            continue
        there = _filled(known(reference[1]), section, known)
        if names == block:
            made |= there
            continue
        by_name = {name: text for group, text in there.items() for name in group.split(", ")}
        *others, last = names.split(", ")
        made |= {name: by_name[name] for name in others}
        made[last] = _with(by_name[last], block.partition("\n")[0], reference[2])
    return made


def _with(said: str, head: str, more: str) -> str:
    """Put a type of its own before what is said elsewhere, and more behind it."""
    first, _, body = said.partition("\n")
    first = head if " : " in head else first
    if not more:
        return f"{first}\n{body}"
    text = " ".join(f"{body} {more[:1].upper()}{more[1:]}".split())
    return f"{first}\n" + fill_lines(
        text, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT
    )
