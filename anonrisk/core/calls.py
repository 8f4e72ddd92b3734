"""Calls that do not fit a function, told in words of the call: what is wrong, and a right one."""

from __future__ import annotations

import re
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import nearest, skeleton
from anonrisk.core.roles_documents import OTHER_WORDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
