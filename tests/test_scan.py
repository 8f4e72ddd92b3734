"""`anonrisk.scan`: files larger than memory, what a private DuckDB may see of this machine, and
that their cells mean what they mean to pandas."""

from __future__ import annotations

import datetime as dt
import decimal
import errno
import gc
import importlib
import json
import os
import re
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import anonrisk
from anonrisk.cli import main
from anonrisk.engines.pandas.files import read as pandas_read
from anonrisk.engines.reading import files, large
from anonrisk.engines.reading.raw_files import PREFIX, PrivateFolder
from anonrisk.errors import (
    AnonRiskError,
    ArgumentError,
    EngineError,
    MissingLibraryError,
    MissingUnitError,
    MissingValuesError,
    UnreadableTableError,
    UnsupportedColumnError,
)
from anonrisk.releases.release.contents import TableFiles

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")
pytest.importorskip("sqlglot")
parquet = importlib.import_module("pyarrow.parquet")

SECRET = "Xavier-7741"
PEOPLE = "zip,age,illness\n01234,30,flu\n01234,30,cold\n1234,30,flu\n1234,31,cold\n,31,cold\n"


@pytest.fixture(autouse=True)
def private(tmp_path_factory, monkeypatch):
    """A place of its own for what is put down, which must be empty in the end."""
    place = tmp_path_factory.mktemp("private")
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield place
    if any(place.iterdir()):
        gc.collect()  # only then: after thousands of tests it takes seconds
    assert list(place.iterdir()) == []


def written(path, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pa.table(columns), path)
    return path


def by_pandas(path, wanted=None, **about):
    return pandas_read([str(path)], wanted or files.Wanted(), files.TextFormat(**about))


def answers(table):
    """What the two readers must agree on, of a table with zip, age and illness."""
    found = table.anon.assess(["zip", "age"], "illness")
    return found.to_dict(), table.anon.classes("zip").to_dict()


# ---- the same cells as to pandas ------------------------------------------------------------


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(*[st.sampled_from(["", "a", "A", "NA", '"', " "])] * 3), min_size=1))
def test_the_answers_of_pandas(rows, tmp_path):
    path = tmp_path / "t.csv"
    pd.DataFrame(rows, columns=["zip", "age", "illness"]).to_csv(path, index=False)
    frame = by_pandas(path, na=("NA",))
    with anonrisk.scan(path, na=["NA"]) as table:
        assert answers(table) == answers(frame)
    stored = tmp_path / "t.parquet"
    frame.to_parquet(stored)
    with anonrisk.scan(stored) as table:
        assert answers(table) == answers(by_pandas(stored))


NUMBERS = {
    "whole": (["1", "+1", "01", "-3"], ["number"], "BIGINT"),
    "floats": (["1", "1.0", "-0", "1e2", ".5", "3."], ["number"], "DOUBLE"),
    "all missing": (["", ""], ["number"], "BIGINT"),
    "dates": (["2024-02-29", "0001-01-01", ""], ["date"], "DATE"),
    "text": (["1", "01"], ["text"], "VARCHAR"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_types_that_are_said(name, tmp_path):
    cells, (kind,), stored = NUMBERS[name]
    path = tmp_path / "t.csv"
    path.write_text("x,y\n" + "".join(f"{cell},z\n" for cell in cells))
    frame = by_pandas(path, dtypes={"x": kind})
    with anonrisk.scan(path, dtypes={"x": kind}) as table:
        assert table.anon.classes("x") == frame.anon.classes("x")
        assert table.kinds({"x": "column"}) == {"x": stored}


@pytest.mark.parametrize(
    ("cell", "kind"),
    [(SECRET, "number"), ("1_0", "number"), ("12345678901234567890.5", "number"), ("x", "date")],
)
def test_cells_that_are_not_of_their_type(cell, kind, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"x,y\n{cell},z\n{cell},z\n1.5,z\n")
    told = []
    for read in (
        lambda: by_pandas(path, dtypes={"x": kind}),
        lambda: anonrisk.scan(path, dtypes={"x": kind}),
    ):
        with pytest.raises(UnreadableTableError) as error:
            read()
        told.append(str(error.value))
    assert told[0] == told[1]
    assert SECRET not in told[0]


def test_only_wanted_columns_are_read(tmp_path):
    from anonrisk.tables import scanned

    path = tmp_path / "t.csv"
    path.write_text(PEOPLE)
    found = files.find([str(path)])
    with scanned(found, files.Wanted(("zip",)), files.TextFormat()) as table:
        assert table.names == ["zip", "age", "illness"]
        assert table.anon.classes("zip").n_records == 5
        with pytest.raises(UnsupportedColumnError, match="'age' was not read"):
            table.anon.k(["zip", "age"])


TYPES = {
    "decimals": pa.array([decimal.Decimal("1.10"), decimal.Decimal("1.1"), None]),
    "instants": pa.array([dt.datetime(2024, 1, 1, tzinfo=dt.UTC)] * 2 + [None]),
    "nanoseconds": pa.array([1, 1, 2], pa.timestamp("ns")),
    "times": pa.array([dt.time(1), dt.time(1), None]),
    "dictionary": pa.array(["a", "a", None]).dictionary_encode(),
    "unsigned": pa.array([2**64 - 1, 2**64 - 1, 0], pa.uint64()),
    "floats": pa.array([float("nan"), None, 1.0]),
    "minus zero": pa.array([0.0, -0.0, 1.0], pa.float32()),
    "bytes": pa.array([b"a", b"a", b"b"]),
    "nothing": pa.nulls(3),
    "booleans": pa.array([True, True, None]),
}


@pytest.mark.parametrize("name", TYPES)
def test_types_of_parquet(name, tmp_path):
    path = written(tmp_path / "t.parquet", x=TYPES[name], y=["a", "b", "a"])
    frame = by_pandas(path)
    with anonrisk.scan(path) as table:
        assert table.anon.classes(["x", "y"]) == frame.anon.classes(["x", "y"])
        assert table.anon.tcloseness("y", "x") == frame.anon.tcloseness("y", "x")


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64()])
def test_nan_is_missing_where_a_file_says_that_nothing_is(kind, tmp_path):
    """The least and largest number of a column in Parquet leave NaN out, and no cell is NULL."""
    cells = pa.array([0.0, float("nan"), 0.5], kind)
    path = written(tmp_path / "t.parquet", x=cells, y=["a", "b", "a"])
    frame = by_pandas(path)
    connection = duckdb.connect()
    view = anonrisk.sql.table(connection, f"SELECT * FROM read_parquet('{path}')")
    with anonrisk.scan(path) as scanned:
        for table in (scanned, view):
            found = table.anon.classes("x", missing="drop")
            assert found == frame.anon.classes("x", missing="drop")
            assert found.n_dropped == 1
            with pytest.raises(MissingValuesError):
                table.anon.k("x", missing="error")
            with pytest.raises(MissingUnitError):
                table.anon.k("y", unit="x")
            with pytest.raises(MissingValuesError):
                table.anon.ldiv("y", "x", missing_sensitive="error")


OTHERWISE = {
    "many digits": pa.array([decimal.Decimal(10) ** 45], pa.decimal256(50, 2)),
    "nanoseconds and a zone": pa.array([1], pa.timestamp("ns", "UTC")),
    "nanoseconds of a day": pa.array([1], pa.time64("ns")),
    "durations": pa.array([1], pa.duration("us")),
}


@pytest.mark.parametrize("name", OTHERWISE)
def test_types_that_duckdb_reads_otherwise_are_refused(name, tmp_path):
    path = written(tmp_path / "t.parquet", x=OTHERWISE[name], y=["a"])
    with anonrisk.scan(path) as table:
        assert table.anon.k("y") == 1
        with pytest.raises(UnsupportedColumnError, match="quasi-identifier 'x' is of a type"):
            table.anon.k("x")


def test_old_timestamps_are_refused(tmp_path):
    path = tmp_path / "t.parquet"
    table = pa.table({"x": pa.array([1, 2], pa.timestamp("ns"))})
    parquet.write_table(table, path, use_deprecated_int96_timestamps=True)
    with anonrisk.scan(path) as table, pytest.raises(UnsupportedColumnError, match="'x' is of a"):
        table.anon.k("x")


def test_nested_columns_are_told_and_refused(tmp_path):
    path = written(tmp_path / "t.parquet", x=[{"name": "a"}], y=["a"])
    with anonrisk.scan(path) as table:
        with pytest.raises(UnsupportedColumnError, match="'x'"):
            table.anon.k("x")
        policy = anonrisk.Policy(quasi=["y"], direct=["name"], k=2, unlisted="ignore")
        verdict = policy.check(table)
        assert verdict.findings == policy.check(by_pandas(path)).findings
        assert "'x.name'" in str(verdict)


def test_names_are_told_apart_by_case(tmp_path):
    path = written(tmp_path / "t.parquet", a=["x", "x"], A=["x", "y"], c0=["z", "z"])
    with anonrisk.scan(path) as table:
        assert [table.anon.k(name) for name in ("a", "A", "c0")] == [2, 1, 2]


def test_roles_and_marks_come_from_the_file(tmp_path):
    frame = pd.DataFrame({"zip": ["1", "1"], "age": [30.0, 31.0], "name": ["a", "b"]})
    frame = frame.anon.declare(quasi=["zip", "age"], direct="name").anon.perturb("age", 1, seed=1)
    frame.to_parquet(tmp_path / "t.parquet")
    policy = anonrisk.Policy(k=2)
    with anonrisk.scan(tmp_path / "t.parquet") as table:
        assert table.anon.roles() == frame.anon.roles()
        assert anonrisk.was_perturbed(table) == anonrisk.was_perturbed(frame)
        assert (
            policy.check(table).findings == policy.check(by_pandas(tmp_path / "t.parquet")).findings
        )
        assert table.anon.declare(quasi="zip").anon.k() == 2


# ---- several files --------------------------------------------------------------------------


def test_folders_are_columns(tmp_path):
    written(tmp_path / "t" / "c=N'L%20" / "1.parquet", a=["x", "y"], b=["1", "1"])
    written(tmp_path / "t" / "c=BE" / "2.parquet", b=["1", "2"], a=["x", "z"])
    written(tmp_path / "t" / "c=__HIVE_DEFAULT_PARTITION__" / "3.parquet", a=["x"], b=pa.nulls(1))
    frame = by_pandas(tmp_path / "t")
    for qid in (["c"], ["a", "c"], ["a", "b"], ["b"]):
        with anonrisk.scan(tmp_path / "t") as table:
            assert table.anon.classes(qid) == frame.anon.classes(qid), qid


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_folder_means_the_same_beside_all_files(kind, tmp_path):
    for value in ("x", "", "__HIVE_DEFAULT_PARTITION__"):
        path = written(tmp_path / f"k={value}" / f"t.{kind}", a=["x"])
        if kind != "parquet":
            path.write_text("a\nx\n" if kind == "csv" else '{"a": "x"}\n{"a": ""}\n')
    about = {} if kind == "parquet" else {"na": ["x"]}
    frame = by_pandas(tmp_path, **about)
    assert set(frame["k"].dropna()) == {"x"}
    assert frame.anon.classes("k", missing="drop").n_records == (2 if kind == "jsonl" else 1)
    if kind == "jsonl":
        # Of JSON the empty text is a value, whatever else is missing.
        assert set(frame["a"].dropna()) == {""}
        return
    with anonrisk.scan(tmp_path, **about) as table:
        assert table.anon.classes("k") == frame.anon.classes("k")


def test_a_column_may_have_any_name_beside_folders(tmp_path):
    written(tmp_path / "t" / "c=NL" / "1.parquet", **{"Anonrisk File": ["x"]})
    with anonrisk.scan(tmp_path / "t") as table:
        assert table.anon.k(["c", "Anonrisk File"]) == 1


def test_a_star_in_a_name_is_a_star(tmp_path):
    written(tmp_path / "d[1]" / "a*.parquet", a=["x"])
    written(tmp_path / "d[1]" / "ab?.parquet", a=["x", "y"])
    written(tmp_path / "d[1]" / "abc.parquet", a=["x", "y", "z"])
    for name, n in (("a*.parquet", 1), ("ab?.parquet", 2), ("abc.parquet", 3)):
        with anonrisk.scan(tmp_path / "d[1]" / name) as table:
            assert table.anon.classes("a").n_records == n
    with anonrisk.scan(
        [tmp_path / "d[1]" / "a*.parquet", tmp_path / "d[1]" / "abc.parquet"]
    ) as table:
        assert table.anon.classes("a").n_records == 4


def test_a_population_is_scanned_too(tmp_path):
    release = written(tmp_path / "r.parquet", zip=["1", "2"])
    (tmp_path / "p.csv").write_text("zip\n1\n1\n2\n2\n2\n3\n")
    with anonrisk.scan(release) as table, anonrisk.scan(tmp_path / "p.csv") as people:
        assert table.anon.kmap("zip", population=people) == 2


# ---- what it may see, and what it leaves ----------------------------------------------------


def test_it_reads_the_named_files_and_nothing_else(tmp_path):
    path = written(tmp_path / "t.parquet", a=["x"])
    other = written(tmp_path / "other.parquet", a=[SECRET])
    with anonrisk.scan(path) as table:
        own = table.connection.connection
        for query in (
            f"SELECT * FROM read_parquet('{other}')",
            f"SELECT * FROM read_parquet('{tmp_path}/*.parquet')",
            "SELECT * FROM read_text('/etc/hostname')",
            f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
            f"ATTACH '{tmp_path}/x.duckdb'",
            "SET enable_external_access = true",
            "SET memory_limit = '100GB'",
            "LOAD httpfs",
            "INSTALL httpfs",
            "SELECT * FROM read_parquet('https://example.org/a.parquet')",
        ):
            with pytest.raises(duckdb.Error):
                own.execute(query)
        settings = "SELECT name, value FROM duckdb_settings()"
        said = dict(own.execute(settings).fetchall())
        for name in ("autoinstall_known_extensions", "autoload_known_extensions"):
            assert said[name] == "false"
        assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("spill", ["plain", "encrypted", "never"])
def test_the_copy_of_a_csv_is_private_and_encrypted(spill, tmp_path, private):
    path = tmp_path / "t.csv"
    path.write_text("a\n" + f"{SECRET}\n" * 100)
    with anonrisk.scan(path, spill=spill) as table:
        (folder,) = left_in(tmp_path if spill == "plain" else private)
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        held = b"".join(one.read_bytes() for one in folder.iterdir())
        assert held[:4] == b"PARE"
        assert SECRET.encode() not in held
        assert table.anon.k("a") == 100


def test_nothing_stays_behind(tmp_path, private):
    path = tmp_path / "t.csv"
    path.write_text(f"a,b\n1,2\n{SECRET}\n")
    with pytest.raises(UnreadableTableError):
        anonrisk.scan(path)
    assert list(private.iterdir()) == []
    path.write_text(PEOPLE)
    table = anonrisk.scan(path)
    table.close()
    with pytest.raises(EngineError, match="closed"):
        table.anon.k("zip")
    anonrisk.scan(path).anon.k("zip")
    gc.collect()
    assert left_in(tmp_path) == left_in(private) == []


@pytest.mark.slow
def test_nothing_stays_behind_a_program_that_ends(tmp_path, private):
    (tmp_path / "t.csv").write_text(PEOPLE)
    for end in ("", "raise SystemExit(3)", "1 / 0"):
        program = f"import anonrisk\nt = anonrisk.scan('t.csv')\nprint(t.anon.k('zip'))\n{end}"
        done = subprocess.run(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            env={**os.environ, "TMPDIR": str(private)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout == "1\n", done.stderr
        assert left_in(tmp_path) == left_in(private) == []


def left_in(place):
    """The private folders there are."""
    return list(place.glob(f"{PREFIX}*"))


@pytest.mark.slow
def test_what_a_killed_program_left_is_removed_at_the_next_start(tmp_path):
    path = written(tmp_path / "t.parquet", a=["x"])
    program = "import anonrisk, os\nt = anonrisk.scan('t.parquet')\nos.kill(os.getpid(), 9)"
    env = {**os.environ, "PYTHONPATH": str(Path(anonrisk.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=env, check=False)
    assert done.returncode == -9
    (left,) = left_in(tmp_path)
    (left / "duckdb_temp_storage_DEFAULT-0.tmp").write_text(SECRET)
    with anonrisk.scan(path) as first, anonrisk.scan(path) as second:
        # That of the first is in use, and stays.
        assert {*left_in(tmp_path)} == {first.connection.folder, second.connection.folder}
        assert first.anon.k("a") == second.anon.k("a") == 1
    assert left_in(tmp_path) == []


def test_the_private_folder_is_no_part_of_the_table(tmp_path):
    path = written(tmp_path / "d" / "t.parquet", a=["x"])
    left = path.parent / f"{PREFIX}left"
    left.mkdir()
    (left / "rows.parquet").write_text(SECRET)
    with anonrisk.scan(path) as table:
        assert not left.exists()
        (table.connection.folder / "rows.parquet").write_text(SECRET)
        assert len(by_pandas(path.parent)) == anonrisk.scan(path.parent).anon.k("a") == 1
    (left.parent / ".other").mkdir()
    (left.parent / ".other" / "rows.parquet").write_text(SECRET)
    with pytest.raises(UnreadableTableError, match="would be skipped"):
        by_pandas(path.parent)


def test_folders_of_others_and_files_are_left_alone(tmp_path, monkeypatch):
    path = written(tmp_path / "t.parquet", a=["x"])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / f"{PREFIX}file").write_text("")
    (tmp_path / f"{PREFIX}link").symlink_to(elsewhere)
    (tmp_path / f"{PREFIX}dir").mkdir()
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: 12345)
        anonrisk.scan(path).close()
    assert len(left_in(tmp_path)) == 3
    anonrisk.scan(path).close()
    assert len(left_in(tmp_path)) == 2
    assert elsewhere.is_dir()


@pytest.mark.parametrize(("mode", "beside"), [(0o700, 1), (0o755, 1), (0o777, 0), (0o1777, 1)])
def test_nothing_lies_in_clear_where_everybody_may_exchange_the_folder(
    mode, beside, tmp_path, private
):
    place = tmp_path / "place"
    place.mkdir()
    path = written(place / "t.parquet", a=["x"])
    place.chmod(mode)
    with anonrisk.scan(path) as table:
        assert (len(left_in(place)), len(left_in(private))) == (beside, 1 - beside)
        assert (table.connection.spills == "plain") == beside
        assert stat.S_IMODE(table.connection.folder.stat().st_mode) == 0o700
    assert left_in(place) == []


def test_nothing_lies_in_clear_where_nothing_can_be_written(tmp_path, private, monkeypatch):
    path = written(tmp_path / "t.parquet", a=["x"])
    make = tempfile.mkdtemp

    def refused(*args, **about):
        if about["dir"] == tmp_path:
            raise PermissionError
        return make(*args, **about)

    monkeypatch.setattr(tempfile, "mkdtemp", refused)
    with anonrisk.scan(path) as table:
        assert table.connection.spills != "plain"
        assert len(left_in(private)) == 1


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="there is one file system")
def test_nothing_lies_in_clear_of_files_on_several_file_systems(tmp_path):
    one = written(tmp_path / "t.parquet", a=["x"])
    with tempfile.TemporaryDirectory(dir="/dev/shm") as other:
        two = written(Path(other) / "t.parquet", a=["x"])
        if one.stat().st_dev == two.stat().st_dev:
            pytest.skip("there is one file system")
        with anonrisk.scan([one, two]) as table:
            assert table.connection.spills != "plain"
            assert table.anon.k("a") == 2


def test_a_folder_that_is_removed_meanwhile_is_made_again(tmp_path, monkeypatch):
    make, made = tempfile.mkdtemp, []

    def removed(*args, **about):
        made.append(Path(make(*args, **about)))
        if len(made) == 1:
            made[0].rmdir()
        return str(made[-1])

    monkeypatch.setattr(tempfile, "mkdtemp", removed)
    folder = PrivateFolder(tmp_path)
    assert folder.path == made[1]
    folder.remove()
    assert left_in(tmp_path) == []


def test_a_folder_without_locks_is_never_taken_for_one_that_was_left(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(errno.ENOTSUP, "no locks here")

    monkeypatch.setattr("fcntl.flock", none)
    first, second = PrivateFolder(tmp_path), PrivateFolder(tmp_path)
    assert {*left_in(tmp_path)} == {first.path, second.path}
    first.remove()
    second.remove()
    assert left_in(tmp_path) == []


MANY = """
SELECT count(*) FROM (SELECT DISTINCT CAST(hash(i) AS TEXT) || 'xxxxxxxx'
FROM range(3000000) AS t(i))
"""


@pytest.mark.parametrize("spill", ["never", "encrypted"])
def test_what_does_not_fit_is_not_written_down_unencrypted(spill, tmp_path):
    import sqlalchemy as sa

    path = written(tmp_path / "t.parquet", a=["x"])
    with anonrisk.scan(path, memory="100MB", spill=spill) as table:
        assert table.connection.spills != "plain"
        if table.connection.spills == "never":
            with pytest.raises(EngineError, match=r"more than memory='100MB'.*'plain'.*httpfs"):
                table.fetch(sa.text(MANY), "count")
        assert table.anon.k("a") == 1


@pytest.mark.slow
def test_what_does_not_fit_is_written_down_beside_the_files(tmp_path):
    import sqlalchemy as sa

    path = written(tmp_path / "t.parquet", a=["x"])
    with anonrisk.scan(path, memory="100MB") as table:
        assert table.fetch(sa.text(MANY), "count") == [(3_000_000,)]
    assert [one.name for one in tmp_path.iterdir()] == ["t.parquet"]


# ---- files that change ----------------------------------------------------------------------


def test_a_file_that_changes_is_noticed(tmp_path):
    path = written(tmp_path / "t.parquet", zip=["1", "1"])
    with anonrisk.scan(path) as table:
        assert table.anon.k("zip") == 2
        written(path, zip=["1", "2"])
        with pytest.raises(UnreadableTableError, match="has changed since it was scanned"):
            table.anon.k("zip")
        verdict = anonrisk.Policy(quasi=["zip"], k=2).check(table)
        assert verdict.status == "could_not_assess"
        path.unlink()
        with pytest.raises(UnreadableTableError, match="has changed"):
            table.anon.k("zip")


def test_a_file_that_changes_between_two_statements_is_noticed(tmp_path, monkeypatch):
    from anonrisk.engines.scan.private import ScannedFiles

    path = written(tmp_path / "t.parquet", zip=["1", "1"])
    plain_rows, seen = ScannedFiles.rows, []

    def rows(self, query):
        found = plain_rows(self, query)
        seen.append(query)
        if len(seen) == 2:
            # As long as before, at the same time: only another file.
            before = path.stat()
            path.rename(tmp_path / "old.parquet")
            written(path, zip=["1", "1"])
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        return found

    with anonrisk.scan(path) as table:
        monkeypatch.setattr(ScannedFiles, "rows", rows)
        with pytest.raises(UnreadableTableError, match="has changed"):
            table.anon.k("zip")
        assert len(seen) == 2


# ---- refusals -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "about", "error", "words"),
    [
        ("s3://bucket/t.parquet", {}, ArgumentError, "not on this machine"),
        ("https://example.org/zip=1/t.csv", {}, ArgumentError, "zip=…/t.csv' is not on this"),
        ("https://me:s3cret@example.org/t.csv", {}, ArgumentError, "'https://…@example.org/t.csv'"),
        (None, {}, ArgumentError, "files are named by a path, or a list of paths, not by NoneType"),
        ([b"t.csv"], {}, ArgumentError, "not by bytes"),
        ([], {}, ArgumentError, "not by nothing"),
        ("nothing.parquet", {}, UnreadableTableError, "there is no file"),
        ("*.nothing", {}, UnreadableTableError, "no file matches"),
        ("", {}, ArgumentError, "a path is empty"),
        ("-", {}, UnreadableTableError, "a pipe is not scanned"),
        ("t.jsonl", {}, UnreadableTableError, "JSON lines are not scanned"),
        ("t.xlsx", {}, UnreadableTableError, "spreadsheet"),
        ("t.csv", {"format": "parquet"}, UnreadableTableError, "not a Parquet file"),
        ("t.csv", {"format": "json"}, ArgumentError, "format='json' is not one of"),
        ("t.csv", {"sep": ";;"}, ArgumentError, "sep is one character"),
        ("t.csv", {"sep": 5}, ArgumentError, "sep is one character"),
        ("t.csv", {"na": 5}, ArgumentError, "na lists the texts"),
        ("t.csv", {"na": [5]}, ArgumentError, "na lists the texts"),
        ("t.csv", {"dtypes": 5}, ArgumentError, "dtypes is a mapping"),
        ("t.csv", {"encoding": "martian"}, ArgumentError, "encoding"),
        ("t.csv", {"dtypes": {"zap": "number"}}, ArgumentError, "did you mean 'zip'"),
        ("t.csv", {"dtypes": {"zip": "float"}}, ArgumentError, "is not one of"),
        ("t.csv", {"memory": "lots"}, ArgumentError, "memory is a text such as"),
        ("t.csv", {"memory": 2}, ArgumentError, "memory is a text such as"),
        ("t.csv", {"spill": "sometimes"}, ArgumentError, "spill='sometimes' is not one of"),
    ],
)
def test_wrong_calls(given, about, error, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(PEOPLE)
    Path("t.jsonl").write_text('{"zip": 1}\n')
    Path("t.xlsx").write_text("")
    with pytest.raises(error, match=words):
        anonrisk.scan(given, **about)


def test_one_text_that_means_missing_is_not_its_letters(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("sex\nN\nA\nNA\n")
    for na in ("NA", ["NA"]):
        with anonrisk.scan(path, na=na) as table:
            assert table.anon.classes("sex", missing="drop").n_records == 2


@pytest.mark.parametrize("word", [{"na": ["x"]}, {"dtypes": {"a": "text"}}])
def test_what_is_said_of_texts_is_refused_where_there_are_none(word, tmp_path):
    path = written(tmp_path / "t.parquet", a=["x"])
    feather, orc = tmp_path / "t.feather", tmp_path / "t.orc"
    importlib.import_module("pyarrow.feather").write_feather(pa.table({"a": ["x"]}), feather)
    importlib.import_module("pyarrow.orc").write_table(pa.table({"a": ["x"]}), orc)
    table = TableFiles.of({"files": "t.parquet", **word}, "tables.t", tmp_path)
    for read in (
        lambda: anonrisk.scan(path, **word),
        lambda: table.in_memory(files.Wanted()),
        *(lambda file=file: by_pandas(file, **word) for file in (path, feather, orc)),
    ):
        with pytest.raises(ArgumentError, match=f"^--{next(iter(word))} is for CSV"):
            read()


def test_without_its_libraries(tmp_path, monkeypatch):
    path = written(tmp_path / "t.parquet", a=["x"])
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MissingLibraryError, match=r"pip install 'anonrisk\[scan\]'"):
        anonrisk.scan(path)
    monkeypatch.setattr(duckdb, "__version__", "1.1.9")
    monkeypatch.setitem(sys.modules, "duckdb", duckdb)
    with pytest.raises(MissingLibraryError, match=r"DuckDB 1\.2 or newer"):
        anonrisk.scan(path)


# ---- the command line -----------------------------------------------------------------------


POLICY = {"quasi": ["zip", "age"], "sensitive": ["illness"], "k": 2, "unlisted": "ignore"}
COMMANDS = {
    "check": ["--policy", "p.json"],
    "check with much more": ["--policy", "p.json", "--explain", "--n-original", "9"],
    "check, a population": ["--policy", "p.json", "--population", "people.csv"],
    "measure": ["--qids", "zip", "age", "--sensitive", "illness"],
    "measure, ordered": ["--qids", "zip", "--sensitive", "age", "--distance", "ordered"],
    "measure, dropped": ["--qids", "zip", "--missing", "drop"],
    "predict": ["--qids", "zip", "--group-size", "3"],
    "find-qids": ["--max-size", "2"],
    "report": ["--policy", "p.json", "-o", "r.json"],
}


def told(run, command, name, engine):
    code = main(
        [
            command.partition(",")[0].partition(" ")[0],
            name,
            *COMMANDS[command],
            "--json",
            "--engine",
            engine,
        ]
    )
    return code, run()


def without_time(document):
    """Leave out what differs from call to call, the engine, and what is tried in memory only."""
    if isinstance(document, dict):
        left_out = ("checked_at", "engine", "made", "masthead", "next_steps")
        left_out += ("trials", "advice", "next")
        return {k: without_time(v) for k, v in document.items() if k not in left_out}
    return [without_time(one) for one in document] if isinstance(document, list) else document


@pytest.fixture
def files_of_people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("t.csv", "people.csv"):
        Path(name).write_text(PEOPLE)
    by_pandas("t.csv").to_parquet("t.parquet")
    budgets = {
        "ldiv": {"l": 2, "variant": "distinct"},
        "tcloseness": {"t": 0.3, "distance": "equal"},
    }
    Path("p.json").write_text(anonrisk.Policy(**POLICY, **budgets).to_json())


@pytest.mark.usefixtures("files_of_people")
@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
@pytest.mark.parametrize("command", COMMANDS)
def test_both_engines_of_the_command_line_agree(command, name, capsys):
    if command == "measure, ordered" and name == "t.parquet":
        pytest.skip("text has no order")
    found = {}
    for engine in ("pandas", "scan"):
        words = [re.match(r"[a-z-]+", command)[0], name, *COMMANDS[command]]
        code = main([*words, "--json", "--engine", engine])
        said = capsys.readouterr()
        assert said.err == ""
        found[engine] = code, without_time(json.loads(said.out))
        if command == "report":
            page = json.loads(Path("r.json").read_text())
            found[engine] = (*found[engine], without_time(page))
    assert found["pandas"] == found["scan"]


@pytest.mark.usefixtures("files_of_people")
def test_large_files_are_scanned_and_the_verdict_says_so(capsys, monkeypatch):
    def checked(name):
        code = main(["check", name, "--policy", "p.json"])
        return code, capsys.readouterr().out

    for name in ("t.csv", "t.parquet"):
        monkeypatch.setattr(large, "LARGE", 1_000_000_000)
        small = checked(name)
        assert "scan" not in small[1]
        monkeypatch.setattr(large, "LARGE", 50)
        code, out = checked(name)
        assert code == small[0] == 1
        size = "77 bytes" if name == "t.csv" else " kB"
        assert "Read by scan (DuckDB), " in out
        assert size in out
    # Where it is not installed, as before.
    monkeypatch.setattr(large, "find_spec", lambda _: None)
    assert checked("t.csv")[1] == small[1].replace("t.parquet", "t.csv")


def test_packed_files_count_as_what_they_hold(tmp_path, monkeypatch):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(bytes(1_000))
    monkeypatch.setattr(large, "LARGE", 3_000)
    assert large.is_large([files.Part(path)], "csv")
    plain = path.rename(tmp_path / "t.csv")
    scanned = {kind for kind in files.FORMATS if large.is_large([files.Part(plain)], kind)}
    assert scanned == {"parquet"}


# What a scan refuses: what it means that a cell is missing, and how cells are stored.
REFUSED_BY_SCAN = {
    "wildcard": ({"missing": "wildcard"}, {}),
    "durations": ({}, {"zip": [dt.timedelta(1)] * 4}),
    "durations, no column named": ({"unlisted": "quasi"}, {"stay": [dt.timedelta(1)] * 4}),
}


@pytest.mark.parametrize("case", REFUSED_BY_SCAN)
def test_an_answer_does_not_change_when_a_file_grows(case, tmp_path, monkeypatch, capsys):
    keys, columns = REFUSED_BY_SCAN[case]
    path = written(tmp_path / "t.parquet", **{"zip": ["a", "a", None, "a"], **columns})
    policy = anonrisk.Policy(quasi=["zip"], k=2, missing_sensitive="value", **keys)
    (tmp_path / "p.json").write_text(policy.to_json())
    release = anonrisk.Release({"t": path}, policy, name="1")
    words = ["check", str(path), "--policy", str(tmp_path / "p.json")]
    status = anonrisk.Policy.check(policy, pd.read_parquet(path)).status
    for size in (1_000_000_000, 50):
        monkeypatch.setattr(large, "LARGE", size)
        assert (main(words) == 0) == (status == "pass")
        assert release.check().status == status
    # Who asks for a scan is told that it is not for this.
    assert main([*words, "--engine", "scan"]) == 3
    capsys.readouterr()


@pytest.mark.parametrize("command", ["measure", "report"])
def test_a_wildcard_of_the_command_line_is_counted_in_memory(
    command, tmp_path, monkeypatch, capsys
):
    path = written(tmp_path / "t.parquet", zip=["a", "a", None, "b"])
    monkeypatch.setattr(large, "LARGE", 50)
    page = []
    if command == "report":
        (tmp_path / "p.json").write_text(anonrisk.Policy(quasi="zip", k=2).to_json())
        page = ["-o", str(tmp_path / "r.json"), "--policy", str(tmp_path / "p.json")]
    words = [command, str(path), "--qids", "zip", "--missing", "wildcard", *page]
    assert main(words) == 0
    assert main([*words, "--engine", "scan"]) == 3
    capsys.readouterr()


@pytest.mark.parametrize("larger", ["t.csv", "p.csv"])
def test_a_table_and_its_population_are_scanned_together(larger, tmp_path, monkeypatch, capsys):
    for name in ("t.csv", "p.csv"):
        note = "long" * 10 if name == larger else ""
        (tmp_path / name).write_text("zip,note\n" + f"a,{note}\n" * 4)
    budgets = {"k": 2, "risk": {"journalist": {"highest": 0.5}}}
    policy = anonrisk.Policy(quasi=["zip"], insensitive=["note"], **budgets)
    (tmp_path / "p.json").write_text(policy.to_json())
    words = ["check", str(tmp_path / "t.csv"), "--policy", str(tmp_path / "p.json")]
    words += ["--population", str(tmp_path / "p.csv"), "--json"]
    for size in (1_000_000_000, (tmp_path / larger).stat().st_size):
        monkeypatch.setattr(large, "LARGE", size)
        assert main(words) == 0
        scanned = "scan" in json.loads(capsys.readouterr().out)["engine"]
        assert scanned == (size < 1_000_000)


@pytest.mark.parametrize("refused", ["t", "p"])
def test_a_table_is_not_scanned_where_its_population_cannot_be(
    refused, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(large, "LARGE", 0)
    stays = {name: [dt.timedelta(1) if name == refused else 1] * 4 for name in "tp"}
    table, people = (
        written(tmp_path / f"{name}.parquet", zip=["a"] * 4, stay=stays[name]) for name in "tp"
    )
    budgets = {"k": 2, "risk": {"journalist": {"highest": 0.5}}}
    policy = anonrisk.Policy(quasi=["zip"], insensitive=["stay"], **budgets)
    (tmp_path / "p.json").write_text(policy.to_json())
    words = ["check", str(table), "--policy", str(tmp_path / "p.json"), "--population"]
    assert main([*words, str(people), "--json"]) == 0
    assert "scan" not in json.loads(capsys.readouterr().out)["engine"]


def test_pipes_and_json_lines_are_read_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(large, "LARGE", 0)
    path = tmp_path / "t.jsonl"
    path.write_text('{"zip": 1}\n')
    for part in (files.Part(path), files.Part(Path("-"))):
        kind = "csv" if str(part.path) == "-" else None
        assert large.opened([part], files.Wanted(), files.TextFormat(), kind) is None


def test_a_file_that_is_damaged_inside_is_said_to_be(tmp_path):
    path = written(tmp_path / "t.parquet", x=[f"{SECRET}{i}" for i in range(9)])
    path.write_bytes(path.read_bytes().replace(SECRET.encode(), b"\xff" * len(SECRET)))
    with anonrisk.scan(path) as table, pytest.raises(EngineError, match="a file is damaged"):
        table.anon.k("x")


def test_errors_hold_no_cell(tmp_path):
    path = written(tmp_path / "t.parquet", x=[SECRET], y=[[SECRET]])
    with anonrisk.scan(path) as table:
        for ask in (
            lambda: table.anon.k("y"),
            lambda: table.anon.k("z"),
            lambda: table.anon.tcloseness("x", "x", "ordered"),
        ):
            with pytest.raises(AnonRiskError) as error:
                ask()
            assert SECRET not in str(error.value)
