"""Minimal uniques and what helps against them, against trying every set, on every engine."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from math import factorial

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from singled_out import PEOPLE, QID
from tables import columns_of, to_rows

import anonrisk
from anonrisk import errors


def minimal_uniques(rows, max_size):
    """For each row, the minimal sets of columns with which it is alone."""
    m = len(rows[0])
    found = [[] for _ in rows]
    for size in range(1, min(max_size, m) + 1):
        for columns in combinations(range(m), size):
            keys = [tuple(row[i] for i in columns) for row in rows]
            counts = Counter(keys)
            for mine, key in zip(found, keys, strict=True):
                if counts[key] == 1 and not any(set(s) < set(columns) for s in mine):
                    mine.append(columns)
    return found


def expected_scores(rows, max_size):
    m = len(rows[0])
    return [
        sum(factorial(m - len(columns)) for columns in mine)
        for mine in minimal_uniques(rows, max_size)
    ]


@given(
    st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=1, max_size=25),
    st.integers(1, 5),
    st.floats(0.01, 1),
)
def test_scores_are_those_of_trying_everything(rows, max_size, fraction):
    table = pd.DataFrame(rows, columns=list("abcd"))
    found = anonrisk.suda(table, list("abcd"), max_size, sampling_fraction=fraction)
    expected = minimal_uniques(rows, max_size)
    scores = expected_scores(rows, max_size)
    assert found.scores.tolist() == scores
    assert found.total == sum(scores)
    assert found.n_scored == sum(score > 0 for score in scores)
    assert found.records["minimal_uniques"].tolist() == [len(mine) for mine in expected]
    sizes = Counter(len(columns) for mine in expected for columns in mine)
    assert list(found.n_minimal) == [sizes[s] for s in range(1, min(max_size, 4) + 1)]
    for i, name in enumerate("abcd"):
        parts = [sum(factorial(4 - len(c)) for c in mine if i in c) for mine in expected]
        shares = [part / score if score else 0 for part, score in zip(parts, scores, strict=True)]
        assert found.records[f"suda_{name}"].tolist() == pytest.approx(shares)
        total = sum(parts) / sum(scores) if sum(scores) else 0
        assert found.contributions[name] == pytest.approx(total)
    if found.n_scored and found.dis:
        risks = found.records["dis_suda_score"][found.scores > 0]
        assert (1 / risks).mean() == pytest.approx(1 / found.dis)


def test_ten_records_of_the_household_survey_network(shared):
    table = pd.read_csv(shared / "data" / "tables" / "ihsn.csv")
    found = table.anon.suda(list(table), max_size=4)
    assert found.total == found.scores.sum() == 34
    fewer = table.anon.suda(list(table), max_size=2)
    assert fewer.total <= 34, "the score of a set does not depend on max_size"
    assert set(fewer.scores) <= {0, 2, 4, 6, 8, 10, 12, 14, 16}


def test_every_engine_scores_alike(frame):
    table, plain = frame(PEOPLE), pd.DataFrame(PEOPLE)
    expected = plain.anon.suda(QID, sampling_fraction=0.1, missing="value")
    assert expected.scores.tolist() == expected_scores(plain[QID].values.tolist(), 3)
    found = table.anon.suda(QID, sampling_fraction=0.1)
    assert found.to_dict() == {
        name: pytest.approx(value, rel=1e-12) if isinstance(value, float) else value
        for name, value in expected.to_dict().items()
        if name != "contributions"
    } | {"contributions": [[c, pytest.approx(s)] for c, s in expected.contributions.items()]}
    if frame.is_pandas:
        assert found.records.to_dict("list") == expected.records.to_dict("list")
        assert found.records.index.equals(table.index)
        return
    new = ["suda_score", "minimal_uniques", "dis_suda_score", *(f"suda_{name}" for name in QID)]
    rows = sorted(to_rows(found.records), key=lambda row: row["id"])
    assert list(rows[0]) == [*PEOPLE, *new]
    for row, (_, mine) in zip(rows, expected.records.iterrows(), strict=True):
        assert [row[name] for name in new] == pytest.approx(mine[new].tolist(), rel=1e-12)
    assert columns_of(found.scores) == [*PEOPLE, "suda_score"]


def test_dropped_records_have_no_score():
    plain = pd.DataFrame(PEOPLE)
    found = plain.anon.suda(QID, missing="drop")
    rows = plain[QID].values.tolist()
    kept = [row for row in rows if not pd.isna(row[0])]
    assert found.scores.isna().tolist() == [pd.isna(row[0]) for row in rows]
    assert found.scores.dropna().tolist() == expected_scores(kept, 3)
    assert (found.n_records, found.n_dropped) == (7, 1)


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_dropped_records_and_taken_names_on_spark(spark):
    from tables import spark_table

    table = spark_table(spark, PEOPLE)
    with pytest.raises(errors.ArgumentError, match="already has a column 'suda_score'"):
        table.withColumnRenamed("sex", "SUDA_score").anon.suda(["zip", "age"])
    scored = table.anon.suda(["zip", "age"], missing="drop").scores
    rows = {row["id"]: row["suda_score"] for row in scored.collect()}
    plain = pd.DataFrame(PEOPLE).anon.suda(["zip", "age"], missing="drop").scores
    assert [rows[i] for i in range(8)] == [None if pd.isna(s) else s for s in plain]


def test_a_sum_of_scores_prints_and_serialises():
    found = pd.DataFrame(PEOPLE).anon.suda(QID, sampling_fraction=0.5)
    assert "is correct with probability" in repr(found)
    assert found.to_frame()["contribution"].is_monotonic_decreasing
    assert ">zip</td>" in found._repr_html_()
    assert json.loads(json.dumps(found.to_dict()))["n_records"] == 8
    assert "dis_suda_score" not in pd.DataFrame(PEOPLE).anon.suda(QID).records
    alike = pd.DataFrame({"a": [1, 1]}).anon.suda("a", sampling_fraction=0.5)
    assert (alike.total, alike.dis, alike.records["dis_suda_score"].tolist()) == (0, None, [0, 0])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda t: t.anon.suda(QID, 0), errors.ArgumentError, "max_size"),
        (lambda t: t.anon.suda(QID, sampling_fraction=0), errors.ArgumentError, "sampling_fracti"),
        (lambda t: t.anon.suda(QID, sampling_fraction=1.1), errors.ArgumentError, "at most 1"),
        (lambda t: t.anon.suda("zp"), errors.ColumnNotFoundError, "mean 'zip'"),
        (lambda t: t.anon.suda(QID, missing="error"), errors.MissingValuesError, "'zip' in 1 row"),
        (lambda t: t.head(0).anon.suda(QID), errors.EmptyTableError, "no records"),
        (lambda t: t.assign(l=[[1]] * 8).anon.suda("l"), errors.UnsupportedColumnError, "'l'"),
        (lambda t: t.anon.declare(quasi=QID, unit="id").anon.suda(), errors.ArgumentError, "unit"),
        (lambda t: t.anon.explain_risk("zp"), errors.ColumnNotFoundError, "mean 'zip'"),
        (lambda t: t.head(0).anon.explain_risk(QID), errors.EmptyTableError, "no records"),
        (
            lambda t: pd.DataFrame([range(63)]).anon.suda(list(range(63))),
            errors.ArgumentError,
            "at most 62 columns",
        ),
    ],
)
def test_wrong_calls(call, error, text):
    with pytest.raises(error, match=text):
        call(pd.DataFrame(PEOPLE))


def test_a_finished_search_says_so():
    result = pd.DataFrame({"a": [1, 2, 2], "b": [1, 1, 2]}).anon.suda(["a", "b"])
    assert (result.complete, result.partial) == (True, False)
