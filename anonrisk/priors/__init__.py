"""A repository of priors: what data holders publish so that others can predict without data.

`Repository` is a file or a database of submissions, `Prior` one of them. Koot 2012, chapter 7.
"""

from __future__ import annotations

from anonrisk.priors.forecast import Forecast, forecast
from anonrisk.priors.prior import Prior
from anonrisk.priors.repository import Disagreement, Disagreements, Repository, Submissions

__all__ = [
    "Disagreement",
    "Disagreements",
    "Forecast",
    "Prior",
    "Repository",
    "Submissions",
    "forecast",
]
