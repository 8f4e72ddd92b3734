"""What a caller reads of a function: its docstring, and what is wrong with a call of it.

In a docstring, ``As in `anonrisk.classes`.`` below the names of parameters, or of errors that are
raised, stands for what is said of them there; `fill` puts it in its place, so that `help` never
sends a reader elsewhere. Below no name it stands for all that is said there.
"""

from __future__ import annotations

import inspect
import re
from inspect import Parameter, Signature
from textwrap import fill as fill_lines
from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import nearest, skeleton
from anonrisk.core.roles_documents import OTHER_WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

# Limits, which a measure does not take: it returns the number.
_LIMITS = {"k": "k=5", "l": "ldiv=2", "t": "tcloseness={'t': 0.2, 'distance': 'equal'}"}


def misfit(
    word: str, signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any], doc: str | None
) -> str | None:
    """Return what is wrong with a call of a method, and a right one; None if it fits.

    No argument is quoted: it may hold cells.

    Examples
    --------
    >>> def k(qids=None, *, unit=None): ...
    >>> about = "k", Signature.from_callable(k)
    >>> misfit(*about, (), {"quasi_identifiers": ["zip"]}, ">>> df.anon.k(['zip'])")
    "k has no argument quasi_identifiers=; did you mean 'qids'? For example df.anon.k(['zip'])"
    >>> misfit(*about, ("zip", "age"), {}, None)
    "k takes 1 argument by its place (qids), not 2; several columns are a list: ['zip', 'age']"
    """
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        wrong = _wrong(word, signature, args, kwargs)
        example = _example(word, doc)
        # A sentence that ends in a question is followed by another one.
        shown = f"{' For' if wrong.endswith('?') else '; for'} example {example}" if example else ""
        return f"{wrong}{shown}"
    return None


def _wrong(word: str, signature: Signature, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    known = [parameter for parameter in signature.parameters.values() if parameter.name != "self"]
    names = [parameter.name for parameter in known]
    by_place = [
        parameter.name
        for parameter in known
        if parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    ]
    unknown = [name for name in kwargs if name not in names]
    if unknown:
        return f"{word} has no argument {unknown[0]}={_meant(unknown[0], names)}"
    if len(args) > len(by_place):
        taken = f" by its place ({', '.join(by_place)})" if by_place else " by its place"
        count = f"{len(by_place)} argument{'' if len(by_place) == 1 else 's'}"
        names_alone = by_place[:1] == ["qids"] and all(isinstance(arg, str) for arg in args)
        hint = "; several columns are a list: ['zip', 'age']" if names_alone else ""
        return f"{word} takes {count}{taken}, not {len(args)}{hint}"
    passed = {*by_place[: len(args)], *kwargs}
    missing = [
        parameter.name
        for parameter in known
        if parameter.default is Parameter.empty and parameter.name not in passed
    ]
    twice = [name for name in by_place[: len(args)] if name in kwargs]
    return (
        f"{word} is given {twice[0]} twice, by its place and by its name"
        if twice
        else f"{word} needs {missing[0]}="
    )


def _meant(name: str, names: Sequence[str]) -> str:
    role = OTHER_WORDS.get(skeleton(name), name)
    ours = "qids" if role in ("quasi", "columns", "column") and "qids" in names else role
    limit = _LIMITS.get(name, "")
    for meant in (ours, limit.partition("=")[0]):
        if meant in names:
            return f"; did you mean {meant!r}?"
    if limit:
        return f"; a limit stands in a policy: anonrisk.Policy(quasi=[…], {limit}).check(df)"
    return nearest(name, names)


def _example(word: str, doc: str | None) -> str:
    """Return the first call of the method in the examples of its docstring; empty without one."""
    for line in (doc or "").splitlines():
        begun = (
            re.search(rf"\w+\.anon\.{word}\(", line) if line.lstrip().startswith(">>>") else None
        )
        if begun is None:
            continue
        depth = 0
        for at in range(begun.end() - 1, len(line)):
            depth += {"(": 1, ")": -1}.get(line[at], 0)
            if not depth:
                return line[begun.start() : at + 1]
    return ""


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
