"""anonrisk: how many people in a table can be singled out.

Importing this package puts `.anon` on the tables of pandas, Polars, Spark and pandas-on-Spark,
whichever of them is imported, before or after. Each method of `.anon` is also a function here:
``df.anon.k(["zip", "age"])`` is ``anonrisk.k(df, ["zip", "age"])``, which takes DuckDB relations,
pyarrow tables, narwhals frames and others that speak the Arrow stream as well;
``anonrisk.table(x)`` gives these `.anon`, too.

====================  ==============================================================
`anonrisk.api`        the functions of a table
`anonrisk.engines`    the only code that touches a table: pandas, Arrow, Spark, SQL
`anonrisk.measures`   counts, which cross that border without any cell, and arithmetic on
                      them; recodings as data
`anonrisk.predict`    what will be true of a table that does not exist yet
`anonrisk.planning`   plans, and the search for them; HIPAA's Safe Harbor as one
`anonrisk.pseudonyms` keys, seals, and a keeper of pseudonyms
`anonrisk.policy`     gates: `Policy` and `Verdict`
`anonrisk.releases`   states, which add up; the ledger of what was published; manifests
`anonrisk.priors`     what data holders publish so that others can predict
`anonrisk.reporting`  pages and pictures
`anonrisk.datasets`   synthetic tables to try things on, and examples
`anonrisk.core`       names, roles, arguments, text
====================  ==============================================================

A type checker cannot know of ``df.anon``; ``anonrisk.anon(df)`` is the same, and typed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk._version import __version__
from anonrisk.accessor import WORDS, anon, function_of, instead_of, register
from anonrisk.errors import AnonRiskError, ReleaseBlocked

if TYPE_CHECKING:
    from anonrisk import hierarchy as hierarchy
    from anonrisk import hipaa as hipaa
    from anonrisk import identity as identity
    from anonrisk import keys as keys
    from anonrisk import planning as planning
    from anonrisk import policy as policy
    from anonrisk import predict as predict
    from anonrisk import priors as priors
    from anonrisk import recode as recode
    from anonrisk import reporting as reporting
    from anonrisk import spark as spark
    from anonrisk import sql as sql
    from anonrisk.api.alpha import alpha
    from anonrisk.api.apply import apply
    from anonrisk.api.assess import assess
    from anonrisk.api.at_risk import at_risk
    from anonrisk.api.beta_likeness import beta_likeness
    from anonrisk.api.box_plot import box_plot
    from anonrisk.api.class_sizes import ClassSizes
    from anonrisk.api.classes import classes
    from anonrisk.api.declare import declare
    from anonrisk.api.delta_disclosure import delta_disclosure
    from anonrisk.api.delta_presence import delta_presence
    from anonrisk.api.entropy import entropy
    from anonrisk.api.explain_risk import explain_risk
    from anonrisk.api.find_qids import find_qids
    from anonrisk.api.generalize import generalize
    from anonrisk.api.is_quasi_identifier import is_quasi_identifier
    from anonrisk.api.k import k
    from anonrisk.api.kl_after import kl_after
    from anonrisk.api.kmap import kmap
    from anonrisk.api.ldiv import ldiv
    from anonrisk.api.linkability import linkability
    from anonrisk.api.microaggregate import microaggregate
    from anonrisk.api.permute import permute
    from anonrisk.api.perturb import perturb
    from anonrisk.api.plan import plan
    from anonrisk.api.predict_classes import predict_classes
    from anonrisk.api.predict_population import predict_population
    from anonrisk.api.predict_singletons import predict_singletons
    from anonrisk.api.probabilistic_k import probabilistic_k
    from anonrisk.api.profiles import profiles
    from anonrisk.api.pseudonymize import pseudonymize
    from anonrisk.api.risk import risk
    from anonrisk.api.roles import roles
    from anonrisk.api.sizes import sizes
    from anonrisk.api.suda import suda
    from anonrisk.api.summary import summary
    from anonrisk.api.suppress import suppress
    from anonrisk.api.tcloseness import tcloseness
    from anonrisk.api.trajectory import trajectory
    from anonrisk.api.uniqueness import uniqueness
    from anonrisk.api.utility import utility
    from anonrisk.api.was_perturbed import was_perturbed
    from anonrisk.api.whole_person import whole_person
    from anonrisk.core.column_roles import Roles
    from anonrisk.planning.options import PlanOptions
    from anonrisk.planning.plan import Plan
    from anonrisk.policy import Policy, Verdict
    from anonrisk.releases.compare.compare import compare
    from anonrisk.releases.ledger.ledger import Ledger
    from anonrisk.releases.ledger.manifest import Manifest
    from anonrisk.releases.release.release import Release
    from anonrisk.releases.release.verdict import ReleaseVerdict
    from anonrisk.releases.state.sketch import Sketch, sketch
    from anonrisk.releases.state.state import State, state
    from anonrisk.reporting.explore import explore
    from anonrisk.reporting.report import report
    from anonrisk.tables import scan, table

__all__ = [
    "AnonRiskError",
    "ClassSizes",
    "Ledger",
    "Manifest",
    "Plan",
    "PlanOptions",
    "Policy",
    "Release",
    "ReleaseBlocked",
    "ReleaseVerdict",
    "Roles",
    "Sketch",
    "State",
    "Verdict",
    "__version__",
    "alpha",
    "anon",
    "apply",
    "assess",
    "at_risk",
    "beta_likeness",
    "box_plot",
    "classes",
    "compare",
    "declare",
    "delta_disclosure",
    "delta_presence",
    "entropy",
    "explain_risk",
    "explore",
    "find_qids",
    "generalize",
    "hipaa",
    "is_quasi_identifier",
    "k",
    "kl_after",
    "kmap",
    "ldiv",
    "linkability",
    "microaggregate",
    "permute",
    "perturb",
    "plan",
    "predict_classes",
    "predict_population",
    "predict_singletons",
    "probabilistic_k",
    "profiles",
    "pseudonymize",
    "report",
    "risk",
    "roles",
    "scan",
    "sizes",
    "sketch",
    "state",
    "suda",
    "summary",
    "suppress",
    "table",
    "tcloseness",
    "trajectory",
    "uniqueness",
    "utility",
    "was_perturbed",
    "whole_person",
]

# Everything is loaded when it is named: who asks for k waits for nothing else.
_LATER = (
    "hierarchy",
    "hipaa",
    "identity",
    "keys",
    "planning",
    "policy",
    "predict",
    "priors",
    "recode",
    "reporting",
    "spark",
    "sql",
)
_NAMES_LATER = {
    "ClassSizes": "api.class_sizes",
    "Ledger": "releases.ledger.ledger",
    "Manifest": "releases.ledger.manifest",
    "Plan": "planning.plan",
    "PlanOptions": "planning.options",
    "Policy": "policy",
    "Release": "releases.release.release",
    "ReleaseVerdict": "releases.release.verdict",
    "Roles": "core.column_roles",
    "Sketch": "releases.state.sketch",
    "State": "releases.state.state",
    "Verdict": "policy",
    "scan": "tables",
    "table": "tables",
}


if not TYPE_CHECKING:
    # A checker that sees this takes every misspelt name for one that comes later.
    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _LATER:
            return import_module(f"anonrisk.{name}")
        if name in WORDS:
            made = function_of(name)
        elif name in _NAMES_LATER:
            made = getattr(import_module(f"anonrisk.{_NAMES_LATER[name]}"), name)
        else:
            hint = "" if name.startswith("_") else instead_of(name, __all__)
            raise AttributeError(f"module 'anonrisk' has no attribute {name!r}{hint}")
        globals()[name] = made
        return made


def __dir__() -> list[str]:
    return [*__all__, *_LATER]


register()
