"""Files carry more than rows: what no row has, and what nobody knows, never goes out."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from keys import KEY

import anonrisk
from anonrisk import Policy, Verdict
from anonrisk.cli import main
from anonrisk.engines.reading.files import Part
from anonrisk.errors import ReleaseBlocked, UnreadableTableError

if TYPE_CHECKING:
    from pathlib import Path

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")
orc = pytest.importorskip("pyarrow.orc")

from anonrisk.engines.reading import metadata, storage  # noqa: E402
from anonrisk.engines.reading.clean import clean  # noqa: E402
from anonrisk.policy.trial import outcome_sentence  # noqa: E402

MARK = "MARKER-9f2c"
NAME = "Ann-Smith-77"
POLICY = Policy(quasi="zip", k=2, insensitive=["n"])
KINDS = {".parquet": "parquet", ".feather": "feather", ".orc": "orc"}


def filtered(**more: Any) -> pd.DataFrame:
    """Return a table whose rare record was left out after its column was made a category."""
    table = pd.DataFrame({"zip": [*["1011", "1012"] * 5, MARK], "n": range(11), **more})
    table["zip"] = table["zip"].astype("category")
    return table[table["zip"] != MARK].reset_index(drop=True)


def looked_at(path: Path) -> Any:
    return storage.stored([Part(path)], KINDS[path.suffix])


def cleaned(path: Path) -> Path:
    out = path.with_name(f"clean{path.suffix}")
    clean(Part(path), out, KINDS[path.suffix])
    return out


@pytest.fixture
def policy_file(tmp_path: Path) -> str:
    path = tmp_path / "policy.json"
    path.write_text(json.dumps(POLICY.to_dict()))
    return str(path)


@pytest.fixture(params=[".parquet", ".feather"])
def leaking(request: Any, tmp_path: Path) -> Path:
    """Write the filtered table, with a name in its attrs, as pandas does."""
    table, path = filtered(), tmp_path / f"t{request.param}"
    table.attrs["source"] = NAME
    table.to_parquet(path) if path.suffix == ".parquet" else table.to_feather(path)
    return path


def raw(path: Path) -> bytes:
    """Return the bytes of a file, and those that are packed or written as base64 in it."""
    found = path.read_bytes()
    if path.suffix == ".feather":
        found += pa.ipc.open_file(path).read_all().schema.to_string().encode()
        found += str(feather.read_table(path)).encode()
    elif path.suffix == ".parquet":
        told = pq.read_metadata(path).metadata or {}
        found += base64.b64decode(told.get(b"ARROW:schema", b""))
        for i in range(pq.ParquetFile(path).num_row_groups):
            found += str(pq.ParquetFile(path).read_row_group(i)).encode()
    return found


# ---- tables in memory ---------------------------------------------------------------------------


def test_a_level_that_no_row_has_warns_and_changes_no_verdict() -> None:
    table = filtered()
    verdict = POLICY.check(table)
    assert verdict.passed
    (warning,) = verdict.warnings
    assert (warning.budget, warning.value, warning.limit, warning.margin) == ("storage", 1, 0, -1)
    assert "df['zip'] = df['zip'].cat.remove_unused_categories()" in warning.sentence
    assert MARK not in verdict.to_json() + repr(verdict) + verdict._repr_html_()
    plain = POLICY.check(table.assign(zip=table["zip"].cat.remove_unused_categories()))
    assert not plain.storage
    assert plain == verdict
    assert verdict.status_with_warnings == "fail"
    with pytest.raises(ReleaseBlocked, match="no row has"):
        verdict.raise_for_status(fail_on="warn")


def test_the_line_that_is_advised_removes_the_levels() -> None:
    namespace = {"df": filtered()}
    line = POLICY.check(namespace["df"]).storage[0].sentence.partition("Remove them: ")[2]
    exec(line, namespace)
    assert not POLICY.check(namespace["df"]).storage


def test_columns_of_arrow_and_the_index_count_too() -> None:
    table = filtered().convert_dtypes(dtype_backend="pyarrow")
    held = pa.Table.from_pandas(filtered()).select(["zip", "n"])
    table["zip"] = pd.Series(pd.arrays.ArrowExtensionArray(held["zip"]))
    assert POLICY.check(table).storage[0].value == 1
    assert POLICY.check(held).storage[0].value == 1
    namespace = {"t": held}
    line = POLICY.check(held).storage[0].sentence.partition("Remove them: ")[2]
    exec(line, namespace)
    assert not POLICY.check(namespace["t"]).storage
    indexed = filtered().set_index("zip")
    policy = Policy(quasi="n", k=1, insensitive=["zip"])
    assert "'index'" in policy.check(indexed).storage[0].sentence


def test_polars_lists_the_values_of_an_enum() -> None:
    pl = pytest.importorskip("polars")
    kind = pl.Enum(["1011", "1012", MARK])
    table = pl.DataFrame(
        {"zip": ["1011", "1012"] * 5, "n": range(10)}, schema_overrides={"zip": kind}
    )
    for frame in (table, table.lazy()):
        verdict = POLICY.check(frame)
        assert verdict.passed
        assert verdict.warnings[0].value == 1
        assert MARK not in verdict.to_json()
    namespace = {"df": table, "pl": pl}
    exec(POLICY.check(table).storage[0].sentence.partition("Remove them: ")[2], namespace)
    assert not POLICY.check(namespace["df"]).storage


def test_what_is_stored_comes_back_from_json() -> None:
    verdict = POLICY.check(filtered())
    again = Verdict.from_json(verdict.to_json())
    assert again.storage == verdict.storage
    assert again == verdict
    document = json.loads(verdict.to_json())
    document["storage"][0]["severity"] = "fail"
    with pytest.raises(anonrisk.errors.ArgumentError, match="status"):
        Verdict.from_json(json.dumps(document))
    del document["storage"]
    with pytest.raises(anonrisk.errors.ArgumentError, match="not a verdict"):
        Verdict.from_json(json.dumps(document))


def test_tables_without_categories_have_nothing_stored(frame: Any) -> None:
    table = frame({"zip": ["a", "a", "b", "b"], "n": [1, 2, 3, 4]})
    assert POLICY.check(table).storage == ()


# ---- files ---------------------------------------------------------------------------------------


def test_a_file_with_suppressed_values_fails_at_the_command_line(
    leaking: Path, policy_file: str, capsys: Any
) -> None:
    assert main(["check", str(leaking), "--policy", policy_file, "--json"]) == 1
    told = capsys.readouterr().out
    verdict = Verdict.from_json(
        json.dumps({k: v for k, v in json.loads(told).items() if k != "exit_code"})
    )
    assert [one.status for one in verdict.storage] == ["fail", "fail"]
    assert all(one.passed for one in verdict.findings)
    assert verdict.storage[0].value == 1
    assert "'zip'" in verdict.storage[0].sentence
    assert "anonrisk clean" in verdict.storage[1].sentence
    assert MARK not in told
    assert NAME not in told
    out = cleaned(leaking)
    assert main(["check", str(out), "--policy", policy_file]) == 0
    assert MARK.encode() not in raw(out)
    assert NAME.encode() not in raw(out)


@pytest.mark.parametrize("option", ["--junit", "--sarif", "--markdown"])
def test_every_rendering_says_it(
    option: str, leaking: Path, policy_file: str, tmp_path: Path
) -> None:
    out = tmp_path / "told"
    assert main(["check", str(leaking), "--policy", policy_file, option, str(out)]) == 1
    told = out.read_text()
    assert "no row has" in told
    assert MARK not in told


def test_a_report_has_the_status_of_the_file(
    leaking: Path, policy_file: str, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    assert main(["report", str(leaking), "--policy", policy_file, "-o", str(page)]) == 1
    assert "no row has" in page.read_text()


def test_an_explorer_of_such_a_file_does_not_call_it_good(
    leaking: Path, policy_file: str, tmp_path: Path
) -> None:
    page = tmp_path / "page.json"
    explored = ["explore", "--policy", policy_file, "-o", str(page)]
    assert main([*explored, str(leaking)]) == 0
    advice = json.loads(page.read_text())["next"]
    assert (advice["levels"], advice["passes"]) == (None, False)
    assert "no row has" in advice["text"]
    assert "anonrisk clean IN OUT. Its rows pass" in advice["text"]
    assert MARK not in page.read_text()
    assert main([*explored, str(cleaned(leaking))]) == 0
    assert json.loads(page.read_text())["next"]["passes"] is True


def test_no_plan_is_offered_against_what_a_file_holds(
    leaking: Path, policy_file: str, tmp_path: Path, capsys: Any
) -> None:
    main(["check", str(leaking), "--policy", policy_file, "--explain"])
    told = capsys.readouterr().out.rpartition("insensitive")[2]
    clean_name = f"t-clean{leaking.suffix}"
    command = told.partition("What next:")[2].replace("\\\n", " ").split("anonrisk report")[0]
    assert command.split() == ["anonrisk", "clean", str(leaking), clean_name]
    assert "anonrisk clean IN OUT" in told
    assert "enough" not in told
    page = tmp_path / "page.json"
    main(["report", str(leaking), "--policy", policy_file, "-o", str(page)])
    steps = json.loads(page.read_text())["verdict"]["next"]
    assert all("anonrisk clean IN OUT" in step for step in steps)


def test_what_passes_without_a_number_says_no_more() -> None:
    assert outcome_sentence("It", "pass", "") == "It is enough, the result passes."


def test_a_release_of_such_a_file_is_not_published(leaking: Path, tmp_path: Path) -> None:
    policy = Policy(quasi="zip", k=2, insensitive=["n"], differencing={"k": 2})
    ledger = anonrisk.Ledger(tmp_path / "ledger.sqlite", key=KEY, new=True)
    release = anonrisk.Release({"t": str(leaking)}, policy, name="1")
    with pytest.raises(ReleaseBlocked, match="no row has") as caught:
        release.publish(ledger, by="x")
    assert not list(ledger.entries())
    assert "no row has" in release.check(ledger).report().to_markdown()
    assert MARK not in caught.value.verdict.to_json()
    assert anonrisk.Release({"t": str(cleaned(leaking))}, policy, name="1").publish(ledger, by="x")


def test_a_scanned_file_is_looked_at_as_well(tmp_path: Path, policy_file: str) -> None:
    pytest.importorskip("duckdb")
    path = tmp_path / "t.parquet"
    filtered().to_parquet(path)
    command = ["check", str(path), "--policy", policy_file, "--engine"]
    assert [main([*command, engine]) for engine in ("scan", "pandas")] == [1, 1]
    out = str(cleaned(path))
    assert main(["check", out, "--policy", policy_file, "--engine", "scan"]) == 0


def test_apply_leaves_neither(tmp_path: Path) -> None:
    table = pd.DataFrame({"zip": [*["1011", "1012"] * 20, "9999"], "job": [*["nurse"] * 40, MARK]})
    table["job"] = table["job"].astype("category")
    table.attrs["source"] = NAME
    table = anonrisk.declare(table, quasi=["zip"], insensitive=["job"])
    path, plan, out = (tmp_path / name for name in ("t.parquet", "plan.json", "out.parquet"))
    table.to_parquet(path)
    assert main(["plan", str(path), "--k", "5", "--max-suppressed", "0.1", "-o", str(plan)]) == 0
    assert main(["apply", str(plan), str(path), "-o", str(out)]) == 0
    assert "9999" not in set(pq.read_table(out)["zip"].to_pylist())
    assert MARK.encode() not in raw(out)
    assert NAME.encode() not in raw(out)
    assert anonrisk.roles(pd.read_parquet(out)).quasi == ("zip",)
    assert not looked_at(out).unused
    assert not looked_at(out).metadata


def test_a_value_of_another_row_group_or_file_is_no_leak(tmp_path: Path) -> None:
    whole = pa.array(["a", "a", "b", "b"]).dictionary_encode()
    table = pa.table({"zip": whole})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=2)
    assert looked_at(tmp_path / "t.parquet").unused == {}
    parts = [tmp_path / f"{i}.parquet" for i in range(2)]
    for i, path in enumerate(parts):
        pq.write_table(table.slice(2 * i, 2), path)
    assert storage.stored([Part(path) for path in parts], "parquet").unused == {}
    assert looked_at(parts[0]).unused == {"zip": 1}


def test_row_groups_with_dictionaries_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    schema = pa.schema([("zip", pa.dictionary(pa.int32(), pa.string())), ("n", pa.int64())])
    with pq.ParquetWriter(path, schema) as writer:
        for i in range(4):
            lists = [f"v{i}", f"v{i + 1}", f"{MARK}{i}"]
            column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int32()), lists)
            writer.write_table(pa.table([column, pa.array([i] * 3)], schema=schema))
    assert looked_at(path).unused == {"zip": 4}
    out = cleaned(path)
    assert pq.ParquetFile(out).num_row_groups == 4
    assert pq.read_table(out).to_pydict() == pq.read_table(path).to_pydict()
    assert pq.read_schema(out).types == pq.read_schema(path).types
    assert MARK.encode() not in raw(out)


def nested() -> Any:
    """Return dictionaries inside of structs, lists and maps; one value is of no row."""
    lists = pa.DictionaryArray.from_arrays(pa.array([0, None, 2, 0], pa.int8()), ["a", MARK, "c"])
    struct = pa.StructArray.from_arrays([lists, pa.array(range(4))], ["z", "n"])
    return pa.table(
        {
            "s": struct,
            "l": pa.ListArray.from_arrays(pa.array([0, 1, None, 3, 4], pa.int32()), lists),
            "m": pa.MapArray.from_arrays(
                pa.array(range(5), pa.int32()), pa.array(list("wxyz")), lists
            ),
        }
    )


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_dictionaries_inside_of_nested_columns(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"t{suffix}"
    _write(nested(), path)
    assert sum(looked_at(path).unused.values()) == 3
    out = cleaned(path)
    assert _read(out).to_pydict() == nested().to_pydict()
    assert MARK.encode() not in raw(out)


def test_a_dictionary_may_list_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.feather"
    column = pa.DictionaryArray.from_arrays([0, 1, None, 0], pa.array(["a", None, MARK]))
    _write(pa.table({"zip": column}), path)
    assert looked_at(path).unused == {"zip": 1}
    assert _read(cleaned(path))["zip"].to_pylist() == ["a", None, None, "a"]


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".orc"])
@pytest.mark.parametrize("n_rows", [0, 3])
def test_a_plain_file_holds_nothing_else(suffix: str, n_rows: int, tmp_path: Path) -> None:
    path = tmp_path / f"t{suffix}"
    table = pa.table(
        {
            "zip": ["a", None, "b"],
            "x": [0.5, None, float("nan")],
            "flag": [True, None, False],
            "when": pd.to_datetime(["2020-01-01", None, "2021-01-01"]),
            "n": pa.array([1, None, 3], pa.int64()),
            "l": pa.array([["p"], None, []], pa.list_(pa.string())),
        }
    ).slice(0, n_rows)
    _write(table, path)
    assert looked_at(path) == replace(looked_at(path), unused={}, metadata=())
    assert _read(cleaned(path)).to_pydict()["zip"] == table["zip"].to_pylist()


def test_pandas_writes_files_that_pass(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {
            "zip": pd.Categorical(["a", None, "b"]),
            "i": pd.array([1, None, 3], dtype="Int64"),
            "b": pd.array([True, None, False], dtype="boolean"),
            "f": [0.5, None, 2.0],
            "t": pd.to_datetime(["2020-01-01", None, "2021-01-01"]).tz_localize("Europe/Paris"),
            "p": pd.period_range("2020-01", periods=3, freq="M"),
        },
        index=pd.Index([1, 2, 3], name="id"),
    )
    for name, write in (
        ("t.parquet", table.to_parquet),
        ("t.feather", table.reset_index().to_feather),
    ):
        write(tmp_path / name)
        found = looked_at(tmp_path / name)
        assert (found.unused, found.metadata) == ({}, ())
    declared = anonrisk.declare(table.reset_index(drop=True), quasi=["zip"], unit="i")
    declared.to_parquet(tmp_path / "roles.parquet")
    assert looked_at(tmp_path / "roles.parquet").metadata == ()
    again = pd.read_parquet(cleaned(tmp_path / "roles.parquet"))
    assert anonrisk.roles(again) == anonrisk.roles(declared)
    pd.testing.assert_frame_equal(again, pd.read_parquet(tmp_path / "roles.parquet"))


def test_numbers_that_a_dictionary_lists_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "t.feather"
    column = pa.DictionaryArray.from_arrays(pa.array([0, 0], pa.int8()), pa.array([1, 987654321]))
    _write(pa.table({"zip": column}), path)
    assert looked_at(path).unused == {"zip": 1}
    assert (987654321).to_bytes(8, "little") not in cleaned(path).read_bytes()


# ---- what Arrow leaves in memory -----------------------------------------------------------------


def test_cells_that_were_made_missing_are_still_in_a_feather_file(tmp_path: Path) -> None:
    path = tmp_path / "t.feather"
    table = pd.DataFrame({"age": pd.array([12345678901, 2, 3], dtype="Int64")})
    table.loc[0, "age"] = pd.NA
    feather.write_feather(table, path, compression="uncompressed")
    assert (12345678901).to_bytes(8, "little") in path.read_bytes()
    assert looked_at(path).unused == {"age": 1}
    assert (12345678901).to_bytes(8, "little") not in cleaned(path).read_bytes()


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "binary"])
def test_texts_that_were_made_missing_count(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "t.feather"
    whole = pa.array([f"{MARK} is long enough", "b", "c"])
    some = pa.compute.if_else(pa.array([False, True, True]), whole, None)
    if kind == "string_view":
        pytest.importorskip("polars").DataFrame({"zip": whole}).with_columns(
            zip=__import__("polars").when([False, True, True]).then("zip")
        ).write_ipc(path, compression="uncompressed")
    else:
        _write(pa.table({"zip": _typed(some, kind)}), path)
    if MARK.encode() in path.read_bytes():
        assert looked_at(path).unused == {"zip": 1}
    else:
        assert looked_at(path).unused == {}
    out = cleaned(path)
    assert feather.read_table(out)["zip"].to_pylist()[0] is None
    assert MARK.encode() not in raw(out)


def _typed(array: Any, kind: str) -> Any:
    """Return texts as another type over the same memory."""
    if kind == "large_string":
        offsets = pa.array(np.frombuffer(array.buffers()[1], np.int32).astype(np.int64)).buffers()[
            1
        ]
        buffers = [array.buffers()[0], offsets, array.buffers()[2]]
        return pa.Array.from_buffers(pa.large_string(), len(array), buffers)
    return array.view(kind)


def test_what_stands_under_a_missing_struct_or_list_counts(tmp_path: Path) -> None:
    inner = pa.array([MARK, "b"])
    mask = pa.array([True, False])
    table = pa.table(
        {
            "s": pa.StructArray.from_arrays([inner], ["z"], mask=mask),
            "l": pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), inner, mask=mask),
        }
    )
    path = tmp_path / "t.feather"
    _write(table, path)
    assert looked_at(path).unused == {"s": 1, "l": 1}
    assert _read(cleaned(path)).to_pydict() == table.to_pydict()
    assert MARK.encode() not in raw(cleaned(path))


# ---- metadata ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("source", NAME),
        ("PANDAS_ATTRS", json.dumps({"source": NAME})),
        ("PANDAS_ATTRS", NAME),
        ("pandas", json.dumps({"columns": [], "attributes": {"source": NAME}})),
        ("pandas", json.dumps({"columns": [{"name": "zip", "note": NAME}]})),
        ("pandas", json.dumps({"columns": [{"name": "zip", "metadata": {"note": NAME}}]})),
        ("pandas", json.dumps({"creator": {"library": "pyarrow", "by": NAME}})),
        ("pandas", json.dumps({"notes": NAME})),
        ("pandas", "[" * 100_000),
        ("pandas", NAME),
        ("pandas", f'["{NAME}"]'),
        ("pandas", json.dumps({"creator": {"library": NAME, "version": "1.0"}})),
        ("pandas", json.dumps({"creator": {"library": "pyarrow", "version": NAME}})),
        ("pandas", json.dumps({"creator": NAME})),
        ("pandas", json.dumps({"pandas_version": NAME})),
        ("pandas", f'{{"pandas_version": "{NAME}", "pandas_version": "2.2.0"}}'),
        ("pandas", json.dumps({"columns": [{"name": "zip", "pandas_type": NAME}]})),
        ("pandas", json.dumps({"columns": [{"name": "zip", "numpy_type": f"int64[{NAME}]"}]})),
        ("pandas", json.dumps({"columns": [{"name": NAME, "field_name": "zip"}]})),
        ("pandas", json.dumps({"columns": [{"name": None, "field_name": NAME}]})),
        ("pandas", json.dumps({"columns": [{"name": "zip", "metadata": {"timezone": NAME}}]})),
        ("pandas", json.dumps({"column_indexes": [{"name": NAME}]})),
        ("pandas", json.dumps({"columns": [], "index_columns": [NAME]})),
        ("pandas", json.dumps({"index_columns": [{"kind": "range", "name": NAME}]})),
        ("pandas", json.dumps({"partition_columns": [NAME]})),
        ("org.apache.spark.version", f"{NAME} was here, and more"),
        ("org.apache.spark.version", NAME),
        ("org.apache.spark.version", "0612345678"),
        ("org.apache.spark.timeZone", NAME),
        ("org.apache.spark.legacyINT96", NAME),
        ("PARQUET:field_id", NAME),
        ("_PL_CATEGORICAL2", f"12;0;u32;{NAME}"),
        ("ARROW:extension:name", f"arrow.{NAME}"),
        (
            "org.apache.spark.sql.parquet.row.metadata",
            json.dumps({"type": "struct", "fields": [{"name": NAME, "type": "string"}]}),
        ),
        (
            "org.apache.spark.sql.parquet.row.metadata",
            json.dumps({"type": "struct", "fields": [{"name": "zip", "type": NAME}]}),
        ),
        (
            "org.apache.spark.sql.parquet.row.metadata",
            json.dumps({"type": "struct", "fields": [], "note": NAME}),
        ),
        (
            "org.apache.spark.sql.parquet.row.metadata",
            json.dumps({"type": "struct", "fields": [{"name": "zip", "metadata": {"ml": [NAME]}}]}),
        ),
        ("ARROW:extension:metadata", NAME),
        ("\x1b[31mred", NAME),
    ],
)
@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_unknown_metadata_blocks(
    key: str, value: str, suffix: str, tmp_path: Path, policy_file: str, capsys: Any
) -> None:
    path = tmp_path / f"t{suffix}"
    table = pa.table({"zip": ["a", "a"], "n": [1, 2]}).replace_schema_metadata({key: value})
    _write(table, path)
    assert looked_at(path).metadata == (key,)
    code = main(["check", str(path), "--policy", policy_file])
    told = capsys.readouterr()
    # Roles that cannot be read leave nothing to assess.
    damaged = key == "PANDAS_ATTRS" or "spark.sql" in key
    assert code in ((1, 3) if damaged else (1,))
    assert NAME not in told.out + told.err
    assert "\x1b" not in told.out
    if key != "ARROW:schema":
        assert NAME.encode() not in raw(cleaned(path))


def test_what_a_type_of_pandas_says_is_looked_at(tmp_path: Path) -> None:
    note = json.dumps({"freq": NAME})
    said = {"ARROW:extension:name": "pandas.period", "ARROW:extension:metadata": note}
    schema = pa.schema([pa.field("zip", pa.int64(), metadata=said)])
    for suffix in (".parquet", ".feather"):
        path = tmp_path / f"t{suffix}"
        _write(pa.table([[1, 2]], schema=schema), path)
        assert "zip: ARROW:extension:metadata" in looked_at(path).metadata
        out = cleaned(path)
        assert NAME.encode() not in raw(out)
        assert _read(out)["zip"].to_pylist() == [1, 2]


def test_known_metadata_of_pandas_passes(tmp_path: Path) -> None:
    struct = pd.ArrowDtype(pa.struct({"my name": pa.int32()}))
    table = pd.DataFrame(
        {
            "list": pd.Series([[1], [2]], dtype=pd.ArrowDtype(pa.list_(pa.int32()))),
            "struct": pd.Series([{"my name": 1}] * 2, dtype=struct),
            "zone": pd.to_datetime(["2020", "2021"]).tz_localize("+05:30"),
            "stamp": pd.Series([1, 2]).astype(pd.ArrowDtype(pa.timestamp("us", "Europe/Paris"))),
            "quarter": pd.period_range("2020", periods=2, freq="Q"),
            "delta": pd.to_timedelta([1, 2]),
            "bytes": [b"a", b"b"],
            "none": [None, None],
            "text": pd.array(["a", None], dtype="string"),
        }
    )
    several = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["list of", None])
    for one in (table, table.set_index("text"), table[["text"]].set_index(several)):
        one.to_parquet(tmp_path / "t.parquet")
        assert looked_at(tmp_path / "t.parquet").metadata == ()
        out = cleaned(tmp_path / "t.parquet")
        before, after = (_read(path).schema.metadata for path in (tmp_path / "t.parquet", out))
        assert json.loads(after[b"pandas"]) == json.loads(before[b"pandas"])
    table[["text", "delta"]].assign(land="x").to_parquet(tmp_path / "many", partition_cols=["land"])
    (path,) = (tmp_path / "many").rglob("*.parquet")
    assert storage.stored([Part(path, partitions={"land": "x"})], "parquet").metadata == ()


def test_a_note_of_pandas_that_cannot_be_read_hinders_no_change() -> None:
    table = pa.table({"n": [1, 2]}).replace_schema_metadata({"pandas": NAME})
    assert anonrisk.generalize(table, "n", bins=2).schema.metadata in (None, {})


def test_metadata_of_fields_blocks_at_any_depth(tmp_path: Path) -> None:
    note = {"note": NAME}
    inner = pa.field("z", pa.string(), metadata=note)
    schema = pa.schema(
        [
            pa.field("s", pa.struct([inner])),
            pa.field("l", pa.list_(inner)),
            pa.field("n", pa.int64(), metadata=note),
        ]
    )
    table = pa.table([[{"z": "a"}], [["a"]], [1]], schema=schema)
    for suffix in (".parquet", ".feather"):
        path = tmp_path / f"t{suffix}"
        _write(table, path)
        assert set(looked_at(path).metadata) >= {"s.z: note", "l.z: note", "n: note"}
        out = cleaned(path)
        assert _read(out).to_pydict() == table.to_pydict()
        assert NAME.encode() not in raw(out)


def test_metadata_of_batches_and_of_the_schema_in_parquet(tmp_path: Path) -> None:
    path = tmp_path / "t.feather"
    batch = pa.record_batch({"zip": ["a"]})
    with pa.ipc.new_file(path, batch.schema) as writer:
        writer.write_batch(batch, custom_metadata={"source": NAME})
    assert looked_at(path).metadata == ("source",)
    assert NAME.encode() not in cleaned(path).read_bytes()
    hidden = pa.schema([pa.field("zip", pa.string(), metadata={"source": NAME})])
    stored = base64.b64encode(hidden.serialize().to_pybytes())
    zips = metadata.columns_of(hidden)
    assert list(metadata.unknown_keys({b"ARROW:schema": stored}, zips)) == ["zip: source"]
    assert list(metadata.unknown_keys({b"ARROW:schema": b"Ann Smith"})) == ["ARROW:schema"]
    other = metadata.columns_of(pa.schema({"n": pa.int64()}))
    assert "ARROW:schema" in list(metadata.unknown_keys({b"ARROW:schema": stored}, other))


def test_orc_carries_no_unknown_metadata(tmp_path: Path) -> None:
    path = tmp_path / "t.orc"
    _write(pa.table({"zip": ["a", "a"], "n": [1, 2]}), path)
    assert looked_at(path).metadata == ()
    assert list(metadata.unknown_keys({b"note": b"x", b"org.apache.spark.version": b"4.0.0"})) == [
        "note"
    ]


# ---- files that are damaged, or no files ---------------------------------------------------------


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".orc"])
def test_a_damaged_file_never_passes(suffix: str, tmp_path: Path, policy_file: str) -> None:
    path = tmp_path / f"t{suffix}"
    _write(pa.table({"zip": ["a", "b"] * 50, "n": [*range(50)] * 2}), path)
    assert main(["check", str(path), "--policy", policy_file]) == 0
    whole = path.read_bytes()
    for length in (0, 3, 8, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        path.write_bytes(whole[:length])
        assert main(["check", str(path), "--policy", policy_file]) == 3
        assert main(["clean", str(path), str(tmp_path / f"o{suffix}")]) == 3
        assert not (tmp_path / f"o{suffix}").exists()
        assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_bytes_that_were_changed_are_an_error_or_no_pass(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    _write(pa.table({"zip": pa.array(["a", "b", "a"]).dictionary_encode(), "n": [1, 2, 3]}), path)
    whole = path.read_bytes()
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    rng = np.random.default_rng(7)
    # In the footer some of them end the process inside of Arrow, which is no pass either.
    for at in rng.integers(0, footer, 300):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x15]) + whole[at + 1 :])
        try:
            looked_at(path)
        except UnreadableTableError as error:
            assert MARK not in str(error)  # noqa: PT017


@pytest.mark.filterwarnings("ignore:Feather V1")
def test_the_first_version_of_feather_cannot_be_assessed(
    tmp_path: Path, policy_file: str, capsys: Any
) -> None:
    path, out = tmp_path / "t.feather", tmp_path / "o.feather"
    try:
        feather.write_feather(filtered(), str(path), version=1)
    except (TypeError, ValueError):
        pytest.skip("this version of Arrow writes none")
    assert main(["check", str(path), "--policy", policy_file]) == 3
    assert "first version of Feather" in capsys.readouterr().out
    assert main(["clean", str(path), str(out)]) == 0
    assert main(["check", str(out), "--policy", policy_file]) == 0
    assert MARK.encode() not in raw(out)


# ---- clean ---------------------------------------------------------------------------------------


def test_clean_says_how_much_is_gone_and_never_what(leaking: Path, capsys: Any) -> None:
    out = leaking.with_name(f"o{leaking.suffix}")
    assert main(["clean", str(leaking), str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["values_removed"] == {"zip": 1}
    assert told["n_rows"] == 10
    assert "pandas" in told["metadata_removed"]
    assert MARK not in json.dumps(told)
    same = pd.read_parquet if leaking.suffix == ".parquet" else pd.read_feather
    before, after = same(leaking), same(out)
    after.attrs = before.attrs
    pd.testing.assert_frame_equal(
        before.assign(zip=before["zip"].cat.remove_unused_categories()), after
    )


def test_clean_refuses_what_it_would_lose(leaking: Path, tmp_path: Path, capsys: Any) -> None:
    out = tmp_path / f"o{leaking.suffix}"
    table, link = str(leaking), tmp_path / f"l{leaking.suffix}"
    link.symlink_to(leaking)
    before = leaking.read_bytes()
    assert main(["clean", table, table]) == 2
    assert main(["clean", table, table, "--force"]) == 2
    assert main(["clean", table, str(link), "--force"]) == 2
    out.write_text("mine")
    assert main(["clean", table, str(out)]) == 2
    assert "--force" in capsys.readouterr().err
    assert out.read_text() == "mine"
    assert main(["clean", table, str(out), "--force"]) == 0
    assert main(["clean", table, str(tmp_path / "o.orc")]) == 2
    assert main(["clean", table, str(tmp_path)]) == 2
    assert main(["clean", str(tmp_path / "none.parquet"), str(tmp_path / "x.parquet")]) == 3
    assert main(["clean", table, str(tmp_path / "no" / f"x{leaking.suffix}")]) == 3
    (tmp_path / "t.csv").write_text("zip\na\n")
    assert main(["clean", str(tmp_path / "t.csv"), str(tmp_path / "u.csv")]) == 2
    assert main(["clean", str(tmp_path / "*"), str(tmp_path / "u.parquet")]) in (2, 3)
    assert leaking.read_bytes() == before


def _write(table: Any, path: Path) -> None:
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".orc":
        orc.write_table(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table)


def _read(path: Path) -> Any:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    return orc.read_table(path) if path.suffix == ".orc" else pa.ipc.open_file(path).read_all()
