"""Predictions from the divergence alone: as near as they say, and refused in doubt."""

from __future__ import annotations

import warnings

import pytest
from distributions import ages, families

from anonrisk import errors, predict
from anonrisk.predict import Distribution


@pytest.mark.slow
def test_divergence_forms_are_as_near_as_they_say():
    worst = {"fine": 0.0, "warned": 0.0}
    seen = dict.fromkeys(("fine", "warned", "refused"), 0)
    for known, random in families(8, 700):
        k = int(known.n_values * random.uniform(0.1, 3)) + 1
        only = Distribution.from_kl(known.n_values, known.kl)
        exact = predict.singletons(known, k).mean
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = predict.singletons(only, k)
            except errors.ApproximationError:
                seen["refused"] += 1
                continue
        kind = "warned" if caught else "fine"
        seen[kind] += 1
        worst[kind] = max(worst[kind], abs(found.mean / exact - 1))
    assert min(seen.values()) > 20
    assert worst["fine"] <= 0.07
    assert worst["warned"] <= 0.13


@pytest.mark.parametrize(
    ("kl", "people_a_value", "answer"),
    [
        (0.05, 2, "fine"),
        (0.05, 2.01, "warned"),
        (0.05, 3, "warned"),
        (0.05, 3.01, "refused"),
        (0.0501, 1, "fine"),
        (0.0501, 1.01, "warned"),
        (0.0501, 2, "warned"),
        (0.0501, 2.01, "refused"),
        (0.1, 2, "warned"),
        (0.1001, 1.5, "warned"),
        (0.1001, 1.51, "refused"),
        (0.1001, 2, "refused"),
        (0.2, 1, "fine"),
        (0.2, 1.5, "warned"),
        (0.2001, 0.5, "warned"),
        (0.2001, 0.51, "refused"),
        (0.3, 0.5, "warned"),
        (0.3001, 0.5, "refused"),
        (0.3001, 0.01, "refused"),
    ],
)
def test_where_divergence_alone_is_trusted_warned_of_and_refused(kl, people_a_value, answer):
    known, k = Distribution.from_kl(1_000, kl), round(1_000 * people_a_value)
    if answer == "refused":
        with pytest.raises(errors.ApproximationError, match="tells too little"):
            predict.singletons(known, k)
    elif answer == "warned":
        with pytest.warns(errors.ApproximationWarning, match="by up to 20%"):
            predict.singletons(known, k)
    else:
        assert predict.singletons(known, k).mean > 0


def test_where_divergence_alone_tells_of_uniqueness_and_classes():
    assert 0 < predict.uniqueness(Distribution.from_kl(80, 0.05), 20) < 1
    for kl in (0.0501, 0.1):
        with pytest.warns(errors.ApproximationWarning, match="up to 10%"):
            predict.uniqueness(Distribution.from_kl(80, kl), 20)
    with pytest.raises(errors.ApproximationError, match="tells too little"):
        predict.uniqueness(Distribution.from_kl(80, 0.1001), 20)
    assert len(predict.classes(Distribution.from_kl(80, 0.1999), 40, upto=5).share) == 5
    with pytest.raises(errors.ApproximationError, match="below 1/5"):
        predict.classes(Distribution.from_kl(80, 0.2), 40, upto=5)


def test_divergence_and_uniqueness():
    known = ages(79)
    only = Distribution.from_kl(known.n_values, known.kl)
    found = predict.uniqueness(only, 20)
    assert found.method == "kl"
    assert float(found) == pytest.approx(float(predict.uniqueness(known, 20)), rel=0.021)
    with pytest.warns(errors.ApproximationWarning, match="up to 10%") as warned:
        predict.uniqueness(Distribution.from_kl(80, 0.07), 20)
    assert [one.filename for one in warned] == [__file__]
    with pytest.raises(errors.ApproximationError, match="give the distribution itself"):
        predict.uniqueness(Distribution.from_kl(80, 0.2), 20)
    assert float(predict.uniqueness(Distribution.from_kl(80, 0.2), 81)) == 0


def test_divergence_variance_and_classes():
    known = ages(79)
    only = Distribution.from_kl(known.n_values, known.kl)
    for k in (30, 80, 150):
        near, exact = predict.singletons(only, k), predict.singletons(known, k)
        assert near.variance == pytest.approx(exact.variance, rel=0.04)
    near, exact = predict.classes(only, 80, upto=3), predict.classes(known, 80, upto=3)
    assert near.share == pytest.approx(exact.share, abs=0.012)
    with pytest.raises(errors.ApproximationError, match="below 1/6"):
        predict.classes(Distribution.from_kl(80, 0.19), 40, upto=6)
    with pytest.raises(errors.ApproximationError, match="no class is small"):
        predict.k_anonymous(only, 80, 3)
    assert "nothing else is known" in repr(predict.singletons(only, 40))


@pytest.mark.parametrize(("kl", "k"), [(0.3, 285), (0.19, 475), (0.09, 950)])
def test_divergence_classes_keep_the_same_limits_as_singletons(kl, k):
    with pytest.raises(errors.ApproximationError, match="tells too little"):
        predict.classes(Distribution.from_kl(95, kl), k, upto=2)
