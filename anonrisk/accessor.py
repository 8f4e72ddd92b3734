"""`.anon`: every public function of a table as a method of the table.

Type checkers read `accessor.pyi`, which ``python3 dev.py stubs`` writes from the functions.
"""

from __future__ import annotations

import inspect
from functools import cache, wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic

from anonrisk import api, releases, reporting
from anonrisk.core import docstrings, render
from anonrisk.core.columns import FrameT
from anonrisk.engines.held import HeldTable
from anonrisk.errors import AnonRiskError

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonrisk.core.columns import Name


# Where each word stands. Those that need a policy, a page or a key stand a floor above `api`.
WORDS = {
    word: f"{home.__name__}.{word}" for home in (api, releases, reporting) for word in home.WORDS
}


@cache
def function_of(word: str) -> Callable[..., Any]:
    """Load the function that a user knows by a word, with a docstring that stands on its own."""
    docstrings.fill(_loaded(word), _loaded)
    return _loaded(word)


def _loaded(word: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(import_module(WORDS[word]), word)
    return function


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return `FUNCTIONS`, all of them, to whoever wants to look at every one."""
        if name != "FUNCTIONS":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return tuple(map(function_of, WORDS))


# What each is asked for; a word that stands nowhere here measures, or is of a page.
_ASKED = {
    "measure": (),
    "risk": (
        *("risk", "rr", "kmap", "delta_presence", "at_risk", "suda"),
        *("trajectory", "linkability", "whole_person"),
    ),
    "predict": ("predict_singletons", "predict_classes", "predict_population", "probabilistic_k"),
    "find": ("find_qids", "is_quasi_identifier", "explain_risk"),
    "change": (
        *("plan", "apply", "utility", "generalize", "suppress", "microaggregate"),
        *("perturb", "permute", "was_perturbed", "pseudonymize"),
    ),
    "gate": ("declare", "roles"),
    "remember": releases.WORDS,
    "see": reporting.WORDS,
}
# Names of columns that anybody reads; what comes after them is counted.
_NAMES = 20


class AnonAccessor(render.PrintedTable, Generic[FrameT]):
    """How many people in this table can be singled out; see the functions of `anonrisk`."""

    def __init__(self, frame: FrameT) -> None:
        """Keep the table; nothing is looked at before a question is asked."""
        self._frame = frame

    def _lines(self) -> list[str]:
        """Name the table and its roles, which are known without a look at its rows."""
        held = isinstance(self._frame, HeldTable)
        of = f".anon of a {render.kind_of(self._frame.frame if held else self._frame)}"
        try:
            roles = function_of("roles")(self._frame)
        except AnonRiskError as error:
            return [of, str(error)]
        of += f" with {render.count_of(len(roles.columns), 'column')}"
        if not roles:
            return [of, "no roles declared: declare(quasi=[…], sensitive=[…], unit=…) says them"]
        declared: dict[str, list[Name]] = {}
        for column in roles.columns:
            declared.setdefault(roles.of(column) or "no role", []).append(column)
        return [of, *(f"{role}: {_listed(names)}" for role, names in declared.items())]

    def _header(self) -> tuple[str, ...]:
        return "to", "ask"

    def _rows(self) -> list[list[str]]:
        known = {word for words in _ASKED.values() for word in words}
        measures = [word for word in WORDS if word not in known]
        return [[what, ", ".join(words or measures)] for what, words in _ASKED.items()]

    def _notes(self) -> list[str]:
        return ["help(df.anon.k) tells more of one; anonrisk.Policy(…).check(df) gives a verdict"]

    def __dir__(self) -> list[str]:
        """Complete to the questions only."""
        return [*WORDS]


def _listed(names: list[Name]) -> str:
    more = [f"{len(names) - _NAMES:,} more"] if len(names) > _NAMES else []
    return ", ".join([*map(render.named, names[:_NAMES]), *more])


def anon(frame: FrameT) -> AnonAccessor[FrameT]:
    """Return what a table has as `.anon`, in a way that a type checker can follow.

    Tables that have no `.anon`, such as relations of DuckDB, have this.

    Parameters
    ----------
    frame : DataFrame
        A table of any library that the functions take.

    Returns
    -------
    AnonAccessor
        With every function of a table as a method.

    See Also
    --------
    anonrisk.classes : one of the functions that it has as methods
    anonrisk.declare : roles, so that later calls need no names

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012"]})
    >>> anonrisk.anon(df).k("zip") == df.anon.k("zip") == 1
    True
    """
    return AnonAccessor(frame)


def _bound(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def method(self: AnonAccessor[Any], *args: Any, **kwargs: Any) -> Any:
        return function(self._frame, *args, **kwargs)

    signature = inspect.signature(function)
    frame, *rest = signature.parameters.values()
    own = frame.replace(name="self", annotation=inspect.Parameter.empty)
    method.__doc__ = docstrings.without_first(function.__doc__)
    method.__signature__ = signature.replace(parameters=[own, *rest])  # type: ignore[attr-defined]
    return method


class _Method:
    """A word as a method: its function is loaded when somebody looks at it."""

    def __init__(self, word: str) -> None:
        self.word = word

    def __get__(self, accessor: Any, owner: Any = None) -> Any:
        method = _bound(function_of(self.word))
        setattr(AnonAccessor, self.word, method)
        return method.__get__(accessor, owner)


for _word in WORDS:
    setattr(AnonAccessor, _word, _Method(_word))
