"""Whether the classes of a target column stay predictable (T8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from anonrisk.core import radix
from anonrisk.engines.numpy.count import runs_of
from anonrisk.planning.losses.base import ClassLoss

if TYPE_CHECKING:
    from anonrisk.core.arrays import Floats
    from anonrisk.core.columns import Name
    from anonrisk.counts.tally import Tally
    from anonrisk.planning.losses.base import GroupedClasses


@dataclass(frozen=True)
class TargetLoss(ClassLoss):
    """A record loses 1 where most of its class have another value of the target.

    Iyengar's classification metric. The commonest value of two classes that become one is no
    commoner than those of both together.

    Attributes
    ----------
    tally : Tally
        Of the columns and the target.
    """

    tally: Tally
    target: Name
    word: ClassVar[str] = "target"

    def of_classes(self, classes: GroupedClasses) -> Floats:
        """Count the commonest value of each class."""
        tally = self.tally
        digits = [
            (group[tally.codes[name]], size)
            for (name, group), size in zip(classes.groups.items(), classes.n_groups, strict=True)
        ]
        keys, bound = radix.keys_of(digits)
        both, _ = radix.keys_of([(keys, bound), (tally.codes[self.target], self._n_values)])
        order = np.argsort(both, kind="stable")
        starts = runs_of(both[order])
        counts = np.add.reduceat(tally.counts[order], starts)
        commonest = np.maximum.reduceat(counts, runs_of(keys[order][starts]))
        return np.asarray(1 - commonest / classes.sizes)

    @property
    def _n_values(self) -> int:
        return len(self.tally.domains[self.target]) + 1

    def least_added(self, largest: int, n: int) -> float:  # noqa: ARG002
        """Take a class in which all values are equally common: that many are right at least."""
        return 1 / max(min(self._n_values, largest), 1)
