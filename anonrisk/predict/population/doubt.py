"""When not to rely on a model: where the bounds without one leave room for a large error."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anonrisk.core.results import Interval
    from anonrisk.predict.population.bounds import Bounds
    from anonrisk.predict.population.model_estimate import ModelEstimate

# An estimate that may be this many times too high or too low is doubtful.
FAR = 2.0


def leaves_room(figure: float, known: Interval) -> bool:
    """Tell whether the truth may be more than twice a figure, or less than half of it.

    Examples
    --------
    >>> from anonrisk.core.results import Interval
    >>> leaves_room(30, Interval(20, 50)), leaves_room(30, Interval(0, 50))
    (False, True)
    """
    return known.high > FAR * figure or figure > FAR * known.low


def doubted(one: ModelEstimate, known: Bounds) -> ModelEstimate:
    """Mark an estimate of uniques, or else of matches, that the bounds do not vouch for.

    Signs that a model sees itself (classes of Pitman's kind, a good fit) told little about the
    error where that was measured; an estimate that the bounds vouch for was never far off. See
    ``docs/predict_population.md``.
    """
    figure, bounds = (
        (one.matches, known.matches) if one.uniques is None else (one.uniques, known.uniques)
    )
    if figure is None or not leaves_room(figure, bounds):
        return one
    room = f"the bounds allow up to {bounds.high:.4g}"
    if figure:
        low, high = (_times(end / figure) for end in bounds)
        room = f"the bounds allow {low} to {high} times this"
    return replace(one, doubtful=True, note=f"{one.note}; {room}")


def _times(factor: float) -> str:
    return f"{factor:,.0f}" if factor >= 100 else f"{factor:.2g}"
