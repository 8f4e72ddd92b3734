"""What comes next: commands that run with the names that were given, and what helps."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import anonrisk
from anonrisk.cli import job, main
from anonrisk.policy import Policy
from anonrisk.policy import explain as explaining
from anonrisk.reporting import report

PEOPLE = "zip,born,sex,ill\n" + "".join(
    f"{1000 + i % 7},{1950 + i % 40},{'fm'[i % 2]},{'abc'[i % 3]}\n" for i in range(60)
)


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(PEOPLE)

    def call(*arguments, on=main):
        code = on([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def policy(**keywords):
    given = {"quasi": ["zip", "born", "sex"], "sensitive": "ill", "insensitive": None, **keywords}
    given = {key: value for key, value in given.items() if value is not None}
    Path("p.json").write_text(Policy(**given).to_json())
    return "p.json"


def steps(out):
    assert "\n\nWhat next:\n" in out
    told = out.partition("\nWhat next:\n")[2]
    assert max(map(len, told.splitlines())) <= 80
    # A shell takes what goes on in the next line as one.
    lines = [line.strip() for line in re.sub(r" \\\n +", " ", told).splitlines()]
    return [line for line in lines if not line.startswith("# ")]


def remarks(out):
    return " ".join(re.findall(r"^  # (.+)$", out.partition("\nWhat next:\n")[2], re.MULTILINE))


def test_the_next_steps_of_a_failed_gate(run):
    code, out, err = run("check", "t.csv", "--policy", policy(k=5))
    assert (code, err) == (1, "")
    assert steps(out) == [
        "anonrisk plan t.csv --policy p.json -o plan.json",
        "anonrisk check --explain t.csv --policy p.json",
        "anonrisk report t.csv --policy p.json -o report.html",
    ]
    assert remarks(out) == "passes: k from 1 to 5 (limit 5)"
    code, out, _ = run("check", "t.csv", "--policy", "p.json", "--json")
    found = json.loads(out)
    plan, _, remark = found["next_steps"][0].partition("  # ")
    assert (plan, remark) == (
        "anonrisk plan t.csv --policy p.json -o plan.json",
        "passes: k from 1 to 5 (limit 5)",
    )
    assert "--json" in found["next_steps"][1]
    assert anonrisk.Verdict.from_json(out).status == "fail"
    assert "--explain" not in "".join(steps(run(*shlex.split(steps_with_explain(found)))[1]))


@pytest.mark.slow
@pytest.mark.parametrize("more", [[], ["--against", "d/zip=77412"], ["--qids", "born", "sex"]])
def test_the_value_of_a_partition_is_printed_nowhere(run, more):
    Path("d/zip=77411").mkdir(parents=True)
    Path("d/zip=77412").mkdir(parents=True)
    for place in ("d/zip=77411", "d/zip=77412"):
        Path(place, "a.csv").write_text("born,sex,ill\n" + "1950,f,a\n1951,m,b\n")
    found = policy(k=5, quasi=["born", "sex"], insensitive=["zip"])
    words = ["check", "d/zip=77411/a.csv", f"--policy={found}"]
    words += ["--dtypes", "born=number", "--junit", "j.xml", "--markdown", "m.md", "--sarif"]
    code, out, err = run(*words, "s.json", *more)
    assert (code, err) == (1, "")
    assert "--dtypes born=number" in " ".join(steps(out))
    assert "# with the value of the partition in place of …" in out
    written = "".join(Path(name).read_text() for name in ("j.xml", "m.md", "s.json"))
    everything = out + written + run(*words, "s.json", *more, "--json")[1]
    assert "7741" not in everything
    assert "zip=…" in everything


@pytest.mark.parametrize("table", ["d/zip=77411", "d/zip=77411/*.csv", "d/zip=77411/a.csv"])
def test_the_value_of_a_partition_that_is_not_there_is_not_printed(run, table):
    found = run("check", table, "--policy", policy(k=5))
    assert found[0] == 3
    assert "7741" not in "".join(found[1:])
    assert "7741" not in run("draft", table, "-o", "p.yaml")[2]


def test_the_value_of_a_partition_is_not_in_the_name_of_a_result(run):
    Path("d/zip=77411").mkdir(parents=True)
    Path("d/zip=77411/a.csv").write_text("born\n1950\n")
    for table in ("d/zip=77411", "d/zip=77411/a.csv"):
        page = "d/zip=77411/r.html" if table == "d/zip=77411" else table
        code, out, err = run("report", table, "--qids", "born", "-o", page)
        assert code == 2
        assert "7741" not in out + err


def steps_with_explain(found):
    (asked,) = (step for step in found["next_steps"] if "--explain" in step)
    return asked.removeprefix("anonrisk ").replace(" --json", "")


def test_what_passes_is_filed_and_what_could_not_be_assessed_is_compared(run):
    Path("t.csv").write_text("zip,born,sex,ill\n" + "1,2,f,a\n" * 3)
    code, out, _ = run("check", "t.csv", "--policy", policy(k=2))
    (page,) = steps(out)
    assert (code, page) == (0, "anonrisk report t.csv --policy p.json -o report.html")
    assert run(*shlex.split(page)[1:])[0] == 0
    code, out, _ = run("check", "t.csv", "--policy", policy(k=5, quasi=["zip", "gone"]))
    assert code == 3
    lint, draft = steps(out)
    assert lint == "anonrisk lint p.json t.csv"
    assert "'gone'" in run(*shlex.split(lint)[1:])[1]
    # Columns without a role: born and sex.
    assert draft == "anonrisk draft t.csv -o draft.yaml"
    assert run(*shlex.split(draft)[1:])[0] == 0
    found = json.loads(run("check", "t.csv", "--policy", "p.json", "--json")[1])
    assert found["next_steps"] == [lint, draft]


def test_a_draft_a_plan_and_a_gate_lead_from_one_to_the_next(run):
    pytest.importorskip("yaml", reason="needs the extra 'policy'")
    Path("my table.csv").write_text(PEOPLE)
    (check,) = steps(run("draft", "my table.csv", "-o", "p.yaml")[1])
    assert check == "anonrisk check 'my table.csv' --policy p.yaml"
    # Whoever forgets to read it learns so at every stop.
    code, out, _ = run(*shlex.split(check)[1:])
    assert code == 3
    lint = steps(out)[0]
    assert lint == "anonrisk lint p.yaml 'my table.csv'"
    code, out, _ = run(*shlex.split(lint)[1:])
    assert (code, "reviewed: false" in " ".join(out.split()), steps(out)) == (1, True, [check])
    drafted = Path("p.yaml").read_text()
    Path("p.yaml").write_text(drafted.replace("reviewed: false", "reviewed: true"))
    code, out, _ = run(*shlex.split(check)[1:])
    assert code == 1
    store = steps(out)[0]
    plan = store.removesuffix(" -o plan.json")
    (again,) = steps(run(*shlex.split(plan)[1:])[1])
    assert again.startswith(f"{plan} --output plan-")
    (apply,) = steps(run(*shlex.split(store)[1:])[1])
    assert apply.endswith("'my table.csv' --policy p.yaml -o 'my table-coarse.csv'")
    code, out, err = run(*shlex.split(apply)[1:])
    assert code == 0, err
    (again,) = steps(run(*shlex.split(plan)[1:], "--apply", "out.csv")[1])
    assert again == "anonrisk check out.csv --policy p.yaml"
    assert run(*shlex.split(again)[1:])[0] == 0
    (measure,) = steps(run("plan", "t.csv", "--qids", "zip", "sex", "--apply", "o.csv")[1])
    assert measure == "anonrisk measure o.csv --qids zip sex"
    assert run(*shlex.split(measure)[1:])[0] == 0


def test_a_draft_that_is_printed_stays_yaml(run):
    yaml = pytest.importorskip("yaml", reason="needs the extra 'policy'")
    out = run("draft", "t.csv")[1]
    assert out.splitlines()[-1] == "# Then: anonrisk check t.csv --policy POLICY"
    assert yaml.safe_load(out)["reviewed"] is False


@pytest.mark.parametrize(
    ("library", "line", "extra"),
    [
        ("jinja2", "report t.csv --qids zip -o r.html", "report"),
        ("jinja2", "explore t.csv --qids zip -o e.html", "report"),
        ("yaml", "check t.csv --policy p.yaml", "policy"),
        ("duckdb", "measure t.csv --qids zip --engine scan", "scan"),
        ("pyarrow", "plan t.csv --qids zip --apply o.parquet", "arrow"),
        ("sqlalchemy", "priors publish t.csv --qids zip --population here --by us", "store"),
    ],
)
def test_a_missing_extra_is_wrong_usage_and_says_what_installs_it(
    run, monkeypatch, library, line, extra
):
    Path("p.yaml").write_text("version: 1\nbudgets: {k: 5}\n")
    report.template.cache_clear()
    monkeypatch.setitem(sys.modules, library, None)
    code, out, err = run(*line.split())
    assert (code, out) == (2, ""), err
    assert f"pip install 'anonrisk[{extra}]'" in err
    # An explorer has no Markdown, and nobody at a command line a report to save.
    assert "report.save" not in err


def test_every_next_step_runs_with_the_options_that_were_given(run):
    text = PEOPLE.replace("zip,", "my zip,", 1).replace(",sex,", ",--sex,", 1).replace(",", ";")
    Path("it's.txt").write_text(text.replace("1950", "-9"), encoding="latin-1")
    asked = policy(quasi=["my zip", "born", "--sex"], k=3)
    table = (
        "it's.txt",
        "--format",
        "csv",
        "--sep",
        ";",
        "--encoding",
        "latin-1",
        "--na",
        "-9",
        "x",
    )
    code, out, _ = run("check", *table, "--policy", asked, "--dtypes", "born=number")
    assert code == 1
    expected = {"plan": (0, "Plan for my zip + born + --sex: k = 3"), "check": (1, "is enough")}
    expected["report"] = (1, "Wrote report.html")
    for step in steps(out):
        program, command, *rest = shlex.split(step, comments=True)
        assert program == "anonrisk"
        code, out, err = run(command, *rest)
        assert (code, expected[command][1] in out) == (expected[command][0], True), (step, err)


def test_options_of_columns_come_along(run):
    known = policy(k=5, unlisted="ignore")
    asked = ("--policy", known, "--qids", "zip", "born", "--missing", "error")
    out = run("check", "t.csv", *asked)[1]
    assert steps(out)[0] == "anonrisk plan t.csv --qids zip born --k 5 -o plan.json"
    typed = pd.read_csv("t.csv", dtype={"zip": int, "born": int})
    k = typed.anon.apply(typed.anon.plan(["zip", "born"], k=5)).anon.k(["zip", "born"])
    assert remarks(out) == f"passes: k from 1 to {k} (limit 5)"
    assert steps(out)[2].endswith("--policy p.json --qids zip born --missing=error -o report.html")
    # A page takes no population, and would say something else.
    beyond = run("check", "t.csv", *asked, "--n-original", "60")[1]
    assert [step.split()[1] for step in steps(beyond)] == ["plan", "check"]


def test_what_was_removed_is_told_all_the_way(run):
    asked = ("check", "t.csv", "--policy", policy(k=5, max_suppressed=0.5), "--explain")
    code, out, _ = run(*asked)
    assert code == 1
    assert "Check the result with n_original=60 (--n-original 60)." in " ".join(out.split())
    (plan,) = (step for step in steps(out) if step.startswith("anonrisk plan"))
    assert run(*shlex.split(plan)[1:])[0] == 0
    applied = run(*shlex.split(plan)[1:-2], "--apply", "coarse.csv")[1]
    (check,) = steps(applied)
    assert check == "anonrisk check coarse.csv --policy p.json --n-original 60"
    assert run(*shlex.split(check)[1:])[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("budget", "k"),
    [
        ({"k": 7}, 7),
        ({"max_unique_fraction": 0.0}, 2),
        ({"max_unique_records": 0}, 2),
        ({"max_fraction_below_k": {"k": 4, "at_most": 0.0}}, 4),
        ({"risk": {"prosecutor": {"highest": 0.2}}}, 5),
        ({"risk": {"prosecutor": {"highest": 0.09}}}, 12),
        ({"risk": {"prosecutor": {"average": 0.25}}}, 4),
        ({"risk": {"prosecutor": {"share_above": {"threshold": 0.1, "at_most": 0.0}}}}, 10),
        ({"ldiv": {"l": 3}}, None),
    ],
    ids=lambda given: next(iter(given)) if isinstance(given, dict) else None,
)
def test_a_plan_for_the_policy_keeps_to_the_budget(run, budget, k):
    code, out, _ = run("check", "t.csv", "--policy", policy(**budget))
    assert code == 1
    (plan,) = (step for step in steps(out) if step.startswith("anonrisk plan"))
    assert run(*shlex.split(plan)[1:], "--apply", "coarse.csv")[0] == 0
    assert run("check", "coarse.csv", "--policy", "p.json")[0] == 0
    (finding,) = (f for f in Policy.load("p.json").check(pd.read_csv("t.csv")).failures)
    assert finding.enough_k == k
    out = run("check", "t.csv", "--policy", "p.json", "--qids", "zip", "born", "sex")[1]
    by_size = [step for step in steps(out) if step.startswith("anonrisk plan")]
    assert by_size == (
        [] if k is None else [f"anonrisk plan t.csv --qids zip born sex --k {k} -o plan.json"]
    )


def test_persons_groups_warnings_and_names_that_no_shell_takes(run):
    head, *lines = PEOPLE.splitlines()
    rows = [f"who,{head}", *(f"w{i // 2},{line}" for i, line in enumerate(lines))]
    Path("t.csv").write_text("\n".join(rows) + "\n")
    other = ("--missing", "value")
    out = run("check", "t.csv", "--policy", policy(k=5, unit="who"), *other)[1]
    assert steps(out)[0].endswith("--unit=who --k 5 -o plan.json")
    grouped = policy(quasi=["zip", "born"], k=5, by="sex")
    out = run("check", "t.csv", "--policy", grouped, *other)[1]
    # Whose rows they are is not said of it: that is for a draft.
    assert [step.split()[1] for step in steps(out)] == ["check", "lint", "draft", "report"]
    warned = policy(k={"at_least": 5, "severity": "warn"}, max_unique_fraction=0, unit="who")
    assert steps(run("check", "t.csv", "--policy", warned, *other)[1])[0].endswith(
        "--k 2 -o plan.json"
    )
    out = run("check", "t.csv", "--policy", warned, *other, "--fail-on", "warn")[1]
    assert steps(out)[0].endswith("--k 5 -o plan.json")
    Path("t.csv").write_text('"a\n::error::b",c\n1,2\n')
    asked = policy(quasi=["a\n::error::b", "c"], sensitive=None, k=2)
    out = run("check", "t.csv", "--policy", asked, *other)[1]
    assert [step.split()[1] for step in steps(out)] == ["check", "report"]


def test_a_plan_that_no_other_command_finds_is_saved_by_the_check(run):
    file = policy(quasi=["zip"], unlisted="ignore", sensitive=None, k=2, ldiv={"l": 3})
    asked = ("check", "--explain", "t.csv", "--policy", file)
    # A plan for k alone does not do, and one for the policy knows nothing of these columns.
    roles = ("--qids", "zip", "born", "sex", "--sensitive", "ill")
    code, out, _ = run(*asked, *roles)
    assert (code, "on the command line --save-plan" in out.replace("\n  ", " ")) == (1, True)
    save = steps(out)[0]
    code, out, _ = run(*shlex.split(save)[1:])
    apply = steps(out)[0]
    assert (code, apply) == (1, "anonrisk apply plan.json t.csv -o t-coarse.csv")
    assert run(*shlex.split(apply)[1:])[0] == 0
    assert run("check", "t-coarse.csv", "--policy", file, *roles)[0] == 0
    # An earlier one stays where there is none.
    before = Path("plan.json").read_text()
    out = run(
        "check", "--explain", "t-coarse.csv", "--policy", file, *roles, "--save-plan=plan.json"
    )
    assert "No plan was saved: there is none." in out[1]
    assert Path("plan.json").read_text() == before
    assert run(*asked[:1], *asked[2:], "--save-plan", "plan.json")[0] == 2
    assert run(*asked, "--save-plan", "t.csv")[0] == 2
    assert Path("t.csv").read_text() == PEOPLE


def test_a_failure_beside_a_doubt_says_what_settles_the_doubt(run):
    # Nobody has said what sex is, and what is asked for fails as well.
    file = policy(quasi=["zip", "born"], k=5)
    out = run("check", "t.csv", "--policy", file)[1]
    told = ["check", "lint", "draft", "report"]
    assert [step.split()[1] for step in steps(out)] == told
    out = run("check", "t.csv", "--policy", file, "--explain")[1]
    assert [step.split()[1] for step in steps(out)] == told[1:]


def test_a_page_names_the_command_that_saves_the_plan(run):
    Path("my <b>.csv").write_text(PEOPLE)
    file = policy(k=5)
    assert run("report", "my <b>.csv", "--policy", file, "-o", "r.json")[0] == 1
    told = json.loads(Path("r.json").read_text())["verdict"]["next"][-1]
    said = told.partition("on the command line ")[2]
    assert said == "anonrisk check --explain 'my <b>.csv' --policy p.json --save-plan plan.json"
    assert run(*shlex.split(said)[1:])[0] == 1
    assert Path("plan.json").exists()
    run("report", "my <b>.csv", "--policy", file, "-o", "r.md")
    assert "<b>" not in Path("r.md").read_text().replace("\\<b>", "")
    # The value of a partition is no part of a command: the words alone are told then.
    Path("year=flu").mkdir()
    Path("year=flu/t.csv").write_text(PEOPLE)
    run("report", "year=flu/t.csv", "--policy", policy(k=5, unlisted="ignore"), "-o", "f.json")
    told = json.loads(Path("f.json").read_text())["verdict"]["next"][-1]
    assert told.endswith(" on the command line anonrisk check --explain --save-plan plan.json")


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_the_next_steps_of_a_job(run, spark, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["jobs/check.py"])
    table = tmp_path / "t.csv"
    asked = (table, "--format", "csv", "--policy", policy(k=5))
    code, out, _ = run(*asked, on=lambda given: job.main("check", given))
    assert code == 1
    assert remarks(out) == "in Python; not tried: --explain tries it"
    assert steps(out) == [
        "df.anon.plan(policy='p.json')",
        f"spark-submit jobs/check.py --explain {table} --format csv --policy p.json",
    ]


# ---- explanations -------------------------------------------------------------------------------


def explained(cells, quasi, **budgets):
    return Policy(quasi=quasi, **budgets).check(pd.DataFrame(cells)).explain()


def test_one_column_that_is_enough_and_only_what_changes_is_shown():
    cells = {"zip": ["a", "a", "b", "b"], "id": [1, 2, 3, 4], "x": [0, 0, 0, 0]}
    found = explained(cells, ["zip", "id", "x"], k=2)
    assert found.advice() == (
        "Making id coarser is enough, the result passes: k from 1 to 2 (limit 2).",
        "Leaving out id is enough, the result passes: k from 1 to 2 (limit 2).",
        "k of zip + id + x: dropping id is enough (it would be 2, the limit is 2).",
    )
    assert [row[1] for row in found._rows(())] == ["id"]
    assert {one.column for one in found.columns} == {"zip", "id", "x"}
    assert found.together == ()


def test_the_best_pair_where_no_column_alone_changes_anything():
    # Either of a and b tells everybody apart.
    cells = {"a": [1, 2, 3, 4], "x": [1, 1, 1, 1], "b": [4, 3, 1, 2], "d": [1, 1, 2, 2]}
    found = explained(cells, list(cells), k=2)
    (pair,) = found.together
    assert (pair.dropped, pair.after.value, pair.after.status) == (("a", "b"), 2, "pass")
    assert found.best() == {}
    assert "no single column is enough; dropping a + b together is" in repr(found)
    assert len(repr(found).splitlines()) == 9
    assert "<p>k of a + x + b + d: no single" in found._repr_html_()
    stored = json.loads(json.dumps(found.to_dict()))
    assert stored["together"][0]["columns"] == ["a", "b"]
    assert len(stored["without"]) == 4
    assert stored["advice"] == list(found.advice())


@pytest.mark.slow
def test_where_dropping_is_not_enough_it_says_so():
    everybody = list(range(6))
    cells = dict.fromkeys("abcdefg", everybody)
    found = explained(cells, list(cells), k=2)
    *_, said = found.advice()
    assert (
        said == "k of a + b + c + d + e + f + g: dropping columns is not enough, as far as tried."
    )
    assert said in " ".join(repr(found).split())
    two = explained({"a": everybody, "b": everybody}, ["a", "b"], k=2)
    assert "dropping columns is not enough" in two.advice()[-1]


@pytest.mark.slow
def test_several_columns_are_dropped_in_the_order_in_which_they_help():
    random = np.random.default_rng(0)
    cells = {f"c{i}": random.integers(0, values, 2_000).tolist() for i, values in
             enumerate([2, 90, 3, 60, 2, 40, 2, 2])}  # fmt: skip
    found = explained(cells, list(cells), k=5)
    (several,) = found.together
    assert set(several.dropped) == {"c1", "c3", "c5"}
    assert several.after.passed
    kept = [name for name in cells if name not in several.dropped]
    assert pd.DataFrame(cells).anon.k(kept) == several.after.value


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 5, 6, 12])
def test_the_work_of_an_explanation_is_bounded(monkeypatch, n):
    measured = []
    real = explaining.measure

    def counting(table, policy, wanted, population):
        measured.append(len(wanted))
        return real(table, policy, wanted, population)

    monkeypatch.setattr(explaining, "measure", counting)
    cells = {f"c{i}": list(range(20)) for i in range(n)}
    explained(cells, list(cells), k=2)
    assert measured == [n, n]
    measured.clear()
    # Two tell everybody apart: no column alone helps, and every other may stay.
    cells |= {f"c{i}": [0, 1] * 10 for i in range(2, n)}
    found = explained(cells, list(cells), k=2)
    assert found.together[0].dropped == ("c0", "c1")
    assert sum(measured) <= 3 * n + 10


@pytest.mark.parametrize("more", [(), ("-o", "plan.json")])
def test_what_only_a_fresh_plan_can_be_judged_by_is_judged_as_it_is_applied(run, more):
    made = policy(k=2, quasi="sex", unlisted="ignore", credibility=0.9)
    code, out, _ = run("plan", "t.csv", "--policy", made, *more)
    assert code == 0
    (step,) = steps(out)
    assert step == shlex.join(
        ["anonrisk", "plan", "t.csv", "--policy", made, *more, "--apply", "t-coarse.csv"]
    )
    assert "judges credibility too" in remarks(out)
    code, out, _ = run(*shlex.split(step)[1:])
    assert code == 0
    assert "What next" not in out
    assert len(pd.read_csv("t-coarse.csv")) == 60


def test_a_plan_whose_credibility_fails_is_not_applied(run):
    pd.DataFrame({"q": list("aabbbbb"), "s": ["HIV", "HIV", "d1", "d2", "d3", "d4", "d5"]}).to_csv(
        "hiv.csv", index=False
    )
    made = policy(k=2, quasi="q", sensitive="s", ldiv=2, credibility=0.5)
    code, out, err = run("plan", "hiv.csv", "--policy", made, "--apply", "c.csv")
    assert code == 1
    assert "nothing was written" in out + err
    assert "100.0%" in out
    assert not Path("c.csv").exists()


def test_a_table_is_not_written_that_fails_what_no_plan_is_made_for(run):
    # In a group of others any two of the table may be alone: with `by` no plan is made for it.
    limit = {"group_size": 40, "at_most": 0}
    made = policy(k=2, quasi=["sex"], unlisted="ignore", by="zip", predicted_singletons=limit)
    code, out, err = run("plan", "t.csv", "--policy", made, "--apply", "c.csv")
    assert code != 0
    assert "nothing was written" in out + err
    assert "predicted_singletons" in out
    assert not Path("c.csv").exists()


def test_a_credibility_that_warns_does_not_change_what_comes_next(run):
    warns = {"at_most": 0.9, "severity": "warn"}
    made = policy(k=2, quasi="sex", unlisted="ignore", credibility=warns)
    (step,) = steps(run("plan", "t.csv", "--policy", made)[1])
    assert step.startswith("anonrisk plan")
