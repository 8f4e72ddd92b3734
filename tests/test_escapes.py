"""Names and groups reach people escaped: no terminal, build server or reader obeys a column."""

from __future__ import annotations

import json
import warnings
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import anonrisk
from anonrisk import AnonRiskError, Policy, Verdict, reporting
from anonrisk.cli import main
from anonrisk.core import documents, render

SIGNS = "\n::error::pwn\x1b[31m\x1b]0;own\x07\x9b1m\u202e\u2066\u2028\u2029\x7f\x00\r\t\x85"
A, B, C, WHO, WHEN = (f"{letter}{SIGNS}" for letter in "abcnt")
COMMAND = "::set-output name=x::y"
VSO = "##vso[task.setvariable]x"


def obeyed(text):
    """List what somebody might obey in a text of several lines."""
    found = [c for c in text if not c.isprintable() and c != "\n"]
    found += [line for line in text.split("\n") if line.lstrip().startswith("::")]
    return found + [sign for sign in ("##vso[", "##[") if sign in text]


def table():
    random = np.random.default_rng(1)
    n = 60
    return pd.DataFrame(
        {
            A: random.integers(0, 9, n).astype(str),
            B: random.integers(0, 9, n),
            C: random.choice(["x", "y"], n),
            WHO: random.integers(0, 30, n),
            WHEN: pd.date_range("2024-01-01", periods=n, freq="D"),
            COMMAND: random.integers(0, 3, n).astype(str),
            VSO: random.integers(0, 3, n),
        }
    )


QID = [A, B, COMMAND, VSO]
POLICY = {
    "name": f"p{SIGNS}",
    "quasi": QID,
    "sensitive": [C],
    "k": 2,
    "ldiv": {"l": 2},
    "max_unique_fraction": 0.01,
    "missing": "value",
}


def changed(df):
    return df.anon.generalize([B], bins=[3, 6])


RESULTS = {
    "classes": lambda df: df.anon.classes(QID),
    "persons": lambda df: df.anon.classes(QID, unit=WHO),
    "risk": lambda df: df.anon.risk(QID),
    "profiles": lambda df: anonrisk.profiles(df, QID, [C]),
    "assess": lambda df: df.anon.assess(QID, [C]),
    "population": lambda df: df.anon.predict_population(QID, 10_000),
    "singletons": lambda df: df.anon.predict_singletons(QID, 20),
    "predicted classes": lambda df: df.anon.predict_classes(QID, 20),
    "find_qids": lambda df: df.anon.find_qids(alpha=0.01),
    "find_qids declared": lambda df: df.anon.declare(sensitive=[C]).anon.find_qids(alpha=0.01),
    "find_qids explained": lambda df: df.anon.find_qids(explain=True),
    "suda": lambda df: df.anon.suda(QID),
    "explain_risk": lambda df: df.anon.explain_risk(QID),
    "probabilistic_k": lambda df: df.anon.probabilistic_k(QID, 10_000, 0.5),
    "is_quasi_identifier": lambda df: anonrisk.is_quasi_identifier(df, QID, 0.2, 10_000),
    "plan": lambda df: df.anon.plan(QID, 2, max_suppressed=1.0),
    "explore": lambda df: df.anon.explore(QID, sensitive=[C]),
    "utility": lambda df: anonrisk.utility(changed(df), QID, original=df),
    "trajectory": lambda df: df.anon.trajectory([A], unit=WHO, length=2),
    "whole_person": lambda df: df.anon.whole_person(QID, unit=WHO),
    "linkability": lambda df: anonrisk.linkability(df, [A], unit=WHO, time=WHEN, period="7D"),
    "declare": lambda df: df.anon.declare(quasi=QID, unit=WHO).anon.roles(),
    "policy": lambda _: Policy(**POLICY),
    "subsets": lambda _: Policy(quasi=QID, qids=[{"every_subset_of": 2, "budgets": {"k": 2}}]),
    "verdict": lambda df: Policy(**POLICY).check(df),
    "verdict by group": lambda df: Policy(quasi=[A], by=COMMAND, k=5).check(df.assign(**{A: "z"})),
    "explain": lambda df: Policy(**POLICY).check(df).explain(),
    "hipaa": lambda df: anonrisk.hipaa.safe_harbor(df, dates=[WHEN]),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_shows_names_escaped(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = RESULTS[name](table())
    shown = [repr(result), str(result)]
    if hasattr(result, "_repr_html_"):
        shown.append(result._repr_html_())
    for text in shown:
        assert obeyed(text) == []


@pytest.mark.slow
def test_results_print_the_canary_at_all():
    """Results without the name in them would pass unseen."""
    without = {"risk", "population", "singletons", "predicted classes", "find_qids explained"}
    for name in RESULTS.keys() - without:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = RESULTS[name](table())
        assert "error::pwn" in repr(result) or r"\x3a:set" in repr(result), name


def test_groups_are_shown_escaped():
    df = pd.DataFrame({"a": ["x", "y", "y"], "by": [f"g{SIGNS}", COMMAND, VSO]})
    verdict = Policy(quasi="a", by="by", k=2).check(df)
    assert {finding.group for finding in verdict.findings} == {f"g{SIGNS}", COMMAND, VSO}
    with pytest.raises(AnonRiskError) as raised:
        verdict.raise_for_status()
    page = reporting.html(df.anon.assess("a", measures=["k"]), verdict=verdict, title=SIGNS)
    texts = [repr(verdict), verdict._repr_html_(), str(raised.value), page]
    texts += [finding.sentence for finding in verdict.findings]
    assert [obeyed(text) for text in texts] == [[]] * len(texts)


def test_a_stored_verdict_is_shown_escaped():
    """Whoever wrote the file wrote its sentences."""
    stored = json.loads(Policy(quasi=[A], k=50).check(table()).to_json())
    stored["budgets"][0]["sentence"] = stored["budgets"][0]["budget"] = SIGNS
    stored["policy"]["name"] = SIGNS
    verdict = Verdict.from_json(json.dumps(stored))
    with pytest.raises(AnonRiskError) as raised:
        verdict.raise_for_status()
    assert obeyed(repr(verdict) + str(raised.value) + verdict._repr_html_()) == []


ERRORS = {
    "no column": lambda df: df.anon.k([f"{A}x"]),
    "twice": lambda df: df.anon.k([A, A]),
    "unit": lambda df: df.anon.k([A], unit=f"{WHO}x"),
    "both": lambda df: df.anon.k([A], unit=A),
    "one text": lambda df: df.anon.k(A),
    "nested": lambda df: df.assign(**{A: [[1]] * 60}).anon.k([A]),
    "mixed": lambda df: df.assign(**{A: [1, "a"] * 30}).anon.k([A]),
    "missing": lambda df: df.assign(**{A: None}).anon.k([A], missing="error"),
    "no unit": lambda df: df.assign(**{WHO: np.nan}).anon.k([A], unit=WHO),
    "not text": lambda df: anonrisk.hipaa.safe_harbor(df, zips=[B], zip_population={"123": 1}),
    "bins": lambda df: df.anon.generalize([A], bins=[3]),
    "two roles": lambda df: df.anon.declare(quasi=[A], sensitive=[A]),
    "renamed": lambda df: df.anon.declare(quasi=[A]).rename(columns={A: B}).anon.k(),
    "ordered": lambda df: df.anon.tcloseness([A], [C], distance="ordered"),
    "plan": lambda df: df.anon.plan(
        [A, B], 2, options=anonrisk.PlanOptions(column_weights={f"{A}x": 1})
    ),
    "apply": lambda df: df.drop(columns=[A]).anon.apply(df.anon.plan([A, B], 2)),
    "policy": lambda _: Policy(quasi=[A], sensitive=[A], k=2),
    "policy key": lambda _: Policy.from_dict({"version": 1, A: 1}),
    "policy text": lambda _: Policy.from_json('{"version": 1, "missing": "\\u001b\\u202e"}'),
    "joint": lambda _: anonrisk.predict.JointTable((A, B), {("x",): 1}),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_shows_names_escaped(name):
    with pytest.raises(AnonRiskError) as raised:
        ERRORS[name](table())
    assert obeyed(str(raised.value)) == []


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    df = table().astype(str)
    df[C] = [SIGNS, COMMAND, VSO] * 20
    rows = [json.dumps(row) for row in df.to_dict("records")]
    (tmp_path / "t.jsonl").write_text("\n".join(rows))
    policy = {key: POLICY[key] for key in ("name", "missing")}
    policy |= {"version": 1, "roles": {"quasi": [*QID], "direct": [WHO]}, "by": C}
    (tmp_path / "p.json").write_text(json.dumps({**policy, "budgets": {"k": 2}}))

    def run(*arguments):
        main([*arguments])
        return capsys.readouterr()

    return run


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "t.jsonl", "--policy", "p.json", "--junit", "j.xml", "--output", "o.json"),
        ("check", "t.jsonl", "--policy", "p.json", "--sarif", "s.sarif", "--markdown", "m.md"),
        ("check", "t.jsonl", "--policy", "p.json", "--against", "t.jsonl", "--markdown", "m.md"),
        ("check", "t.jsonl", "--policy", "p.json", "--explain", "--json"),
        ("check", "t.jsonl", "--policy", "p.json", "--qids", f"{A}x", "--junit", "j.xml"),
        ("check", f"no{SIGNS}.csv".replace("\0", ""), "--policy", "p.json"),
        ("measure", "t.jsonl", "--qids", *QID, "--sensitive", C, "--unit", WHO),
        ("measure", "t.jsonl", "--qids", f"{A}x"),
        ("measure", "t.jsonl", "--qids", *QID, "--json", "--output", "o.json"),
        ("find-qids", "t.jsonl", "--alpha", "0.01", "--max-size", "2"),
        ("plan", "t.jsonl", "--qids", *QID, "--k", "2", "--max-suppressed", "1"),
        ("plan", "t.jsonl", "--qids", *QID, "--k", "2", "--max-suppressed", "1", "--yaml"),
        ("plan", "t.jsonl", "--qids", A, "--k", "2", "--apply", "o.csv"),
        ("predict", "t.jsonl", "--qids", *QID, "--group-size", "20"),
        ("report", "t.jsonl", "--qids", *QID, "-o", "r.html", "--title", SIGNS),
        ("report", "t.jsonl", "--qids", f"{A}x", "-o", "r.html"),
        ("measure", "t.jsonl", f"--nothing{SIGNS}"),
        ("example", "--folder", f"no{SIGNS}/there".replace("\0", "")),
        ("example", f"hospital{SIGNS}".replace("\0", "")),
    ],
)
def test_the_command_line_writes_names_escaped(run, arguments, tmp_path):
    out, err = run(*arguments)
    assert out or err
    assert obeyed(err.removesuffix("\n")) == []
    # The YAML of a plan quotes what it cannot hide.
    assert obeyed(out.replace('"##vso', "") if "--yaml" in arguments else out) == []
    for name in ("j.xml", "o.json", "r.html", "s.sarif", "m.md"):
        if (tmp_path / name).exists():
            assert obeyed((tmp_path / name).read_text(encoding="utf-8")) == []
    if (tmp_path / "j.xml").exists():
        ET.parse(tmp_path / "j.xml")


def test_json_is_the_same_for_whoever_reads_it(run):
    document = json.loads(run("measure", "t.jsonl", "--qids", *QID, "--json").out)
    assert document["sizes"]["qid"] == QID


@pytest.mark.parametrize("text", [SIGNS, COMMAND, VSO, f"{'a ' * 60}::error::x", "é", "😀\x9b"])
def test_yaml_keeps_every_text_and_shows_it_escaped(text):
    yaml = pytest.importorskip("yaml")
    written = documents.to_yaml({"a": [text], text: 1})
    assert yaml.safe_load(written) == {"a": [text], text: 1}
    assert obeyed(written.replace('"##vso', "")) == []


def test_a_policy_written_as_yaml_is_read_again():
    pytest.importorskip("yaml")
    policy = Policy(**POLICY)
    assert Policy.from_yaml(policy.to_yaml()).digest == policy.digest


def test_code_that_is_written_holds_no_code_of_a_name():
    evil = '"""\nraise SystemExit\n"""\\'
    df = pd.DataFrame({evil: ["10011", "10012"] * 5})
    plan = df.anon.plan([evil], 2)
    names = compile(plan.to_pyspark(), "plan", "exec").co_names
    assert "anonymise" in names
    assert "SystemExit" not in names


def test_ordinary_names_are_shown_as_they_are():
    for name in ("zip code", "naïve", "年齢", "a:b", "a::b", "#1", "##", "C:\\new", "😀", ""):
        assert render.shown(name) == name


@pytest.mark.slow
def test_great_expectations_shows_names_escaped(tmp_path):
    pytest.importorskip("great_expectations")
    import great_expectations as ge

    from anonrisk import gx

    def texts(found):
        if isinstance(found, dict):
            for key, value in found.items():
                if key in {"sentence", "exception_message", "template", "message"}:
                    yield from [value] if isinstance(value, str) else []
                elif key == "params":
                    yield from map(str, value.values())
                else:
                    yield from texts(value)
        elif isinstance(found, list):
            for one in found:
                yield from texts(one)

    df = table().assign(**{VSO: 1})
    suite = gx.to_suite(Policy(quasi=[A, B, VSO], sensitive=[C], direct=[WHO], k=50))
    suite.expectations += [
        gx.ExpectKAnonymityToBeAtLeast(qids=[f"{A}x"], k=2, unit=WHO),
        gx.ExpectLDiversityToBeAtLeast(qids=[A], sensitive=C, l=3, variant="distinct"),
        gx.ExpectColumnsNotToBeQuasiIdentifiers(columns=[A, B], max_size=2, max_fraction=0.0),
    ]
    context = ge.get_context(mode="ephemeral")
    asset = context.data_sources.add_pandas("s").add_dataframe_asset("a")
    batch = asset.add_batch_definition_whole_dataframe("b").get_batch({"dataframe": df})
    result = batch.validate(suite, result_format="COMPLETE")
    found = list(texts(result.to_json_dict()))
    for one in result.results:
        one.render()
        kinds = [*one.rendered_content, *one.expectation_config.rendered_content]
        found += texts([kind.to_json_dict() for kind in kinds])
    assert len(found) > 10
    assert [obeyed(text) for text in found if obeyed(text)] == []
    with pytest.raises(anonrisk.ReleaseBlocked) as raised:
        gx.run_gate(suite, df)
    assert obeyed(str(raised.value)) == []
