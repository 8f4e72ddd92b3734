"""`anonrisk dbt`: a policy as tests of dbt, which come to the verdict of `Policy.check`.

By day the SQL is written by a bit of Jinja and run in DuckDB and PostgreSQL; by night dbt does it.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from environments import python_of

import anonrisk
from anonrisk import Policy
from anonrisk.cli import main
from anonrisk.errors import PolicyError
from anonrisk.policy.dbt.model import python_model

sa = pytest.importorskip("sqlalchemy")
pytest.importorskip("sqlglot")
pytest.importorskip("jinja2")
databases = pytest.importorskip("databases")
dbt_jinja = pytest.importorskip("dbt_jinja")
sql_tests = pytest.importorskip("anonrisk.policy.dbt.tests").sql_tests

NAN = float("nan")
# Ends literals and tags of Jinja, strings and identifiers of SQL, and a line.
ODD = """we"ird' }} %} {{ 1 }} #} \\ é\u200b :x\n"""
ADAPTERS = {"duckdb": "duckdb", "postgresql": "postgres"}
DOCUMENTS = Path(__file__).parent / "data" / "catalogues"


@pytest.fixture(scope="module", params=["duckdb", "postgresql"])
def connection(request, tmp_path_factory):
    engine = databases.connect(request.param, request, tmp_path_factory.mktemp(request.param))
    with engine.connect() as opened:
        yield opened
    engine.dispose()


class Relation:
    """A table as dbt gives it to a test."""

    def __str__(self):
        return '"t"'


def columns_of(connection, name="t"):
    """Return the columns as dbt's adapters do: by the information schema."""
    query = sa.text(
        "select column_name, data_type from information_schema.columns "
        "where table_name = :name order by ordinal_position"
    )
    rows = connection.execute(query, {"name": name})
    return [SimpleNamespace(name=name, dtype=dtype) for name, dtype in rows]


def outcome(connection, policy, **config):
    """Run every test: how many failures each has, -1 where it is in doubt."""
    return {test: n for test, (n, _) in results(connection, policy, **config).items()}


def results(connection, policy, **config):
    """Run every test: its failures, and what was measured where it fails."""
    files = sql_tests(policy, "t", "p")
    adapter = ADAPTERS[connection.dialect.name]
    project = dbt_jinja.Project(files, adapter, columns_of(connection), **config)
    found = {}
    for test in project.tests:
        name = test.removeprefix("anonrisk_p__t_")
        try:
            sql = project.sql(test, Relation())
        except dbt_jinja.CompilerError:
            found[name] = (-1, None)
            continue
        if adapter == "postgres":
            # Its driver takes % for the place of a parameter.
            sql = sql.replace("%", "%%")
        # As dbt wraps it.
        rows = connection.exec_driver_sql(f"select * from ({sql}) as dbt_internal_test").mappings()
        row = rows.one_or_none() or {"failures": 0}
        found[name] = (int(row["failures"]), row.get("measured"))
    return found


def random_cells(seed, n):
    rng = random.Random(seed)
    return {
        "q": [rng.choice(["a", "A", "a ", "b", None, "é"]) for _ in range(n)],
        ODD: [rng.choice([0.0, -0.0, 1.5, NAN, None]) for _ in range(n)],
        "i": [rng.choice([1, 2, None]) for _ in range(n)],
        "s": [rng.choice(["x", "y", "z", *([None] if seed % 2 else [])]) for _ in range(n)],
        "u": [rng.randrange(max(n // 2, 1)) for _ in range(n)],
    }


def pandas_of(cells):
    made = {name: pd.Series(column, dtype=object) for name, column in cells.items()}
    return pd.DataFrame({**made, ODD: cells[ODD], "i": pd.array(cells["i"], dtype="Int64")})


def random_policy(seed):
    rng = random.Random(seed)
    severity = {"severity": rng.choice(["fail", "warn"])}
    budgets = {
        "k": {"at_least": rng.randint(1, 3), **severity},
        "max_unique_fraction": rng.choice([0, 0.1, 0.5]),
        "max_unique_records": rng.choice([0, 3]),
        "max_fraction_below_k": {"k": 3, "at_most": rng.choice([0.2, 0.9])},
        "max_records_below_k": {"k": 3, "at_most": rng.choice([1, 30]), **severity},
        "ldiv": [
            {"l": 2, **severity},
            {"l": 1.5, "variant": "entropy"},
            {"l": 2, "variant": "recursive", "c": 1.5},
        ],
        "tcloseness": {"t": rng.choice([0.2, 0.7]), "distance": "equal"},
    }
    some = rng.sample(list(budgets), 4)
    asked = {key: budgets[key] for key in some}
    quasi = rng.sample(["q", ODD, "i"], rng.randint(1, 3))
    rest = [name for name in ("q", ODD, "i") if name not in quasi]
    unit = rng.choice([None, "u"])
    said = {
        "roles": {
            "quasi": quasi,
            "sensitive": ["s"],
            "insensitive": rest if unit else [*rest, "u"],
            **({"unit": unit} if unit else {}),
        },
        "missing": rng.choice(["value", "value", "error"]),
        "missing_sensitive": rng.choice(["value", "value", "error", None]),
    }
    if rng.random() < 0.5:
        subsets = [{"every_subset_of": 1, "budgets": asked}]
        return Policy.from_dict({"version": 1, **said, "qids": subsets})
    return Policy.from_dict({"version": 1, **said, "budgets": asked})


# ---- one verdict --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n", [0, 1, 40])
def test_the_verdict_is_that_of_a_check(connection, n):
    statuses = set()
    for seed in range(8):
        cells = random_cells(seed, n)
        databases.write(connection, "t", cells)
        policy = random_policy(seed)
        verdict = policy.check(pandas_of(cells))
        found = results(connection, policy)
        # Tests in SQL are of budgets and columns; what columns hold is for a model in Python.
        beside = ("table", "direct", "limits", "contents")
        findings = [f for f in verdict.findings if f.budget not in beside]
        blocks = any(
            failures and (failures < 0 or not warns(policy, test))
            for test, (failures, _) in found.items()
        )
        assert blocks == (not verdict.passed), (seed, found, verdict)
        statuses.add(verdict.status)
        if not n:
            continue
        by_budget = {}
        for finding in findings:
            by_budget.setdefault((finding.budget, str(finding.parameters)), []).append(finding)
        budgets = [one for test, one in found.items() if test not in ("columns", "rows")]
        for (failures, measured), some in zip(budgets, by_budget.values(), strict=True):
            # What a check could not assess for its rows, the test of rows stops at.
            if any(f.status == "could_not_assess" for f in some):
                continue
            broken = [f.value for f in some if not f.passed]
            assert (failures > 0) == bool(broken), (seed, some)
            if broken:
                worst = min if some[0].budget in ("k", "ldiv") else max
                assert measured == pytest.approx(worst(broken), rel=1e-12)
    assert statuses == ({"could_not_assess"} if not n else {*statuses, "fail"})


def warns(policy, test):
    if test in ("columns", "rows"):
        return False
    budgets = [b for rule in policy.rules for b in rule.budgets]
    return budgets[int(test.partition("_")[0]) - 1].severity == "warn"


PLAIN = {"quasi": ["q"], "k": 2}
TWINS = {"q": ["a", "a", "b", "b"]}


def test_a_table_passes_and_fails(connection):
    databases.write(connection, "t", TWINS)
    assert outcome(connection, Policy(**PLAIN)) == {"columns": 0, "rows": 0, "1_k": 0}
    assert outcome(connection, Policy(quasi=["q"], k=3))["1_k"] == 1
    # A limit that only warns is counted, and no doubt.
    warns = {"at_least": 3, "severity": "warn"}
    assert outcome(connection, Policy(quasi=["q"], k=[2, warns])) == {
        "columns": 0,
        "rows": 0,
        "1_k": 0,
        "2_k": 1,
    }
    for nothing in (warns, 1):
        with pytest.raises(PolicyError, match="no table can fail what is asked"):
            outcome(connection, Policy(quasi=["q"], k=nothing))


def test_columns_that_should_not_be_there_are_counted(connection):
    databases.write(connection, "t", {**TWINS, "name": ["A", "B", "C", "D"], "Note": ["x"] * 4})
    assert outcome(connection, Policy(**PLAIN, direct=["name"]))["columns"] == 2
    # Another spelling is another column, and has no role.
    assert outcome(connection, Policy(**PLAIN, insensitive=["name", "note"]))["columns"] == 1
    assert outcome(connection, Policy(**PLAIN, insensitive=["name", "Note"]))["columns"] == 0


def test_a_column_that_is_not_there_is_a_doubt(connection):
    databases.write(connection, "t", {"q2": ["a", "a"]})
    found = outcome(connection, Policy(quasi=["q"], insensitive=["q2"], k=2, unit="u"))
    assert (found["1_k"], found["rows"]) == (-1, -1)


def test_types_whose_equality_is_another_are_a_doubt(connection):
    kind = {"duckdb": "integer[]", "postgresql": "jsonb"}[connection.dialect.name]
    value = {"duckdb": "[1]", "postgresql": "'1'"}[connection.dialect.name]
    connection.exec_driver_sql("drop table if exists t")
    connection.exec_driver_sql(f"create table t as select 'a' as q, cast({value} as {kind}) as x")
    found = outcome(connection, Policy(quasi=["q", "x"], k=2))
    assert found == {"columns": 1, "rows": 0, "1_k": -1}


def test_texts_are_compared_exactly_whatever_their_collation(connection):
    of = {"duckdb": "nocase", "postgresql": "loose"}[connection.dialect.name]
    connection.exec_driver_sql("drop table if exists t")
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(
            "create collation loose (provider = icu, locale = 'und-u-ks-level2', "
            "deterministic = false)"
        )
    connection.exec_driver_sql(f"create table t (q text collate {of}, s text collate {of})")
    connection.exec_driver_sql("insert into t values ('a', 'x'), ('A', 'x'), ('a', 'X')")
    policy = Policy(quasi=["q"], sensitive=["s"], missing_sensitive="value", k=2, ldiv={"l": 2})
    assert outcome(connection, policy) == {"columns": 0, "rows": 0, "1_k": 1, "2_ldiv": 1}
    loose = Policy(quasi=["q"], max_unique_records=1, k=1, insensitive=["s"])
    assert set(outcome(connection, loose).values()) == {0}


@pytest.mark.parametrize(
    "config",
    [
        {"severity": "warn"},
        {"where": "q = 'a'"},
        {"limit": 10},
        {"fail_calc": "0"},
        {"error_if": "> 100"},
        {"warn_if": "> 100"},
    ],
)
def test_a_configuration_that_softens_a_gate_is_refused(connection, config):
    databases.write(connection, "t", TWINS)
    assert set(outcome(connection, Policy(**PLAIN), **config).values()) == {-1}


def test_other_adapters_are_refused_in_the_macro():
    files = sql_tests(Policy(**PLAIN), "t", "p")
    project = dbt_jinja.Project(files, "snowflake", [SimpleNamespace(name="q", dtype="TEXT")])
    for test in project.tests:
        with pytest.raises(dbt_jinja.CompilerError, match="what snowflake considers equal"):
            project.sql(test, Relation())
    project = dbt_jinja.Project(files, "duckdb", [SimpleNamespace(name="q", dtype="VARCHAR")])
    with pytest.raises(dbt_jinja.CompilerError, match="a whole table"):
        project.sql(project.tests[0], '(select * from "t" limit 2)')


# ---- what SQL cannot tell -----------------------------------------------------------------------


TREE = {"any": {"v": ["x", "y"], "w": ["z"]}}
IN_A_TREE = {"t": 0.1, "distance": "hierarchical", "hierarchies": TREE}


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"missing": "wildcard"}, "missing: wildcard"),
        ({"missing": "drop", "max_dropped_fraction": 0.1}, "missing: drop"),
        ({"missing_sensitive": "drop", "ldiv": {"l": 2}}, "missing_sensitive: drop"),
        ({"by": "s"}, "decide: by"),
        ({"unlisted": "ignore"}, "unlisted: ignore"),
        ({"unlisted": "quasi"}, "unlisted: quasi"),
        ({"risk": {"prosecutor": {"highest": 0.2}}}, r"risk\.prosecutor\.highest"),
        ({"max_suppressed": 0.1}, "max_suppressed"),
        ({"tcloseness": {"t": 0.1, "distance": "ordered"}}, r"tcloseness \(ordered\)"),
        ({"tcloseness": IN_A_TREE}, r"tcloseness \(hierarchical\)"),
        ({"tcloseness": {**IN_A_TREE, "hierarchies": {"s": TREE}}}, r"tcloseness \(hierarchical\)"),
        ({"quasi": None}, "names no quasi-identifier"),
        ({"sensitive": None, "ldiv": {"l": 2}}, "ldiv needs a sensitive column"),
        ({"reviewed": False}, "draft"),
        ({"quasi": [3]}, "column 3 is not named by a text"),
    ],
)
def test_what_sql_cannot_tell_is_refused_by_name(said, error):
    policy = Policy(**{"quasi": ["q"], "sensitive": ["s"], "k": 2, **said})
    with pytest.raises(PolicyError, match=error):
        sql_tests(policy, "t", "p")


def test_more_sets_than_a_test_holds_are_refused():
    columns = [f"c{i}" for i in range(12)]
    qids = [{"every_subset_of": 3, "budgets": {"k": 2}}]
    policy = Policy.from_dict({"version": 1, "roles": {"quasi": columns}, "qids": qids})
    with pytest.raises(PolicyError, match="every_subset_of with 220 sets"):
        sql_tests(policy, "t", "p")


# ---- the model in Python ------------------------------------------------------------------------


def run_model(text, table):
    made = {}
    exec(compile(text, "model.py", "exec"), made)
    asked = SimpleNamespace(config=lambda **_: None, ref=lambda name: {"t": table}[name])
    return made["model"](asked, None)


def test_a_model_in_python_gives_the_table_on_or_fails():
    policy = Policy(quasi=[ODD], k=2, risk={"prosecutor": {"highest": 0.5}})
    ((path, text),) = python_model(policy, "t").items()
    assert path == "models/t_published.py"
    table = pd.DataFrame({ODD: [1, 1]})
    assert run_model(text, table) is table
    with pytest.raises(anonrisk.ReleaseBlocked, match="smallest class"):
        run_model(text, pd.DataFrame({ODD: [1, 2]}))
    with pytest.raises(anonrisk.ReleaseBlocked, match="has no role"):
        run_model(text, pd.DataFrame({ODD: [1, 1], "more": [1, 2]}))
    with pytest.raises(PolicyError, match="draft"):
        python_model(Policy(quasi=["q"], k=2, reviewed=False), "t")


# ---- the command --------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "policy.json").write_text(
        Policy(name="A release, k = 2", k=2, ldiv={"l": 2}, missing_sensitive="error").to_json()
    )
    return tmp_path


MANIFEST = ("--manifest", str(DOCUMENTS / "dbt_manifest.json"))
DBT = ("dbt", "policy.json", "--model", "visits", "-o", ".")


def test_roles_come_from_the_manifest(here, capsys):
    assert main([*DBT]) == 2
    assert "--manifest" in capsys.readouterr().err
    assert main([*DBT, *MANIFEST, "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["written"]
    assert written == [
        "macros/anonrisk.sql",
        "models/anonrisk_a_release_k_2__visits.yml",
        "tests/generic/anonrisk_a_release_k_2__visits.sql",
    ]
    text = (here / written[2]).read_text()
    assert 'anonrisk_cell(found, "zip") }} as q0' in text
    assert 'anonrisk_cell(found, "diagnosis") }} as s' in text
    assert 'anonrisk_cell(found, "patient") }} as u' in text
    # What is direct must be gone, so that it is not among the columns that may be there.
    assert 'anonrisk_wrong(found, ["age", "diagnosis", "patient", "zip"])' in text
    # Ours are written again; those of others are not.
    assert main([*DBT, *MANIFEST]) == 0
    (here / written[0]).write_text("somebody's")
    assert main([*DBT, *MANIFEST]) == 2
    assert (here / written[0]).read_text() == "somebody's"
    assert main([*DBT, *MANIFEST, "--force"]) == 0


def test_a_policy_of_two_models_leaves_neither_without_its_tests(here, capsys):
    (here / "policy.json").write_text(Policy(quasi=["zip"], k=2).to_json())
    for model in ("visits", "Visits_2", "visits"):
        assert main([*DBT, "--model", model]) == 0
        assert main([*DBT, "--model", model, "--python"]) == 0
        assert f"{model}_published, and run" in capsys.readouterr().out
    yaml = pytest.importorskip("yaml")
    attached = [yaml.safe_load(path.read_text())["models"] for path in here.glob("models/*.yml")]
    assert sorted(model["name"] for (model,) in attached) == ["Visits_2", "visits"]
    for (model,) in attached:
        tests = (here / f"tests/generic/anonrisk_policy__{model['name']}.sql").read_text()
        assert re.findall(r"{% test (\w+)\(model\)", tests) == model["data_tests"]
    published = {path.name for path in here.glob("models/*.py")}
    assert published == {"visits_published.py", "Visits_2_published.py"}


def test_a_policy_and_a_manifest_that_differ_are_refused(here, capsys):
    (here / "policy.json").write_text(Policy(quasi=["zip"], k=2).to_json())
    assert main([*DBT, *MANIFEST]) == 3
    assert "name other columns as quasi" in capsys.readouterr().err
    assert not list(here.glob("m*"))


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--model", "a b"], 2, "no name of a model"),
        (["-o", "nowhere"], 2, "no folder"),
        (["--manifest", "nowhere.json"], 3, "cannot read the dbt document"),
        ([*MANIFEST, "--model", "vists"], 3, "did you mean 'visits'"),
    ],
)
def test_wrong_uses_write_nothing(here, capsys, words, code, said):
    policy = Policy(quasi=["q"], k=2) if "--manifest" not in words else Policy(k=2)
    (here / "policy.json").write_text(policy.to_json())
    assert main([*DBT, *words]) == code
    assert said in capsys.readouterr().err
    assert [path.name for path in here.iterdir()] == ["policy.json"]


def test_without_sqlalchemy_a_model_in_python_is_left(here, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "anonrisk.policy.dbt.tests", None)
    assert main([*DBT, *MANIFEST]) == 2
    assert "pip install 'anonrisk[sql]'" in capsys.readouterr().err
    assert main([*DBT, *MANIFEST, "--python"]) == 0


def test_a_model_in_python_is_written_by_the_command(here, capsys):
    assert main([*DBT, *MANIFEST, "--python"]) == 0
    assert "visits_published" in capsys.readouterr().out
    assert (here / "models" / "visits_published.py").exists()


# ---- dbt itself ---------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def dbt_program():
    """The program of an environment of its own: dbt brings versions that others do not take."""
    return python_of("dbt").with_name("dbt")


def project_of(folder, policy, cells, *, python=False):
    """Make a project: a table to release, and a model that publishes it."""
    for part in ("models", "seeds"):
        (folder / part).mkdir(parents=True)
    (folder / "dbt_project.yml").write_text("name: p\nversion: 1.0.0\nprofile: p\n")
    (folder / "profiles.yml").write_text(
        "p: {target: d, outputs: {d: {type: duckdb, path: p.duckdb}}}\n"
    )
    rows = zip(*cells.values(), strict=True)
    # One more column, because Python writes a tuple of one with a comma.
    values = ", ".join(str((*row, 0)).replace("None", "null") for row in rows)
    named = ", ".join(f'"{name}"' for name in cells)
    types = ", ".join(f'cast("{name}" as {TYPES.get(name, "text")}) as "{name}"' for name in cells)
    (folder / "models" / "t.sql").write_text(
        f"select {types} from (values {values}) as v({named}, one)\n"
    )
    files = python_model(policy, "t") if python else sql_tests(policy, "t", "p")
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    after = "t_published" if python else "t"
    (folder / "models" / "public.sql").write_text(f"select * from {{{{ ref('{after}') }}}}\n")
    return folder


TYPES = {"age": "double"}


def build(program, folder, *words):
    env = {**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "NO_COLOR": "1"}
    done = subprocess.run(
        [program, "build", "--profiles-dir", ".", *words],
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    results = json.loads((folder / "target" / "run_results.json").read_text())["results"]
    found = {r["unique_id"].split(".")[2]: r["status"] for r in results}
    return done.returncode, found, done.stdout


HOSTILE = {
    "zip": ["a", "A", "a", "A", None, None],
    "age": ["0.0", "1.5", "-0.0", "1.5", "NaN", None],
    "ill": ["flu", "hiv", "hiv", "flu", "flu", "hiv"],
}


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="paths of an environment")
@pytest.mark.parametrize("python", [False, True])
def test_dbt_builds_on_a_table_only_if_it_passes(dbt_program, tmp_path, python):
    cells = HOSTILE
    frame = pd.DataFrame({**cells, "age": [None if c is None else float(c) for c in cells["age"]]})
    limits = {"k": 2, "ldiv": {"l": 2}, "tcloseness": {"t": 0.1, "distance": "equal"}}
    roles = {"quasi": ["zip", "age"], "sensitive": ["ill"], "missing_sensitive": "error"}
    good, bad = Policy(**roles, **limits), Policy(**roles, **{**limits, "k": 3})
    assert (good.check(frame).status, bad.check(frame).status) == ("pass", "fail")
    code, found, _ = build(dbt_program, project_of(tmp_path / "good", good, cells, python=python))
    assert code == 0
    assert found.pop("public") == "success"
    assert set(found.values()) == {"success"} if python else {"success", "pass"}
    folder = project_of(tmp_path / "bad", bad, cells, python=python)
    code, found, told = build(dbt_program, folder)
    assert code == 1
    assert found["public"] == "skipped"
    if python:
        assert found["t_published"] == "error"
        assert "at least 3 are required" in told
    else:
        failed = [name for name, status in found.items() if status == "fail"]
        assert failed == ["anonrisk_p__t_1_k_t_"]
    assert "hiv" not in told


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="paths of an environment")
def test_dbt_stops_at_a_doubt(dbt_program, tmp_path):
    policy = Policy(quasi=["zip"], k=2)
    folder = project_of(tmp_path / "more", policy, {"zip": ["a", "a"], "name": ["x", "y"]})
    code, found, told = build(dbt_program, folder)
    assert code == 1
    assert found["anonrisk_p__t_columns_t_"] == "fail"
    assert found["public"] == "skipped"
    assert "columns without a role: ['name']" in told
    # Somebody lets every test warn only: of the project, where ours keep their own, or these.
    folder = project_of(tmp_path / "soft", Policy(quasi=["zip"], k=2), {"zip": ["a", "b"]})
    project = folder / "dbt_project.yml"
    project.write_text(project.read_text() + "data_tests:\n  +severity: warn\n")
    code, found, _ = build(dbt_program, folder)
    assert (code, found["public"]) == (1, "skipped")
    properties = folder / "models" / "anonrisk_p__t.yml"
    (k,) = (line for line in properties.read_text().splitlines() if line.endswith("_k"))
    softer = f"{k}:\n      config: {{severity: warn}}"
    properties.write_text(properties.read_text().replace(k, softer))
    code, found, told = build(dbt_program, folder)
    assert (code, found["public"]) == (1, "skipped")
    assert "a gate takes no other severity" in told
    # Or looks at a part of the table.
    folder = project_of(tmp_path / "part", Policy(quasi=["zip"], k=2), {"zip": ["a", "b", "b"]})
    project = folder / "dbt_project.yml"
    project.write_text(project.read_text() + "data_tests:\n  +where: \"zip = 'b'\"\n")
    code, found, told = build(dbt_program, folder)
    assert (code, found["public"]) == (1, "skipped")
    assert "a gate takes no other where" in told
