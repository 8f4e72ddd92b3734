"""Where things stand in a picture; the template draws them as SVG."""

from __future__ import annotations

import math
from typing import Any

# Of the picture of group sizes, in its own units: narrow enough to be read on a phone.
WIDTH, HEIGHT = 360, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 12, 36


def curve(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Give the points of expected shares by group size (logarithmic), their band and the axes."""
    sizes = [math.log10(row["size"]) for row in rows]
    first, last = min(sizes), max(sizes)

    def x(size: float) -> float:
        part = 0.5 if last == first else (size - first) / (last - first)
        return round(_LEFT + part * (WIDTH - _LEFT - _RIGHT), 1)

    def y(share: float) -> float:
        return round(_TOP + (1 - share) * (HEIGHT - _TOP - _BOTTOM), 1)

    points = [(x(size), y(row["share"])) for size, row in zip(sizes, rows, strict=True)]
    upper = [(x(size), y(row["high"])) for size, row in zip(sizes, rows, strict=True)]
    lower = [(x(size), y(row["low"])) for size, row in zip(sizes, rows, strict=True)]
    marks = [0, *({len(rows) // 2} if len(rows) > 3 else ()), len(rows) - 1]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "left": _LEFT,
        "right": WIDTH - _RIGHT,
        "bottom": HEIGHT - _BOTTOM,
        "points": points,
        "line": _path(points),
        "band": _path([*upper, *reversed(lower)]),
        "across": [(y(share), f"{share:.0%}") for share in (0.0, 0.5, 1.0)],
        "along": [(x(sizes[i]), rows[i]["size_text"]) for i in dict.fromkeys(marks)],
    }


def _path(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)
