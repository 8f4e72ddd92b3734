"""Pictures of counts; matplotlib is imported when the first one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core import render

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from anonrisk.counts.class_sizes import ClassCounts


def class_sizes(counts: ClassCounts, ax: Axes | None = None) -> Axes:
    """Draw the share of records in classes of at most each size, as a step curve."""
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots()
    share = np.cumsum(counts.records) / counts.n_records
    # The curve starts at size 1 even where no class is that small, so that two pictures compare.
    sizes = np.concatenate(([1], counts.sizes))
    ax.step(sizes, np.concatenate(([counts.uniqueness], share)), where="post")
    ax.set_xscale("log")
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("class size")
    ax.set_ylabel("share of records in classes of at most this size")
    ax.set_title(render.joined(counts.qid))
    ax.axhline(counts.uniqueness, linestyle=":", linewidth=1, color="grey")
    ax.annotate(
        f"{counts.uniqueness:.1%} singletons",
        (1, counts.uniqueness),
        (4, 4),
        textcoords="offset points",
    )
    return ax
