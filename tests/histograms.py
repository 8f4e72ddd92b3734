"""Class sizes that hypothesis makes up, and tables that have them."""

from __future__ import annotations

from hypothesis import strategies as st

histograms = st.dictionaries(st.integers(1, 60), st.integers(1, 9), min_size=1, max_size=8)


def rows_with(histogram):
    """A table whose one column has classes of these sizes."""
    labels = [(size, i) for size, classes in histogram.items() for i in range(classes)]
    return [{"x": label} for label in labels for _ in range(label[0])]
