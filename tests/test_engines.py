"""The engine contract: the same answer from every engine, whatever holds the table."""

from __future__ import annotations

import datetime as dt
import decimal

import oracle
import pandas as pd
import pytest
from every_call import is_refused
from people import PEOPLE, size_column
from tables import columns_of, rows_of, to_rows, without_rows

import anonrisk
from anonrisk import errors
from anonrisk.engines import engine_for
from anonrisk.measures.counts.question import ByGroup, Question

pytestmark = pytest.mark.contract

NAN = float("nan")
ODD_NAMES = (
    *("a.b", "a b", "a`b", "a`.`b", "naïve", "😀", "a%s", "'", "a/b"),
    *("n", "u", "s", "g", "d", "c0", "q0", "m0", "rows", "asked"),
)


def check(table, cells, qid, **how):
    """Compare every count of one question with the oracle."""
    rows = rows_of(cells)
    counted = table.anon.classes(qid, **how)
    names = [qid] if isinstance(qid, str) else qid
    classes, records = oracle.class_sizes(rows, names, **how)
    assert dict(zip(counted.sizes.tolist(), counted.classes.tolist(), strict=True)) == classes
    assert {
        s: r for s, r in zip(counted.sizes.tolist(), counted.records.tolist(), strict=True) if r
    } == records
    kept = oracle.kept(rows, names, how.get("missing", "value"))
    assert (counted.n_rows, counted.n_dropped) == (len(kept), len(rows) - len(kept))
    assert counted.missing == how.get("missing", "value")
    assert counted.uniqueness == oracle.uniqueness(rows, names, **how)
    return counted


@pytest.mark.parametrize("missing", ["value", "drop"])
@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("qid", ["zip", ["zip", "age"], ["age"]])
def test_counts_equal_the_oracle(frame, qid, unit, missing):
    check(frame(PEOPLE), PEOPLE, qid, unit=unit, missing=missing)


@pytest.mark.parametrize("unit", [None, "who"])
def test_missing_error_names_columns_and_counts(frame, unit):
    with pytest.raises(
        errors.MissingValuesError, match="'zip' in 2 rows, 'age' in 1 row"
    ) as raised:
        frame(PEOPLE).anon.k(["zip", "age"], unit=unit, missing="error")
    assert "1013" not in str(raised.value)


def test_missing_error_passes_where_nothing_is_missing(frame):
    assert frame(PEOPLE).anon.k("who", missing="error") == 1


def test_missing_unit_says_how_many(frame):
    with pytest.raises(errors.MissingUnitError, match=r"unit 'zip' is missing in 2 rows"):
        frame(PEOPLE).anon.k("age", unit="zip")


def test_missing_unit_is_refused_even_if_its_record_is_dropped(frame):
    cells = {"zip": ["a", "b", None], "who": ["x", "y", None]}
    with pytest.raises(errors.MissingUnitError, match="1 row"):
        frame(cells).anon.k("zip", unit="who", missing="drop")


def test_a_person_counts_by_their_smallest_class(frame):
    cells = {"q": ["a", "a", "a", "b"], "who": [1, 2, 3, 1]}
    counted = check(frame(cells), cells, "q", unit="who")
    assert (counted.n_records, counted.n_rows, counted.singletons) == (3, 4, 1)
    assert counted.uniqueness == pytest.approx(1 / 3)


def test_nan_and_null_are_one_missing(frame):
    cells = {"x": [NAN, None, 1.5, 1.5]}
    check(frame(cells), cells, "x")


def test_minus_zero_is_zero(frame):
    cells = {"x": [0.0, -0.0, 1.0, 1.0]}
    assert frame(cells).anon.k("x") == 2


def test_minus_zero_and_nan_in_a_second_column(frame):
    cells = {"q": ["a", "a", "a", "a"], "x": [0.0, -0.0, NAN, None]}
    assert frame(cells).anon.k(["q", "x"]) == 2
    assert sorted(size_column(frame(cells), ["q", "x"])) == [2, 2, 2, 2]


COUNTING = {
    "find_qids": lambda t: anonrisk.find_qids(t, ["x", "y"], alpha=0.1, progress=False).to_dict(),
    "explain_risk": lambda t: anonrisk.explain_risk(t, ["x", "y"]).to_dict(),
    "suda": lambda t: anonrisk.suda(t, ["x", "y"], progress=False).n_unique,
    "kmap": lambda t: anonrisk.kmap(t, "x", population=t),
    "ldiv": lambda t: anonrisk.ldiv(t, "y", "x"),
    "tcloseness": lambda t: float(anonrisk.tcloseness(t, "y", "x")),
    "profiles": lambda t: anonrisk.profiles(t, "y", "x").ldiv(),
}


def test_minus_zero_is_zero_wherever_cells_are_counted(frame):
    rest = {"y": ["a", "a", "b", "b"]}
    written, alike = {"x": [0.0, -0.0, 1.5, 1.5], **rest}, {"x": [0.0, 0.0, 1.5, 1.5], **rest}
    table, plain = frame(written), pd.DataFrame(alike)
    for word, ask in COUNTING.items():
        if not is_refused(frame.kind, word):
            assert ask(table) == ask(plain), word


# pandas 2 warns of infinities when it looks for a nullable type.
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_infinities_are_values(frame):
    cells = {"x": [float("inf"), float("inf"), float("-inf"), NAN]}
    check(frame(cells), cells, "x")


def test_strings_are_compared_exactly(frame):
    cells = {"x": ["a", "A", "a ", "\u00e9", "e\u0301", "", " "]}
    assert frame(cells).anon.classes("x").n_classes == 7


def test_large_integers_stay_apart(frame):
    cells = {"x": [2**53, 2**53 + 1, -(2**62), 2**62]}
    assert frame(cells).anon.classes("x").n_classes == 4


@pytest.mark.parametrize(
    "values",
    [
        [dt.date(2020, 1, 1), dt.date(2020, 1, 1), dt.date(1850, 5, 5), None],
        [dt.datetime(2020, 1, 1, 12), dt.datetime(2020, 1, 1, 12, 0, 0, 1), None, None],
        [decimal.Decimal("1.0"), decimal.Decimal("1.00"), decimal.Decimal("2.5"), None],
        [True, False, None, True],
        [b"a", b"a", b"b", None],
    ],
    ids=["date", "timestamp", "decimal", "bool", "bytes"],
)
def test_every_scalar_type(frame, values):
    cells = {"x": values, "y": ["a", "a", "a", "a"]}
    check(frame(cells), cells, ["x", "y"])


def test_odd_names(frame):
    # pandas-on-Spark itself cannot hold a name with a back-tick.
    odd = tuple(n for n in ODD_NAMES if "`" not in n or frame.kind != "pandas_on_spark")
    cells = {name: ["a", "a", "b"] for name in odd} | {"other": [1, 2, 3]}
    table = frame(cells)
    found = table.anon.summary([[name] for name in odd], unit="other", missing="drop")
    assert found["sets"].tolist() == [2] * len(odd)
    assert len(to_rows(table.anon.at_risk(list(odd), k=2))) == 1
    assert sorted(size_column(table, list(odd), unit="other")) == [1, 2, 2]
    if not is_refused(frame.kind, "declare"):
        declared = table.anon.declare(quasi=list(odd), unit="other")
        assert declared.anon.roles().quasi == odd
        assert declared.anon.k() == 1


def test_names_match_exactly(frame):
    with pytest.raises(
        errors.ColumnNotFoundError, match="'ZIP' is not a column; did you mean 'zip'"
    ):
        frame(PEOPLE).anon.k("ZIP")


def test_all_missing_column(frame):
    cells = {"x": [None, None], "y": ["a", "b"]}
    assert frame(cells).anon.k("x") == 2
    assert frame(cells).anon.k(["x", "y"]) == 1
    with pytest.raises(errors.EmptyTableError, match="2 rows dropped"):
        frame(cells).anon.k("x", missing="drop")


def test_empty_table_is_an_error_when_measured(frame):
    table = frame({"x": ["a"], "y": ["b"]})
    empty = without_rows(table)
    for unit in (None, "y"):
        with pytest.raises(errors.EmptyTableError):
            empty.anon.k("x", unit=unit)
    with pytest.raises(errors.EmptyTableError):
        empty.anon.summary([["x"], ["y"]])
    with pytest.raises(errors.EmptyTableError):
        empty.anon.summary("x", by="y")
    assert to_rows(empty.anon.at_risk("x")) == []
    assert list(size_column(empty, "x")) == []


def test_order_of_rows_and_partitioning_change_nothing(frame):
    turned = {name: column[::-1] for name, column in PEOPLE.items()}
    tables = [frame(turned), *(frame(PEOPLE, n) for n in (1, 2, 7))]
    assert len({table.anon.classes(["zip", "age"], unit="who") for table in tables}) == 1


def test_the_table_is_not_changed(frame):
    table = frame(PEOPLE)
    before = sorted(map(repr, to_rows(table)))
    columns = columns_of(table)
    table.anon.k(["zip", "age"], unit="who", missing="drop")
    table.anon.summary([["zip"], ["age"]], by="who")
    table.anon.sizes("zip")
    table.anon.at_risk("zip")
    if not is_refused(frame.kind, "declare"):
        table.anon.declare(quasi="zip")
    assert sorted(map(repr, to_rows(table))) == before
    assert columns_of(table) == columns
    assert not table.anon.roles()


def test_an_engine_has_twelve_verbs_at_most():
    from anonrisk.engines.base import Engine
    from anonrisk.engines.pandas import PandasEngine
    from anonrisk.engines.pandas_on_spark import PandasOnSparkEngine
    from anonrisk.engines.spark import SparkEngine

    verbs = {name for name, verb in vars(Engine).items() if callable(verb) and name[0] != "_"}
    assert len(verbs) <= 12
    for kind in (PandasEngine, SparkEngine, PandasOnSparkEngine):
        assert {
            name for name in vars(kind) if callable(getattr(kind, name)) and name[0] != "_"
        } == verbs


def test_what_no_verb_knows_is_refused():
    from anonrisk.engines import engine_for
    from anonrisk.measures.counts.question import Asks

    table = pd.DataFrame(PEOPLE)
    for verb in ("count", "tally", "match", "annotate"):
        with pytest.raises(errors.EngineError):
            getattr(engine_for(table), verb)(table, Asks())


@pytest.mark.contract
def test_groups_of_bytes(frame):
    """On Spark they are no key of a dict as they come."""
    table = frame({"zip": ["a", "a", "b"], "of": [b"x", b"x", b"y"]})
    groups = engine_for(table).count(table, ByGroup(Question((("zip",),)), "of"))[0]
    assert [(bytes(group.label), group.sizes.k) for group in groups] == [(b"x", 2), (b"y", 1)]


@pytest.mark.contract
def test_many_columns_in_several_sets(frame):
    """PostgreSQL tells apart the sets of 31 columns at most in one grouping."""
    cells = {f"c{i}": ["a", "a", "b"] if i % 2 else [1, 1, 2] for i in range(33)}
    table = frame(cells)
    sets = (("c0",), tuple(cells)[:17], tuple(cells)[17:])
    found = engine_for(table).count(table, Question(sets))
    assert [(sizes.k, sizes.n_records) for sizes in found] == [(1, 3)] * 3
