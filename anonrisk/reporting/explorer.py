"""An explorer: what every combination of levels does to a table, as a page and as JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterable
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from anonrisk.core import render
from anonrisk.core.arguments import renaming
from anonrisk.core.frozen import dataclass
from anonrisk.errors import ArgumentError, MissingLibraryError
from anonrisk.planning.options import require_share
from anonrisk.planning.plan import Plan
from anonrisk.reporting.explored import not_all
from anonrisk.reporting.report import Summarised, framed, json_file, template, template_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# What the script needs of the summary beside the counts.
_FOR_SCRIPT = (
    "k",
    "floor",
    "people",
    "n_original",
    "columns",
    "best",
    "plan",
    "plan_without",
    "who",
    "not_looked_at",
    "not_judged",
    "attributes_not_judged",
    "asked_by",
    "next",
    "max_suppressed",
    "policy",
    "other_k",
    "sizes",
    "t_step",
)


@dataclass(frozen=True, repr=False)
class Explorer(Summarised, render.Printed):
    """What every combination of levels does to a table, for a person to choose one.

    Attributes
    ----------
    summary : dict
        All that it holds, as plain values: ``columns`` with their ``levels``, the finest first, and
        ``counts`` with a number for each combination, the last column's level changing fastest.
        No text of the table is in it, and no count of fewer people than its ``floor``.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1012", "1021", "1022"] * 3})
    >>> made = df.anon.explore("zip")
    >>> [level["label"] for level in made.to_dict()["columns"][0]["levels"]]
    ['as it is', 'first 3 characters', 'left out']
    >>> made.to_dict()["counts"]["below"]
    [15, 0, 0]
    """

    def to_html(self) -> str:
        """Write it as one page of HTML that needs no other file and no network (needs Jinja2)."""
        return _rendered(self.summary)

    def written(self, path: str | Path) -> str:
        """Return what `save` writes: a page if it ends in .html, else JSON (.json)."""
        return super().written(path)

    _writers: ClassVar = {".html": to_html, ".htm": to_html, ".json": json_file}
    _endings = "an explorer ends in .html or .json"

    @renaming(max_suppression="max_suppressed=")
    def plan(
        self,
        levels: Sequence[int],
        *,
        max_suppressed: float | None = None,
        hierarchies: Mapping[Any, Any] | None = None,
    ) -> Plan:
        """Return the plan that the page gives for a combination.

        Parameters
        ----------
        levels : list of int
            The level of each column, 0 the finest.
        max_suppressed : float, optional
            The largest share of the records that may be left out for k; left out, none is.
        hierarchies : dict of column to hierarchy, optional
            Those that `explore` was given: what leaves it does not hold their values.
        """
        return Plan.from_json(plan_json(self.summary, levels, max_suppressed), hierarchies)

    def _blocks(self) -> list[str | render.Table]:
        return [
            self._title(),
            *([f"PARTIAL: {not_all(held)}"] if (held := self.summary["not_counted"]) else []),
            render.Table(*self._table()),
            self._headline(),
            self.summary["next"]["text"],
            "explorer.save('explore.html') writes the page.",
        ]

    def _repr_html_(self) -> str:
        try:
            return framed(self.to_html(), "Explorer", "allow-scripts allow-downloads")
        except MissingLibraryError:
            return super()._repr_html_()

    def _title(self) -> str:
        held = self.summary
        number = render.count_of(len(held["counts"]["below"]), "combination")
        names = render.joined(column["name"] for column in held["columns"])
        counted = f"{held['people']:,} {held['who']}"
        return f"Explorer of {names}: {number} for up to {counted}, k = {held['k']}"

    def _headline(self) -> str:
        below, n = self.summary["counts"]["below"][0], self.summary["people"]
        whole = all(column["levels"][0]["as_it_is"] for column in self.summary["columns"])
        who = (
            f"up to {below:,} {self.summary['who']} ({render.percent(below / n)}) hide"
            if below
            else "nobody hides"
        )
        first = "As it is" if whole else "With the finest levels"
        return f"{first}, {who} among fewer than {self.summary['k']}."

    def _table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        rows: list[tuple[str, ...]] = []
        for column in self.summary["columns"]:
            labels = [level["label"] for level in column["levels"]]
            if len(labels) > 5:
                labels = [*labels[:3], "…", labels[-1]]
            rows.append((column["name"], str(len(column["levels"])), ", ".join(labels)))
        return ("column", "levels", "from the finest to the coarsest"), rows


def plan_json(
    summary: Mapping[str, Any],
    levels: Any,
    max_suppressed: float | None = None,
    *,
    parts: str = "plan",
) -> str:
    """Put a plan together as the page does: its parts, and the piece of each level."""
    columns = summary["columns"]
    if max_suppressed is not None:
        require_share(max_suppressed, "max_suppressed")
    if not isinstance(levels, Iterable) or isinstance(levels, str):
        raise ArgumentError("levels= is a list of whole numbers, one for each column")
    levels = [*levels]
    if len(levels) != len(columns):
        raise ArgumentError(f"there are {len(columns)} columns, and levels= names {len(levels)}")
    for column, level in zip(columns, levels, strict=True):
        last = len(column["levels"]) - 1
        whole = isinstance(level, Integral) and not isinstance(level, bool)
        if not (whole and 0 <= level <= last):
            raise ArgumentError(f"column {column['name']} has levels 0 to {last}, not {level!r}")
    pieces = [
        column["levels"][level]["piece"] for column, level in zip(columns, levels, strict=True)
    ]
    text: list[str] = summary[parts]
    head, after_k, after_share, tail = text
    k = "null" if max_suppressed is None else str(summary["k"])
    share = json.dumps(0.0 if max_suppressed is None else float(max_suppressed))
    return head + k + after_k + share + after_share + ",\n    ".join(pieces) + tail


def _rendered(summary: dict[str, Any]) -> str:
    empty = template("explore.html")  # which says what to install
    from markupsafe import Markup

    script = _text("explore.js")
    style = _text("page.css") + _text("explore.css")
    # Nothing in a name ends the element that it stands in.
    data = json.dumps(_for_script(summary), separators=(",", ":")).replace("<", "\\u003c")
    page: str = empty.render(
        explorer=summary,
        served="state" in summary,
        data=Markup(data),  # noqa: S704
        script=Markup(script),  # noqa: S704
        style=Markup(style),  # noqa: S704
        hashes={"script": _digest(script), "style": _digest(style)},
        percent=render.percent,
    )
    return render.escaped(page, but="\n").lstrip()


def _for_script(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the script works with."""
    return {
        **{key: summary[key] for key in _FOR_SCRIPT},
        "limits": [[item["name"], item["limits"]] for item in summary["sensitive"]],
        "counted": {
            "nodes": summary.get("nodes"),
            **packed_counts(summary, summary["floor"], summary["t_step"]),
        },
        # From which size on classes are looked at for l and t, in the order in which they come.
        "kept": [
            max(summary["k"], summary["floor"]),
            *(int(least) for item in summary["sensitive"][:1] for least in item["of_classes_from"]),
        ],
        # Of a page that is served: which of its tables it is about.
        "state": summary.get("state"),
    }


def packed_counts(figures: Mapping[str, Any], floor: int, step: float) -> dict[str, Any]:
    """Pack what is told of combinations, which may be thousands: in units of floor and step."""
    counts = figures["counts"]

    def in_steps(t: float | None) -> int:
        # One more, so that 0 is none; distances are told with six digits.
        return 0 if t is None else math.ceil(t / step - 1e-3) + 1

    return {
        "smaller": [_packed(people, floor) for people in counts["smaller"]],
        "classes": _packed(counts["classes"], floor),
        "smallest": _packed(counts["smallest"], 1),
        "sensitive": [
            [
                {
                    "ldiv": _packed(away["ldiv"], 1),
                    "tcloseness": _packed([in_steps(t) for t in away["tcloseness"]], 1),
                }
                for away in (item, *item["of_classes_from"].values())
            ]
            for item in figures["sensitive"]
        ],
    }


def _packed(values: Sequence[int], unit: int) -> dict[str, Any]:
    """Pack whole numbers as bytes, the smallest that hold them."""
    units = np.asarray(values, dtype=np.int64) // unit
    bits = next(b for b in (8, 16, 32) if int(units.max(initial=0)) < 2**b)
    packed = units.astype(f"<u{bits // 8}").tobytes()
    return {"bits": bits, "data": base64.b64encode(packed).decode("ascii")}


def _text(name: str) -> str:
    return template_text(name).strip()


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
