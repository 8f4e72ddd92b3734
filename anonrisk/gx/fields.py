"""What may stand in an expectation: strict numbers, or a suite parameter in their place.

Great Expectations keeps pydantic's first interface, whose plain `int` takes True and "5".
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

from great_expectations.compatibility import pydantic

from anonrisk.columns import several_in_one
from anonrisk.errors import ArgumentError

# A dict is a suite parameter, {"$PARAMETER": "name"}, to be filled in when the suite runs.
Column: TypeAlias = pydantic.StrictStr | dict  # type: ignore[type-arg]
Columns: TypeAlias = list[pydantic.StrictStr] | dict  # type: ignore[type-arg]
Whole: TypeAlias = pydantic.StrictInt | dict  # type: ignore[type-arg]
Number: TypeAlias = pydantic.StrictInt | pydantic.StrictFloat | dict  # type: ignore[type-arg]

_PARAMETER = "$PARAMETER"
# The least that each field takes, and the most where there is one.
_RANGES: dict[str, tuple[float, float]] = {
    "k": (1, math.inf),
    "l": (1, math.inf),
    "t": (0, 1),
    "threshold": (0, 1),
    "group_size": (1, math.inf),
    "population_size": (1, math.inf),
    "max_unique_fraction": (0, 1),
    "max_unique_records": (0, math.inf),
    "max_fraction_below_k": (0, 1),
    "max_dropped_fraction": (0, 1),
    "max_singletons": (0, math.inf),
    "max_fraction": (0, 1),
    "max_size": (1, math.inf),
    "max_highest": (0, 1),
    "max_average": (0, 1),
    "max_share_above": (0, 1),
}
# These are above zero, not from it.
_POSITIVE = {"c": math.inf, "sampling_fraction": 1.0}
NUMBERS = (*_RANGES, *_POSITIVE)


def is_parameter(value: Any) -> bool:
    """Tell whether a value is to be filled in when the suite runs."""
    return isinstance(value, dict)


def parameter(value: Any, field: str) -> Any:
    """Refuse a dict that is no suite parameter; anything else stays as it is."""
    if is_parameter(value):
        name = value.get(_PARAMETER)
        if set(value) != {_PARAMETER} or not isinstance(name, str) or not name.strip():
            raise ValueError(f'a dict in {field} is a suite parameter: {{"{_PARAMETER}": "…"}}')
    return value


def checked(value: Any, field: str) -> Any:
    """Refuse a number out of range, and a dict that is no suite parameter."""
    if value is None:
        return value
    if is_parameter(value):
        return parameter(value, field)
    if field in _POSITIVE:
        inside = 0 < value <= _POSITIVE[field] and value < math.inf
        span = "above 0" if _POSITIVE[field] == math.inf else "above 0 and at most 1"
    else:
        least, most = _RANGES[field]
        inside = least <= value <= most and value < math.inf
        span = f"at least {least}" if most == math.inf else f"from {least} to {most}"
    if not inside:
        raise ValueError(f"{field} must be {span}")
    return value


def filled(value: Any) -> Any:
    """Give the value of a field; a suite parameter that nobody filled in is none."""
    if is_parameter(value):
        raise ArgumentError(f"suite parameter {value.get(_PARAMETER)!r} has no value")
    return value


def names(given: Any) -> Any:
    """Read one name as a list of one; a list of names stays as it is."""
    wrong = several_in_one(given)
    if wrong:
        raise ValueError(wrong)
    return [given] if isinstance(given, str) else given


def different(given: Any, field: str = "qids") -> Any:
    """Refuse a list of columns that is empty or names one twice."""
    if is_parameter(given):
        return parameter(given, field)
    if not given:
        raise ValueError(f"{field} is empty: name at least one column")
    if len(set(given)) < len(given):
        raise ValueError(f"{field} names a column twice")
    return given
