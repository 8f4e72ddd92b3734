"""What may stand in an expectation: numbers and names, or a suite parameter in their place.

Great Expectations keeps pydantic's first interface, whose plain `int` takes True and "5". Which
numbers a limit takes is for the policy to say that an expectation is a part of.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from great_expectations.compatibility import pydantic

from anonrisk.core.columns import several_in_one
from anonrisk.errors import ArgumentError

# A dict is a suite parameter, {"$PARAMETER": "name"}, to be filled in when the suite runs.
Column: TypeAlias = pydantic.StrictStr | dict  # type: ignore[type-arg]
Columns: TypeAlias = list[pydantic.StrictStr] | dict  # type: ignore[type-arg]
Number: TypeAlias = pydantic.StrictInt | pydantic.StrictFloat | dict  # type: ignore[type-arg]

_PARAMETER = "$PARAMETER"


def is_parameter(value: Any) -> bool:
    """Return whether a value is to be filled in when the suite runs."""
    return isinstance(value, dict)


def parameter(value: Any, field: str) -> Any:
    """Reject a dict that is no suite parameter; anything else stays as it is."""
    if is_parameter(value):
        name = value.get(_PARAMETER)
        if set(value) != {_PARAMETER} or not isinstance(name, str) or not name.strip():
            raise ValueError(f'a dict in {field} is a suite parameter: {{"{_PARAMETER}": "…"}}')
    return value


def filled(value: Any) -> Any:
    """Return the value of a field; a suite parameter that nobody filled in is none."""
    if is_parameter(value):
        raise ArgumentError(f"suite parameter {value.get(_PARAMETER)!r} has no value")
    return value


def names(value: Any) -> Any:
    """Read one name as a list of one; a list of names stays as it is."""
    wrong = several_in_one(value)
    if wrong:
        raise ValueError(wrong)
    return [value] if isinstance(value, str) else value
