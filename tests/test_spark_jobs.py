"""The jobs of spark_jobs/: as functions of a session, and by the real spark-submit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import anonrisk
from anonrisk import errors
from anonrisk.cli import main as command_line
from anonrisk.cli.job import main

ROOT = Path(__file__).parents[1]
SECRET = "Xavier-7741"
PEOPLE = "zip,age,illness\n01234,30,flu\n01234,30,\n1234,30,NA\n1234,30,cold\n"
# The tables here have columns that no test is about.
TEMPLATE = {
    "version": 1,
    "roles": {"quasi": ["zip", "age"]},
    "unlisted": "ignore",
    "budgets": {"k": 2},
}

pytestmark = [pytest.mark.slow, pytest.mark.spark("spark")]


@pytest.fixture
def job(spark, capfd, tmp_path, monkeypatch):
    """Run a job in the session of the tests; give its exit code and its JSON."""
    monkeypatch.chdir(tmp_path)
    places = ("t.csv", "u.csv", "d", "t", "no.parquet")
    before = spark.conf.get("spark.sql.csv.parser.columnPruning.enabled")

    def call(name, *arguments):
        # Java stays in the folder that it was started in.
        given = [tmp_path / one if one in places else one for one in arguments]
        code = main(name, [*map(str, given), "--json", "--output", "out.json"])
        # Spark itself writes errors to the log, which belongs to the cluster.
        assert "Traceback" not in capfd.readouterr().err
        said = Path("out.json").read_text()
        assert SECRET not in said
        return code, json.loads(said)

    yield call
    assert spark.conf.get("spark.sql.csv.parser.columnPruning.enabled") == before
    spark.range(1).count()


def test_csv_is_read_as_on_the_command_line(job, tmp_path):
    (tmp_path / "t.csv").write_text(PEOPLE)
    (tmp_path / "p.json").write_text(json.dumps(TEMPLATE))
    code, found = job("measure", "t.csv", "--format", "csv", "--qids", "zip", "age")
    assert code == 0
    table = pd.read_csv("t.csv", dtype=str, keep_default_na=False, na_values=[""])
    assert found["sizes"] == anonrisk.classes(table, ["zip", "age"]).to_dict()
    asked = ("measure", "t.csv", "--format", "csv", "--missing", "drop", "--qids", "illness")
    assert job(*asked)[1]["sizes"]["n_dropped"] == 1
    assert job(*asked, "--na", "NA")[1]["sizes"]["n_dropped"] == 2
    number = ("--dtypes", "zip=number")
    asked = ("measure", "t.csv", "--format", "csv", "--qids", "zip")
    assert job(*asked, *number)[1]["sizes"]["n_classes"] == 1
    code, found = job("check", "t.csv", "--format", "csv", "--policy", "p.json")
    assert (code, found["status"], found["engine"]) == (0, "pass", "spark")
    (tmp_path / "u.csv").write_text(f"zip,age\n1,2\n{SECRET},3\n")
    code, found = job("measure", "u.csv", "--format", "csv", "--qids", "zip", *number)
    assert code == 3
    assert "does not hold numbers alone, but 1 other cell" in found["message"]


def test_damaged_and_mixed_files_are_no_pass(job, tmp_path):
    (tmp_path / "p.json").write_text(json.dumps({**TEMPLATE, "roles": {"quasi": ["zip"]}}))
    (tmp_path / "d").mkdir()
    (tmp_path / "d/a.csv").write_text("zip,age\n1,2\n1,2\n")
    (tmp_path / "d/b.csv").write_text(f"zip,age\n1,2\n1,2,{SECRET}\n")
    check = ("check", "d", "--format", "csv", "--policy", "p.json")
    code, found = job(*check)
    assert (code, found["status"]) == (3, "could_not_assess")
    (tmp_path / "d/b.csv").write_text("zip,born\n1,2\n1,2\n")
    assert job(*check)[0] == 3
    (tmp_path / "d/b.csv").write_text('zip,age\n"1",2\n"1","2\n3"\n')
    assert job(*check)[0] == 0
    assert job("check", "no.parquet", "--policy", "p.json")[0] == 3
    assert job("check", "nowhere.no_table", "--format", "table", "--policy", "p.json")[0] == 3
    assert job("check", "--policy", "p.json")[0] == 2
    assert job("check", "d", "d", *check[2:])[0] == 2


def test_other_sources_and_partitions(job, spark, tmp_path):
    frame = pd.DataFrame({"zip": ["01", "1", "01", "1"], "n": [1, 1, 1, 1]})
    table = spark.createDataFrame(frame)
    table.write.partitionBy("zip").parquet(str(tmp_path / "t"))
    assert job("measure", "t", "--qids", "zip", "n")[1]["sizes"]["n_classes"] == 2
    # Roles that Spark wrote hold on the command line, where pandas reads.
    (tmp_path / "p.json").write_text(json.dumps({**TEMPLATE, "roles": {"quasi": ["n"]}}))
    about = ("--policy", str(tmp_path / "p.json"))
    for said, code in ((table, 0), (table.anon.declare(quasi="n", direct="zip"), 1)):
        said.coalesce(1).write.mode("overwrite").parquet(str(tmp_path / "u"))
        assert command_line(["check", str(tmp_path / "u"), *about]) == code
    table.createOrReplaceTempView("job_table")
    asked = ("--format", "table", "--qids", "zip", "n", "--group-size", 2)
    code, found = job("predict", "--input", "job_table", *asked)
    assert code == 0
    assert found["group"]["group_size"] == 2
    # A result for a file system of the cluster is written by Spark, as a folder.
    where = f"file://{tmp_path}/verdict"
    arguments = ["job_table", "--format", "table", "--qids", "zip", "--output", where]
    assert main("measure", arguments) == 0
    (part,) = (tmp_path / "verdict").glob("part-*")
    assert json.loads(part.read_text())["sizes"]["k"] == 2


def test_numbers_that_are_no_floats_are_refused(job, tmp_path):
    asked = ("measure", "t.csv", "--format", "csv", "--qids", "n", "m", "--dtypes", "n=number")
    kept = [
        "1.0",
        "+1e0",
        "0.30000000000000004",
        "0.3",
        "-0",
        "0.0",
        "1e300",
        "10000000000000000000000",
        "1e22",
    ]
    (tmp_path / "t.csv").write_text("\n".join(["n,m", *(f"{cell},1" for cell in kept)]))
    code, found = job(*asked)
    assert (code, found["sizes"]["n_classes"]) == (0, 6)
    lost = ("12345678901234567891", "9007199254740993", "0.1000000000000000055", "1e400", "1e-400")
    rows = [f"{cell},{i}" for i, cell in enumerate((*lost, "1.2345678e-320"))]
    (tmp_path / "t.csv").write_text("\n".join(["n,m", *rows, "1,1"]))
    code, found = job(*asked)
    assert code == 3
    assert "column 'n' has 6 numbers with more digits" in found["message"]
    # The end of a line is no part of a number.
    (tmp_path / "t.csv").write_text('n,m\n"12\n",1\n12,1\n')
    code, found = job(*asked)
    assert "1 other cell" in found["message"]


def test_a_missing_value_in_a_table_of_one_column(job, tmp_path):
    asked = ("measure", "t.csv", "--format", "csv", "--qids", "zip", "--missing", "drop")
    (tmp_path / "t.csv").write_text('zip\n1\n""\n1\n')
    code, found = job(*asked)
    assert (code, found["sizes"]["n_records"], found["sizes"]["n_dropped"]) == (0, 2, 1)
    (tmp_path / "t.csv").write_text("zip\r\n1\r\n1\r\n\r\n")
    code, found = job(*asked)
    assert code == 3
    assert "a line of 't.csv' is blank" in found["message"]


def test_files_that_are_passed_over_or_read_twice(job, spark, tmp_path):
    (tmp_path / "p.json").write_text(json.dumps({**TEMPLATE, "roles": {"quasi": ["zip"]}}))
    check = ("check", "d", "--policy", "p.json")
    (tmp_path / "d").mkdir()
    frame = pd.DataFrame({"zip": ["1", "1"], "n": [1, 2]})
    frame.to_parquet(tmp_path / "d/a.parquet")
    assert job(*check)[0] == 0
    assert job(*check[:2], tmp_path / "d/a.parquet", *check[2:])[0] == 2
    damaged = bytearray((tmp_path / "d/a.parquet").read_bytes())
    damaged[4:40] = b"\xff" * 36
    (tmp_path / "d/b.parquet").write_bytes(damaged)
    ignoring = "spark.sql.files.ignoreCorruptFiles"
    spark.conf.set(ignoring, "true")
    try:
        assert job(*check)[0] == 3
        assert spark.conf.get(ignoring) == "true"
        assert job(*check, "--option", "ignorecorruptfiles=true")[0] == 2
        # A view takes no options of the reader.
        spark.read.parquet(str(tmp_path / "d")).createOrReplaceTempView("damaged")
        assert job("check", "damaged", "--format", "table", *check[2:])[0] == 3
    finally:
        spark.catalog.dropTempView("damaged")
        spark.conf.unset(ignoring)
    (tmp_path / "t/zip=1011").mkdir(parents=True)
    frame.assign(zip=["1", "2"]).to_parquet(tmp_path / "t/zip=1011/a.parquet")
    code, found = job("check", "t", *check[2:])
    assert code == 3
    assert "column 'zip' is in the files and in their folders" in json.dumps(found)
    # It stands for a column also where it is named itself.
    assert job("check", tmp_path / "t/zip=1011", *check[2:])[0] == 3


def test_a_path_that_is_empty_names_no_table(job, tmp_path):
    (tmp_path / "p.json").write_text(json.dumps(TEMPLATE))
    (tmp_path / "t.csv").write_text(PEOPLE)
    about = ("--format", "csv", "--policy", "p.json")
    for empty in ("", "  "):
        for given in ([empty], ["t.csv", empty], ["--input", empty]):
            code, found = job("check", *given, *about)
            assert code == 2
            assert "a path is empty" in found["message"]
        assert job("check", "t.csv", *about, "--population", empty)[0] == 2
        assert job("check", empty, "--format", "table", "--policy", "p.json")[0] == 2
        assert job("check", empty, "--policy", "p.json")[0] == 2


def test_letters_that_would_become_one(job, tmp_path):
    (tmp_path / "p.json").write_text(json.dumps({**TEMPLATE, "roles": {"quasi": ["name"]}}))
    names = ("M\xfcller", "M\xf6ller", "Jos\xe9", "Jos\xe8")
    texts = {
        "csv": "\n".join(["name,age", *(f"{name},1" for name in names)]),
        "json": "\n".join(f'{{"name": "{name}", "age": 1}}' for name in names),
    }
    for kind, text in texts.items():
        (tmp_path / "t").write_bytes(text.encode("latin-1"))
        check = ("check", "t", "--format", kind, "--policy", "p.json")
        code, found = job(*check)
        assert (code, found["status"]) == (3, "could_not_assess")
        assert "not text in UTF-8; say which --encoding" in json.dumps(found)
        # The truth: everybody is alone.
        assert job(*check, "--encoding", "latin-1")[0] == 1
        code, found = job(*check, "--encoding", "shift_jis")
        assert code == 2
        assert "--encoding shift_jis: Spark does not read it as Python does" in found["message"]


def test_encodings_are_those_of_python(spark):
    from pyspark.sql import functions as f

    from anonrisk.engines.spark.charsets import JAVA, is_wide, refuse_unknown
    from anonrisk.engines.spark.read import session

    java = spark.sparkContext._jvm.java
    lacking = {one for one, name in JAVA.items() if not java.nio.charset.Charset.isSupported(name)}
    # Small runtimes come without this module; what they read, they read as Python does.
    assert not (lacking and java.lang.ModuleLayer.boot().findModule("jdk.charsets").isPresent())
    assert lacking.isdisjoint({"utf-8", "utf-16", "utf-32", "ascii", "iso8859-1", "cp1252"})

    def by_python(raw, encoding):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            return None

    def read(n_bytes, encodings):
        digits = f.lpad(f.hex("id"), 2 * n_bytes, "0")
        letters = [f.decode(f.unhex(digits), JAVA[one]).alias(one) for one in encodings]
        return session_of_job.range(256**n_bytes).select("id", *letters).collect()

    single = [one for one, name in JAVA.items() if not is_wide(name) and one not in lacking]
    with session("test") as session_of_job:
        for encoding in lacking:
            with pytest.raises(errors.EngineError, match=f"--encoding {encoding}: the Java that"):
                refuse_unknown(session_of_job, encoding)
        for n_bytes, encodings in ((1, single), (2, [*{"gb2312"} - lacking])):
            for row in read(n_bytes, encodings):
                raw = row.id.to_bytes(n_bytes, "big")
                for encoding in encodings:
                    letter = row[encoding]
                    truth = by_python(raw, encoding)
                    assert (None if "\ufffd" in letter else letter) == truth, (encoding, raw)


def test_an_encoding_that_java_lacks_is_refused_in_words(job, tmp_path, monkeypatch):
    from anonrisk.engines.spark import charsets

    (tmp_path / "t.csv").write_text(PEOPLE)
    asked = ("measure", "t.csv", "--format", "csv", "--qids", "zip", "--encoding", "cp1250")
    assert job(*asked)[0] == 0
    # As on a Java without its module of encodings.
    monkeypatch.setitem(charsets.JAVA, "cp1250", "x-MacNowhere")
    code, found = job(*asked)
    assert code == 3
    assert "--encoding cp1250: the Java that Spark runs on does not know it" in found["message"]
    # What has another reason is not said to be that.
    (tmp_path / "t.csv").unlink()
    assert "does not know it" not in job(*asked[:-1], "latin-1")[1]["message"]


def test_text_is_read_in_one_way_only(job, tmp_path):
    (tmp_path / "t.csv").write_text(PEOPLE)
    asked = ("measure", "t.csv", "--format", "csv", "--qids", "zip", "--option")
    for option in ("mode=DROPMALFORMED", "comment=0", "header=false", "multiLine=false"):
        code, found = job(*asked, option)
        assert code == 2
        assert "read in one way only" in found["message"]
    assert job(*asked, "recursiveFileLookup=false")[0] == 0


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    "option", ["pathGlobFilter=*.csv", "modifiedAfter=2020-01-01", "MODIFIEDBEFORE=2020-01-01"]
)
def test_no_option_leaves_a_part_of_a_table_out(job, option, kind):
    code, found = job("measure", "d", "--format", kind, "--qids", "zip", "--option", option)
    assert code == 2
    assert "a table that is only partly read cannot pass; name the files" in found["message"]


def test_files_in_folders_that_spark_passes_over(job, tmp_path):
    (tmp_path / "d/deep").mkdir(parents=True)
    (tmp_path / "d/a.csv").write_text("zip,age\n1,2\n1,2\n")
    (tmp_path / "d/deep/b.csv").write_text("zip,age\n3,4\n")
    asked = ("measure", "d", "--format", "csv", "--qids", "zip")
    code, found = job(*asked)
    assert code == 3
    assert "which Spark skips" in found["message"]
    code, found = job(*asked, "--option", "recursiveFileLookup=true")
    assert (code, found["sizes"]["n_records"]) == (0, 3)
    frame = pd.DataFrame({"zip": ["1", "1"]})
    (tmp_path / "t/deep").mkdir(parents=True)
    frame.to_parquet(tmp_path / "t/a.parquet")
    frame.to_parquet(tmp_path / "t/deep/b.parquet")
    assert job("measure", "t", "--qids", "zip")[0] == 3


def test_parquet_files_that_declare_different_roles(job, spark, tmp_path, monkeypatch):
    (tmp_path / "p.json").write_text(json.dumps({**TEMPLATE, "roles": {"quasi": ["zip"]}}))
    plain = spark.createDataFrame(
        pd.DataFrame({"zip": ["1", "1"], "age": ["2", "2"], "name": [SECRET, "B"]})
    )
    declared = plain.anon.declare(quasi="zip", direct="name")
    marked = plain.anon.permute("zip", seed=1)
    check = ("--policy", "p.json")

    def written(folder, *tables):
        for mode, one in zip(("overwrite", *["append"] * len(tables)), tables, strict=False):
            one.write.mode(mode).parquet(str(tmp_path / folder))

    different = "files of this table declare different roles"
    for tables in ((plain, declared), (declared, plain), (plain, marked)):
        written("t", *tables)
        code, found = job("check", "t", *check)
        assert code == 3
        assert different in json.dumps(found)
    # By two paths, in both orders.
    written("t", plain)
    written("d", declared)
    for paths in (("t", "d"), ("d", "t")):
        code, found = job("check", *paths, *check)
        assert code == 3
        assert different in json.dumps(found)
    # What they agree on holds, whichever order the roles were written down in.
    written("t", declared.repartition(2), declared.select("name", "age", "zip"))
    assert job("check", "t", *check)[0] == 1
    written("t", plain, plain)
    assert job("check", "t", *check)[0] == 0
    # Where there are too many to look at, nobody can tell, unless none declares anything.
    monkeypatch.setattr("anonrisk.engines.spark.read._MOST", 1)
    assert job("check", "t", *check)[0] == 0
    written("t", declared, declared)
    code, found = job("check", "t", *check)
    assert code == 3
    assert "was written in 2 times" in json.dumps(found)


def submit(name, *arguments, cwd):
    import pyspark

    program = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    quick = ("--master", "local[1]", "--conf", "spark.ui.enabled=false")
    command = [program, *quick, ROOT / "spark_jobs" / f"{name}.py", *arguments]
    env = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    return subprocess.run(
        list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("k", "code", "status"), [(3, 1, "fail"), pytest.param(2, 0, "pass", marks=pytest.mark.nightly)]
)
def test_by_spark_submit(tmp_path, k, code, status):
    (tmp_path / "t.csv").write_text(PEOPLE)
    (tmp_path / "p.json").write_text(json.dumps({**TEMPLATE, "budgets": {"k": k}}))
    given = ("t.csv", "--format", "csv", "--policy", "p.json", "--output", "v.json")
    done = submit("check", *given, cwd=tmp_path)
    assert done.returncode == code, done.stderr[-1000:]
    assert json.loads((tmp_path / "v.json").read_text())["status"] == status


@pytest.mark.nightly
def test_wrong_words_by_spark_submit(tmp_path):
    (tmp_path / "t.csv").write_text(PEOPLE)
    table = ("t.csv", "--format", "csv")
    # spark-submit merges what a Python program writes to its two outputs.
    done = submit("measure", *table, "--qids", "zp", cwd=tmp_path)
    assert done.returncode == 3
    assert "did you mean 'zip'" in done.stdout + done.stderr
    done = submit("predict", *table, "--qids", "zip", cwd=tmp_path)
    assert done.returncode == 2
    assert "--group-size" in done.stdout + done.stderr


def test_files_of_this_machine_are_looked_at(job, spark, tmp_path):
    table = pd.DataFrame({"zip": [*["1", "2"] * 3, SECRET], "age": 1})
    table["zip"] = table["zip"].astype("category")
    (tmp_path / "d").mkdir()
    table[table["zip"] != SECRET].to_parquet(tmp_path / "d" / "0.parquet", index=False)
    (tmp_path / "p.json").write_text(json.dumps(TEMPLATE))
    code, found = job("check", "d", "--policy", "p.json")
    assert (code, found["storage"][0]["value"]) == (1, 1)
    spark.read.parquet(str(tmp_path / "d")).write.parquet(str(tmp_path / "t"))
    code, found = job("check", "t", "--policy", "p.json")
    assert (code, found["storage"]) == (0, [])
    spark.read.parquet(str(tmp_path / "d")).write.mode("overwrite").orc(str(tmp_path / "t"))
    code, found = job("check", "t", "--policy", "p.json", "--format", "orc")
    assert (code, found["storage"]) == (0, [])
