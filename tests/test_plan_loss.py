"""Losses of plans: each by its definition, record by record, and no combination that loses less."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planned import with_options

import anonrisk
from anonrisk import Plan, errors
from anonrisk.engines.numpy.tally import tally
from anonrisk.engines.pandas.table import PandasTable
from anonrisk.measures.counts.tally import Domain
from anonrisk.planning import losses
from anonrisk.planning import losses as range_loss
from anonrisk.planning.lattice import full_domain
from anonrisk.planning.lattice.lattice import Lattice
from anonrisk.planning.lattice.offer import offer
from anonrisk.planning.losses import loss_of
from anonrisk.recode import Bins, Keep, Prefix, Star

QID = ["age", "zip"]
OFFERED = {
    "age": [Keep(), Bins((30, 40, 50, 60, 70), whole=True), Bins((50,), whole=True), Star()],
    "zip": [Keep(), Prefix(2), Prefix(1), Star()],
}
WORDS = ["entropy", "discernibility", "target", "function"]
BY_REGION = {"method": "multidimensional"}


def people(n=160):
    random = np.random.default_rng(3)
    age = random.integers(20, 80, n)
    ill = np.where(age + random.integers(0, 30, n) > 60, "stroke", "flu")
    return {
        "age": [None if i % 40 == 0 else int(x) for i, x in enumerate(age)],
        "zip": [f"{10 + x * x // 4}{y}" for x, y in random.integers(0, 6, (n, 2))],
        "ill": [None if i % 30 == 0 else str(x) for i, x in enumerate(ill)],
        "one": ["x"] * n,
    }


CELLS = people()


def own(sizes, levels):
    """Punish large classes, and columns in which one label is common."""
    common = [counts.max() / counts.sum() for counts in levels.values()]
    return 0.5 * float(np.mean(common)) + 0.5 * float((sizes**2).sum() / sizes.sum() ** 2)


def slow(old, new, k, word, target):
    """The loss of labels by its definition; records of classes below k are suppressed."""
    n = len(target)
    classes = list(zip(*new, strict=True))
    size = Counter(classes)
    kept = [size[key] >= k for key in classes]
    if word == "entropy":
        total = 0.0
        for before, after in zip(old, new, strict=True):
            times, labels = Counter(before), Counter(after)
            entropy = -sum(c / n * math.log2(c / n) for c in times.values())
            for x, label, stays in zip(before, after, kept, strict=True):
                # A suppressed cell may be any of all n.
                lost = math.log2(labels[label] if stays else n) - math.log2(times[x])
                total += lost / entropy
        return total / (n * len(old))
    if word == "discernibility":
        return (
            sum(size[key] if stays else n for key, stays in zip(classes, kept, strict=True)) / n**2
        )
    if word == "target":
        both = Counter(zip(classes, target, strict=True))
        right = sum(max(both[key, y] for y in set(target)) for key in size if size[key] >= k)
        return 1 - right / n
    left = sum(kept)
    if not left:
        return 1.0
    published = np.array([s for s in size.values() if s >= k])
    levels = {
        name: np.array(
            list(Counter(x for x, stays in zip(after, kept, strict=True) if stays).values())
        )
        for name, after in zip(QID, new, strict=True)
    }
    return (left * own(published, levels) + n - left) / n


def told(column):
    return column.astype(object).where(column.notna(), "missing").tolist()


@pytest.mark.slow
@pytest.mark.parametrize("word", WORDS)
def test_the_plan_is_the_best_of_all_by_its_definition(frame, word):
    table, plain, share = frame(CELLS), pd.DataFrame(CELLS), 0.1
    loss = own if word == "function" else word
    about = {"target": "ill"} if word == "target" else {}
    asked = {"max_suppressed": share, "method": "full-domain", **about}
    plan = table.anon.plan(QID, 4, **with_options(hierarchies=OFFERED, **asked, loss=loss))
    old, target = [told(plain[name]) for name in QID], told(plain["ill"])
    losses = {}
    for pair in itertools.product(*OFFERED.values()):
        changed = plain.anon.generalize(dict(zip(QID, pair, strict=True)))
        new = [told(changed[name]) for name in QID]
        size = Counter(zip(*new, strict=True))
        if sum(s for s in size.values() if s < 4) <= share * len(plain):
            losses[pair] = slow(old, new, 4, word, target)
    least = min(losses.values())
    assert plan.optimal
    assert plan.loss == word
    assert plan.after.loss == pytest.approx(least, abs=1e-12)
    assert losses[tuple(plan.recodings.values())] == pytest.approx(least, abs=1e-12)
    assert plan.before.loss == pytest.approx(slow(old, old, 1, word, target), abs=1e-12)
    done = table.anon.apply(plan)
    found = done.anon.utility(QID, "ill", original=table, loss=loss)
    assert found.loss == pytest.approx(least, abs=1e-12)
    assert found.loss_kind == word
    # Whatever was kept, plans can be compared.
    assert found.mutual_information == pytest.approx(plan.after.bits, abs=1e-12)
    assert found.loss_metric == pytest.approx(plan.after.range_loss, abs=1e-12)
    assert table.anon.utility(QID, original=table).mutual_information == pytest.approx(
        plan.before.bits
    )
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("word", ["range", "private"])
def test_utility_tells_the_loss_of_a_plan(frame, word):
    table = frame(CELLS)
    about = {"sensitive": "ill"} if word == "private" else {}
    only = {"age": OFFERED["age"][1:2], "zip": [Prefix(2)]}
    plan = table.anon.plan(
        QID, 4, **with_options(hierarchies=only, max_suppressed=0.5, **about, loss=word)
    )
    found = table.anon.apply(plan).anon.utility(QID, "ill", original=table, loss=word)
    assert plan.after.n_below > 0
    assert found.loss == pytest.approx(plan.after.loss, abs=1e-12)
    assert f"{word} loss {100 * found.loss:.1f}%" in repr(found)
    assert found.to_dict()["loss_kind"] == word


@pytest.mark.slow
@settings(max_examples=25)
@given(
    seed=st.integers(0, 10**6),
    word=st.sampled_from(["entropy", "discernibility", "target", "function"]),
    share=st.sampled_from([0.0, 0.1, 0.4, 0.9]),
    k=st.integers(2, 5),
)
def test_no_combination_loses_less_than_what_says_so(seed, word, share, k):
    random = np.random.default_rng(seed)
    n = int(random.integers(8, 40))
    table = pd.DataFrame(
        {
            "age": random.integers(0, 60, n),
            "code": random.choice(["101", "102", "111", "201"], n, p=[0.5, 0.3, 0.1, 0.1]),
            "ill": random.choice(["flu", "cough", "gout"], n),
            "rich": [*random.choice(["y", "n", "?"], n - 2), "y", "n"],
        }
    )
    qid = ("age", "code", "ill")
    counted = tally(PandasTable(table), dict.fromkeys((*qid, "rich"), "q"))
    loss = loss_of(
        (lambda sizes, _: 1 / len(sizes)) if word == "function" else word, counted, qid, "rich"
    )
    counted = counted.only(qid)
    tree = {"ill": {"any": {"cold": ["flu", "cough"], "other": ["gout"]}}}
    offered = {
        name: offer(
            counted.domains[name], counted.margin(name), k=k, share=3, recodings=tree.get(name),
            column=name,
        )
        for name in qid
    }  # fmt: skip
    weights = [1.0, 4.0, 0.0] if word == "entropy" and seed % 2 else None
    found = full_domain.search(
        Lattice.of(counted, offered, k, weights, loss), math.floor(share * n)
    )
    whole = Lattice.of(counted, offered, k, weights, loss)
    nodes = map(whole.measure, itertools.product(*map(range, whole.shape)))
    fit = [one.loss for one in nodes if one.n_below <= share * n]
    assert found.optimal
    assert (found.best is None) == (not fit)
    if fit:
        assert found.best.loss == pytest.approx(min(fit), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("word", ["discernibility", "target"])
def test_by_region_it_is_what_the_definition_says(frame, word):
    table, plain = frame(CELLS), pd.DataFrame(CELLS)
    asked = {"loss": word, "target": "ill"} if word == "target" else {"loss": word}
    old, target = [told(plain[name]) for name in QID], told(plain["ill"])
    losses = {}
    for method in ("multidimensional", "full-domain", "auto"):
        plan = table.anon.plan(QID, 4, **with_options(max_suppressed=0, **asked, method=method))
        done = plain.anon.apply(plan)
        losses[method] = slow(old, [told(done[name]) for name in QID], 4, word, target)
        assert plan.after.loss == pytest.approx(losses[method], abs=1e-12)
        found = table.anon.apply(plan).anon.utility(QID, "ill", original=table, loss=word)
        assert found.loss == pytest.approx(losses[method], abs=1e-12)
    assert losses["multidimensional"] < losses["full-domain"]
    assert losses["auto"] <= losses["multidimensional"]
    assert f"{losses['auto']:.3f}" in plan.note
    least = losses["multidimensional"]
    table.anon.plan(QID, 4, **with_options(**asked, **BY_REGION, max_loss=least * (1 + 1e-9)))
    with pytest.raises(errors.PlanError, match="stops every plan"):
        table.anon.plan(QID, 4, **with_options(**asked, **BY_REGION, max_loss=least * 0.99))


@pytest.mark.slow
@pytest.mark.parametrize("word", ["discernibility", "target"])
@pytest.mark.parametrize("goal", [{}, {"ldiv": 2, "sensitive": "ill"}, {"unit": "who"}])
def test_by_region_goals_hold_whatever_is_lost(word, goal):
    table = pd.DataFrame(CELLS).fillna({"ill": "none"}).assign(who=[i // 2 for i in range(160)])
    about = {"target": "ill"} if word == "target" else {}
    for split in ("gain", "median"):
        plan = table.anon.plan(
            QID, 4, **with_options(**goal, **about, **BY_REGION, loss=word, split=split)
        )
        done = table.anon.apply(plan)
        found = done.anon.utility(QID, "ill", original=table, loss=word)
        assert found.loss == pytest.approx(plan.after.loss, abs=1e-12)
        assert done.anon.k(QID, unit=goal.get("unit")) == plan.after.k >= 4
        if "ldiv" in goal:
            assert done.anon.ldiv(QID, "ill") >= 2
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.slow
def test_by_region_less_is_lost_of_what_was_asked_for():
    random = np.random.default_rng(5)
    n = 2_000
    table = pd.DataFrame(
        {
            "age": random.integers(18, 90, n),
            "income": np.round(np.exp(random.normal(10, 1, n))),
            "zip": [f"{z}" for z in random.integers(100, 160, n)],
        }
    )
    # Only the income says who owns, in stripes that no single cut parts.
    table["owns"] = np.where((np.log(table["income"]) * 2).astype(int) % 2, "y", "n")
    names, asked = ["age", "income", "zip"], {"target": {"target": "owns"}}
    plans = {
        word: table.anon.plan(
            names, 10, **with_options(**asked.get(word, {}), **BY_REGION, loss=word)
        )
        for word in ("entropy", "discernibility", "target")
    }
    for word in ("discernibility", "target"):
        lost = {
            of: table.anon.apply(plan).anon.utility(names, "owns", original=table, loss=word).loss
            for of, plan in plans.items()
        }
        assert lost[word] <= lost["entropy"]
    assert lost["target"] < 0.5 * lost["entropy"]


@pytest.mark.slow
@pytest.mark.parametrize("word", ["discernibility", "target"])
def test_with_other_goals_it_is_still_the_best(word):
    table = pd.DataFrame(CELLS).fillna({"ill": "none"}).assign(rich=["y", "n", "n", "y"] * 40)
    about = {"target": "rich"} if word == "target" else {}
    asked = {"loss": word, "ldiv": 2, "sensitive": "ill", "max_suppressed": 0.2, **about}
    asked["method"] = "full-domain"
    plan = table.anon.plan(QID, 4, **with_options(hierarchies=OFFERED, **asked))
    assert plan.optimal
    losses = []
    for pair in itertools.product(*OFFERED.values()):
        try:
            one = table.anon.plan(
                QID,
                4,
                **with_options(
                    hierarchies={n: [r] for n, r in zip(QID, pair, strict=True)}, **asked
                ),
            )
        except errors.PlanError:
            continue
        losses.append(one.after.loss)
    assert plan.after.loss == pytest.approx(min(losses), abs=1e-12)
    done = table.anon.apply(plan)
    assert done.anon.ldiv(QID, "ill") >= 2
    found = done.anon.utility(QID, "rich", original=table, loss=word)
    assert found.loss == pytest.approx(plan.after.loss, abs=1e-12)


@pytest.mark.slow
def test_a_long_tail_does_not_take_the_bits_of_the_rest():
    random = np.random.default_rng(1)
    n = 20_000
    table = pd.DataFrame(
        {
            "income": np.round(np.exp(random.normal(10, 1, n))),
            "sex": random.choice(list("mf"), n),
            "zip": random.choice(["10", "11", "12", "13"], n),
        }
    )
    names = list(table)
    plans = {
        loss: table.anon.plan(
            names, 5, options=anonrisk.PlanOptions(loss=loss, method="full-domain")
        )
        for loss in ("entropy", "range")
    }
    bits = {loss: plan.after.bits for loss, plan in plans.items()}
    assert bits["range"] < 1.8
    assert bits["entropy"] > 2.3
    quantiles = table.anon.generalize("income", bins=16).anon.utility(names, original=table)
    assert bits["entropy"] >= quantiles.mutual_information - 1e-9
    assert plans["range"].after.range_loss < plans["entropy"].after.range_loss
    assert plans["range"].after.loss == plans["range"].after.range_loss
    by_region = table.anon.plan(names, 5, **with_options(**BY_REGION))
    assert by_region.after.bits > bits["entropy"]


@pytest.mark.parametrize("method", ["full-domain", "multidimensional"])
@pytest.mark.parametrize("loss", ["entropy", "range"])
def test_weights_keep_what_is_precious_in_either_way(method, loss):
    table = pd.DataFrame(people(600))
    lost = {}
    for name in QID:
        weights = {n: 20 if n == name else 1 for n in QID}
        plan = table.anon.plan(
            QID, 5, options=anonrisk.PlanOptions(column_weights=weights, loss=loss, method=method)
        )
        done = table.anon.apply(plan)
        lost[name] = [done.anon.utility(n, original=table, loss=loss).loss for n in QID]
    assert lost["age"][0] < lost["zip"][0]
    assert lost["age"][1] > lost["zip"][1]


def test_a_column_of_one_value_loses_nothing():
    table = pd.DataFrame(CELLS)
    plan = table.anon.plan(["one", "zip"], 4, max_suppressed=0, hierarchies={"one": [Star()]})
    found = table.anon.apply(plan).anon.utility(["one", "zip"], original=table)
    alone = table.anon.plan("zip", 4, max_suppressed=0)
    assert plan.after.loss == pytest.approx(alone.after.loss / 2)
    assert found.loss == pytest.approx(plan.after.loss)


@pytest.mark.slow
def test_max_loss_is_in_the_loss_that_was_chosen():
    table = pd.DataFrame(CELLS)
    for loss in ("entropy", "range", "discernibility", own):
        least = table.anon.plan(QID, 4, options=anonrisk.PlanOptions(loss=loss)).after.loss
        assert (
            table.anon.plan(
                QID, 4, options=anonrisk.PlanOptions(loss=loss, max_loss=least)
            ).after.loss
            == least
        )
        with pytest.raises(errors.PlanError, match="stops every plan"):
            table.anon.plan(QID, 4, options=anonrisk.PlanOptions(loss=loss, max_loss=least * 0.99))
    least = table.anon.plan(QID, 4, **with_options(**BY_REGION)).after.loss
    with pytest.raises(errors.PlanError, match="stops every plan"):
        table.anon.plan(QID, 4, **with_options(**BY_REGION, max_loss=least * 0.99))


def test_a_function_is_told_what_is_published():
    table = pd.DataFrame({"x": list("aaabbc"), "y": [1, 1, 1, 2, 2, 9]})
    asked = []

    def note(sizes, levels):
        asked.append((sizes.tolist(), {name: counts.tolist() for name, counts in levels.items()}))
        return 0.25

    given = {"x": [Keep()], "y": [Keep()]}
    plan = table.anon.plan(
        ["x", "y"],
        2,
        hierarchies=given,
        max_suppressed=0.5,
        options=anonrisk.PlanOptions(loss=note),
    )
    assert asked[0] == ([3, 2, 1], {"x": [3, 2, 1], "y": [3, 2, 1]}), "as it is"
    assert asked[1:] == [([3, 2], {"x": [3, 2], "y": [3, 2]})] * len(asked[1:])
    assert plan.after.loss == pytest.approx((5 * 0.25 + 1) / 6)
    assert plan.loss == "function"
    assert "function loss" in repr(plan)


def test_it_prints_the_bits():
    plan = pd.DataFrame(CELLS).anon.plan(QID, 4)
    text = repr(plan)
    assert f"{plan.after.bits:.2f}" in text[text.index("bits per cell") :]
    assert "\nloss " in text


@pytest.mark.parametrize(
    ("asked", "error", "text"),
    [
        ({"loss": "bits"}, errors.ArgumentError, "is not one of 'entropy', 'range'"),
        ({"loss": "target"}, errors.ArgumentError, "loss='target' and target=.* belong together"),
        ({"target": "ill"}, errors.ArgumentError, "loss='target' and target=.* belong together"),
        ({"loss": "target", "target": "age"}, errors.RoleConflictError, "'age' cannot be both"),
        ({"loss": "target", "target": "il"}, errors.AnonRiskError, "did you mean 'ill'"),
        ({"loss": "target", "target": "one"}, errors.ArgumentError, "'one' has one value only"),
        (
            {"loss": "discernibility", "column_weights": {"age": 2}},
            errors.ArgumentError,
            "column_weights= has no effect with loss='discernibility', which looks at classes",
        ),
        (
            {"loss": own, "column_weights": {"age": 2}},
            errors.ArgumentError,
            "column_weights= has no effect with loss='function'",
        ),
        (
            {"loss": own, **BY_REGION},
            errors.ArgumentError,
            "loss='function' has no effect with method='multidimensional'",
        ),
        (
            {"loss": "private", "sensitive": "ill", **BY_REGION},
            errors.ArgumentError,
            "loss='private' has no effect with method='multidimensional'",
        ),
        ({"loss": lambda *_: 2}, errors.ArgumentError, "must return a number from 0"),
        ({"loss": lambda *_: math.nan}, errors.ArgumentError, "must return a number from 0"),
        ({"loss": lambda *_: "much"}, errors.ArgumentError, "must return a number from 0"),
    ],
)
def test_what_cannot_be_asked(asked, error, text):
    with pytest.raises(error, match=text):
        anonrisk.plan(pd.DataFrame(CELLS), QID, 4, **with_options(**asked))


def test_what_cannot_be_asked_of_utility():
    table = pd.DataFrame(CELLS)
    with pytest.raises(errors.ArgumentError, match="loss='target' is about a column"):
        table.anon.utility(QID, original=table, loss="target")
    with pytest.raises(errors.ArgumentError, match="is not one of"):
        table.anon.utility(QID, original=table, loss="much")
    assert (
        table.anon.plan(QID, 4, options=anonrisk.PlanOptions(loss=own, method="auto")).method
        == "full-domain"
    )


def test_squares_of_sizes():
    below, above = np.array([1, 3]), np.array([4, 2])
    sides = losses.SquaredSizes().sides(None, 0, below, above)
    assert [side.tolist() for side in sides] == [[1, 9], [16, 4]]
    loss = losses.DiscernibilityLoss
    assert [loss.least_added(None, n, 10) for n in (3, 10, 12)] == [0.7, 0, 0]


def test_the_part_of_a_range_that_a_label_covers():
    halves = Domain("number", np.array([0.0, 0.5, 2.0]))
    assert range_loss.interval_loss("0-0.5", halves) == pytest.approx(0.25)
    assert range_loss.interval_loss("7-9", halves) == 0
    assert range_loss.interval_loss("0-1", Domain("number", np.array([1.0]))) == 0
    spread = range_loss._spread(halves, np.array([0, 0, 1]), 2)
    assert spread.tolist() == [0.25, 0]
