"""anonrisk: how many people in a table can be singled out.

Importing this package puts `.anon` on pandas tables and, where pyspark is installed, on Spark
tables. Each method of `.anon` is also a function here: ``df.anon.k(["zip", "age"])`` is
``anonrisk.k(df, ["zip", "age"])``.

====================  ==============================================================
`anonrisk.api`        the functions of a table
`anonrisk.engines`    the only code that touches a table: pandas, Spark
`anonrisk.counts`     what an engine gives: frozen counts, no cell of the table
`anonrisk.measures`   pure arithmetic on counts
`anonrisk.predict`    models: what is true before there is a table
`anonrisk.identity`   a keeper of pseudonyms, who issues and reveals them
`anonrisk.datasets`   synthetic tables to try things on
====================  ==============================================================
"""

from __future__ import annotations

import sys

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
from anonrisk.api.linkability import linkability
from anonrisk.api.pseudonymize import pseudonymize
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
from anonrisk.api.trajectory import trajectory
from anonrisk.column_roles import Roles
from anonrisk.counts import ClassSizes
from anonrisk.errors import AnonRiskError

__all__ = [
    "AnonRiskError",
    "ClassSizes",
    "Roles",
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
    "linkability",
    "profiles",
    "pseudonymize",
    "risk",
    "roles",
    "rr",
    "sizes",
    "summary",
    "tcloseness",
    "trajectory",
    "uniqueness",
]

register.register_pandas()
register.register_spark()
if "pyspark.pandas" in sys.modules:
    from anonrisk import pandas_on_spark as _pandas_on_spark  # noqa: F401
