"""Predicted class sizes of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.predict_singletons import drawn_from
from anonrisk.api.question import in_one_state
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Draw, Method, Missing
    from anonrisk.predict.prediction import PredictedClasses


@in_one_state
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
    cluster: Name | None = None,
    unit: Name | None = None,
    missing: Missing = "value",
) -> PredictedClasses:
    r"""Predict in classes of which size the people of a group will be, judging by this table.

    Parameters
    ----------
    frame, qids, group_size, draw, method, n_values, widths, cluster, unit, missing
        As in `anonrisk.predict_singletons`.
    upto : int
        The largest class size to tell apart; 3 at most for another group larger than the table,
        10 with `cluster`.

    Returns
    -------
    PredictedClasses

    Raises
    ------
    As in `anonrisk.predict_singletons`.

    See Also
    --------
    anonrisk.predict_singletons : classes of one only, with their law
    anonrisk.predict.classes : from a distribution, before there is a table
    anonrisk.predict.records_below : people in classes smaller than k

    Notes
    -----
    S17, of k of the table's n records, over classes with sizes c; P2 beyond the table's size,
    intervals of another group by P13; S7 and S8 with replacement; P14 with `cluster`:

    .. math:: E\,C_j = \sum \binom{c}{j} \binom{n - c}{k - j} \Big/ \binom{n}{k}

    When it misleads: for a group drawn by chance; people who were chosen for what they have in
    common are more alike. Beyond the table's size only the smallest classes can be told.

    References
    ----------
    - M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, Remark 5.3;
      corrected as in docs/formulas.md, ``koot-remark-5.3``.
    - I. J. Good & G. H. Toulmin, *The Number of New Species, and the Increase in Population
      Coverage, when a Sample is Increased*, Biometrika 43, 1956, 45-63.

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
    another group from the population of the table's 8 records, persons drawn singly
    """
    from anonrisk.predict import table

    if group_size is None:
        raise ArgumentError("group_size is not given: how many people will the group have?")
    counted = drawn_from(frame, qids, widths, unit, missing, cluster)
    return table.classes(counted, group_size, upto, draw, method=method, n_values=n_values)
