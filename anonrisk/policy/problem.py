"""What goes wrong with a table is a value to tell, not an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from anonrisk.core.frozen import dataclass
from anonrisk.errors import AnonRiskError, EngineError, MissingSensitiveError

if TYPE_CHECKING:
    from collections.abc import Callable

K = TypeVar("K")
T = TypeVar("T")


@dataclass(frozen=True)
class Problem:
    """Why something could not be measured, in words that hold no cell of the table."""

    message: str
    # Whether asking once more, for less, is of no use.
    final: bool = False


def attempt(call: Callable[[], T]) -> T | Problem:
    """Do something with a table; whatever goes wrong is a problem to tell, not an error."""
    try:
        return call()
    except AnonRiskError as error:
        return Problem(str(error), isinstance(error, (EngineError, MissingSensitiveError)))
    except Exception as error:  # noqa: BLE001
        return Problem(
            f"it failed unexpectedly ({type(error).__name__}); the message is withheld because it "
            "may quote a cell",
            final=True,
        )


def apart(together: Problem, alone: dict[K, T | Problem]) -> dict[K, T | Problem]:
    """Return what each came to by itself, after they failed together.

    Where none fails by itself, the fault has passed, and nobody can tell what else it did.
    """
    failed = any(isinstance(item, Problem) for item in alone.values())
    return alone if failed else dict.fromkeys(alone, together)
