"""Kinds of NumPy arrays, for annotations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Booleans = NDArray[np.bool_]
Complex = NDArray[np.complex128]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
