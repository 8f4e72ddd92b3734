"""Predicted class sizes of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.predict_singletons import counted_for
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name, Names
    from anonrisk.core.literals import Draw, Method, Missing
    from anonrisk.predict.prediction import PredictedClasses


def predict_classes(
    frame: Any,
    qids: Names | None = None,
    group_size: int | None = None,
    upto: int = 10,
    *,
    draw: Draw = "auto",
    method: Method = "exact",
    n_values: int | None = None,
    widths: Mapping[Any, float] | None = None,
    unit: Name | None = None,
    missing: Missing = "value",
) -> PredictedClasses:
    """Predict in classes of which size the people of a group will be, judging by this table.

    Parameters
    ----------
    frame, qids, group_size, draw, method, n_values, widths, unit, missing
        As in `anonrisk.predict_singletons`.
    upto : int
        The largest class size to tell apart; 3 at most for another group larger than the table.

    Returns
    -------
    PredictedClasses

    Notes
    -----
    S17: E C_j = Σ C(c, j) C(n − c, k − j) / C(n, k), and P2 beyond the table's size; intervals of
    another group by P13; S7 and S8 with replacement.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"sex": list("mmmmffff")})
    >>> df.anon.predict_classes("sex", 2, upto=2)
    Predicted classes of a group of 2
    class size   classes   share     95% interval
             1       1.1   57.1%   0.0% to 100.0%
             2       0.4   42.9%   0.0% to 100.0%
          more              0.0%
    another group from the population of the table's 8 records
    """
    if group_size is None:
        raise ArgumentError("group_size is not given: how many people will the group have?")
    counted = counted_for(frame, qids, widths, unit, missing)
    return counted.predict_classes(group_size, upto, draw=draw, method=method, n_values=n_values)
