"""Every score of a class, in the order in which `assess` gives them."""

from __future__ import annotations

from anonrisk.measures import alpha, beta_likeness, delta_disclosure, ldiv, tcloseness

_LISTED = (
    ldiv.DISTINCT,
    ldiv.ENTROPY,
    ldiv.RECURSIVE,
    tcloseness.EQUAL,
    tcloseness.ORDERED,
    tcloseness.HIERARCHICAL,
    alpha.ALPHA,
    beta_likeness.BASIC,
    beta_likeness.ENHANCED,
    delta_disclosure.PRESENT,
    delta_disclosure.STRICT,
)
FORMULAS = {formula.name: formula for formula in _LISTED}
# What `assess` measures; the distances are one measure, and any of them tells what that is.
MEASURES = {formula.measure: formula for formula in _LISTED if formula.measure}
