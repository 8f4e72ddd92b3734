"""A distribution of which two numbers are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from anonrisk.core import render
from anonrisk.core.arguments import not_negative, whole_number
from anonrisk.errors import ArgumentError


@dataclass(frozen=True, repr=False)
class KnownByKl:
    """A quasi-identifier of which only the number of values and the divergence are known.

    Only the approximations by the Kullback-Leibler distance are offered for it (Koot 2012,
    chapters 4 and 5), within the limits where they may be used.

    Parameters
    ----------
    n_values : int
        Number of values that somebody may have.
    kl : float
        Kullback-Leibler distance in nats from the uniform law on those values.
    """

    n_values: int
    kl: float

    def __post_init__(self) -> None:
        """Check both numbers."""
        n = whole_number(self.n_values, "n_values", at_least=1)
        kl = not_negative(self.kl, "kl")
        if kl > np.log(n) * (1 + 1e-12):
            raise ArgumentError(
                f"kl cannot exceed log(n_values) = {np.log(n):.6g} nats; is it in bits?"
            )
        object.__setattr__(self, "n_values", n)
        object.__setattr__(self, "kl", kl)

    def _repr_html_(self) -> str:
        return render.html_table(repr(self), (), ())

    def __repr__(self) -> str:
        """Print as text."""
        values = render.count_of(self.n_values, "value")
        return f"{values}, {self.kl:.4g} nats from uniform; nothing else is known"
