"""anonrisk: how many people in a table can be singled out.

Importing this package puts `.anon` on pandas tables and, where pyspark is installed, on Spark
tables. Each method of `.anon` is also a function here: ``df.anon.k(["zip", "age"])`` is
``anonrisk.k(df, ["zip", "age"])``.

====================  ==============================================================
`anonrisk.api`        the functions of a table
`anonrisk.engines`    the only code that touches a table: pandas, Spark
`anonrisk.counts`     what an engine gives: frozen counts, no cell of the table
`anonrisk.measures`   pure arithmetic on counts
`anonrisk.policy`     gates: `Policy` and `Verdict`
`anonrisk.predict`    what will be true of a table that does not exist yet
`anonrisk.datasets`   synthetic tables to try things on
====================  ==============================================================
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from anonrisk import register
from anonrisk._version import __version__
from anonrisk.api.assess import assess
from anonrisk.api.at_risk import at_risk
from anonrisk.api.attributes import (
    alpha,
    beta_likeness,
    delta_disclosure,
    ldiv,
    profiles,
    tcloseness,
)
from anonrisk.api.population import predict_population
from anonrisk.api.predict import predict_classes, predict_singletons
from anonrisk.api.risk import delta_presence, kmap, risk
from anonrisk.api.roles import declare, roles
from anonrisk.api.sizes import (
    anvc,
    classes,
    degree,
    entropy,
    k,
    rr,
    sizes,
    uniqueness,
)
from anonrisk.api.summary import summary
from anonrisk.column_roles import Roles
from anonrisk.counts import ClassSizes
from anonrisk.errors import AnonRiskError

if TYPE_CHECKING:
    from anonrisk.policy import Policy, Verdict

__all__ = [
    "AnonRiskError",
    "ClassSizes",
    "Policy",
    "Roles",
    "Verdict",
    "__version__",
    "alpha",
    "anvc",
    "assess",
    "at_risk",
    "beta_likeness",
    "classes",
    "declare",
    "degree",
    "delta_disclosure",
    "delta_presence",
    "entropy",
    "k",
    "kmap",
    "ldiv",
    "predict_classes",
    "predict_population",
    "predict_singletons",
    "profiles",
    "risk",
    "roles",
    "rr",
    "sizes",
    "summary",
    "tcloseness",
    "uniqueness",
]

# Parts that bring scipy, SQLAlchemy and the like along: loaded when they are named.
_LATER = ("policy", "predict")


def __getattr__(name: str) -> Any:
    import importlib

    if name in _LATER:
        return importlib.import_module(f"anonrisk.{name}")
    if name in ("Policy", "Verdict"):
        return getattr(importlib.import_module("anonrisk.policy"), name)
    raise AttributeError(f"module 'anonrisk' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *_LATER]


register.register_pandas()
register.register_spark()
if "pyspark.pandas" in sys.modules:
    from anonrisk import pandas_on_spark as _pandas_on_spark  # noqa: F401
