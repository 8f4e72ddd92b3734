"""Every score of a class by the name that a question gives it."""

from __future__ import annotations

from anonrisk.measures import alpha, beta_likeness, delta_disclosure, ldiv, tcloseness

FORMULAS = {
    "distinct": ldiv.DISTINCT,
    "entropy": ldiv.ENTROPY,
    "recursive": ldiv.RECURSIVE,
    "alpha": alpha.ALPHA,
    "equal": tcloseness.EQUAL,
    "ordered": tcloseness.ORDERED,
    "hierarchical": tcloseness.HIERARCHICAL,
    "beta": beta_likeness.BASIC,
    "enhanced_beta": beta_likeness.ENHANCED,
    "delta": delta_disclosure.PRESENT,
    "strict_delta": delta_disclosure.STRICT,
}
