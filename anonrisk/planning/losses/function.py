"""A loss of the caller's own."""

from __future__ import annotations

import math
from inspect import signature
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.errors import ArgumentError
from anonrisk.planning.losses.base import ClassLoss

if TYPE_CHECKING:
    from anonrisk.core.arrays import Floats, Integers, LossFunction
    from anonrisk.core.columns import Name
    from anonrisk.planning.losses.base import GroupedClasses


@dataclass(frozen=True)
class FunctionLoss(ClassLoss):
    """What a published record loses, by a function of class sizes and of level counts.

    Nothing is known of it but that it is between 0 and 1.
    """

    function: LossFunction
    word: ClassVar[str] = "function"
    monotone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Reject a function that cannot be called with sizes and levels."""
        try:
            signature(self.function).bind(None, None)
        except TypeError:
            raise ArgumentError(
                "the function given as loss must take two arguments: the sizes of classes, and the "
                "counts of each column's values"
            ) from None
        except ValueError:
            # Some functions written in C have no signature.
            return

    def of_classes(self, classes: GroupedClasses) -> Floats:
        """Ask the function about what is published."""
        sizes = classes.sizes[classes.kept]
        levels = {
            name: np.bincount(codes[classes.kept], sizes).astype(np.int64)
            for name, codes in zip(classes.columns, classes.codes, strict=True)
        }
        return np.full(len(classes.sizes), self.asked(sizes, levels))

    def asked(self, sizes: Integers, levels: dict[Name, Integers]) -> float:
        """Ask about published classes; with none of them there is nothing to ask."""
        if not len(sizes):
            return 1.0
        summary = self.function(sizes, {name: x[x > 0] for name, x in levels.items()})
        try:
            lost = float(summary)
        except (TypeError, ValueError):
            lost = math.nan
        if not 0 <= lost <= 1:
            raise ArgumentError(
                "the function given as loss must return a number from 0 (nothing is lost) to 1"
            )
        return lost

    def least_added(self, largest: int, n: int) -> float:  # noqa: ARG002
        """Take all: of what published records lose nothing is known, and nothing was counted."""
        return 1.0
