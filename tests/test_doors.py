"""One policy, one verdict, whichever door a table comes to: on tables and policies made up."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tables import pandas_table, spark_table

from anonrisk import Policy, Verdict
from anonrisk.cli import main as command_line
from anonrisk.errors import PolicyError, ReleaseBlocked

gx = pytest.importorskip("anonrisk.gx")

# Spelt so that only the skeleton of their names tells that some of them are one.
NAMES = ("zip", "age", "ill", "name", " name", "NAME", "na\u200bme", "note", "who", "Zip")
CELLS = {
    "zip": st.sampled_from(["a", "a", "b", None]),
    "age": st.sampled_from([30, 30, 41, None]),
    "ill": st.sampled_from(["flu", "hiv", "flu", None]),
    "who": st.sampled_from(["p", "q", "r", "p"]),
}
# What is said of a table that is a sample.
SAMPLES = (
    {},
    {"sampling_fraction": 0.4},
    {"sampling_fraction": 0.4, "population_size": 10},
    {"sampling_fraction": 0.4, "unsuppressed": True},
    {"population_size": 12, "unsuppressed": True},
)
SEVERITY = st.sampled_from(["fail", "warn"])


@st.composite
def tables(draw):
    """Columns of cells, as a mapping: some of the names above, and zip in most."""
    names = draw(st.lists(st.sampled_from(NAMES[1:]), max_size=4, unique=True))
    names = [*(["zip"] if draw(st.integers(0, 9)) else []), *names] or ["zip"]
    n = draw(st.sampled_from([0, 1, 4, 6]))
    some = st.sampled_from(["x", "x", "y"])
    return {name: draw(st.lists(CELLS.get(name, some), min_size=n, max_size=n)) for name in names}


@st.composite
def budgets(draw, *, sensitive):
    """One to three limits, each of which may only warn."""
    k = st.fixed_dictionaries({"at_least": st.integers(1, 3), "severity": SEVERITY})
    unique = st.fixed_dictionaries({"at_most": st.sampled_from([0, 0.4]), "severity": SEVERITY})
    diverse = st.fixed_dictionaries(
        {"l": st.integers(1, 2), "variant": st.sampled_from(["distinct", "entropy"])},
        optional={"severity": SEVERITY},
    )
    close = st.fixed_dictionaries(
        {"t": st.sampled_from([0.2, 1]), "distance": st.sampled_from(["equal", "ordered"])},
        optional={"severity": SEVERITY},
    )
    some = st.sampled_from([0.1, 0.3, 1.0])
    risk = st.fixed_dictionaries(
        {"prosecutor": st.fixed_dictionaries({"highest": some})},
        optional={
            "journalist": st.fixed_dictionaries(
                {"highest": some},
                optional={"share_above": st.just({"threshold": 0.2, "at_most": 0.5})},
            ),
            "marketer": st.fixed_dictionaries({"average": some}),
        },
    )
    kinds = {"k": k, "max_unique_fraction": unique, "risk": risk}
    kinds["predicted_singletons"] = st.just({"group_size": 2, "at_most": 1})
    kinds["max_fraction_below_k"] = st.just({"k": 2, "at_most": 0.5})
    if sensitive:
        kinds |= {"ldiv": diverse, "tcloseness": close}
    chosen = draw(st.lists(st.sampled_from(sorted(kinds)), min_size=1, max_size=3, unique=True))
    return {key: draw(kinds[key]) for key in chosen}


@st.composite
def policies(draw):
    """Policies that name their columns, so that a suite can ask the same."""
    some = st.booleans()
    roles = {"quasi": draw(st.sampled_from([["zip"], ["zip", "age"]]))}
    others = {"sensitive": ["ill"], "direct": ["name"], "insensitive": ["note"]}
    roles |= {role: names for role, names in others.items() if draw(some)}
    if draw(st.integers(0, 3)) == 0:
        roles["unit"] = "who"
    sensitive = "sensitive" in roles
    document = {
        "version": 1,
        "roles": roles,
        "unlisted": draw(st.sampled_from(["refuse", "quasi", "ignore"])),
        "missing": draw(st.sampled_from(["value", "drop", "error", "wildcard"])),
        "missing_sensitive": draw(st.sampled_from([None, "value", "drop", "error"])),
        "budgets": draw(budgets(sensitive=sensitive)),
    }
    if document["missing"] == "drop":
        document["dropped_are_removed"] = draw(some)
    if "drop" in (document["missing"], document["missing_sensitive"]):
        document["max_dropped_fraction"] = draw(st.sampled_from([0.2, 1.0]))
    removed = document.get("dropped_are_removed", False)
    if draw(st.integers(0, 3)) == 0 and not removed:
        rule = {"every_subset_of": 1, "budgets": draw(budgets(sensitive=sensitive))}
        document["qids"] = [rule]
    if draw(st.integers(0, 9)) == 0:
        document["reviewed"] = False
    document |= draw(st.sampled_from(SAMPLES))
    return document


def by_suite(policy, table):
    """The verdict that the suite of a policy comes to."""
    try:
        result = gx.run_gate(policy.to_suite(), table)
    except ReleaseBlocked as blocked:
        return blocked.verdict
    verdict = Verdict.from_json(json.dumps(result.meta["anonrisk"]))
    assert verdict.passed
    return verdict


def by_command(run, folder, document, *options):
    """The verdict that the command line, or a job, leaves in a file; and its exit code."""
    place, output = Path(folder, "p.json"), Path(folder, "v.json")
    place.write_text(json.dumps(document))
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = run([*options, "--policy", str(place), "--output", str(output)])
    verdict = Verdict.from_json(output.read_text())
    assert code == {"pass": 0, "fail": 1, "could_not_assess": 3}[verdict.status]
    return verdict


def judgement(verdict):
    """What every door must say alike: all of each finding but its words."""

    def rounded(number):
        return number if number is None else round(number, 9)

    findings = sorted(
        (
            *(finding.budget, finding.status, finding.severity, finding.qid),
            *(str(finding.sensitive), finding.group is None),
            *(str(rounded(finding.value)), str(rounded(finding.limit))),
        )
        for finding in verdict.findings
    )
    return verdict.status, findings


SLOW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@SLOW
@given(tables(), policies())
@example(
    {" name": ["Ann", "Bob"], "zip": ["a", "a"]},
    {"version": 1, "roles": {"quasi": ["zip"], "direct": ["name"]}, "budgets": {"k": 2}},
)
@example(
    {"zip": ["a"] * 4, "ill": ["hiv", "hiv", "hiv", None]},
    {
        "version": 1,
        "roles": {"quasi": ["zip"], "sensitive": ["ill"]},
        "budgets": {"ldiv": {"l": 2, "severity": "warn"}},
    },
)
def test_policy_suite_and_command_line_agree(cells, document):
    policy, table = Policy.from_dict(document), pandas_table("pandas_nullable", cells)
    expected = policy.check(table)
    found = by_suite(policy, table)
    assert judgement(found) == judgement(expected)
    assert found.not_looked_at == expected.not_looked_at
    assert dict(found.columns) == dict(expected.columns)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "t.parquet")
        table.to_parquet(place)
        assert judgement(by_command(_check, folder, document, str(place))) == judgement(expected)


def _check(options):
    return command_line(["check", *options])


LABELS = st.sampled_from(
    [None, ["u", "v", "w", "x"], [3, 5, 7, 8], [5, 3, 7, 8], [10, 10**6, 10**7, 10**8]]
)


@SLOW
@given(policies(), LABELS, st.sampled_from([None, "who", "note", "name", "key"]))
def test_policy_and_suite_agree_on_labels_of_rows(document, labels, name):
    table = pd.DataFrame({"zip": ["a"] * 4, "age": [30] * 4, "ill": ["flu", "hiv"] * 2})
    if labels is not None:
        table.index = pd.Index(labels, name=name)
    policy = Policy.from_dict(document)
    expected, found = policy.check(table), by_suite(policy, table)
    assert judgement(found) == judgement(expected)
    assert found.not_looked_at == expected.not_looked_at


@pytest.mark.slow
@pytest.mark.spark("spark")
@settings(
    # Five by day, twelve by night: each asks Spark three times.
    max_examples=settings.default.max_examples // 5,
    suppress_health_check=list(HealthCheck),
)
@given(tables(), policies())
def test_the_doors_of_spark_agree_with_pandas(spark, cells, document):
    from anonrisk.cli.job import main

    # Spark takes two names that differ by case for one column.
    cells = {name: column for name, column in cells.items() if name not in ("NAME", "Zip")}
    cells = cells or {"zip": ["a"]}
    policy = Policy.from_dict(document)
    table = spark_table(spark, cells) if cells else None
    expected = policy.check(pandas_table("pandas_nullable", cells))
    assert judgement(policy.check(table)) == judgement(expected)
    assert judgement(by_suite(policy, table)) == judgement(expected)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "t.parquet")
        table.coalesce(1).write.parquet(str(place))

        def job(options):
            return main("check", options)

        assert judgement(by_command(job, folder, document, str(place))) == judgement(expected)


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ({"by": "age"}, "by"),
        ({"max_suppressed": 0.1, "suppressed": "*"}, "max_suppressed"),
        ({"weight": "w", "risk": {"journalist": {"highest": 0.1}}}, "risk.journalist.highest"),
        ({"insensitive": [3]}, "3"),
        (
            {
                "missing": "drop",
                "max_dropped_fraction": 0.1,
                "dropped_are_removed": True,
                "qids": [{"columns": ["zip"], "budgets": {"k": 3}}],
            },
            "missing: drop",
        ),
    ],
)
def test_what_a_suite_cannot_say_is_refused_by_name(more, word):
    with pytest.raises(PolicyError, match=word):
        Policy(quasi="zip", k=2, **more).to_suite()
