"""How answers shrink a set of people: Koot's table, joint tables against counting, bad input."""

from __future__ import annotations

import itertools
import json
import random

import pandas as pd
import pytest

from anonrisk.errors import ArgumentError
from anonrisk.predict import Answer, questionnaire

# Koot 2012, Table B.3: each answer is the commonest, given by the factor that it costs.
TABLE_B3 = [
    ("education", "vocational", 3.33),
    ("background", "non-immigrant", 1.26),
    ("living", "household with children", 3),
    ("work", "corporate", 2.7),
    ("income", "more than 56,000", 2.3),
    ("final", "1056 + F + 1981", 50_000),
]
KOOT = [Answer(name, 1 / factor, answer, largest=True) for name, answer, factor in TABLE_B3]


def test_table_b3_with_its_erratum(reference):
    result = questionnaire(16_000_000, KOOT)
    sizes = {step.question: step.size for step in result.steps}
    for name, size in sizes.items():
        row = reference[f"appB_{name}"]
        assert size == pytest.approx(row["value"], rel=1e-12)
        if row["status"] == "REPRODUCED":
            assert abs(size - row["published"]) <= row["abs_tol"]
    assert round(sizes["income"]) == 204_688 != reference["appB_income"]["published"]


def test_the_result_says_what_it_assumes_and_bounds():
    result = questionnaire(16_000_000, KOOT)
    assert result.upper_bound
    assert "independent" in result.assumption
    assert all(name in result.assumption for name, *_ in TABLE_B3)
    assert result.steps[-1].highest == pytest.approx(320)
    assert result.steps[-1].lowest == 0
    text, html = repr(result), result._repr_html_()
    for shown in ("204,688", "4.1", "320", "At best", "vocational (commonest)"):
        assert shown in text
        assert shown in html
    assert "At best" not in repr(questionnaire(100, [("a", 0.5)]))
    assert "<b>" not in questionnaire(100, [("<b>", 0.5)])._repr_html_()


def test_the_table_and_plain_values():
    result = questionnaire(1_000, [("a", 0.5), Answer("b", count=1, total=4, answer="yes")])
    table = result.to_frame()
    assert table["question"].tolist() == ["everybody", "a", "b"]
    assert table["size"].tolist() == [1_000, 500, 125]
    assert table["highest"].tolist() == [1_000, 500, 250]
    assert table["lowest"].tolist() == [1_000, 500, 0]
    back = json.loads(json.dumps(result.to_dict()))
    assert back["size"] == 125
    assert back["steps"][1]["answer"] == "yes"
    with pytest.raises(AttributeError):
        result.population = 3


def people(seed, n=400):
    """Answers that depend on each other, so that a product of shares would be wrong."""
    rng = random.Random(seed)
    rows = []
    for _ in range(n):
        sex = rng.choice("fm")
        work = rng.choice(["none", "care", "care"] if sex == "f" else ["none", "none", "build"])
        rows.append((sex, work, rng.choice("xyz" if work == "care" else "xx")))
    return rows


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_joint_table_counts_what_a_scan_counts(seed):
    rows = people(seed)
    table = pd.DataFrame(rows, columns=["sex", "work", "home"]).value_counts().reset_index()
    for order in itertools.permutations(range(3)):
        names = ["sex", "work", "home"]
        asked = [Answer(names[place], answer=rows[0][place]) for place in order]
        result = questionnaire(len(rows), asked, joint=table)
        for done, step in enumerate(result.steps, start=1):
            same = [row for row in rows if all(row[p] == rows[0][p] for p in order[:done])]
            assert step.size == pytest.approx(len(same), rel=1e-12)
            assert step.lowest == pytest.approx(step.size) == step.highest
        assert result.independent == (tuple(names[p] for p in order),)
        assert "No independence" in result.assumption


def test_the_commonest_answers_of_a_joint_table_bound_everybody():
    rows = people(4)
    table = pd.DataFrame(rows, columns=["sex", "work", "home"]).value_counts().reset_index()
    asked = [Answer("sex", largest=True), Answer("work", largest=True)]
    result = questionnaire(len(rows), asked, joint=table)
    pairs = pd.Series([row[:2] for row in rows]).value_counts()
    assert result.size == pytest.approx(pairs.max())
    assert result.upper_bound
    mixed = questionnaire(
        len(rows), [Answer("sex", answer="m"), Answer("work", largest=True)], joint=table
    )
    assert mixed.size == pytest.approx(max(n for pair, n in pairs.items() if pair[0] == "m"))
    assert not mixed.upper_bound


def test_joint_and_single_answers_together():
    joint = {("sex", "work"): {("f", "care"): 30, ("f", "none"): 20, ("m", "none"): 50}}
    asked = [Answer("sex", answer="f"), ("smokes", 0.2), Answer("work", answer="care")]
    result = questionnaire(1_000, asked, joint=joint)
    assert [step.size for step in result.steps] == pytest.approx([500, 100, 60])
    assert [step.share for step in result.steps] == pytest.approx([0.5, 0.2, 0.6])
    assert [step.highest for step in result.steps] == pytest.approx([500, 200, 200])
    assert result.independent == (("sex", "work"), ("smokes",))
    assert "sex with work, smokes" in result.assumption
    nobody = [Answer("sex", answer="m"), Answer("work", answer="care"), ("smokes", 0.2)]
    result = questionnaire(1_000, nobody, joint=joint)
    assert [step.size for step in result.steps] == [500, 0, 0]
    assert result.p_unique == 1


def alone(n, cohorts):
    """The chance, by enumeration, that only person 0 is in all cohorts: person 0 is in each,
    the rest of each is drawn at random.
    """
    choices = [list(itertools.combinations(range(1, n), size - 1)) for size in cohorts]
    draws = list(itertools.product(*choices))
    return sum(not set.intersection(*map(set, draw)) for draw in draws) / len(draws)


@pytest.mark.parametrize("cohorts", [(1, 4), (2, 4), (2, 5), (1, 1), (7, 2)])
def test_the_chance_to_be_the_only_one_is_near_the_true_one(cohorts):
    n = 8
    result = questionnaire(n, [(str(i), size / n) for i, size in enumerate(cohorts)])
    exact = alone(n, cohorts)
    # Others are drawn with replacement: exact for up to one other in the rarest cohort.
    assert result.p_unique == pytest.approx(exact, abs=1e-12 if min(cohorts) <= 2 else 0.05)


def test_the_chance_to_be_the_only_one_of_one_answer_is_a_count():
    assert questionnaire(1_000, [("a", 0.001)]).p_unique == 1
    assert questionnaire(1_000, [("a", 0.002)]).p_unique == 0
    assert questionnaire(1_000, [("a", 0.0015)]).p_unique == pytest.approx(0.5)
    assert questionnaire(1, [("a", 1)]).p_unique == 1


def test_a_picture_is_drawn():
    axes = questionnaire(16_000_000, KOOT).plot()
    assert len(axes.patches) == len(KOOT) + 1
    assert axes.get_xscale() == "log"
    assert "independent" in axes.get_xlabel()
    import matplotlib.pyplot as plt

    plt.close(axes.figure)


@pytest.mark.parametrize(
    ("population", "answers", "joint", "message"),
    [
        (0, [("a", 0.5)], None, "population"),
        (2.5, [("a", 0.5)], None, "population"),
        (10, [], None, "empty"),
        (10, "ab", None, "list"),
        (10, [("a", 0.5), ("a", 0.1)], None, "'a' is answered twice"),
        (10, [("a", 0)], None, "share for 'a'"),
        (10, [("a", 1.5)], None, "share for 'a'"),
        (10, [("a", float("nan"))], None, "share for 'a'"),
        (10, [("a", True)], None, "share for 'a'"),
        (10, [("", 0.5)], None, "name of its question"),
        (10, [(3, 0.5)], None, "name of its question"),
        (10, ["a"], None, "pair"),
        (10, [{"question": "a", "shares": 0.5}], None, "did you mean 'share'"),
        (10, [{"share": 0.5}], None, "name of its question"),
        (10, [{"question": "a"}], None, "'a' has no share"),
        (10, [{"question": "a", "count": 3}], None, "together"),
        (10, [{"question": "a", "count": 3, "total": 2}], None, "share for 'a'"),
        (10, [{"question": "a", "count": 1, "total": 2, "share": 0.5}], None, "not both"),
        (10, [("a", 0.5)], {("a",): {("x",): 1}}, "leave one of them out"),
        (10, [Answer("a")], {("a",): {("x",): 1}}, "say which answer to 'a'"),
        (10, [Answer("a", answer="y")], {("a",): {("x",): 1}}, "knows no such answer"),
        (10, [Answer("a", answer="x")], {("a",): {("x",): -1}}, "from 0 up"),
        (10, [Answer("a", answer="x")], {("a",): {("x",): 0}}, "counts nobody"),
        (10, [Answer("a", answer="x")], {("a",): {("x", "y"): 1}}, "needs 1 answer"),
        (10, [Answer("a", answer="x")], {("a", "a"): {("x", "y"): 1}}, "each of them once"),
        (10, [("a", 0.5)], {"ab": {("x",): 1}}, "mapping"),
        (10, [("a", 0.5)], {("b",): {("x",): 1}, ("b", "c"): {("x", 1): 1}}, "two joint"),
        (10, [("a", 0.5)], [1], "joint must be"),
        (10, [("a", 0.5)], pd.DataFrame({"b": ["x"], "counts": [3]}), "did you mean 'counts'"),
        (10, [("a", 0.5)], pd.DataFrame({"b": ["x"], "count": ["3"]}), "must hold numbers"),
    ],
)
def test_bad_input_is_refused(population, answers, joint, message):
    with pytest.raises(ArgumentError, match=message):
        questionnaire(population, answers, joint=joint)


def test_no_answer_of_a_joint_table_is_quoted():
    joint = {("a",): {("secret",): 1}}
    with pytest.raises(ArgumentError) as caught:
        questionnaire(10, [Answer("a", answer="secrets")], joint=joint)
    assert "secret" not in str(caught.value)
