"""What `profiles` gives: value counts by kind of class, with every measure of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from anonrisk.core.arguments import one_of, positive
from anonrisk.counts.class_profiles import ValueCounts
from anonrisk.errors import ArgumentError
from anonrisk.measures import alpha, beta_likeness, delta_disclosure, ldiv, tcloseness

if TYPE_CHECKING:
    from anonrisk.core.words import Diversity, Likeness


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ClassProfiles(ValueCounts):
    """The value counts of every kind of class, and the measures of the worst class.

    Attributes are those of `anonrisk.counts.class_profiles.ValueCounts`.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "illness": ["flu", "cold", "flu", "flu"]})
    >>> profiles = df.anon.profiles("zip", "illness")
    >>> profiles.ldiv(), profiles.tcloseness("equal"), profiles.alpha()
    (1, 0.25, 1.0)
    """

    @classmethod
    def of(cls, counted: ValueCounts) -> Self:
        """Give the same counts as an object of this class."""
        return cls(**{name: getattr(counted, name) for name in counted.__dataclass_fields__})

    def ldiv(self, kind: Diversity = "distinct", *, c: float | None = None) -> float:
        """l-diversity of the worst class; see `anonrisk.ldiv`."""
        if kind != "recursive" and c is not None:
            raise ArgumentError("c belongs to kind='recursive'")
        one_of(kind, "kind", ("distinct", "entropy", "recursive"))
        if kind == "distinct":
            return int(ldiv.distinct(self).min())
        if kind == "entropy":
            return float(ldiv.entropy(self).min())
        return int(ldiv.recursive(self, positive(c, "c")).min())

    def tcloseness(self, distance: str) -> float:
        """t-closeness of the worst class; see `anonrisk.tcloseness`."""
        if distance == "equal":
            return float(tcloseness.equal(self).max())
        if distance == "ordered" and self.ordered:
            return float(tcloseness.ordered(self).max())
        if distance == "hierarchical" and self.levels is not None:
            return float(tcloseness.hierarchical(self).max())
        raise ArgumentError(f"distance={distance!r} is not among what these profiles know")

    def alpha(self) -> float:
        """Largest share that one value has of a class."""
        return float(alpha.alpha(self).max())

    def beta_likeness(self, kind: Likeness = "basic") -> float:
        """Largest relative gain of a value; see `anonrisk.beta_likeness`."""
        one_of(kind, "kind", ("basic", "enhanced"))
        scores = beta_likeness.basic if kind == "basic" else beta_likeness.enhanced
        return float(scores(self).max())

    def delta_disclosure(self, *, strict: bool = False) -> float:
        """Largest |ln(p/q)|; see `anonrisk.delta_disclosure`."""
        return float((delta_disclosure.strict if strict else delta_disclosure.present)(self).max())

    def classification_metric(self) -> float:
        """Share of the records whose value is not the commonest of their class (T8)."""
        most = np.maximum.reduceat(self.counts, self.starts[:-1])
        minority = int(((self.totals - most) * self.classes).sum())
        return minority / int((self.totals * self.classes).sum())
