"""δ-presence: how sure an attacker is that somebody is in the release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.question import in_one_state
from anonrisk.api.risk import matched_of

if TYPE_CHECKING:
    from anonrisk.core.columns import Names
    from anonrisk.core.types import Missing
    from anonrisk.measures.counts.population import Presence


@in_one_state
def delta_presence(
    frame: Any,
    qids: Names | None = None,
    population: Any = None,
    *,
    missing: Missing = "value",
) -> Presence:
    r"""Return the least and largest share of a population class that is in the release.

    Parameters
    ----------
    frame, qids
        As in `anonrisk.classes`.
    missing
        As in `anonrisk.ldiv`.
    population : DataFrame
        As in `anonrisk.risk`.

    Returns
    -------
    Presence
        `lowest` and `highest` f/F over the classes of the population; 0 where the release has none.

    Raises
    ------
    As in `anonrisk.kmap`.

    See Also
    --------
    anonrisk.kmap : smallest class of the population instead of a share
    anonrisk.risk : chance of finding somebody of that population

    Notes
    -----
    f and F are the sizes of a class in the release and in the population; f = 0 where the release
    has none:

    .. math:: \delta_{\min} = \min f / F, \qquad \delta_{\max} = \max f / F

    When it misleads: it is about the population that was given: an attacker who knows that somebody
    belongs to a smaller one is surer; and near 0 it is as telling as near 1.

    References
    ----------
    M. E. Nergiz, M. Atzori & C. Clifton, *Hiding the Presence of Individuals from Shared
    Databases*, SIGMOD 2007, 665-676.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b"]})
    >>> df.anon.delta_presence("zip", pd.DataFrame({"zip": ["a"] * 8 + ["b"] * 4}))
    Presence(lowest=0.25, highest=0.25)
    """
    return matched_of(frame, qids, population, missing).presence
