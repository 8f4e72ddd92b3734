"""Errors of pandas, and of the objects in its cells, replaced by ours: they may quote a cell."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from anonrisk.errors import AnonRiskError, EngineError, raise_alone

if TYPE_CHECKING:
    from collections.abc import Callable

Kind = TypeVar("Kind", bound=type)


def guarded(kind: Kind) -> Kind:
    """Let our own errors out of all that is public in a class, and replace all others."""
    for name, method in list(vars(kind).items()):
        if name.startswith("_"):
            continue
        if isinstance(method, property) and method.fget is not None:
            setattr(kind, name, property(_guarded(method.fget)))
        elif callable(method) and not isinstance(method, type):
            setattr(kind, name, _guarded(method))
    return kind


def _guarded(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return method(*args, **kwargs)
        except MemoryError:
            raise
        except AnonRiskError as error:
            raise_alone(error)
        # A cell may be an object whose own methods raise.
        except Exception as error:  # noqa: BLE001
            raise_alone(
                EngineError(
                    f"this table could not be read ({type(error).__qualname__}, of "
                    f"{type(error).__module__}); the message is withheld because it may quote a "
                    "cell. Look at columns of Python objects; of a query, run it by itself."
                )
            )

    return call
