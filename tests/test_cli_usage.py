"""Wrong usage: told in words of the command line, with the nearest right answer, exit code 2."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import anonrisk
from anonrisk.cli import job, main
from anonrisk.cli.parser import Parser
from anonrisk.cli.source import Files

PEOPLE = "zip,age,illness\n01234,30,flu\n01234,30,cold\n1234,30,flu\n1234,30,cold\n"
WITHOUT_QIDS = [
    ["measure", "t.csv"],
    ["plan", "t.csv", "--k", "2"],
    ["predict", "t.csv", "--group-size", "2"],
    ["report", "t.csv", "-o", "page.html"],
]


@pytest.fixture
def run(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text(PEOPLE)

    def call(*arguments, on=main):
        code = on([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def in_words_of_the_command_line(said):
    assert "no quasi-identifiers: say --qids zip age" in said
    assert "'zip', 'age', 'illness'" in said
    assert "df.anon" not in said


@pytest.mark.parametrize("arguments", WITHOUT_QIDS, ids=lambda given: given[0])
def test_without_qids(run, arguments):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    in_words_of_the_command_line(err)
    if "page.html" in arguments:
        assert "say --qids zip age" in Path("page.html").read_text()
    code, out, err = run(*arguments, "--json")
    assert code == 2
    assert json.loads(out)["status"] == "wrong_usage"
    in_words_of_the_command_line(json.loads(out)["message"])


def test_publishing_without_qids(run):
    pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")
    code, _, err = run("priors", "publish", "t.csv", "--population", "here", "--by", "us")
    assert code == 2
    in_words_of_the_command_line(err)
    assert not Path("anonrisk_priors.sqlite").exists()


def test_a_file_may_say_its_quasi_identifiers_itself(run):
    table = pd.read_csv("t.csv", dtype=str).anon.declare(quasi=["zip", "age"])
    table.to_parquet("t.parquet")
    for arguments in WITHOUT_QIDS:
        code, _, err = run(*("t.parquet" if one == "t.csv" else one for one in arguments))
        assert code == 0, err


def test_a_wide_table_names_some_of_its_columns(run):
    Path("wide.csv").write_text(",".join(f"c{i}" for i in range(300)) + "\n")
    code, _, err = run("measure", "wide.csv")
    assert code == 2
    assert err.rstrip().endswith("'c8', 'c9' and 290 more")


@pytest.mark.slow
@pytest.mark.spark("spark")
@pytest.mark.parametrize("arguments", WITHOUT_QIDS[:3], ids=lambda given: given[0])
def test_a_job_without_qids(run, spark, tmp_path, arguments):
    name, _, *rest = arguments
    code, _, err = run(
        tmp_path / "t.csv", "--format", "csv", *rest, on=lambda given: job.main(name, given)
    )
    assert code == 2
    in_words_of_the_command_line(err)


# ---- options that there are none of -------------------------------------------------------------


def parsers(monkeypatch):
    """Every parser that there is, by its command, as the command line and the jobs make them."""
    made = {}

    class Kept(Parser):
        def __init__(self, **about):
            super().__init__(**about)
            made[self.prog] = self

    monkeypatch.setattr(anonrisk.cli, "Parser", Kept)
    monkeypatch.setattr(job, "Parser", Kept)
    anonrisk.cli.parser_of(Files())
    for name in ("check", "measure", "predict"):
        job.main(name, ["--help"])
    return made


@pytest.mark.slow
def test_every_option_of_every_command_is_suggested(monkeypatch, capsys):
    made = parsers(monkeypatch)
    assert {"anonrisk", "anonrisk check", "anonrisk priors publish", "check.py"} <= set(made)
    for prog, parser in made.items():
        options = [name for name in parser._option_string_actions if name.startswith("--")]
        for option in options:
            for slip in (option + "x", option.replace("-", "_").replace("__", "--", 1) + "e"):
                capsys.readouterr()
                with pytest.raises(SystemExit) as left:
                    parser.parse_args([slip, "value"])
                assert left.value.code == 2
                said = capsys.readouterr().err
                # Beside --name, --nae is as near to that as to --na.
                near = {option, "--name"} if slip == "--nae" else {option}
                meant = said.rstrip().rpartition("did you mean ")[2].removesuffix("?")
                assert meant in near, (prog, slip, said)


@pytest.mark.slow
def test_one_letter_means_one_option(monkeypatch):
    for prog, parser in parsers(monkeypatch).items():
        for option in {"-o", "--output"} & set(parser._option_string_actions):
            named = parser._option_string_actions[option].option_strings
            assert named == ["-o", "--output"], prog


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["measure", "t.csv", "--qid", "zip"], "there is no option --qid; did you mean --qids?"),
        (["measure", "t.csv", "-qids", "zip"], "there is no option -qids; did you mean --qids?"),
        (["measure", "t.csv", "--qid=zip"], "there is no option --qid; did you mean --qids?"),
        # What is required is said to be missing only where nothing was misspelt.
        (["check", "t.csv", "--polcy", "p.json"], "--polcy; did you mean --policy?"),
        (["find-qids", "t.csv", "--time_limit", "3"], "did you mean --time-limit?"),
        (["--vesion"], "there is no option --vesion; did you mean --version?"),
        (["measure", "t.csv", "--zzz"], "there is no option --zzz\n"),
        # Limits are in the policy, but for commands that have an option for them.
        (["check", "t.csv", "--l", "2"], "--l: a limit stands in the policy, as in budgets: {ldiv"),
        (["plan", "t.csv", "--t", "0.2"], "--t: a limit stands in the policy, as in budgets: {tc"),
        (["plan", "t.csv", "-k", "2"], "there is no option -k; did you mean --k?\n"),
        (["check", "p.yaml", "t.csv"], "which is the policy: anonrisk check t.csv --policy p.yaml"),
        (["find-qids", "t.csv", "--columns", "zip"], "no option --columns: it is called --qids\n"),
        (["report", "t.csv", "--html=r.html"], "no option --html: it is called --output\n"),
        (["release", "check", "r.json", "--html", "r.html"], "--html: it is called --output\n"),
        (["release", "publish", "r.json", "--manifest", "m"], "it is called --output\n"),
    ],
    ids=lambda given: given[-1] if isinstance(given, list) else None,
)
def test_the_nearest_option_is_named(run, monkeypatch, arguments, said):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert said in err
    monkeypatch.setattr("sys.argv", ["anonrisk", *arguments])
    code, _, err = run(on=lambda _: main())
    assert code == 2
    assert said in err


@pytest.mark.slow
def test_values_that_look_like_options_are_still_values(run):
    Path("odd.csv").write_text("--zip,age\n1,-1\n1,-1\n")
    asked = ("--qids=--zip", "--na", "-1", "--missing", "drop", "--json")
    code, out, err = run("measure", "odd.csv", *asked)
    assert code == 0, err
    assert json.loads(out)["sizes"]["n_records"] == 2
    assert run("measure", "--qids", "zip", "--", "t.csv")[0] == 0
