"""`anonrisk apply`: a stored plan on a table, what is refused, and what is never written over."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
import test_cli
import test_cli_plan
from planned import with_options

import anonrisk
from anonrisk.recode import Bins, DatePart, Keep

run = test_cli.run
write = test_cli.write
ASKED = test_cli_plan.ASKED


def stored(run, *more):
    write("t.csv", test_cli_plan.PEOPLE)
    return write("p.json", run("plan", "t.csv", *ASKED, *more, "--json")[1])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["new.csv", "new.parquet"])
def test_it_writes_what_plan_and_apply_give(run, name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    stored(run)
    assert run("plan", "t.csv", *ASKED, "--apply", f"by_{name}")[0] == 0
    # The plan says which columns are numbers: nobody need say it again.
    code, out, err = run("apply", "p.json", "t.csv", "-o", name)
    assert (code, err) == (0, "")
    assert f"Wrote {name}. Columns that are not part of the plan stay as they are: illness" in out
    read = pd.read_csv if name.endswith("csv") else pd.read_parquet
    pd.testing.assert_frame_equal(read(name), read(f"by_{name}"))
    told = json.loads(run("apply", "p.json", "t.csv", "-o", name, "--force", "--json")[1])
    assert told["left_out"] == 200 - len(read(name))
    assert told["not_in_plan"] == ["illness"]


def test_the_plan_may_be_named_by_an_option(run):
    stored(run)
    assert run("apply", "p.json", "t.csv", "-o", "a.csv")[0] == 0
    for i, words in enumerate(
        (
            ("--plan", "p.json", "t.csv", "-o", "PATH"),
            ("t.csv", "-o", "PATH", "--plan=p.json"),
            ("--na", "-", "--plan", "p.json", "t.csv", "-o", "PATH"),
        )
    ):
        code, _, err = run("apply", *(f"{i}.csv" if word == "PATH" else word for word in words))
        assert code == 0, err
        assert Path(f"{i}.csv").read_text() == Path("a.csv").read_text()
    assert run("apply", "--plan", "p.json", "-o", "b.csv")[0] == 2
    assert run("apply", "t.csv", "-o", "b.csv", "--plan")[0] == 2


@pytest.mark.slow
def test_a_plan_by_region(run):
    rows = [f"{1950 + i % 40}-0{1 + i % 3}-0{1 + i % 7},n{i % 4},{i % 60}" for i in range(300)]
    write("t.csv", "\n".join(["born,region,age", *rows]))
    write("r.csv", "n0;north;*\nn1;north;*\nn2;south;*\nn3;south;*\n")
    table = pd.read_csv("t.csv", parse_dates=["born"])
    names = ["born", "region", "age"]
    asked = {"hierarchies": {"region": "r.csv"}, "method": "multidimensional"}
    trees = ("--hierarchies", "region=r.csv")
    # There is room for one cut, into the nodes of the hierarchy; or for many.
    for k, weight in ((100, 9), (30, 0.1)):
        plan = table.anon.plan(names, k, **with_options(**asked, column_weights={"region": weight}))
        write("p.json", plan.to_json())
        if k == 100:
            code, _, err = run("apply", "p.json", "t.csv", "-o", "new.csv")
            assert (code, "say --hierarchies region=FILE" in err) == (2, True)
        code, _, err = run("apply", "p.json", "t.csv", "-o", "new.csv", "--force", *trees)
        assert (code, err) == (0, "")
        found = pd.read_csv("new.csv", dtype=str).anon.classes(names)
        assert (found.k, found.n_classes) == (plan.after.k, plan.after.n_classes)
    assert all(len(plan.recodings[name].edges) > 1 for name in ("born", "age"))


def test_the_plan_of_the_explorer(run):
    write("t.csv", test_cli_plan.PEOPLE)
    write("jobs.csv", "flu;cold;*\n" + test_cli.SECRET + ";cold;*\n")
    trees = ("--hierarchies", "illness=jobs.csv")
    qids = ("--qids", "age", "illness", "--dtypes", "age=number")
    assert run("explore", "t.csv", *qids, *trees, "-o", "e.json")[0] == 0
    made = anonrisk.reporting.Explorer(json.loads(Path("e.json").read_text()))
    # Bins of ages, and the level of the hierarchy: the same as left out, so that there are two.
    levels = [len(column["levels"]) for column in made.summary["columns"]]
    write("p.json", made.plan([levels[0] - 2, 0], max_suppressed=0.0).to_json())
    assert run("apply", "p.json", "t.csv", "-o", "new.csv")[0] == 0
    found = pd.read_csv("new.csv").anon.classes(["age", "illness"])
    place = (levels[0] - 2) * levels[1]
    assert found.k == made.summary["counts"]["smallest"][place]


def test_a_resolved_plan_is_never_replaced(run):
    write(
        "t.csv", "job,age\n" + "\n".join(f"{test_cli.SECRET if i % 3 else i},1" for i in range(60))
    )
    rule = anonrisk.recode.KeepCommon(at_least=30, other="other")
    write("rule.json", anonrisk.Plan({"job": rule}).to_json())
    asked = ("apply", "rule.json", "t.csv", "--resolved", "conf.json", "-o")
    assert run(*asked, "conf.json")[0] == 2
    code, _, err = run("apply", "rule.json", "t.csv", "-o", "x.csv", "--resolved", "x.csv")
    assert (code, "what --output writes" in err) == (2, True)
    assert run(*asked, "a.csv")[0] == 0
    conf = Path("conf.json").read_text()
    # What the message says is what works: nothing before it sends anybody to --force.
    for more in ((), ("--force",)):
        code, _, err = run(*asked, "a.csv", *more)
        assert (code, Path("conf.json").read_text()) == (2, conf)
        assert "apply that plan: anonrisk apply conf.json t.csv -o a.csv, or name another" in err
        assert "--force replaces" not in err
    assert run("apply", "conf.json", "t.csv", "-o", "a.csv", "--force")[0] == 0


@pytest.mark.slow
def test_dates_and_hierarchies(run):
    rows = [f"{1950 + i % 9}-0{1 + i % 3}-0{1 + i % 7},n{i % 4}" for i in range(90)]
    write("t.csv", "\n".join(["born,region", *rows]))
    write("r.csv", "n0;north;*\nn1;north;*\nn2;south;*\nn3;south;*\n")
    tree = anonrisk.hierarchy.Hierarchy.of("r.csv")
    level = anonrisk.measures.recode.from_dict(
        {
            "recoding": "level",
            "level": 1,
            "hierarchy": anonrisk.measures.recode.kinds.fingerprint_of(tree),
        }
    )
    write("p.json", anonrisk.Plan({"born": DatePart("decade"), "region": level}).to_json())
    code, _, err = run("apply", "p.json", "t.csv", "-o", "new.csv")
    assert (code, "--hierarchies region=FILE" in err) == (2, True)
    assert run("apply", "p.json", "t.csv", "-o", "n.csv", "--hierarchies", "zap=r.csv")[0] == 3
    code = run("apply", "p.json", "t.csv", "-o", "new.csv", "--hierarchies", "region=r.csv")[0]
    assert code == 0
    asked = ("--force", "--hierarchies", "region=r.csv")
    code, _, err = run("apply", "p.json", "t.csv", "-o", "r.csv", *asked)
    assert (code, "is a hierarchy that is read" in err) == (2, True)
    write("u.csv", "born,region\n1950-01-01,Xavier\n")
    code, _, err = run("apply", "p.json", "u.csv", "-o", "u2.csv", *asked)
    assert (code, "lacks values of column 'region' (1 record)" in err) == (1, True)
    assert "Xavier" not in err
    left = ("apply", "p.json", "u.csv", "-o", "u2.csv", *asked, "--on-unseen")
    assert run(*left, "suppress")[0] == 1
    assert not Path("u2.csv").exists()
    assert run(*left, "top")[0] == 0
    assert pd.read_csv("u2.csv")["region"].tolist() == ["*"]
    assert run(*left, "drop")[0] == 2
    code, _, err = run("apply", "p.json", "t.csv", "-o", "gone/new.csv", *asked)
    assert (code, "'gone/new.csv': there is no such folder" in err) == (3, True)
    new = pd.read_csv("new.csv")
    assert (set(new["born"]), set(new["region"])) == ({"1950s"}, {"north", "south"})


@pytest.mark.slow
def test_what_is_refused(run):
    plan = stored(run, "--k", 6, "--method", "full-domain")
    before = Path("t.csv").read_text(), Path(plan).read_text()
    # A table that the plan was not made for: the promise fails.
    write("other.csv", "zip,age,illness\n" + "".join(f"{i},{i},flu\n" for i in range(20, 60, 5)))
    code, _, err = run("apply", plan, "other.csv", "-o", "new.csv")
    assert (code, "it was made for another table" in err) == (1, True)
    assert run("apply", plan, "no.csv", "-o", "new.csv")[0] == 3
    assert run("apply", "no.json", "t.csv", "-o", "new.csv")[0] == 2
    assert run("apply", write("bad.json", '{"k": 5}'), "t.csv", "-o", "new.csv")[0] == 2
    assert run("apply", plan, "t.csv", "-o", "new.txt")[0] == 2
    assert run("apply", plan, "t.csv")[0] == 2
    for over in ("t.csv", plan, f"./{plan}"):
        assert run("apply", plan, "t.csv", "-o", over, "--force")[0] == 2
    assert not Path("new.csv").exists()
    write("new.csv", "mine")
    assert run("apply", plan, "t.csv", "-o", "new.csv")[0] == 2
    assert Path("new.csv").read_text() == "mine"
    write("p2.json", anonrisk.Plan({"zap": Keep()}).to_json())
    code, _, err = run("apply", "p2.json", "t.csv", "-o", "n.csv")
    assert (code, "the plan's column 'zap' is not a column; did you mean 'zip'" in err) == (3, True)
    assert "or plan this table anew, without it: anonrisk.plan" in " ".join(err.split())
    write("p3.json", anonrisk.Plan({"illness": Bins((3,))}).to_json())
    code, _, err = run("apply", "p3.json", "t.csv", "-o", "n.csv")
    assert (code, "illness" in err) == (3, True)
    assert before == (Path("t.csv").read_text(), Path(plan).read_text())


@pytest.mark.slow
def test_a_policy_decides_whether_it_is_written(run):
    plan = stored(run, "--k", 6)
    asked = ("apply", plan, "t.csv", "-o", "new.csv", "--policy")
    for name, keywords, code, told in (
        ("strict.json", {"k": 60}, 1, "smallest class"),
        ("gone.json", {"k": 2, "quasi": ["zip", "gone"]}, 3, "'gone'"),
    ):
        found, out, err = run(*asked, test_cli.policy(name, **keywords))
        assert (found, told in out) == (code, True)
        assert "nothing was written" in err
        assert not Path("new.csv").exists()
    code, out, err = run(*asked, test_cli.policy("mild.json", k=6))
    assert (code, err) == (0, "")
    assert "It passes mild.json." in out
    assert pd.read_csv("new.csv", dtype=str).anon.k(["zip", "age"]) >= 6
    told = json.loads(run(*asked, "mild.json", "--force", "--json")[1])
    assert told["policy_digest"] == anonrisk.Policy.load("mild.json").digest
    assert run(*asked, "no.json", "--force")[0] == 2
    assert (
        run("apply", plan, "t.csv", "-o", "mild.json", "--policy", "mild.json", "--force")[0] == 2
    )


def test_what_a_policy_takes_for_a_number_is_written_as_it_was(run):
    rows = ["30,2.50", "30,0.1234567890123456789", "31,x-", "32,1e3", "32,007"]
    write("t.csv", "\n".join(["age,cost", *rows, ""]).replace("x-", ""))
    ordered = {"sensitive": "cost", "tcloseness": {"t": 1, "distance": "ordered"}}
    p = test_cli.policy("p.json", quasi="age", missing_sensitive="value", **ordered)
    asked = ("--qids", "age", "--k", "2", "--max-suppressed", "0.5", "-o", "plan.json")
    assert run("plan", "t.csv", *asked)[0] == 0
    assert run("apply", "plan.json", "t.csv", "-o", "a.csv", "--policy", p)[0] == 0
    asked = ("--max-suppressed", "0.5", "--apply", "b.csv")
    assert run("plan", "t.csv", "--policy", p, *asked)[0] == 0
    for name in ("a.csv", "b.csv"):
        left = [line.partition(",")[2] for line in Path(name).read_text().splitlines()]
        assert left == ["cost", "2.50", "0.1234567890123456789", "1e3", "007"]
