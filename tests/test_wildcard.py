"""`missing="wildcard"`: a missing cell matches every value, on every engine alike."""

from __future__ import annotations

import json

import numpy as np
import oracle
import pandas as pd
import pytest
from every_call import is_refused
from hypothesis import given
from hypothesis import strategies as st
from people import PEOPLE, size_column
from tables import rows_of, to_rows, without_rows

import anonrisk
from anonrisk import Policy, errors
from anonrisk.engines.numpy.count import matched_sizes
from anonrisk.engines.numpy.table import Codes
from anonrisk.engines.refusals import WILDCARD
from anonrisk.measures.counts import question

NAN = float("nan")
# The example of `freqCalc` in sdcMicro: francdat with cells made missing, and fk as its page shows.
FRANCDAT = {
    "Key1": [1, 1, 1, None, 4, None, 6, 1],
    "Key2": [2, 2, 2, None, 3, 3, 2, 2],
    "Key3": [5, 1, None, 1, 1, 1, 1, 5],
    "Key4": [1, 1, 1, 5, None, 1, 5, 1],
}
FK = [3, 2, 4, 3, 3, 2, 2, 3]

cells = st.one_of(st.none(), st.integers(0, 2))
small_tables = (
    st.integers(1, 4)
    .flatmap(lambda m: st.lists(st.tuples(*[cells] * m), min_size=1, max_size=12))
    .map(lambda rows: {f"q{i}": list(column) for i, column in enumerate(zip(*rows, strict=True))})
)


def check(table, table_cells, qid):
    """Compare the histogram of one quasi-identifier with the oracle."""
    rows = rows_of(table_cells)
    classes, records = oracle.matched_classes(rows, qid)
    counted = table.anon.classes(qid, missing="wildcard")
    assert dict(zip(counted.sizes.tolist(), counted.classes.tolist(), strict=True)) == classes
    assert dict(zip(counted.sizes.tolist(), counted.records.tolist(), strict=True)) == records
    assert (counted.n_records, counted.n_rows, counted.n_dropped) == (len(rows), len(rows), 0)
    assert counted.missing == "wildcard"
    return counted


@pytest.mark.parametrize("qid", [["zip"], ["zip", "age"], ["age", "zip", "who"]])
def test_counts_equal_the_oracle(frame, qid):
    counted = check(frame(PEOPLE), PEOPLE, qid)
    risks = [1 / size for size in oracle.matched_sizes(rows_of(PEOPLE), qid)]
    found = frame(PEOPLE).anon.risk(qid, missing="wildcard").prosecutor
    assert found.highest == max(risks) == 1 / counted.k
    assert found.average == pytest.approx(sum(risks) / len(risks))
    assert found.share_above(0.3) == sum(risk > 0.3 for risk in risks) / len(risks)


def test_sizes_are_those_that_sdcmicro_shows(frame):
    check(frame(FRANCDAT), FRANCDAT, list(FRANCDAT))
    sized = size_column(frame({**FRANCDAT, "row": range(8)}), list(FRANCDAT), missing="wildcard")
    assert sorted(sized) == sorted(FK)
    assert oracle.matched_sizes(rows_of(FRANCDAT), list(FRANCDAT)) == FK


def test_records_keep_their_cells_beside_their_sizes(frame):
    table_cells = {
        "x": [0.0, -0.0, NAN, None, 1.5, 1.5],
        "s": ["a", "a", "a", None, None, "b"],
        "row": [0, 1, 2, 3, 4, 5],
    }
    table = frame(table_cells)
    sized = table.anon.sizes(["x", "s"], missing="wildcard")
    expected = oracle.matched_sizes(rows_of(table_cells), ["x", "s"])
    assert expected == [4, 4, 5, 6, 4, 3]
    if getattr(sized, "ndim", 2) == 1:
        assert sized.tolist() == expected
    else:
        found = {row["row"]: row["class_size"] for row in to_rows(sized)}
        assert found == dict(enumerate(expected))
    left = table.anon.at_risk(["x", "s"], k=4, missing="wildcard")
    assert sorted(row["row"] for row in to_rows(left)) == [5]


@pytest.mark.contract
def test_where_nothing_is_missing_it_changes_nothing(frame):
    table = frame({"zip": ["a", "a", "b"], "age": [1, 1, 2]})
    wild = table.anon.classes(["zip", "age"], missing="wildcard")
    plain = table.anon.classes(["zip", "age"])
    assert wild.to_dict() == {**plain.to_dict(), "missing": "wildcard"}
    assert sorted(size_column(table, ["zip", "age"], missing="wildcard")) == [1, 2, 2]


def test_a_record_without_any_value_matches_all(frame):
    table = frame({"zip": ["a", "b", "c", None], "age": [1, 2, 3, None]})
    assert table.anon.k(["zip", "age"], missing="wildcard") == 2
    assert sorted(size_column(table, ["zip", "age"], missing="wildcard")) == [2, 2, 2, 4]
    assert table.anon.uniqueness(["zip", "age"], missing="wildcard") == 0


def test_groups_are_counted_apart(frame):
    table_cells = {
        "zip": ["a", None, "b", "a", None, "a", "b"],
        "age": [1, 1, None, 1, 2, 1, 2],
        "ward": ["x", "x", "x", "y", "y", None, None],
    }
    rows = rows_of(table_cells)
    found = frame(table_cells).anon.summary(
        [["zip", "age"], ["zip"]], by="ward", sizes=(1, 2), missing="wildcard"
    )
    for qid in (["zip", "age"], ["zip"]):
        for ward in ("x", "y", None):
            inside = [row for row in rows if row["ward"] == ward]
            _, records = oracle.matched_classes(inside, qid)
            line = found.loc[" + ".join(qid)]
            line = line[line.index.isna()].iloc[0] if ward is None else line.loc[ward]
            assert line["records"] == len(inside)
            assert line["min"] == min(records)
            assert line["at_most_2"] == sum(n for size, n in records.items() if size <= 2)


def test_an_empty_table_has_no_sizes(frame):
    table = frame({"zip": ["a", None], "age": [1, 2]})
    empty = without_rows(table)
    with pytest.raises(errors.EmptyTableError):
        empty.anon.k("zip", missing="wildcard")
    with pytest.raises(errors.EmptyTableError):
        empty.anon.summary("zip", by="age", missing="wildcard")
    assert to_rows(empty.anon.at_risk("zip", missing="wildcard")) == []
    assert size_column(empty, "zip", missing="wildcard") == []


@given(small_tables)
def test_any_table_equals_the_oracle(table_cells):
    qid = list(table_cells)
    table = pd.DataFrame(table_cells, dtype=object)
    check(table, table_cells, qid)
    sizes = table.anon.sizes(qid, missing="wildcard").tolist()
    assert sizes == oracle.matched_sizes(rows_of(table_cells), qid)
    plain = table.anon.sizes(qid)
    assert (plain <= sizes).all(), "a missing cell can only hide"
    # A cell more that is missing takes nobody's company away.
    table.iloc[0, 0] = None
    assert (table.anon.sizes(qid, missing="wildcard") >= sizes).all()


@given(small_tables, st.lists(st.integers(1, 5), min_size=12, max_size=12))
def test_keys_with_counts_are_as_many_records(table_cells, counts):
    counts = np.array(counts[: len(table_cells["q0"])])
    columns = []
    for column in table_cells.values():
        codes = np.array([3 if cell is None else cell for cell in column])
        columns.append(Codes(codes, 4, int((codes == 3).sum())))
    rows = [row for row, n in zip(rows_of(table_cells), counts, strict=True) for _ in range(n)]
    sizes = oracle.matched_sizes(rows, list(table_cells))
    firsts = np.cumsum(counts) - counts
    assert matched_sizes(columns, counts).tolist() == [sizes[i] for i in firsts]


def test_codes_too_long_for_one_number_still_match():
    rng = np.random.default_rng(3)
    values = rng.integers(0, 2, (40, 5))
    large = [Codes(np.where(v == 1, 2**20 - 1, 0), 2**20, 1) for v in values.T]
    small = [Codes(v, 2, 1) for v in values.T]
    ones = np.ones(40, dtype=np.int64)
    assert matched_sizes(large, ones).tolist() == matched_sizes(small, ones).tolist()


REFUSED = {
    "entropy": lambda df: df.anon.entropy("zip", missing="wildcard"),
    "degree": lambda df: df.anon.classes("zip", missing="wildcard").degree,
    "anvc": lambda df: df.anon.classes("zip", missing="wildcard").anvc,
    "rr": lambda df: df.anon.classes("zip", missing="wildcard").rr,
    "ldiv": lambda df: df.anon.ldiv("zip", "ill", missing="wildcard"),
    "tcloseness": lambda df: df.anon.tcloseness("zip", "ill", missing="wildcard"),
    "profiles": lambda df: anonrisk.profiles(df, "zip", "ill", missing="wildcard"),
    "at_risk by l": lambda df: df.anon.at_risk("zip", sensitive="ill", l=2, missing="wildcard"),
    "assess of values": lambda df: df.anon.assess("zip", "ill", ["ldiv"], missing="wildcard"),
    "risk of a sample": lambda df: df.anon.risk("zip", sampling_fraction=0.1, missing="wildcard"),
    "risk in a population": lambda df: df.anon.risk("zip", df, missing="wildcard"),
    "kmap": lambda df: df.anon.kmap("zip", df, missing="wildcard"),
    "predict_singletons": lambda df: df.anon.predict_singletons("zip", 2, missing="wildcard"),
    "predict_classes": lambda df: df.anon.predict_classes("zip", 2, missing="wildcard"),
    "predict_population": lambda df: df.anon.predict_population("zip", 99, missing="wildcard"),
    "find_qids": lambda df: df.anon.find_qids(missing="wildcard"),
    "suda": lambda df: df.anon.suda(["zip", "age"], missing="wildcard"),
    "box_plot": lambda df: anonrisk.box_plot(df, "zip", missing="wildcard"),
    "explain_risk": lambda df: df.anon.explain_risk(["zip", "age"], missing="wildcard"),
    "report": lambda df: df.anon.report(["zip", "age"], missing="wildcard"),
}
OF_SIZES = {
    "entropy": lambda sizes: sizes.entropy(),
    "degree": lambda sizes: sizes.degree,
    "anvc": lambda sizes: sizes.anvc,
    "rr": lambda sizes: sizes.rr,
    "kl": lambda sizes: sizes.kl(),
    "risk of a sample": lambda sizes: sizes.risk(sampling_fraction=0.5),
    "singletons": lambda sizes: sizes.predict_singletons(2),
    "classes": lambda sizes: sizes.predict_classes(2),
    "population": lambda sizes: sizes.predict_population(99),
    "distribution": anonrisk.predict.Distribution.from_class_sizes,
    "zipf": anonrisk.predict.fit_zipf,
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_needs_classes_that_do_not_overlap_refuses(call):
    table = pd.DataFrame({**PEOPLE, "ill": list("abababab")}).drop(columns="who")
    with pytest.raises(errors.ArgumentError, match=r"wildcard.*use 'value'"):
        REFUSED[call](table)


@pytest.mark.parametrize("call", OF_SIZES)
def test_so_does_what_follows_from_their_sizes(call):
    sizes = pd.DataFrame(PEOPLE).anon.classes(["zip", "age"], missing="wildcard")
    with pytest.raises(errors.ArgumentError, match=r"wildcard.*use 'value'"):
        OF_SIZES[call](sizes)


@pytest.mark.contract
def test_persons_are_not_matched(frame):
    table = frame(PEOPLE)
    with pytest.raises(errors.ArgumentError, match="one row per person"):
        table.anon.k("zip", unit="who", missing="wildcard")


def test_too_many_patterns_are_refused(frame, monkeypatch):
    monkeypatch.setattr(question, "MAX_PATTERNS", 2)
    with pytest.raises(errors.TooManyPatternsError, match="more than 2 combinations"):
        frame(PEOPLE).anon.k(["zip", "age"], missing="wildcard")
    assert frame(PEOPLE).anon.k("zip", missing="wildcard") == 3


def test_too_many_columns_are_refused():
    table = pd.DataFrame({f"c{i}": [1, None] for i in range(63)})
    with pytest.raises(errors.ArgumentError, match="at most 62 columns"):
        table.anon.k(list(table), missing="wildcard")
    assert table.anon.k(list(table)[:62], missing="wildcard") == 2


def test_it_is_told_wherever_a_class_is():
    sizes = pd.DataFrame(PEOPLE).anon.classes(["zip", "age"], missing="wildcard")
    assert "a missing value matches every other" in repr(sizes)
    assert json.loads(json.dumps(sizes.to_dict()))["missing"] == "wildcard"
    assessed = pd.DataFrame(PEOPLE).anon.assess(
        ["zip", "age"], measures=["k", "uniqueness", "average_risk"], missing="wildcard"
    )
    assert assessed["k"] == sizes.k
    assert assessed.sizes == sizes


POLICY = {
    "version": 1,
    "roles": {"quasi": ["zip", "age"], "sensitive": ["ill"]},
    "unlisted": "ignore",
    "missing": "wildcard",
    "budgets": {"k": 2, "max_unique_fraction": 0.2, "risk": {"prosecutor": {"highest": 0.5}}},
}


def gate_cells():
    return {
        "zip": ["a", "a", "b", "b", None],
        "age": [1, None, 2, 2, 2],
        "ill": ["flu", "flu", "flu", "cold", "cold"],
    }


def test_a_gate_takes_it_for_sizes(frame):
    table = frame(gate_cells())
    verdict = Policy.from_dict(POLICY).check(table)
    if is_refused(frame.kind, "missing='wildcard'"):
        assert verdict.status == "could_not_assess"
        assert WILDCARD in verdict.failures[0].sentence
        return
    assert verdict.passed
    assert not Policy.from_dict({**POLICY, "missing": "value"}).check(table).passed
    assert (
        Policy.from_dict(POLICY).digest != Policy.from_dict({**POLICY, "missing": "value"}).digest
    )


@pytest.mark.contract
@pytest.mark.parametrize(
    "budget",
    [
        {"ldiv": {"l": 2}},
        {"tcloseness": {"t": 0.9, "distance": "equal"}},
        {"predicted_singletons": {"group_size": 2, "at_most": 1}},
        {"population_unique_fraction": {"population_size": 99, "at_most": 0.9}},
    ],
    ids=lambda budget: next(iter(budget)),
)
def test_what_a_gate_cannot_tell_it_does_not_pass(frame, budget):
    verdict = Policy.from_dict({**POLICY, "budgets": budget}).check(frame(gate_cells()))
    assert verdict.status == "could_not_assess"
    assert "wildcard" in str(verdict)


@pytest.mark.contract
def test_a_gate_does_not_match_persons(frame):
    cells_ = {**gate_cells(), "who": [1, 2, 3, 4, 5]}
    policy = Policy.from_dict({**POLICY, "roles": {"quasi": ["zip", "age"], "unit": "who"}})
    assert policy.check(frame(cells_)).status == "could_not_assess"


def test_a_report_says_it():
    policy = Policy.from_dict({**POLICY, "budgets": {"k": 2}})
    table = pd.DataFrame(gate_cells())
    assert (
        "a missing quasi-identifier matches every value"
        in table.anon.report(policy=policy).to_markdown()
    )


def test_the_command_line_takes_it(tmp_path, capsys):
    from anonrisk.cli import main

    path = tmp_path / "t.csv"
    pd.DataFrame(PEOPLE).to_csv(path, index=False)
    asked = ["measure", str(path), "--qids", "zip", "age", "--missing", "wildcard", "--json"]
    assert main(asked) == 0
    sizes = pd.DataFrame(PEOPLE).anon.classes(["zip", "age"], missing="wildcard")
    assert json.loads(capsys.readouterr().out)["sizes"]["k"] == sizes.k
