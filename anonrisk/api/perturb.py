"""Noise added to numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from anonrisk.api.question import columns_to_change, in_one_state
from anonrisk.core.arguments import one_of, positive, whole_number
from anonrisk.core.types import Law
from anonrisk.measures.counts.change import Noise

if TYPE_CHECKING:
    from anonrisk.core.columns import FrameT, Names

LAWS = get_args(Law)


@in_one_state
def perturb(
    frame: FrameT, columns: Names, scale: float, *, seed: int, law: Law = "normal"
) -> FrameT:
    """Add noise to numbers or dates; types are kept.

    Parameters
    ----------
    frame : DataFrame
        A pandas, Spark or pandas-on-Spark table; it stays as it is.
    columns : name or list of names
        Numbers or dates.
    scale : float
        In the column's own units, days for dates: the standard deviation of normal noise, the
        scale of Laplace's law, or the half-width of the uniform one.
    seed : int
        The same seed gives the same noise on the same engine and partitioning.
    law : {"normal", "laplace", "uniform"}

    Returns
    -------
    DataFrame
        A new table of the same kind, lazy on Spark, marked as perturbed: equal cells do not mean
        equal people any more, so a gate cannot judge it by its classes (`was_perturbed`).

    Raises
    ------
    ColumnNotFoundError, UnsupportedColumnError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.

    See Also
    --------
    anonrisk.permute : a new order instead of noise
    anonrisk.microaggregate : means of groups
    anonrisk.was_perturbed : tells which columns were changed

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"age": [30, 40, 50]})
    >>> noisy = df.anon.perturb("age", 2, seed=1)
    >>> noisy["age"].dtype == df["age"].dtype, anonrisk.was_perturbed(noisy)
    (True, {'age': 'perturb'})
    """
    engine, names = columns_to_change(frame, columns)
    one_of(law, "law", LAWS)
    width = positive(scale, "scale")
    seed = whole_number(seed, "seed", at_least=0)
    return engine.rewrite(frame, Noise(law, dict.fromkeys(names, width), seed))
