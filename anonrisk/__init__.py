"""anonrisk: how many people in a table can be singled out.

Importing this package puts `.anon` on pandas tables and, where pyspark is installed, on Spark
tables. Each method of `.anon` is also a function here: ``df.anon.k(["zip", "age"])`` is
``anonrisk.k(df, ["zip", "age"])``.

====================  ==============================================================
`anonrisk.api`        the functions of a table
`anonrisk.engines`    the only code that touches a table: pandas, Spark
`anonrisk.counts`     what an engine gives: frozen counts, no cell of the table
`anonrisk.measures`   pure arithmetic on counts
`anonrisk.recode`     recodings as data
`anonrisk.planning`   plans, and the search for them
`anonrisk.hipaa`      the Safe Harbor rule as a plan
`anonrisk.datasets`   synthetic tables to try things on
====================  ==============================================================
"""

from __future__ import annotations

import sys

from anonrisk import hipaa, register
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
from anonrisk.api.plan import apply, plan
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
from anonrisk.api.steps import (
    generalize,
    microaggregate,
    permute,
    perturb,
    suppress,
    was_perturbed,
)
from anonrisk.api.summary import summary
from anonrisk.api.utility import utility
from anonrisk.column_roles import Roles
from anonrisk.counts import ClassSizes
from anonrisk.errors import AnonRiskError
from anonrisk.planning.plan import Plan

__all__ = [
    "AnonRiskError",
    "ClassSizes",
    "Plan",
    "Roles",
    "__version__",
    "alpha",
    "anvc",
    "apply",
    "assess",
    "at_risk",
    "beta_likeness",
    "classes",
    "declare",
    "degree",
    "delta_disclosure",
    "delta_presence",
    "entropy",
    "generalize",
    "hipaa",
    "k",
    "kmap",
    "ldiv",
    "microaggregate",
    "permute",
    "perturb",
    "plan",
    "profiles",
    "risk",
    "roles",
    "rr",
    "sizes",
    "summary",
    "suppress",
    "tcloseness",
    "uniqueness",
    "utility",
    "was_perturbed",
]

register.register_pandas()
register.register_spark()
if "pyspark.pandas" in sys.modules:
    from anonrisk import pandas_on_spark as _pandas_on_spark  # noqa: F401
