"""`anonrisk plan`: the plan, the changed table, and what is never written over."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pandas as pd
import pytest
import test_cli

import anonrisk

run = test_cli.run
write = test_cli.write
PEOPLE = "zip,age,illness\n" + "".join(
    f"{10 + i % 7}{i % 3:02},{20 + i % 40},{'flu' if i % 2 else test_cli.SECRET}\n"
    for i in range(200)
)
ASKED = ("--qids", "zip", "age", "--dtypes", "age=number", "zip=text")


@pytest.mark.slow
def test_it_says_what_the_library_says(run):
    write("t.csv", PEOPLE)
    code, out, err = run("plan", "t.csv", *ASKED, "--k", 4)
    assert (code, err) == (0, "")
    frame = pd.read_csv("t.csv", dtype={"zip": str})
    expected = anonrisk.plan(frame, ["zip", "age"], 4)
    assert out.startswith(f"{expected!r}\n\nWhat next:\n")
    assert re.sub(r" \\\n +", " ", out).endswith(f"--k 4 --output {expected.file_name}\n")
    code, out, _ = run("plan", "t.csv", *ASKED, "--k", 4, "--json", "--output", "p.json")
    assert Path("p.json").read_text() == out
    again = anonrisk.Plan.from_json(out)
    assert again == expected
    weighted = run("plan", "t.csv", *ASKED, "--column-weights", "zip=9", "age=0", "--json")[1]
    chosen = anonrisk.plan(
        frame, ["zip", "age"], options=anonrisk.PlanOptions(column_weights={"zip": 9, "age": 0})
    )
    assert anonrisk.Plan.from_json(weighted).recodings == chosen.recodings
    regions = run("plan", "t.csv", *ASKED, "--method", "multidimensional", "--json")[1]
    chosen = anonrisk.plan(
        frame, ["zip", "age"], options=anonrisk.PlanOptions(method="multidimensional")
    )
    assert anonrisk.Plan.from_json(regions) == chosen
    cut = run("plan", "t.csv", *ASKED, "--bins", "centre", "--json")[1]
    chosen = anonrisk.plan(frame, ["zip", "age"], options=anonrisk.PlanOptions(bins="centre"))
    assert anonrisk.Plan.from_json(cut).recodings == chosen.recodings
    private = ("--loss", "private", "--sensitive", "illness")
    kept = anonrisk.Plan.from_json(run("plan", "t.csv", *ASKED, *private, "--json")[1])
    chosen = anonrisk.plan(
        frame, ["zip", "age"], sensitive="illness", options=anonrisk.PlanOptions(loss="private")
    )
    assert (kept.recodings, kept.after) == (chosen.recodings, chosen.after)
    code, _, err = run("plan", "t.csv", *ASKED, "--loss", "private")
    assert code == 2
    assert "say --sensitive COLUMN" in err


def test_yaml_is_the_plan(run):
    pytest.importorskip("yaml")
    write("t.csv", PEOPLE)
    code, out, _ = run("plan", "t.csv", *ASKED, "--yaml", "--apply", "new.csv")
    assert code == 0
    assert anonrisk.Plan.from_yaml(out).qids == ("zip", "age")
    assert run("plan", "t.csv", *ASKED, "--yaml", "--json")[0] == 2


@pytest.mark.parametrize("name", ["new.csv", "new.tsv", "new.parquet"])
def test_the_changed_table_keeps_the_promise(run, name):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    write("t.csv", PEOPLE)
    code, out, err = run("plan", "t.csv", *ASKED, "--k", 6, "--apply", name)
    assert (code, err) == (0, "")
    assert f"Wrote {name}. Columns that are not part of the plan stay as they are: illness" in out
    code, out, _ = run("measure", name, "--qids", "zip", "age", "--json")
    found = json.loads(out)["sizes"]
    assert found["k"] >= 6
    frame = pd.read_csv("t.csv", dtype={"zip": str})
    changed = anonrisk.apply(frame, anonrisk.plan(frame, ["zip", "age"], 6))
    assert found == anonrisk.classes(changed, ["zip", "age"]).to_dict()
    if name == "new.csv":
        pd.testing.assert_frame_equal(pd.read_csv(name), pd.read_csv(changed_csv(changed)))
    # Nothing but the tables is left behind.
    assert sorted(path.name for path in Path().iterdir()) == sorted(
        {"t.csv", name, *(["changed.csv"] if name == "new.csv" else [])}
    )


def changed_csv(changed):
    changed.to_csv("changed.csv", index=False)
    return "changed.csv"


def test_codes_keep_their_zeros_and_missing_cells_stay_empty(run):
    write("t.csv", "zip;code\n" + "01;007\n01;\n02;NA\n02;1.10\n")
    asked = ("--qids", "zip", "--k", 2, "--sep", ";", "--apply", "n.csv")
    assert run("plan", "t.csv", *asked)[0] == 0
    assert Path("n.csv").read_text().splitlines() == [
        *("zip;code", "01;007", "01;", "02;NA", "02;1.10")
    ]


def test_hierarchies(run):
    write("t.csv", "job\n" + "cook\nbaker\nnurse\ndoctor\n" * 2)
    write("jobs.csv", "cook;food;any\nbaker;food;any\nnurse;care;any\ndoctor;care;any\n")
    asked = ("plan", "t.csv", "--qids", "job", "--k", 3, "--max-suppressed", 0)
    assert run(*asked, "--hierarchies", "job=jobs.csv", "--apply", "n.csv")[0] == 0
    assert set(pd.read_csv("n.csv")["job"]) == {"food", "care"}
    assert run(*asked, "--hierarchies", "job=no.csv")[0] == 3
    assert run(*asked, "--hierarchies", "jobs.csv")[0] == 2
    write("few.csv", "cook;any\n")
    code, _, err = run(*asked, "--hierarchies", "job=few.csv")
    assert code == 3
    assert "the hierarchy lacks" in err


def test_where_no_plan_will_do_it_says_which_constraint(run):
    write("t.csv", PEOPLE)
    code, out, err = run("plan", "t.csv", *ASKED, "--max-loss", 0.001, "--apply", "n.csv")
    assert (code, out) == (1, "")
    assert "max_loss=0.001 stops every plan" in err
    asked = ("plan", "t.csv", *ASKED, "--max-loss", 0.001, "--json", "--output", "p.json")
    code, out, err = run(*asked)
    assert code == 1
    assert json.loads(out)["status"] == "fail"
    assert not any(Path(name).exists() for name in ("n.csv", "p.json"))


def test_a_stored_plan_stays_until_there_is_another_one(run, monkeypatch):
    write("t.csv", PEOPLE)
    asked = ("plan", "t.csv", *ASKED, "-o", "p.json")
    assert run(*asked)[::2] == (0, "anonrisk: Wrote p.json\n")
    before = Path("p.json").read_text()
    for code, wrong in ((1, ("--max-loss", 0.001)), (2, ("--k", 0)), (3, ("--qids", "no"))):
        found, _, err = run(*asked, *wrong)
        assert (found, err.splitlines()[-1]) == (code, "anonrisk: p.json stays as it was")
        assert Path("p.json").read_text() == before

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(anonrisk, "plan", interrupted)
    assert run(*asked)[0] == 3
    assert Path("p.json").read_text() == before


def test_nothing_is_written_over(run):
    write("t.csv", PEOPLE)
    write("old.csv", "precious\n")
    asked = ("plan", "t.csv", *ASKED)
    code, _, err = run(*asked, "--apply", "old.csv")
    assert code == 2
    assert "--force replaces it" in err
    assert Path("old.csv").read_text() == "precious\n"
    assert run(*asked, "--apply", "old.csv", "--force")[0] == 0
    assert "precious" not in Path("old.csv").read_text()
    os.link("t.csv", "hard.csv")
    Path("soft.csv").symlink_to("t.csv")
    for same in ("t.csv", "./t.csv", "hard.csv", "soft.csv"):
        code, _, err = run(*asked, "--apply", same, "--force")
        assert code == 2
        assert "part of the table" in err
    code, _, err = run(*asked, "--apply", "n.csv", "--output", "n.csv")
    assert code == 2
    assert "what --apply writes" in err
    assert not Path("n.csv").exists()
    # Also not by a result that says that nothing could be done.
    for others in (
        asked,
        ("measure", "t.csv", "--qids", "zip"),
        ("measure", "t.csv", "--qids", "x"),
    ):
        assert run(*others, "--output", "t.csv")[0] == 2
    policy = test_cli.policy(quasi=["zip"])
    assert run("check", "t.csv", "--policy", policy, "--junit", "t.csv")[0] == 2
    assert Path("t.csv").read_text() == PEOPLE


def test_a_table_does_not_grow_by_its_own_copy(run):
    write("all/one.csv", PEOPLE)
    for table in ("all", "all/*.csv"):
        code, _, err = run("plan", table, *ASKED, "--apply", "all/two.csv")
        assert code == 2
        assert "part of the table" in err
    assert run("plan", "all/*.csv", *ASKED, "--apply", "two.csv")[0] == 0


@pytest.mark.parametrize(
    "wrong",
    [
        ("--k", 0),
        ("--k", 201),
        ("--force",),
        ("--max-suppressed", 2),
        ("--column-weights", "age=-1"),
        ("--column-weights", "age=many"),
        ("--apply", "new.xlsx"),
        ("--apply", "new"),
        ("--apply", "."),
    ],
)
def test_wrong_usage(run, wrong):
    write("t.csv", PEOPLE)
    code, out, _ = run("plan", "t.csv", *ASKED, *wrong)
    assert (code, out) == (2, "")
    assert [path.name for path in Path().iterdir()] == ["t.csv"]


def test_a_table_that_cannot_be_read_or_written(run):
    assert run("plan", "no.csv", *ASKED)[0] == 3
    write("t.csv", PEOPLE)
    code, _, err = run("plan", "t.csv", *ASKED, "--apply", "no/n.csv")
    assert code == 3
    assert "cannot write 'no/n.csv'" in err
    assert run("plan", "t.csv", "--qids", "zpi")[0] == 3


def test_the_plan_of_the_release_before(run):
    write("t.csv", PEOPLE)
    whole = (*ASKED, "--method", "full-domain")
    code, out, _ = run("plan", "t.csv", *whole)
    name = out.split()[-1]
    assert (code, name.startswith("plan-")) == (0, True)
    assert run("plan", "t.csv", *whole, "--output", name)[0] == 0
    plan = anonrisk.Plan.from_json(Path(name).read_text())
    assert plan.file_name == name
    # Whole ages again, by themselves, and nobody needs to say so.
    asked = ("plan", "t.csv", "--qids", "zip", "age", "--previous", name)
    told = json.loads(run(*asked, "--json")[1])
    assert told["digest"] == plan.digest
    assert told["note"] == "the same recodings as before"
    assert run(*asked, "--output", name)[0] == 2
    code, _, err = run("plan", "t.csv", "--qids", "zip", "--previous", name)
    assert (code, "recodes age" in err) == (2, True)
    stored = json.loads(Path(name).read_text())
    write("edited.json", json.dumps({**stored, "k": 2}))
    code, _, err = run("apply", "edited.json", "t.csv", "-o", "new.csv")
    assert (code, "changed after it was written" in err) == (2, True)
    assert run("apply", "edited.json", "t.csv", "-o", "new.csv", "--edited")[0] == 0


def policy_of(**keywords):
    given = {"quasi": ["zip", "age"], "sensitive": "illness", "ldiv": {"l": 2}, "k": 4}
    policy = anonrisk.Policy(**{**given, "missing_sensitive": "value", **keywords})
    policy.save("p.json")
    return policy


@pytest.mark.slow
def test_from_a_failed_gate_to_a_table_that_passes(run):
    write("t.csv", PEOPLE)
    policy_of()
    assert run("check", "t.csv", "--policy", "p.json")[0] == 1
    code, out, err = run("plan", "t.csv", "--policy", "p.json", "-o", "plan.json")
    assert (code, err) == (0, "anonrisk: Wrote plan.json\n")
    assert "meets: k, ldiv" in out
    assert test_cli.SECRET not in out + Path("plan.json").read_text()
    assert run("apply", "plan.json", "t.csv", "-o", "out.csv")[0] == 0
    assert run("check", "out.csv", "--policy", "p.json")[0] == 0
    # In one call, too.
    assert run("plan", "t.csv", "--policy", "p.json", "--apply", "both.csv")[0] == 0
    assert Path("both.csv").read_text() == Path("out.csv").read_text()


def test_a_policy_has_four_exit_codes(run):
    write("t.csv", PEOPLE)
    asked = ("plan", "t.csv", "--policy", "p.json")
    policy_of()
    assert run(*asked)[0] == 0
    policy_of(k=201)
    code, _, err = run(*asked)
    assert code == 1
    assert "k=201" in err
    for more in (["--k", 3], ["--qids", "zip"], ["--unit", "age"], ["--population-size", 900]):
        code, _, err = run(*asked, *more)
        assert code == 2
        assert "the policy says it" in err
    policy_of(sensitive=None, ldiv={"l": 2, "sensitive": "illness"}, quasi=["zip"])
    code, _, err = run(*asked)
    assert code == 3
    assert "no plan helps: The table could not be assessed: 1 column has no role" in err


@pytest.mark.parametrize(
    ("cells", "keywords", "said"),
    [
        # A doubt about contents, of which no budget tells.
        (["ann@example.org", "bob@example.org"], {"insensitive": "note", "k": 2}, "e-mail"),
        (["a", "b"], {"insensitive": "note", "k": 1}, "no table can fail"),
    ],
)
def test_nothing_is_written_that_the_policy_refuses(run, cells, keywords, said):
    rows = "".join(f"{1012 + i % 2},{cells[i % 2]}\n" for i in range(40))
    write("t.csv", f"zip,note\n{rows}")
    anonrisk.Policy(quasi="zip", missing_sensitive="value", **keywords).save("p.json")
    assert run("check", "t.csv", "--policy", "p.json")[0] == 3
    code, out, err = run("plan", "t.csv", "--policy", "p.json", "--apply", "out.csv")
    assert code == 3
    assert said in out
    assert "nothing was written" in err
    assert not Path("out.csv").exists()


def test_limits_across_releases_are_not_asked_of_one_table(run):
    write("t.csv", "pid,zip\n" + "".join(f"{i},{1012 + i % 2}\n" for i in range(40)))
    budgets = {"k": 2, "differencing": {"at_most": 0, "k": 2}}
    anonrisk.Policy(quasi="zip", unit="pid", **budgets).save("p.json")
    assert run("check", "t.csv", "--policy", "p.json")[0] == 3
    assert run("plan", "t.csv", "--policy", "p.json", "--apply", "out.csv")[0] == 0
    del budgets["k"]
    anonrisk.Policy(quasi="zip", unit="pid", **budgets).save("p.json")
    code, out, _ = run("plan", "t.csv", "--policy", "p.json", "--apply", "other.csv")
    assert (code, "differencing" in out) == (3, True)
    assert not Path("other.csv").exists()
