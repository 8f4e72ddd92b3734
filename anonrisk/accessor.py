"""`.anon`: every public function of a table as a method of the table.

Type checkers read `accessor.pyi`, which ``python3 dev.py stubs`` writes from the functions.
"""

from __future__ import annotations

import inspect
from functools import wraps
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Generic

from anonrisk import api, reporting
from anonrisk.core.columns import FrameT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _found() -> Iterator[Callable[..., Any]]:
    """Find the functions of `api`: a file there that has one of its own name offers it.

    Words that need a policy or a page stand a floor higher, in `reporting`.
    """
    for file in iter_modules(api.__path__):
        function = getattr(import_module(f"{api.__name__}.{file.name}"), file.name, None)
        if inspect.isfunction(function):
            yield function
    for word in reporting.WORDS:
        yield getattr(import_module(f"{reporting.__name__}.{word}"), word)


FUNCTIONS = tuple(_found())


class AnonAccessor(Generic[FrameT]):
    """How many people in this table can be singled out; see the functions of `anonrisk`."""

    def __init__(self, frame: FrameT) -> None:
        """Keep the table; nothing is looked at before a question is asked."""
        self._frame = frame

    def __dir__(self) -> list[str]:
        """Complete to the questions only."""
        return [function.__name__ for function in FUNCTIONS]


def anon(frame: FrameT) -> AnonAccessor[FrameT]:
    """Give what a table has as `.anon`, in a way that a type checker can follow.

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
    method.__signature__ = signature.replace(parameters=[own, *rest])  # type: ignore[attr-defined]
    return method


for _function in FUNCTIONS:
    setattr(AnonAccessor, _function.__name__, _bound(_function))
