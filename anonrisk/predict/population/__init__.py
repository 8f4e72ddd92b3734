"""From a sample to the population: bounds that need no model, and models beside them.

Everything here is a function of a table's class sizes and of the size of the population. See
`anonrisk.predict_population` for a table.
"""

from __future__ import annotations

from anonrisk.core.results import Interval
from anonrisk.predict.population.benedetti_franconi import benedetti_franconi
from anonrisk.predict.population.bounds import Bounds, bounds
from anonrisk.predict.population.dis import dis
from anonrisk.predict.population.estimate import PopulationEstimate
from anonrisk.predict.population.good_toulmin import GoodToulmin, good_toulmin, thinned
from anonrisk.predict.population.models import dankar, estimate, most_uniques
from anonrisk.predict.population.pitman import Pitman, pitman
from anonrisk.predict.population.poisson_gamma import bethlehem, poisson_gamma
from anonrisk.predict.population.rocher import rocher_match, rocher_unique
from anonrisk.predict.population.sample import ModelEstimate, Sample
from anonrisk.predict.population.snb import snb, snb_chances
from anonrisk.predict.population.zayatz import zayatz

__all__ = [
    "Bounds",
    "GoodToulmin",
    "Interval",
    "ModelEstimate",
    "Pitman",
    "PopulationEstimate",
    "Sample",
    "benedetti_franconi",
    "bethlehem",
    "bounds",
    "dankar",
    "dis",
    "estimate",
    "good_toulmin",
    "most_uniques",
    "pitman",
    "poisson_gamma",
    "rocher_match",
    "rocher_unique",
    "snb",
    "snb_chances",
    "thinned",
    "zayatz",
]
