"""Where the share of a class lies among those of the table, for an ordered distance on Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.counts import bounds
from anonrisk.engines import refusals
from anonrisk.measures import tcloseness

if TYPE_CHECKING:
    from anonrisk.core.columns import Name
    from anonrisk.engines.pushed.rows import PushedTable, Rows

# Cells of the grid by which a cumulative share is looked up among those of the table.
_GRID, _LARGEST_GRID = 1 << 10, 1 << 16


def split_by_arrays(table: PushedTable, rows: Rows, values: Rows, column: Name) -> Rows:
    """Look every share up in constants: sorting them with those of the table is a shuffle more.

    A grid says how many shares of the table are below the cell in which one lies; those inside the
    cell are searched by halves. See `measures.tcloseness.ordered`.
    """
    most = bounds.MAX_ORDERED + 1
    counted = table.fetch_rows(values.select("r", "t"), "rank the sensitive values", most)
    refusals.check_ordered(column, len(counted))
    counts = [row["t"] for row in sorted(counted, key=lambda row: row["r"])]
    Q = np.cumsum(counts) / max(sum(counts), 1)
    grid = min(max(_GRID, 1 << int(4 * len(Q)).bit_length()), _LARGEST_GRID)
    starts = np.searchsorted(Q, np.arange(grid + 1) / grid, side="right")
    rounds = int(np.diff(starts).max(initial=0)).bit_length()
    shares = _array(np.concatenate((Q, np.full(1 << rounds, 2.0))))
    cell = f"cast(least(floor(reached * {grid}), {grid}) as int) + 1"
    rows = rows.select("*", below=f"cast(element_at({_array(starts)}, {cell}) as int)")
    for step in (1 << i for i in reversed(range(rounds))):
        beyond = f"element_at({shares}, below + {step}) <= reached"
        rows = rows.select("*", below=f"below + if({beyond}, {step}, 0)")
    rows = rows.select("*", split=tcloseness.SPLIT)
    sums = _array(np.concatenate(([0.0], np.cumsum(Q))))
    ranks = ("r", "high", "split")
    return rows.select(
        "*", **{f"sum_{x}": f"element_at({sums}, cast({x} as int) + 1)" for x in ranks}
    )


def _array(numbers: Any) -> str:
    """Write numbers as one constant: as separate literals they would take seconds to send."""
    return f"cast(split('{','.join(map(repr, numbers.tolist()))}', ',') as array<double>)"
