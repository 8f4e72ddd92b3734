"""δ-presence: how sure an attacker is that somebody is in the release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.risk import matched_of

if TYPE_CHECKING:
    from anonrisk.core.columns import Names
    from anonrisk.core.literals import Missing
    from anonrisk.counts.matched import Presence


def delta_presence(
    frame: Any,
    qids: Names | None = None,
    population: Any = None,
    *,
    missing: Missing = "value",
) -> Presence:
    """Give the least and largest share of a population class that is in the release.

    Parameters
    ----------
    frame, qids, missing
        As in `anonrisk.classes`.
    population : DataFrame
        As in `anonrisk.risk`.

    Returns
    -------
    Presence
        `lowest` and `highest` f/F over the classes of the population; 0 where the release has none
        (Nergiz et al. 2007).

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b"]})
    >>> df.anon.delta_presence("zip", pd.DataFrame({"zip": ["a"] * 8 + ["b"] * 4}))
    Presence(lowest=0.25, highest=0.25)
    """
    return matched_of(frame, qids, population, missing).presence
