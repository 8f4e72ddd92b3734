"""Tables that speak the Arrow stream: what comes over, what comes back, and what is refused."""

from __future__ import annotations

import datetime as dt
import decimal
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import to_rows

import anonrisk
from anonrisk import Policy, errors
from anonrisk.engines import engine_for
from anonrisk.engines.pandas import encode
from anonrisk.engines.pandas.encode import encode_column
from anonrisk.engines.pandas.table import PandasTable
from anonrisk.recode import Bins

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
nw = pytest.importorskip("narwhals")
cells = pytest.importorskip("anonrisk.engines.arrow.cells")

CELLS = {"zip": list("aaab"), "age": [1, 1, 2, None], "ill": list("xyxy")}
KINDS = {
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "narwhals": lambda cells: nw.from_native(pl.DataFrame(cells)),
    "narwhals_lazy": lambda cells: nw.from_native(pl.LazyFrame(cells)),
    "held": lambda cells: anonrisk.table(pl.DataFrame(cells)),
    "pyarrow": pa.table,
    "duckdb": lambda cells: duckdb.from_arrow(pa.table(cells)),
}


@pytest.fixture(params=KINDS)
def build(request):
    return KINDS[request.param]


def rows(table):
    return to_rows(table)


def test_a_policy_judges_every_kind(build):
    policy = Policy(
        quasi="zip",
        direct="name",
        sensitive="ill",
        unlisted="ignore",
        max_unique_records=99,
        ldiv={"l": 1},
    )
    assert policy.check(build(CELLS)).passed
    assert policy.check(build({**CELLS, "name": list("abcd")})).status == "fail"
    assert policy.check(build({**CELLS, "Name": list("abcd")})).status == "could_not_assess"
    nested = policy.check(build({**CELLS, "who": [{"name": "a"}] * 4}))
    assert nested.status == "could_not_assess"


def test_a_name_is_found_inside_unions_and_extension_types():
    class Person(pa.ExtensionType):
        def __init__(self):
            super().__init__(pa.struct([("name", pa.string())]), "test.person")

        def __arrow_ext_serialize__(self):
            return b""

    people = pa.ExtensionArray.from_storage(Person(), pa.array([{"name": "a"}, {"name": "b"}]))
    inside = pa.StructArray.from_arrays([people], names=["who"])
    policy = Policy(quasi="q", direct="name", max_unique_records=9, unlisted="ignore")
    for table in (
        pa.table({"q": [1, 1], "x": people}),
        pa.table({"q": [1, 1], "x": inside}),
        duckdb.sql("SELECT 1 AS q, union_value(name := 'a') AS x"),
        duckdb.sql("SELECT 1 AS q, [union_value(name := 'a')] AS x"),
    ):
        assert policy.check(table).status == "could_not_assess"


def test_tables_come_back_in_their_kind(build):
    table = build({**CELLS, "more": [[1], [2], None, [4]]})
    sized = anonrisk.sizes(table, "zip")
    assert [row["class_size"] for row in rows(sized)] == [3, 3, 3, 1]
    few = anonrisk.suppress(table, "zip", k=2)
    assert [row["more"] for row in rows(few)] == [[1], [2], None]
    assert rows(anonrisk.at_risk(table, "zip", k=2)) == rows(table)[3:]
    coarse = anonrisk.generalize(table, {"age": Bins([0, 2, 4])})
    assert [row["age"] for row in rows(coarse)] == ["[0, 2)", "[0, 2)", "[2, 4)", None]
    assert list(rows(coarse)[0]) == ["zip", "age", "ill", "more"]
    assert {type(one) for one in (sized, few, coarse)} == {type(table)}
    with pytest.raises(errors.ArgumentError, match="already has a column 'zip'"):
        anonrisk.sizes(table, "zip", name="zip")


def test_a_pyarrow_table_carries_roles_and_marks():
    table = anonrisk.declare(pa.table(CELLS), quasi=["zip", "age"], sensitive="ill")
    assert anonrisk.k(table) == 1
    assert anonrisk.roles(table).sensitive == ("ill",)
    # In the place where pandas keeps them.
    noisy = anonrisk.perturb(table, "age", scale=1.0, seed=1)
    assert anonrisk.was_perturbed(noisy) == {"age": "perturb"}
    assert anonrisk.roles(noisy) == anonrisk.roles(table)
    # Columns that were there before are not what a dropped one is called now.
    assert anonrisk.was_perturbed(noisy.drop_columns(["age"])) == {}
    renamed = noisy.append_column("years", noisy["age"]).drop_columns(["age"])
    assert list(anonrisk.was_perturbed(renamed)) == ["years"]


def test_a_table_of_pandas_goes_back_to_pandas():
    plain = pd.DataFrame({"age": [1, 3, None], "n": [1, None, 3]}, dtype="Int64", index=list("abc"))
    table = anonrisk.generalize(pa.Table.from_pandas(plain), {"age": Bins([0, 2, 4])})
    back = table.to_pandas()
    assert back["age"].tolist()[:2] == ["[0, 2)", "[2, 4)"]
    assert back[["n"]].equals(plain[["n"]])


def test_a_parquet_file_of_pandas_keeps_its_roles(tmp_path):
    from pyarrow import parquet

    pd.DataFrame(CELLS).anon.declare(quasi="zip").to_parquet(tmp_path / "t.parquet")
    assert anonrisk.roles(parquet.read_table(tmp_path / "t.parquet")).quasi == ("zip",)


@pytest.mark.parametrize("kind", ["polars", "lazy", "narwhals", "narwhals_lazy", "duckdb"])
def test_roles_and_marks_that_cannot_be_kept_are_refused(kind):
    table = KINDS[kind](CELLS)
    for change in (
        lambda: anonrisk.declare(table, quasi="zip"),
        lambda: anonrisk.perturb(table, "age", scale=1.0, seed=1),
        lambda: anonrisk.permute(table, "ill", seed=1),
    ):
        with pytest.raises(errors.UnsupportedFrameError, match="cannot carry roles"):
            change()


@pytest.mark.parametrize("kind", ["lazy", "narwhals_lazy", "duckdb"])
def test_rows_without_an_order_get_no_numbers(kind):
    with pytest.raises(errors.UnsupportedFrameError, match="suda gives a number to each row"):
        anonrisk.suda(KINDS[kind](CELLS), ["zip", "age"])


@pytest.mark.parametrize(
    ("table", "hint"),
    [
        (pl.Series("x", [1]), r"to_frame\(\)"),
        (pa.RecordBatchReader.from_stream(pa.table(CELLS)), r"pyarrow.table\(\)"),
        (pa.chunked_array([[1]]), r"pyarrow.table\(\)"),
        (pd.Series([1]), r"to_frame\(\)"),
    ],
)
def test_what_is_no_table_or_gone_after_one_look_is_refused(table, hint):
    with pytest.raises(errors.UnsupportedFrameError, match=hint):
        anonrisk.k(table, "zip")


class Stream:
    """Speaks the Arrow stream, and is perhaps gone after one look."""

    columns = ("zip",)

    def __init__(self, table, *, once):
        self.table, self.once = table, once

    def __len__(self):
        return 4

    def __arrow_c_stream__(self, requested_schema=None):
        table = self.table
        if self.once:
            self.table = table.slice(0, 0)
        return table.__arrow_c_stream__(requested_schema)


def test_any_table_is_read_whole_or_not_at_all():
    assert anonrisk.classes(Stream(pa.table(CELLS), once=False), "zip").n_classes == 2
    with pytest.raises(errors.UnsupportedFrameError, match="Stream cannot be read"):
        anonrisk.classes(Stream(pa.table(CELLS), once=True), "zip")
    assert anonrisk.k(pa.table(CELLS).to_batches()[0], "zip") == 1


def test_repeated_names_are_refused():
    twice = pa.table([pa.array([1]), pa.array([2]), pa.array(["a"])], names=["x", "x", "y"])
    assert anonrisk.k(twice, "y") == 1
    with pytest.raises(errors.DuplicateColumnError, match="'x'"):
        anonrisk.k(twice, "x")
    assert anonrisk.at_risk(twice, "y", k=2).schema.names == ["x", "x", "y"]


def test_cells_are_equal_by_the_same_rules(build):
    # As numbers: where Spark is used, pyarrow may be told to ignore the zones of Python's times.
    instants = pa.array([1_600_000_000, 1_600_000_000, None], pa.timestamp("s", tz="Asia/Tokyo"))
    for cells, expected in (
        ([0.0, -0.0, float("nan"), None], 2),
        (["a", "A", "a ", "\u00e9", "e\u0301", "", None], 7),
        (instants, 2),
        ([decimal.Decimal("1.0"), decimal.Decimal("1.00"), decimal.Decimal("1.01")], 2),
        ([b"a", b"A", None, None], 3),
        ([None, None], 1),
        ([2**63 - 1, 2**63 - 2, -(2**63)], 3),
    ):
        table = build({"x": pa.array(cells)})
        assert anonrisk.classes(table, "x").n_classes == expected, cells


WHOLE = {
    pa.int8(): (-128, 127, 0),
    pa.uint8(): (0, 255, 1),
    pa.int64(): (-(2**63), 2**63 - 1, -1),
    pa.uint64(): (0, 2**64 - 1, 2**63),
    pa.int32(): (-5, 2_000_000_000, 7),
    pa.date32(): (-700_000, 20_000, 0),
}


@pytest.mark.parametrize("kind", WHOLE, ids=str)
@given(st.lists(st.lists(st.sampled_from([0, 1, 2, None]), max_size=6), min_size=1, max_size=3))
def test_numbers_and_days_are_their_own_codes_whatever_is_missing(kind, chunks):
    values = [[None if i is None else WHOLE[kind][i] for i in chunk] for chunk in chunks]
    column = pa.chunked_array([pa.array(chunk, kind) for chunk in values], kind)
    cells = [cell for chunk in values for cell in chunk]
    for table in (pa.table({"x": column}), pl.DataFrame({"x": column})):
        if not cells:
            with pytest.raises(errors.EmptyTableError):
                anonrisk.k(table, "x")
            continue
        expected = sorted(Counter(cells).values())
        found = anonrisk.classes(table, "x")
        assert found.k == expected[0]
        assert (found.n_classes, found.n_records) == (len(expected), len(cells))
        known = Counter(cell for cell in cells if cell is not None)
        if known:
            assert anonrisk.k(table, "x", missing="drop") == min(known.values())


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_dictionaries_and_every_kind_of_text(kind):
    text = pa.chunked_array([pa.array(["a", "b", None], kind), pa.array(["b", "c"], kind)])
    assert anonrisk.classes(pa.table({"x": text}), "x").n_classes == 4
    # A dictionary may hold a value twice, or a null, and differ from chunk to chunk.
    values = pa.array(["a", "a", None, "b"]).cast(kind)
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None, 3], pa.uint8()), values)
    other = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.uint8()), values[2:])
    for column, expected in ((coded, 3), (pa.chunked_array([coded, other]), 3)):
        assert anonrisk.classes(pa.table({"x": column}), "x").n_classes == expected


def test_a_suppressed_category_is_gone_from_the_dictionary():
    table = pa.table({"x": pa.array(["a", "a", "b"]).dictionary_encode()})
    left = anonrisk.suppress(table, "x", k=2)
    assert left["x"].to_pylist() == ["a", "a"]
    assert left["x"].combine_chunks().dictionary.to_pylist() == ["a"]


def test_nan_is_missing_wherever_it_stands():
    cells = [1.0, 2.0, float("nan"), None, 5.0, 6.0, 0.0, -0.0]
    found = pa.table({"x": pa.array(cells, pa.float64()), "y": list("aabbccdd")})
    plain = pd.DataFrame({"x": np.array(cells, dtype=float), "y": list("aabbccdd")})
    backed = found.to_pandas(types_mapper=pd.ArrowDtype)
    expected = plain.anon.microaggregate("x", k=2)["x"].tolist()
    for table in (pl.DataFrame(found), found, duckdb.from_arrow(found), backed):
        means = pa.table(anonrisk.microaggregate(table, "x", k=2))["x"].to_pylist()
        np.testing.assert_equal(np.array(means, dtype=float), np.array(expected))
        explained = anonrisk.explain_risk(table, ["x", "y"])
        assert str(explained) == str(plain.anon.explain_risk(["x", "y"]))


def test_records_that_are_kept_are_as_they_were():
    cells = {
        "big": pl.Series([2**100, 2**100, 1], dtype=pl.Int128),
        "level": pl.Series(["a", "a", "b"], dtype=pl.Enum(["a", "b", "c"])),
    }
    for name, column in cells.items():
        table = pl.DataFrame({name: column})
        assert anonrisk.at_risk(table, name, k=3).equals(table)
    assert anonrisk.suppress(pl.DataFrame(cells), "big", k=2).schema["big"] == pl.Int128
    coded = pa.table({"x": pa.array(["a", "a", "b"]).dictionary_encode()})
    assert anonrisk.at_risk(coded, "x", k=3).equals(coded)
    # A dictionary that pandas does not see would still tell the suppressed value.
    numbers = pa.table({"x": pa.array([1, 1, 2]).dictionary_encode()})
    assert anonrisk.suppress(numbers, "x", k=2).equals(pa.table({"x": [1, 1]}))


def test_records_of_types_that_arrow_cannot_pick_from_are_kept_and_others_are_gone():
    long = [20 * "a", 20 * "a", "SECRET" + 20 * "b"]
    cells = {
        "zip": long,
        "notes": [[text] for text in long],
        "who": [{"name": text} for text in long],
        "pair": pl.Series([[text] for text in long], dtype=pl.Array(pl.String, 1)),
    }
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(long[1:]))
    # Polars hands text over as views.
    table = pa.table(pl.DataFrame(cells)).append_column("runs", runs)
    kept = anonrisk.suppress(table, "zip", k=2)
    assert kept.schema == table.schema
    assert kept.to_pylist() == table.slice(0, 2).to_pylist()
    file = pa.BufferOutputStream()
    with pa.ipc.new_file(file, kept.schema) as writer:
        writer.write_table(kept)
    assert b"SECRET" not in file.getvalue().to_pybytes()
    assert anonrisk.at_risk(table, "zip", k=2).to_pylist() == table.slice(2).to_pylist()
    assert len(anonrisk.at_risk(table, "zip", k=1)) == 0


def test_the_order_of_an_enum_is_the_order_of_its_values():
    levels = pl.Enum(["low", "middle", "high"])
    cells = {"q": list("aabb"), "s": ["low", "middle", "high", "high"]}
    table = pl.DataFrame(cells, schema_overrides={"s": levels})
    plain = pd.DataFrame(cells)
    plain["s"] = pd.Categorical(plain["s"], ["low", "middle", "high"], ordered=True)
    found = anonrisk.tcloseness(table, "q", "s", distance="ordered")
    assert float(found) == float(anonrisk.tcloseness(plain, "q", "s", distance="ordered"))


def test_what_arrow_cannot_carry_from_polars_comes_as_python_objects():
    big = pl.Series("x", [2**100, 2**100, 1], dtype=pl.Int128)
    odd = pl.Series("o", [{"name": 1}, {}, {}], dtype=pl.Object)
    table = pl.DataFrame([big, odd])
    assert anonrisk.k(table, "x") == 1
    assert anonrisk.classes(table, "x").n_classes == 2
    with pytest.raises(errors.UnsupportedColumnError, match="'o'"):
        anonrisk.k(table, "o")
    policy = Policy(quasi="x", direct="name", max_unique_records=9, unlisted="ignore")
    assert not policy.check(table).passed


@pytest.mark.parametrize(
    "value", ["TIMETZ '12:00:00+01'", "1::UHUGEINT", "INTERVAL 1 MONTH", "[1]", "{'a': 1}"]
)
def test_types_of_duckdb_that_lose_something_are_refused_by_name(value):
    table = duckdb.sql(f"SELECT 'a' AS q, {value} AS x")
    assert anonrisk.k(table, "q") == 1
    with pytest.raises(errors.UnsupportedColumnError, match="'x'"):
        anonrisk.k(table, "x")
    assert "x" in anonrisk.find_qids(table).unsupported


def test_a_population_comes_over_too(build):
    population = build({"zip": list("aaaabbb")})
    assert anonrisk.kmap(build(CELLS), "zip", population=population) == 3
    with pytest.raises(errors.UnsupportedFrameError, match="same library"):
        anonrisk.kmap(build(CELLS), "zip", population=pd.DataFrame(CELLS))


def test_names_that_look_like_patterns_are_names():
    table = pl.DataFrame({"^a.*$": [1, 1], "ab": [1, 2], "*": [1, 2]})
    assert [anonrisk.k(table, name) for name in table.columns] == [2, 1, 1]
    quoted = duckdb.from_arrow(pa.table({'a"b': [1, 1], "a b": [1, 2]}))
    assert [anonrisk.k(quoted, name) for name in quoted.columns] == [2, 1]
    cases = duckdb.sql('SELECT 1 AS a, i AS "A" FROM range(2) AS r(i)')
    assert [anonrisk.k(cases, name) for name in cases.columns] == [2, 1]
    assert Policy(quasi="a", insensitive="A", k=2).check(cases).passed


@pytest.mark.parametrize("cell", [{"a\0": 1}, [{"b": {"a\0": 1}}]])
def test_a_field_that_would_end_the_process_is_refused(cell):
    table = pl.DataFrame({"q": [1, 1], "x": [cell, cell]})
    assert anonrisk.k(table, "q") == 2
    assert Policy(quasi="q", insensitive="x", k=2).check(table).status == "could_not_assess"


def test_only_named_columns_are_read(monkeypatch):
    from anonrisk.engines.arrow.kinds import DuckDBTable

    read = []
    whole = DuckDBTable._read

    def spy(self, relation, names):
        read.append(list(names))
        return whole(self, relation, names)

    monkeypatch.setattr(DuckDBTable, "_read", spy)
    anonrisk.ldiv(KINDS["duckdb"](CELLS), "zip", "ill")
    assert {name for names in read for name in names} == {"zip", "ill"}


def test_a_lazy_query_makes_only_the_columns_asked_for():
    def refuse(_):
        raise AssertionError("nobody asked for this column")

    table = pl.LazyFrame(CELLS).with_columns(pl.col("age").map_batches(refuse, pl.Int64))
    assert anonrisk.k(table, "zip") == 1
    assert anonrisk.ldiv(table, "zip", "ill") == 1
    # A gate looks at what every column holds.
    policy = anonrisk.Policy(quasi="zip", insensitive=["age", "ill"], max_unique_records=9)
    assert policy.check(table).status == "could_not_assess"
    assert policy.check(pl.LazyFrame(CELLS)).passed
    with pytest.raises(errors.EngineError):
        anonrisk.k(table, "age")


def test_errors_quote_no_cell():
    class Broken(Stream):
        def __arrow_c_stream__(self, requested_schema=None):
            raise ValueError("secret")

    with pytest.raises(errors.UnsupportedFrameError) as caught:
        anonrisk.k(Broken(None, once=False), "zip")
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("query", "library"),
    [
        (lambda: pl.LazyFrame({"zip": ["secret"]}).cast(pl.Int64), "polars"),
        (
            lambda: duckdb.sql("SELECT CAST(x AS INT) AS zip FROM (VALUES ('secret')) t(x)"),
            "duckdb",
        ),
    ],
)
def test_a_query_that_fails_names_its_library_and_quotes_no_cell(query, library):
    with pytest.raises(errors.EngineError, match=f"of _?{library}.*of a query, run it") as caught:
        anonrisk.k(query(), "zip")
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None


def test_every_verb_is_one_of_the_pandas_engine():
    from anonrisk.engines import arrow
    from anonrisk.engines.pandas import PandasEngine

    assert all(hasattr(PandasEngine, verb) for verb in arrow.GIVE_TABLES)
    assert engine_for(pa.table(CELLS)).name == "arrow"
    with pytest.raises(AttributeError):
        engine_for(pa.table(CELLS)).no_such_verb  # noqa: B018


def test_large_tables_agree_with_pandas():
    rng = np.random.default_rng(1)
    plain = pd.DataFrame(
        {
            "a": rng.integers(0, 50, 5_000),
            "b": rng.integers(0, 9, 5_000).astype(str),
            "c": np.where(rng.random(5_000) < 0.1, np.nan, rng.integers(0, 5, 5_000)),
        }
    )
    expected = plain.anon.classes(["a", "b", "c"])
    table = pa.Table.from_pandas(plain)
    for one in (table, pl.DataFrame(table), duckdb.from_arrow(table)):
        assert anonrisk.classes(one, ["a", "b", "c"]) == expected


def test_counting_makes_no_frame_of_pandas(build, monkeypatch):
    table = build(CELLS)
    expected = Counter(zip(CELLS["zip"], CELLS["age"], strict=True))

    def refuse(*_args, **_kwargs):
        raise AssertionError("a frame of pandas")

    monkeypatch.setattr(pd.DataFrame, "__init__", refuse)
    assert anonrisk.k(table, ["zip", "age"]) == min(expected.values())
    assert anonrisk.classes(table, ["zip", "age"]).n_classes == len(expected)
    asked = anonrisk.assess(table, "zip", "ill", ["k", "ldiv", "tcloseness"])
    assert (asked["k"], asked["ldiv"]) == (1, 1)


@pytest.mark.parametrize(
    ("kind", "times"),
    [("pandas", 1), ("polars", 1), ("held", 1), ("narwhals", 1), ("pyarrow", 1), ("lazy", 2)],
)
def test_a_column_is_coded_once_unless_it_is_a_query(kind, times, monkeypatch):
    """A query may give its rows in another order the next time, and codes go by rows."""
    coded = Counter()

    def counted(column, name, role):
        coded[name] += 1
        return encode_column(column, name, role)

    monkeypatch.setattr(cells, "encode_column", counted)
    monkeypatch.setattr(encode, "encode_column", counted)
    policy = Policy(quasi="zip", sensitive=["ill", "age"], k=2, ldiv=2, missing_sensitive="value")
    table = {**KINDS, "pandas": pd.DataFrame}[kind](CELLS)
    for ask in (policy.check, lambda table: anonrisk.assess(table, "zip", ["ill", "age"])):
        coded.clear()
        ask(table)
        assert coded["zip"] == times


COLUMNS = {
    "float": (pa.float64(), [0.0, -0.0, float("nan"), None, 1.5, float("inf")]),
    "float32": (pa.float32(), [0.0, -0.0, float("nan"), None, 0.5]),
    "int64": (pa.int64(), [-(2**63), 2**63 - 1, 2**53, 2**53 + 1, None, 0]),
    "uint64": (pa.uint64(), [0, 2**64 - 1, 2**64 - 2, None]),
    "int8": (pa.int8(), [-128, 127, 0, None]),
    "text": (pa.large_string(), ["", "a", "a ", "A", "ä", "a\u0308", None, "\0", "x" * 20]),
    "bytes": (pa.large_binary(), [b"", b"a", b"\0", None]),
    "boolean": (pa.bool_(), [True, False, None]),
    "date": (pa.date32(), [dt.date(1900, 1, 1), dt.date(2026, 1, 1), None]),
    "decimal": (pa.decimal128(20, 2), [decimal.Decimal("1.10"), decimal.Decimal("-0.00"), None]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["a", "b", None]),
    "null": (pa.null(), [None]),
}
if cells.views_are_coded():
    COLUMNS["views"] = pa.string_view(), COLUMNS["text"][1]


@pytest.mark.parametrize("kind", COLUMNS)
@given(data=st.data())
def test_codes_are_equal_where_cells_are(kind, data):
    made, values = COLUMNS[kind]
    drawn = data.draw(st.lists(st.lists(st.sampled_from(values), max_size=6), min_size=1))
    column = pa.chunked_array([pa.array(part, made) for part in drawn], made)
    flat = [None if x != x else x for part in drawn for x in part]
    (codes,) = cells.CodedColumns({"x": column}).codes({"x": "column"}).values()
    # -0.0 is 0.0 to Python as well.
    pairs = set(zip(codes.values.tolist(), flat, strict=True))
    assert len(pairs) == len({code for code, _ in pairs}) == len({cell for _, cell in pairs})
    assert codes.n_missing == flat.count(None)
    assert codes.missing.tolist() == [cell is None for cell in flat]
    # And the same as by way of a frame.
    (again,) = PandasTable(cells.to_pandas({"x": column})).codes({"x": "column"}).values()
    both = set(zip(codes.values.tolist(), again.values.tolist(), strict=True))
    assert len(both) == len(pairs)
    assert (again.cardinality, again.n_missing) == (codes.cardinality, codes.n_missing)
