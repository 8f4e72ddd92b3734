"""Pictures of predictions; matplotlib is imported when the first one is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core import render

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from anonrisk.predict.linked_records import Trajectory
    from anonrisk.predict.questionnaire import Questionnaire


def questionnaire(result: Questionnaire, ax: Axes | None = None) -> Axes:
    """Draw how many people are left after each answer: a bar each, on a logarithmic scale."""
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots(figsize=(8, 1.4 + 0.5 * len(result.steps)), layout="constrained")
    names = ["everybody"]
    for step in result.steps:
        question, answer = render.shown(step.question), render.shown(step.answer)
        names.append(f"+ {question}\n{answer}".strip())
    sizes = [float(result.population), *(step.size for step in result.steps)]
    highest = [float(result.population), *(step.highest for step in result.steps)]
    # A logarithmic scale has no zero; half a person stands for nobody.
    floor = 0.5
    places = np.arange(len(names))
    ax.barh(places, np.maximum(sizes, floor), left=0, color="tab:blue", label="expected")
    ax.plot(np.maximum(highest, floor), places, "|", color="black", markersize=14, label="at most")
    for place, size in enumerate(sizes):
        text = f"{size:,.0f}" if size >= 10 else f"{size:.2g}"
        ax.text(1.01, place, text, va="center", transform=ax.get_yaxis_transform())
    ax.axvline(1, linestyle=":", linewidth=1, color="grey")
    ax.set_xscale("log")
    ax.set_xlim(floor, result.population * 3)
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    ax.set_xlabel("people who could have given these answers")
    independent = len(result.independent) > 1
    ax.set_title("anonymity set" + (", answers taken as independent" if independent else ""))
    ax.legend(loc="lower right")
    return ax


def trajectory(result: Trajectory, ax: Axes | None = None) -> Axes:
    """Draw the share of users singled out by 1, 2, 3, … records, beside the model's."""
    import matplotlib.pyplot as plt

    if ax is None:
        _, ax = plt.subplots()
    known = [step for step in result.measured if step.singled_out is not None]
    which = "runs" if result.points == "consecutive" else "points"
    known_of = f"{which} of whole traces{'' if result.ordered else ', in any order'}"
    lengths = [step.length for step in known]
    shares = [step.singled_out or 0.0 for step in known]
    ax.plot(lengths, shares, marker="o", label=f"measured: {known_of}")
    drawn = [step for step in known if step.interval is not None]
    if drawn:
        ax.fill_between(
            [step.length for step in drawn],
            [step.interval[0] for step in drawn if step.interval is not None],
            [step.interval[1] for step in drawn if step.interval is not None],
            alpha=0.2,
        )
    if result.modelled is not None:
        of_model = [step.unique for step in result.modelled]
        ax.plot(
            [step.length for step in result.modelled],
            of_model,
            marker="s",
            linestyle="--",
            label="Zipf model: just so many records each, in order",
        )
    ax.set_ylim(-0.02, 1.02)
    ax.set_xticks([step.length for step in result.measured])
    ax.set_xlabel("linked records known of a user")
    if result.points == "consecutive":
        ax.set_ylabel(f"share of a user's runs singled out, mean over users (k = {result.k})")
    else:
        ax.set_ylabel(f"share of users singled out (k = {result.k})")
    ax.set_title(render.joined(result.item))
    ax.legend()
    return ax
