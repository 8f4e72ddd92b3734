"""The counts of sensitive values by class, to take many measures of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.asking import in_one_state
from anonrisk.api.class_profiles import ClassProfiles
from anonrisk.api.sensitive import question_about, with_distance
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anonrisk.core.columns import Name, Names
    from anonrisk.core.literals import Distance, Missing


@in_one_state
def profiles(
    frame: Any,
    qids: Names | None = None,
    sensitive: Name | None = None,
    distance: Distance = "auto",
    *,
    order: Iterable[Any] | None = None,
    hierarchy: Any = None,
    unit: Name | None = None,
    missing: Missing = "value",
    missing_sensitive: Missing = "value",
) -> ClassProfiles:
    """Count the sensitive values of each kind of class: one scan, many questions.

    Parameters
    ----------
    frame, qids, unit, missing, missing_sensitive
        As in `anonrisk.ldiv`.
    sensitive : name
        One sensitive column.
    distance, order, hierarchy
        As in `anonrisk.tcloseness`; what the profiles shall know beside the equal distance.

    Returns
    -------
    ClassProfiles
        Value counts per kind of class, by rank; no value of the table is among them.

    See Also
    --------
    anonrisk.ldiv : one number of them
    anonrisk.tcloseness : another one
    anonrisk.classes : sizes alone

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "illness": list("xyxy")})
    >>> df.anon.profiles("zip", "illness")
    Profiles of illness in 2 classes of zip: 1 kind of class, 2 values
    """
    engine, question, columns = question_about(
        frame, qids, sensitive, unit=unit, missing=missing, missing_sensitive=missing_sensitive
    )
    if len(columns) > 1:
        raise ArgumentError("profiles are of one sensitive column at a time")
    about, _ = with_distance(engine, frame, columns[0], distance, order=order, hierarchy=hierarchy)
    return ClassProfiles.of(engine.profiles(frame, question, about))
