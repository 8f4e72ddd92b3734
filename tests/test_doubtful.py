"""When an estimate is doubtful, and the page that says how often such a one is far off."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonrisk import ClassSizes, errors
from anonrisk.core.results import Interval
from anonrisk.predict.population import Sample, bounds, estimate, pitman
from anonrisk.predict.population.models import doubted, leaves_room
from benchmarks import population_models as page
from benchmarks.population_models import Outcome

PEOPLE = 3_000
# The others take their time.
QUICK = ("even cells", "half unique")


@cache
def made_up():
    return page.made_up(PEOPLE)


@pytest.mark.slow
@pytest.mark.parametrize("world", QUICK)
def test_an_estimate_that_is_not_doubtful_is_within_twice(world):
    held_against_the_truth(world)


@pytest.mark.nightly
def test_the_same_in_every_world():
    for world in made_up():
        held_against_the_truth(world)


def held_against_the_truth(world):
    rng = np.random.default_rng(3)
    flagged = plain = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.ApproximationWarning)
        for fraction in (0.1, 0.7):
            for one in page.asked(world, made_up()[world], fraction, rng):
                # DIS has a rule of its own, by classes of two.
                if one.model != "dis":
                    assert one.doubtful or not one.wrong, one
                flagged += one.doubtful
                plain += not one.doubtful
    assert flagged, "a rule that never speaks says nothing"
    assert plain, "and neither does one that always speaks"


@given(st.floats(1, 1e6), st.floats(0, 1e6), st.floats(0, 1e6))
def test_room_is_a_truth_within_the_bounds_that_is_twice_off(figure, one, other):
    low, high = sorted((one, other))
    truths = np.linspace(low, high, 101)
    far = ((truths > 2 * figure) | (2 * truths < figure)).any()
    assert leaves_room(figure, Interval(low, high)) == far


@pytest.mark.slow
def test_the_note_says_how_much_room_there_is():
    sample = Sample.of({1: 300, 2: 40, 3: 12, 9: 3}, 8_000)
    plain, known = pitman(sample), bounds(sample)
    found = doubted(plain, known)
    assert not plain.doubtful
    assert found.doubtful
    room = f"{known.uniques.low / plain.uniques:.2g} to {known.uniques.high / plain.uniques:.2g}"
    assert found.note == f"{plain.note}; the bounds allow {room} times this"
    asked = estimate(sample)
    assert asked["pitman"] == found
    assert found.note in " ".join(repr(asked).split())
    with pytest.warns(errors.ApproximationWarning, match="the bounds allow"):
        ClassSizes.from_histogram({1: 300, 2: 40, 3: 12, 9: 3}).predict_population(
            8_000, model="pitman"
        )


@pytest.mark.slow
def test_matches_are_held_against_the_bounds_of_matches():
    found = estimate(Sample.of({1: 390, 2: 5}, 4_000))["benedetti_franconi"]
    assert found.doubtful
    assert found.uniques is None
    assert not estimate(Sample.of({1: 390, 2: 5}, 410))["benedetti_franconi"].doubtful


def test_an_estimate_of_nobody_is_doubtful_where_the_bounds_allow_somebody():
    sample = Sample.of({1: 390, 2: 5}, 4_000)
    one = replace(estimate(sample)["benedetti_franconi"], uniques=0.0, doubtful=False, note="none")
    found = doubted(one, bounds(sample))
    assert found.doubtful
    assert re.fullmatch(r"none; the bounds allow up to [0-9.]+", found.note)


def test_nothing_is_doubtful_about_a_count():
    assert not ClassSizes([1, 3], [4, 2]).predict_population(10).estimates[0].doubtful


# ---- the page -----------------------------------------------------------------------------


def written():
    text = page.PAGE.read_text(encoding="utf-8")
    marks = "<!-- begin population_models -->\n(.*)\n<!-- end population_models -->"
    return re.search(marks, text, re.DOTALL)[1]


def rows_of(text, header):
    lines = text.splitlines()
    start = lines.index(f"| {' | '.join(header)} |") + 2
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def test_the_page_is_what_the_script_writes():
    rows = rows_of(written(), page.RATIOS)
    assert [row[0] for row in rows] == [*made_up(), *page.REAL]
    assert len(rows) >= 12
    number = r"(-|\d+(\.\d+)?(e[+-]\d+)?\??)"
    cell = re.compile(" ".join([number] * len(page.FRACTIONS)))
    for row in rows:
        assert len(row) == len(page.RATIOS)
        assert all(one == page.NONE or cell.fullmatch(one) for one in row[1:]), row
    hits = rows_of(written(), page.HITS)
    assert [row[0] for row in hits] == list(page.MODELS)
    for _, estimates, _, flagged, _, plain, _ in hits:
        counts = [int(count.replace(",", "")) for count in (estimates, flagged, plain)]
        assert counts[0] == counts[1] + counts[2]


def test_what_the_page_says_of_the_rule_is_in_its_table():
    for model, _, _, _, wrong_flagged, plain, wrong_plain in rows_of(written(), page.HITS):
        assert plain != "0", model
        assert wrong_plain == "0 (0%)", model
        if model == "benedetti_franconi":
            assert float(re.search(r"\((\d+)%", wrong_flagged)[1]) > 50


def test_tables_of_known_outcomes():
    outcomes = [
        *(Outcome("w", 0.01, model, 1.0, doubtful=False) for model in page.MODELS),
        Outcome("w", 0.05, "pitman", 5.123, doubtful=True),
        Outcome("w", 0.05, "pitman", 0.4, doubtful=True),
        Outcome("w", 0.05, "pitman", 3.0, doubtful=False),
    ]
    text = page.tables(outcomes, 3)
    assert rows_of(text, page.RATIOS)[0][:3] == ["w", "1 3? - -", "1 - - -"]
    expected = ["pitman", "4", "0.4 to 5.1", "2", "2 (100%)", "2", "1 (50%)"]
    assert rows_of(text, page.HITS)[0] == expected
    assert rows_of(text, page.HITS)[1][3:5] == ["0", "-"]


def test_the_page_is_replaced_in_place(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(page._bench, "ROOT", tmp_path)
    path = Path(tmp_path) / "page.md"
    path.write_text("a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n", encoding="utf-8")
    page._bench.replace("x", "new", path)
    assert path.read_text(encoding="utf-8") == "a\n<!-- begin x -->\nnew\n<!-- end x -->\nb\n"
    assert "page.md" in capsys.readouterr().out
