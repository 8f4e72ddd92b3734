"""Every picture of a result: titled in words, inside its figure, of few marks, without a cell."""

import dataclasses
import itertools
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import anonrisk
from anonrisk import ClassSizes, errors
from anonrisk.core import pictures
from anonrisk.measures.box_plot import Box
from anonrisk.predict import Distribution, questionnaire, singletons

pytest.importorskip("matplotlib")
import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.text import Text

# Letters as wide as there are, what matplotlib would read as a formula, what turns text round.
LONG = ["W" * 200, r"$\frac{1}{$ of $x$", "a column\nof two lines " * 9, "right\u202eto left"]
MANY = range(500)


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def people(names, n=60):
    """A table whose cells can be told from everything that a picture says."""
    rng = np.random.default_rng(1)
    cells = {name: [f"cell{v}" for v in rng.integers(0, 9, n)] for name in names}
    return pd.DataFrame(cells)


def traces(names=("item",)):
    table = people(names, 200)
    return table.assign(user=np.arange(200) % 20).anon.trajectory(
        list(names), unit="user", length=2, seed=1
    )


def one_class(names=("zip", "age")):
    return pd.DataFrame({name: ["cell"] * 30 for name in names})


def huge_classes():
    return ClassSizes(np.arange(1, 3_000), np.full(2_999, 400), qid=["zip"])


def wide(found):
    """Put a long list in place of a short one."""
    changes = {
        "Plan": lambda: {
            "recodings": {f"column {i}": found.recodings["zip"] for i in MANY},
            "before": dataclasses.replace(found.before, values=tuple(i + 9 for i in MANY)),
            "after": dataclasses.replace(found.after, values=tuple(i + 1 for i in MANY)),
            "steps": tuple(dataclasses.replace(found.steps[0], column=f"column {i}") for i in MANY),
        },
        "QidReport": lambda: {"sets": found.sets * 500},
        "Suda": lambda: {"contributions": {f"column {i}": i / 500 for i in MANY}},
        "RiskExplanation": lambda: {"changes": found.changes * 200},
        "Trajectory": lambda: {
            "measured": tuple(
                dataclasses.replace(found.measured[0], length=i + 1) for i in range(5_000)
            ),
        },
        "BoxPlot": lambda: {
            "groups": tuple(
                (f"group {i}", Box(9_000, 1, 2, 3, 4, 9_999, 1, 7, tuple((j, 1) for j in MANY)))
                for i in range(1, 2_000)
            )
        },
    }
    return dataclasses.replace(found, **changes[type(found).__name__]())


def plan_of(table):
    # The planner offers nothing for such cells but to leave them out.
    return table.anon.plan(list(table.columns), k=5, max_suppressed=0.5)


CASES = {
    "classes": (
        lambda: ClassSizes([1, 4], [2, 3], qid=["zip", "age"]),
        lambda: one_class().anon.classes(["zip", "age"]),
        huge_classes,
        lambda: people(LONG).anon.classes(LONG),
    ),
    "risk": (
        lambda: ClassSizes([1, 4], [2, 3]).risk(),
        lambda: ClassSizes([30], [1]).risk(),
        lambda: huge_classes().risk(),
        lambda: people(LONG).anon.risk(LONG, sampling_fraction=0.1),
    ),
    "prediction": (
        lambda: singletons(Distribution.uniform(365), 23),
        lambda: ClassSizes([30], [1]).predict_singletons(3),
        lambda: singletons(Distribution.uniform(10**9), 10**6),
        lambda: people(LONG).anon.predict_singletons(LONG, 20),
    ),
    "population": (
        lambda: people(["zip", "age"]).anon.predict_population(["zip", "age"], 6_000),
        lambda: one_class().anon.predict_population(["zip"], 6_000),
        lambda: huge_classes().predict_population(10**10),
        lambda: people(LONG).anon.predict_population(LONG, 6_000),
    ),
    "plan": (
        lambda: plan_of(people(["zip", "age"])),
        lambda: plan_of(one_class()),
        lambda: wide(plan_of(people(["zip", "age"]))),
        lambda: plan_of(people(LONG)),
    ),
    "find_qids": (
        lambda: people(["zip", "age", "sex"]).anon.find_qids(max_size=2),
        lambda: one_class().anon.find_qids(max_size=2),
        lambda: wide(people(["zip", "age", "sex"]).anon.find_qids(max_size=3)),
        lambda: people(LONG).anon.find_qids(max_size=3),
    ),
    "suda": (
        lambda: people(["zip", "age"]).anon.suda(["zip", "age"]),
        lambda: one_class().anon.suda(["zip", "age"]),
        lambda: wide(people(["zip", "age"]).anon.suda(["zip", "age"])),
        lambda: people(LONG).anon.suda(LONG),
    ),
    "explain_risk": (
        lambda: people(["zip", "age"]).anon.explain_risk(["zip", "age"]),
        lambda: one_class().anon.explain_risk(["zip"]),
        lambda: wide(people(["zip", "age"]).anon.explain_risk(["zip", "age"])),
        lambda: people(LONG).anon.explain_risk(LONG),
    ),
    "trajectory": (
        traces,
        lambda: (
            one_class(["item"])
            .assign(user=1)
            .anon.trajectory("item", unit="user", length=2, seed=1)
        ),
        lambda: wide(traces()),
        lambda: traces(LONG),
    ),
    "questionnaire": (
        lambda: questionnaire(16_000_000, [("education", 0.3), ("postal code", 0.0001)]),
        lambda: questionnaire(1, [("a", 1)]),
        lambda: questionnaire(10**10, [(f"question {i}", 0.9) for i in range(300)]),
        lambda: questionnaire(
            1_000, [{"question": name, "answer": name, "share": 0.1} for name in LONG]
        ),
    ),
    "box_plot": (
        lambda: anonrisk.box_plot(
            people(["zip", "age"]).assign(town="x"), ["zip", "age"], by="town"
        ),
        lambda: anonrisk.box_plot(one_class(), ["zip"]),
        lambda: wide(anonrisk.box_plot(people(["zip", "age"]), ["zip"])),
        lambda: anonrisk.box_plot(people([*LONG, "zip"]).assign(town="W" * 90), LONG, by="town"),
    ),
}
KINDS = ("small", "one-class", "huge", "long-names")
EVERY = [
    pytest.param(
        *(make, method),
        id=f"{name}-{method}-{kind}",
        marks=pytest.mark.slow if kind == "huge" else (),
    )
    for name, makes in CASES.items()
    for method in ("plot", "plot_by_group_size")[: 1 + (name == "prediction")]
    for kind, make in zip(KINDS, makes, strict=True)
]


def texts(ax):
    """What is written in a figure, once it is laid out; no ticks beyond the ends of an axis."""
    ax.figure.draw_without_rendering()
    beyond = [
        label
        for axis in (ax.xaxis, ax.yaxis)
        for place, label in zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True)
        if not min(axis.get_view_interval()) <= place <= max(axis.get_view_interval())
    ]
    found = ax.figure.findobj(Text)
    return [t for t in found if t.get_visible() and t.get_text().strip() and t not in beyond]


def inside(text, whole):
    box = text.get_window_extent()
    wide = box.x0 >= whole.x0 - 1 and box.x1 <= whole.x1 + 1
    return wide and box.y0 >= whole.y0 - 1 and box.y1 <= whole.y1 + 1


@pytest.mark.slow
@pytest.mark.parametrize(("make", "method"), EVERY)
def test_pictures_are_titled_inside_their_figure_and_of_few_marks(make, method):
    ax = getattr(make(), method)()
    written = texts(ax)
    assert [text.get_text() for text in written if not inside(text, ax.figure.bbox)] == []
    assert len(ax.get_title(loc="left").split()) >= 4
    (title,) = (text for text in written if text.get_text() == ax.get_title(loc="left"))
    over = title.get_window_extent()
    others = [text for text in written if text is not title]
    assert [t.get_text() for t in others if over.overlaps(t.get_window_extent())] == []
    assert ax.get_xlabel()
    assert len(ax.get_children()) < 150
    assert sum(len(line.get_xdata()) for line in ax.get_lines()) < 10_100
    said = " ".join(text.get_text() for text in written)
    assert "cell" not in said
    assert "\u202e" not in said


@pytest.mark.slow
@pytest.mark.parametrize("people", [16_000_000, 8_000_000_000, 10**14])
def test_numbers_of_large_populations_stand_apart(people):
    answers = [("education", 0.3), ("income", 0.44), ("postal code and year of birth", 0.00002)]
    ax = questionnaire(people, answers).plot()
    written = texts(ax)
    assert [text.get_text() for text in written if not inside(text, ax.figure.bbox)] == []
    boxes = [text.get_window_extent() for text in ax.get_xticklabels() if text in written]
    assert len(boxes) > 2
    for left, right in itertools.pairwise(boxes):
        assert left.x1 < right.x0


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_axes_that_were_given_are_drawn_on(name):
    _, (left, right) = plt.subplots(1, 2)
    before = len(right.get_children())
    assert CASES[name][0]().plot(left) is left
    assert len(right.get_children()) == before
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize(
    ("ax", "kind"), [("axes", "a str"), (5, "an int"), (plt, "a module"), ([], "a list")]
)
def test_what_is_no_axes_is_refused(ax, kind):
    with pytest.raises(errors.ArgumentError, match=f"Axes, not {kind}$"):
        ClassSizes([1], [1]).plot(ax)


@pytest.mark.parametrize("name", CASES)
def test_on_dark_paper_colours_are_light(name):
    with plt.style.context("dark_background"):
        ax = CASES[name][0]().plot()
    drawn = [line.get_color() for line in ax.get_lines()]
    drawn += [mpl.colors.to_hex(patch.get_facecolor()) for patch in ax.patches]
    assert drawn
    assert not set(pictures.LIGHT) & set(drawn)


def bars(ax):
    return [(patch.get_width(), patch.get_hatch()) for patch in ax.patches]


def test_classes_below_k_are_hatched_and_k_is_drawn():
    sizes = ClassSizes([1, 3, 4, 7], [2, 1, 1, 3], qid=["zip"])
    ax = sizes.plot(k=4)
    # 1 and 3 lie below 4, though 3 and 4 are one band elsewhere.
    assert [text.get_text() for text in ax.get_yticklabels()] == ["alone", "3", "4", "5 to 7"]
    shares = [2 / 30, 3 / 30, 4 / 30, 21 / 30]
    assert [width for width, _ in bars(ax)] == pytest.approx(shares)
    assert [hatch is not None for _, hatch in bars(ax)] == [True, True, False, False]
    (line,) = ax.get_lines()
    assert set(line.get_ydata()) == {1.5}
    assert "k = 4" in [text.get_text() for text in ax.texts]
    assert ax.get_title(loc="left").startswith("5 of 30 records (16.7%)")


def test_a_table_of_people_who_are_all_alone_has_a_bar():
    ax = ClassSizes([1], [1_000], qid=["index"]).plot()
    assert bars(ax) == [(1.0, "////")]
    assert ax.get_title(loc="left") == "1,000 of 1,000 records (100.0%) are alone with their index"
    assert ax.get_xlim()[0] == 0 < 1 < ax.get_xlim()[1]


@pytest.mark.parametrize("k", [0, -1, 2.5, "5", True])
def test_k_of_a_picture_is_a_whole_number(k):
    with pytest.raises(errors.ArgumentError, match=r"^k "):
        ClassSizes([1], [1]).plot(k=k)


def test_a_risk_that_is_bounded_is_drawn_with_its_bounds():
    table = people(["zip", "age"])
    ax = table.anon.risk(["zip"], sampling_fraction=0.1).plot()
    assert "where it may lie" in " ".join(ax.get_legend_handles_labels()[1])
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert "at most" not in labels[0]
    assert all("at most 1 in " in label for label in labels[1:])
    exact = table.anon.risk(["zip"]).plot()
    assert exact.get_legend_handles_labels()[1] == ["highest", "average"]


def test_the_law_is_drawn_whole():
    found = singletons(Distribution.uniform(365), 23)
    ax = found.plot()
    drawn = {round(p.get_x() + p.get_width() / 2): p.get_height() for p in ax.patches}
    law = found.pmf()
    assert drawn == pytest.approx({s: law[s] for s in drawn})
    assert sum(drawn.values()) == pytest.approx(1, abs=2e-4)
    inside = {round(p.get_x() + p.get_width() / 2) for p in ax.patches if not p.get_hatch()}
    low, high = found.interval(0.95)
    assert inside == set(range(low, high + 1))


def test_numbers_put_together_keep_their_chances():
    found = singletons(Distribution.uniform(10**6), 10**4)
    ax = found.plot()
    assert len(ax.patches) <= 60
    assert sum(patch.get_height() for patch in ax.patches) == pytest.approx(1, abs=2e-4)


@pytest.mark.parametrize(
    "found",
    [
        singletons(Distribution.uniform(365), 23),
        ClassSizes([1, 2, 3], [50, 10, 3]).predict_singletons(40),
        ClassSizes([1, 2, 3], [50, 10, 3]).predict_singletons(100),
    ],
    ids=["distribution", "table", "larger than the table"],
)
def test_other_groups_are_those_of_predictions_of_that_size(found):
    ax = found.plot_by_group_size()
    line, own = ax.get_lines()
    assert own.get_xydata().tolist() == [[found.group_size, found.fraction]]
    assert found.group_size in line.get_xdata()
    for k, share in line.get_xydata():
        expected = found.source.of_size(int(k)).mean() / k
        assert share == pytest.approx(expected)
    (band,) = ax.collections
    low = {k: s for k, s in band.get_paths()[0].vertices.tolist() if k == found.group_size}
    ends = [end / found.group_size for end in found.interval(0.95)]
    assert low[found.group_size] in [pytest.approx(end) for end in ends]


def test_a_change_is_written_at_the_mark_it_is_about():
    table = people(["zip", "age"])
    found = table.anon.explain_risk(["zip", "age"])
    ax = found.plot()
    for place, change in enumerate(found._telling):
        (note,) = (note for note in ax.texts if note.xy[1] == place)
        fewer = found.singletons - change.singletons
        assert (note.xy[0], note.get_text()) == (change.share, f"{change.share:.1%}, {fewer} fewer")


def test_what_is_written_at_nothing_does_not_touch_the_name_of_its_row():
    ax = pd.DataFrame({"zip": range(6)}).anon.explain_risk(["zip"]).plot()
    ax.figure.draw_without_rendering()
    assert min(note.xy[0] for note in ax.texts) == 0
    names = max(label.get_window_extent().x1 for label in ax.get_yticklabels())
    room = min(note.get_window_extent().x0 for note in ax.texts) - names
    assert room * 72 / ax.figure.dpi > 4


def test_records_and_detail_of_a_plan_have_an_axis_each():
    plan = plan_of(people(["zip", "age"]))
    ax = plan.plot(kind="path")
    # Which figure is whose is written with the sign of its line.
    written = [note.get_text() for note in ax.texts]
    assert all(re.fullmatch(r"\u25cb [0-9.]+%   \u25c6 [0-9.]+% lost", text) for text in written)
    (top,) = ax.child_axes
    assert (ax.get_xlabel(), top.get_xlabel()) == ("records in classes below 5", "detail lost")
    falling, rising = ax.get_lines()
    ax.figure.draw_without_rendering()
    to_loss = top.get_xlim()[1] / ax.get_xlim()[1]
    assert max(rising.get_xdata()) == pytest.approx(max(falling.get_xdata()))
    losses = [0.0, *(step.path_loss for step in plan.steps)]
    for drawn in rising.get_xdata():
        assert min(abs(drawn * to_loss - loss) for loss in (*losses, plan.after.loss)) < 1e-9


def test_a_plan_without_a_table_cannot_be_drawn():
    with pytest.raises(errors.PlanError, match="nothing can be drawn"):
        anonrisk.Plan({}).plot()


def test_a_partial_search_says_so():
    found = people(["zip", "age", "sex"]).anon.find_qids(max_size=2)
    partial = dataclasses.replace(found, n_settled=found.n_sets - 1)
    assert "PARTIAL" in partial.plot().get_title(loc="left")
    assert "PARTIAL" not in found.plot().get_title(loc="left")


def test_boxes_are_where_the_numbers_are():
    table = people(["zip", "age"], 400).assign(town=np.arange(400) % 3)
    found = anonrisk.box_plot(table, ["zip", "age"], by="town")
    ax = found.plot()
    boxes = [each for _, each in found.groups] + [found.overall]
    drawn = [(patch.get_x(), patch.get_x() + patch.get_width()) for patch in ax.patches]
    assert drawn == [pytest.approx((each.q1, each.q3)) for each in boxes]
    medians = next(line for line in ax.get_lines() if line.get_label() == "median")
    assert medians.get_xdata().tolist() == [each.median for each in boxes]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0", "1", "2", "overall"]


@pytest.mark.slow
def test_without_matplotlib_an_error_says_what_to_install():
    code = (
        "import sys\n"
        "sys.modules['matplotlib'] = None\n"
        "from anonrisk import ClassSizes, errors\n"
        "try:\n"
        "    ClassSizes([1], [1]).plot()\n"
        "except errors.MissingLibraryError as error:\n"
        "    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "a picture needs matplotlib: pip install 'anonrisk[report]'\n"
