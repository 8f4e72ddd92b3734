"""The public functions of tables, one per file, which has its name.

`anonrisk.accessor` binds each as a method of `.anon`; ``python3 dev.py stubs`` writes their names
here and into the package.
"""

from __future__ import annotations

WORDS = (
    "alpha",
    "apply",
    "assess",
    "at_risk",
    "beta_likeness",
    "box_plot",
    "classes",
    "declare",
    "delta_disclosure",
    "delta_presence",
    "entropy",
    "explain_risk",
    "find_qids",
    "generalize",
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
    "risk",
    "roles",
    "sizes",
    "suda",
    "summary",
    "suppress",
    "tcloseness",
    "trajectory",
    "uniqueness",
    "utility",
    "was_perturbed",
    "whole_person",
)
