"""The counts of sensitive values by class, to take many measures of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from anonrisk.api.question import in_one_state
from anonrisk.api.sensitive import question_about, with_distance
from anonrisk.core.arguments import one_of, positive, renaming
from anonrisk.core.frozen import dataclass
from anonrisk.errors import ArgumentError
from anonrisk.measures import alpha, beta_likeness, delta_disclosure
from anonrisk.measures.counts.class_profiles import ValueCounts
from anonrisk.measures.scores import FORMULAS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Distance, Diversity, Likeness, Missing


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ClassProfiles(ValueCounts):
    """The value counts of every kind of class, and the measures of the worst class.

    Attributes are those of `anonrisk.measures.counts.class_profiles.ValueCounts`.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "illness": ["flu", "cold", "flu", "flu"]})
    >>> profiles = anonrisk.profiles(df, "zip", "illness")
    >>> profiles.ldiv(), profiles.tcloseness("equal"), profiles.alpha()
    (1, 0.25, 1.0)
    """

    @classmethod
    def of(cls, counted: ValueCounts) -> Self:
        """Return the same counts as an object of this class."""
        return cls(**{name: getattr(counted, name) for name in counted.__dataclass_fields__})

    @renaming(kind="variant=")
    def ldiv(self, variant: Diversity = "distinct", *, c: float | None = None) -> float:
        """l-diversity of the worst class; see `anonrisk.ldiv`."""
        if variant != "recursive" and c is not None:
            raise ArgumentError("c belongs to variant='recursive'")
        one_of(variant, "variant", ("distinct", "entropy", "recursive"))
        return FORMULAS[variant].worst(self, positive(c, "c") if variant == "recursive" else None)

    def tcloseness(self, distance: str) -> float:
        """t-closeness of the worst class; see `anonrisk.tcloseness`."""
        known = {"equal": True, "ordered": self.ordered, "hierarchical": self.levels is not None}
        if not known.get(distance):
            raise ArgumentError(f"distance={distance!r} is not known to these profiles")
        return FORMULAS[distance].worst(self)

    def alpha(self) -> float:
        """Largest share that one value has of a class."""
        return alpha.ALPHA.worst(self)

    @renaming(kind="variant=")
    def beta_likeness(self, variant: Likeness = "basic") -> float:
        """Largest relative gain of a value; see `anonrisk.beta_likeness`."""
        one_of(variant, "variant", ("basic", "enhanced"))
        return (beta_likeness.BASIC if variant == "basic" else beta_likeness.ENHANCED).worst(self)

    def delta_disclosure(self, *, strict: bool = False, base: float | None = None) -> float:
        """Largest ``|ln(p/q)|``, or in another base; see `anonrisk.delta_disclosure`."""
        formula = delta_disclosure.STRICT if strict else delta_disclosure.PRESENT
        return formula.worst(self) / delta_disclosure.in_base(base)

    def classification_metric(self) -> float:
        """Share of the records whose value is not the commonest of their class (T8)."""
        most = np.maximum.reduceat(self.counts, self.starts[:-1])
        minority = int(((self.totals - most) * self.classes).sum())
        return minority / int((self.totals * self.classes).sum())


@in_one_state
def profiles(
    frame: Any,
    qids: Names | None = None,
    sensitive: Name | None = None,
    distance: Distance = "auto",
    *,
    order: Iterable[Any] | None = None,
    hierarchies: Any = None,
    unit: Name | None = None,
    missing: Missing = "value",
    missing_sensitive: Missing = "value",
) -> ClassProfiles:
    """Count the sensitive values of each kind of class: one scan, many questions.

    Parameters
    ----------
    frame, qids, unit, missing, missing_sensitive
        As in `anonrisk.ldiv`.
    sensitive : name
        One sensitive column.
    distance, order, hierarchies
        As in `anonrisk.tcloseness`; what the profiles shall know beside the equal distance.

    Returns
    -------
    ClassProfiles
        Value counts per kind of class, by rank; no value of the table is among them.

    Raises
    ------
    As in `anonrisk.tcloseness`.

    See Also
    --------
    anonrisk.ldiv : one number of them
    anonrisk.tcloseness : another one
    anonrisk.classes : sizes alone

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "illness": list("xyxy")})
    >>> anonrisk.profiles(df, "zip", "illness")
    Profiles of illness in 2 classes of zip: 1 kind of class, 2 values
    """
    engine, question, columns = question_about(
        frame, qids, sensitive, unit=unit, missing=missing, missing_sensitive=missing_sensitive
    )
    if len(columns) > 1:
        raise ArgumentError("profiles takes one sensitive column at a time")
    about, _ = with_distance(
        engine, frame, columns[0], distance, order=order, hierarchies=hierarchies
    )
    return ClassProfiles.of(engine.profiles(frame, question, about))
