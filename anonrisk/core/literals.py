"""Literal types of what a caller may write, for type checkers; a test compares them with checks."""

from __future__ import annotations

from typing import Literal, TypeAlias

Missing: TypeAlias = Literal["value", "drop", "error"]
MissingOrWildcard: TypeAlias = Literal["value", "drop", "error", "wildcard"]
SuppressedAs: TypeAlias = Literal["value", "wildcard"]
Distance: TypeAlias = Literal["auto", "equal", "ordered", "hierarchical"]
Diversity: TypeAlias = Literal["distinct", "entropy", "recursive"]
Likeness: TypeAlias = Literal["basic", "enhanced"]
Draw: TypeAlias = Literal["auto", "subgroup", "replacement"]
Method: TypeAlias = Literal["exact", "kl"]
Law: TypeAlias = Literal["normal", "laplace", "uniform"]
Part: TypeAlias = Literal["day", "week", "month", "quarter", "half", "year", "decade"]
Cuts: TypeAlias = Literal["auto", "width", "quantile", "sampled", "rank", "median", "centre"]
PlanMethod: TypeAlias = Literal["full-domain", "multidimensional", "auto"]
Split: TypeAlias = Literal["gain", "median"]
Loss: TypeAlias = Literal["entropy", "range", "discernibility", "target", "private"]
ColumnLoss: TypeAlias = Literal["entropy", "range"]
PlanPicture: TypeAlias = Literal["path", "values"]
OnUnseen: TypeAlias = Literal["refuse", "suppress", "top"]
Points: TypeAlias = Literal["any", "consecutive"]
Alphabet: TypeAlias = Literal["hex", "base32", "base64url"]
Unlisted: TypeAlias = Literal["refuse", "quasi", "ignore"]
ScannedFormat: TypeAlias = Literal["csv", "parquet"]
Spill: TypeAlias = Literal["plain", "encrypted", "never"]
Model: TypeAlias = Literal[
    "auto",
    "dankar",
    "pitman",
    "zayatz",
    "snb",
    "poisson_gamma",
    "dis",
    "benedetti_franconi",
    "loglinear",
]
