"""Which columns a random step has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.question import in_one_state
from anonrisk.engines import engine_for

if TYPE_CHECKING:
    from anonrisk.core.columns import Name


@in_one_state
def was_perturbed(frame: Any) -> dict[Name, str]:
    """Return which columns `perturb` or `permute` has changed; an empty dict if none.

    The mark travels as roles do: in `attrs` on pandas, in column metadata on Spark.

    Parameters
    ----------
    frame : DataFrame
        A table of any library that the functions take.

    Returns
    -------
    dict of name to str
        The column, and the function that changed it.

    Raises
    ------
    UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.

    See Also
    --------
    anonrisk.perturb : adds noise
    anonrisk.permute : shuffles cells

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"age": [30, 40]})
    >>> anonrisk.was_perturbed(df.anon.permute("age", seed=1))
    {'age': 'permute'}
    """
    return dict(engine_for(frame).schema(frame).perturbed)
