"""A table of people to be made coarser, for the tests of plans."""

from __future__ import annotations

import datetime as dt
from dataclasses import fields

import numpy as np

from anonrisk import PlanOptions

QIDS = ["age", "zip", "sex", "born"]


def people(n=300, seed=1):
    random = np.random.default_rng(seed)
    days = (dt.date(1950, 1, 1) + dt.timedelta(int(d)) for d in random.integers(0, 15_000, n))
    return {
        "who": list(range(n)),
        "age": [None if a == 50 else int(a) for a in random.integers(18, 97, n)],
        "zip": [f"{z:04}" for z in random.integers(1000, 1060, n)],
        "sex": random.choice(["f", "m"], n).tolist(),
        "born": list(days),
        "illness": random.choice(["flu", "cough", "stroke", "angina"], n).tolist(),
    }


def with_options(**settings):
    """Return keywords of `plan`: those that an expert sets stand in its options."""
    expert = {field.name for field in fields(PlanOptions)} & settings.keys()
    options = PlanOptions(**{name: settings.pop(name) for name in expert})
    return {**settings, "options": options}
