"""Kinds of NumPy arrays, and of functions of them, for annotations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Booleans = NDArray[np.bool_]
Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# The sizes of published classes, and by column how many of their records each label has.
LossFunction = Callable[[Integers, Mapping[Any, Integers]], float]
