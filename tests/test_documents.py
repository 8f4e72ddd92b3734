"""Files that somebody wrote to make a gate hang or stumble: refused at once, by our own errors."""

from __future__ import annotations

import contextlib
import importlib
import json
import pkgutil
import time
from dataclasses import fields, is_dataclass
from pathlib import Path

import pandas as pd
import pytest

import anonrisk
from anonrisk import Plan, Policy, Release, Verdict, errors
from anonrisk.cli import main
from anonrisk.core.column_roles import Roles
from anonrisk.core.documents import Reader
from anonrisk.core.hierarchy import Hierarchy
from anonrisk.core.results import Document

LONG = "9" * 5_000
DEEP = 100_000
READER = Reader("policy", errors.PolicyError)


def bomb(levels, last="x"):
    """A few lines of YAML that stand for 9 to the power of their number."""
    lines = [f"a0: &a0 [{', '.join([last] * 9)}]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return lines


def policy_with_bomb(levels):
    return "\n".join(
        [
            "version: 1",
            "roles: {quasi: [zip], sensitive: [ill]}",
            "budgets:",
            "  tcloseness:",
            "    t: 0.2",
            "    distance: hierarchical",
            "    hierarchies:",
            f"      - [flu, &b0 [{', '.join('x' * 9)}], any]",
            *(
                f"      - [v{i}, &b{i} [{', '.join([f'*b{i - 1}'] * 9)}], any]"
                for i in range(1, levels)
            ),
        ]
    )


def quickly(call, error):
    # Of this process alone: other lanes may run beside this one.
    start = time.process_time()
    with pytest.raises(error) as raised:
        call()
    assert time.process_time() - start < 5
    assert len(str(raised.value)) < 500
    return str(raised.value)


@pytest.mark.parametrize("levels", [5, 7, 9, 30])
def test_aliases_are_not_written_out_without_limit(levels):
    pytest.importorskip("yaml")
    told = quickly(lambda: Policy.from_yaml(policy_with_bomb(levels)), errors.PolicyError)
    assert "too large with its aliases" in told if levels > 6 else "not a list" in told
    quickly(lambda: Plan.from_yaml("\n".join(bomb(max(levels, 7)))), errors.PlanError)


def test_a_long_text_is_not_repeated_without_limit():
    pytest.importorskip("yaml")
    text = "\n".join(bomb(4, last="*t"))
    told = quickly(lambda: READER.yaml(f"t: &t {'x' * 10_000}\n{text}"), errors.PolicyError)
    assert "too large" in told


@pytest.mark.slow
@pytest.mark.parametrize("length", [300_000, 600_000])
@pytest.mark.parametrize("entry", ["- ab\n", "- {a: 1}\n", "- [1, [2]]\n"])
def test_a_long_list_is_refused_within_a_second(entry, length, tmp_path):
    pytest.importorskip("yaml")
    text = "version: 1\nquasi:\n" + entry * (length // len(entry))
    path = tmp_path / "long.yaml"
    path.write_text(text)
    start = time.process_time()
    for read in (Policy.from_yaml, Release.load):
        with pytest.raises(errors.PolicyError, match=r"more than 10,000 values.*write it as JSON"):
            read(path)
    # Two of them, on a machine that others use as well.
    assert time.process_time() - start < 4


@pytest.mark.slow
def test_documents_that_programs_write_may_have_more_values():
    pytest.importorskip("yaml")
    assert len(READER.yaml("- a\n" * 11_000)) == 11_000


def test_a_few_aliases_are_taken():
    pytest.importorskip("yaml")
    text = (
        "version: 1\nroles: {quasi: &q [zip, age]}\nqids:\n- {columns: *q, budgets: {k: 2}}\n"
        "budgets: {k: 2}"
    )
    assert Policy.from_yaml(text).rules[1].columns == ("zip", "age")


def test_nesting_has_a_limit_by_aliases_too():
    pytest.importorskip("yaml")
    chain = "\n".join(["a0: &a0 [x]", *(f"a{i}: &a{i} [*a{i - 1}]" for i in range(1, 200))])
    for text in (chain, "a: &a [*a]", "[" * DEEP, "a: " + "{a: " * DEEP):
        assert "nested too deeply" in quickly(lambda t=text: READER.yaml(t), errors.PolicyError)


def test_open_brackets_are_not_read_to_the_end(monkeypatch):
    loader = pytest.importorskip("yaml").SafeLoader
    opened, really = [], loader.fetch_flow_collection_start

    def counted(self, token):
        opened.append(token)
        really(self, token)

    monkeypatch.setattr(loader, "fetch_flow_collection_start", counted)
    with pytest.raises(errors.PolicyError, match="nested too deeply"):
        READER.yaml("[" * 1_000)
    assert len(opened) < 110


@pytest.mark.parametrize(
    "text", ["[" * DEEP, "[" * 200 + "]" * 200, '{"a":' * 300 + "1" + "}" * 300]
)
def test_json_has_the_same_limits(text):
    for call, error in (
        (lambda: READER.json(text), errors.PolicyError),
        (lambda: Plan.from_json(text), errors.PlanError),
        (lambda: Verdict.from_json(text), errors.ArgumentError),
    ):
        assert "nested too deeply" in quickly(call, error)


@pytest.mark.parametrize("number", [LONG, f"-{LONG}"])
def test_numbers_have_an_end(number):
    policy = f'{{"version": 1, "roles": {{"quasi": ["zip"]}}, "budgets": {{"k": {number}}}}}'
    for call, error in (
        (lambda: Policy.from_json(policy), errors.PolicyError),
        (lambda: Plan.from_json(f'{{"anonrisk_plan": {number}}}'), errors.PlanError),
        (lambda: Verdict.from_json(f'{{"schema_version": {number}}}'), errors.ArgumentError),
    ):
        assert "digits is too long for a" in quickly(call, error)
    pytest.importorskip("yaml")
    for call, error in (
        (lambda: Policy.from_yaml(policy), errors.PolicyError),
        (lambda: Plan.from_yaml(f"anonrisk_plan: {number}"), errors.PlanError),
    ):
        assert "digits is too long for a" in quickly(call, error)


def test_a_number_that_python_reads_slowly_is_not_read():
    """Python has a limit of its own, which a program may have lifted."""
    import sys

    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        quickly(lambda: READER.json("9" * 3_000_000), errors.PolicyError)
    finally:
        sys.set_int_max_str_digits(limit)


@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_the_command_line_calls_it_wrong_usage(ending, tmp_path, capsys):
    pytest.importorskip("yaml")
    table, policy = tmp_path / "t.csv", tmp_path / f"p.{ending}"
    table.write_text("zip\n1\n1\n")
    policy.write_text(
        f'{{"version": 1, "roles": {{"quasi": ["zip"]}}, "budgets": {{"k": {LONG}}}}}'
    )
    assert main(["check", str(table), "--policy", str(policy)]) == 2
    assert "digits" in capsys.readouterr().err


def test_names_that_are_numbers_have_an_end():
    for name in (10**5_000, 2**64, 1e300):
        assert "too long" in quickly(lambda n=name: Policy(quasi=[n], k=2), errors.PolicyError)


@pytest.mark.parametrize("label", [["a"], ("a",), {"a": 1}, {"a"}])
def test_a_label_of_a_hierarchy_is_one_value(label):
    for tree in ([["flu", label, "any"]], {"any": {"cold": [label]}}):
        if isinstance(tree, dict) and label == {"a"}:
            continue
        with pytest.raises(errors.HierarchyError, match="one value, not a "):
            Hierarchy.of(tree)
        with pytest.raises(errors.PolicyError, match=r"hierarchies: a label .* one value"):
            Policy(
                quasi=["zip"],
                sensitive=["ill"],
                tcloseness={"t": 0.2, "distance": "hierarchical", "hierarchies": tree},
            )


def test_a_tree_has_a_limited_height():
    tree = ["flu"]
    for i in range(300):
        tree = {f"n{i}": tree}
    assert "100 levels" in quickly(lambda: Hierarchy.of(tree), errors.HierarchyError)
    hierarchical = {"t": 0.2, "distance": "hierarchical", "hierarchies": tree}
    quickly(
        lambda: Policy(quasi=["zip"], sensitive=["ill"], tcloseness=hierarchical),
        errors.PolicyError,
    )


def test_stored_roles_that_are_damaged_are_lost():
    nested = []
    for _ in range(5_000):
        nested = [nested]
    quickly(lambda: Roles.from_dict({"quasi": nested}), errors.RolesLostError)


def test_a_file_without_end_is_no_policy():
    assert "too long" in quickly(lambda: Policy.load("/dev/zero"), errors.PolicyError)


def test_a_parquet_file_with_damaged_roles_is_refused(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pytest.importorskip("pyarrow").table({"zip": ["a", "a"]})
    path = tmp_path / "t.parquet"
    parquet.write_table(table.replace_schema_metadata({"PANDAS_ATTRS": "[" * DEEP}), path)
    policy = tmp_path / "p.json"
    policy.write_text(Policy(quasi=["zip"], k=2).to_json())
    assert main(["check", str(path), "--policy", str(policy)]) == 3


def test_what_was_written_is_read_again():
    df = pd.DataFrame({"zip": ["1", "1", "2", "2"], "age": [1, 2, 3, 4]})
    plan = df.anon.plan(["zip", "age"], 2)
    assert Plan.from_json(plan.to_json()).to_dict() == plan.to_dict()
    verdict = Policy(quasi=["zip"], k=2).check(df)
    assert Verdict.from_json(verdict.to_json()) == verdict
    pytest.importorskip("yaml")
    assert Plan.from_yaml(plan.to_yaml()).to_dict() == plan.to_dict()


@pytest.mark.slow
def test_a_suite_has_the_same_limits(tmp_path):
    pytest.importorskip("great_expectations")
    from anonrisk import gx

    path = tmp_path / "s.json"
    for text in ("[" * DEEP, f'{{"name": {LONG}}}', '{"a": 1, "a": 2}', "{"):
        path.write_text(text)
        assert "suite" in quickly(lambda: gx.load_suite(path), errors.ArgumentError)
    tree = [["flu", ["a", "b"], "any"]]
    about = {"qids": ["zip"], "sensitive": "ill", "t": 0.2, "distance": "hierarchical"}
    suite = {
        "name": "s",
        "expectations": [
            {"type": "expect_t_closeness_to_be_at_most", "kwargs": {**about, "hierarchies": tree}}
        ],
    }
    path.write_text(json.dumps(suite))
    with pytest.raises(errors.ArgumentError, match="one value, not a list"):
        gx.run_gate(path, pd.DataFrame({"zip": ["a", "a"], "ill": ["flu", "flu"]}))


def test_every_result_has_what_its_document_names():
    for module in pkgutil.walk_packages(anonrisk.__path__, "anonrisk."):
        if module.name.startswith(("anonrisk.predict", "anonrisk.measures", "anonrisk.releases")):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    kinds = [Document]
    for kind in kinds:
        kinds += kind.__subclasses__()
        known = {one.name for one in fields(kind)} if is_dataclass(kind) else set()
        assert all(name in known or hasattr(kind, name) for name in kind._document), kind
    assert len(kinds) > 25


@pytest.mark.parametrize("name", [pd.Timestamp("2020-01-01"), 7, ("a", 1)])
def test_documents_of_results_are_json_whatever_columns_are_called(name):
    table = pd.DataFrame({0: ["x", "x", "y"], 1: ["p", "q", "q"], 2: ["u", None, "u"]})
    table.columns = pd.Index([name, "s", "g"], dtype=object, tupleize_cols=False)
    for found in (
        anonrisk.classes(table, [name]),
        anonrisk.assess(table, [name], "s"),
        anonrisk.find_qids(table, qids=[name, "s"]),
        anonrisk.explain_risk(table, [name, "s"]),
        anonrisk.suda(table, [name, "s"]),
        anonrisk.box_plot(table, [name], by="g"),
    ):
        assert json.loads(json.dumps(found.to_dict(), allow_nan=False))


def test_one_document_in_place_of_another_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    policy = Policy(quasi="zip", k=2).to_dict()
    release = {"version": 1, "tables": {"people": "people.csv"}, "policy": "policy.json"}
    plan = {"anonrisk_plan": 1, "recodings": []}
    with pytest.raises(errors.PlanError, match="this is a policy, not a plan: anonrisk plan TABLE"):
        Plan.from_dict(policy)
    with pytest.raises(errors.PlanError, match="this is a release, not a plan"):
        Plan.from_dict(release)
    for other, kind in ((plan, "plan"), (release, "release")):
        with pytest.raises(errors.PolicyError, match=f"this is a {kind}, not a policy: "):
            Policy.from_dict(other)
    for other, kind in ((plan, "plan"), (policy, "policy")):
        Path("other.json").write_text(json.dumps(other))
        with pytest.raises(errors.PolicyError, match=f"this is a {kind}, not a release: "):
            Release.load("other.json")
    Path("t.csv").write_text("zip\n1\n")
    Path("empty.json").write_text("{}")
    for name, said in (
        ("other.json", "'other.json': this is a policy, not a plan: anonrisk plan TABLE --policy"),
        ("empty.json", "not a stored plan: anonrisk plan TABLE --policy FILE -o plan.json writes"),
        ("gone.json", "make one with: anonrisk plan TABLE --policy FILE -o gone.json"),
    ):
        assert main(["apply", name, "t.csv", "-o", "o.csv"]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("!!python/tuple [zip]", "in line 1: it has a tag (!), which plain values have none of"),
        ("!mine zip", "leave it out"),
        ("2020-13-45", "put what looks like a date or a number into quotes"),
    ],
)
def test_what_yaml_is_no_plain_value_says_what_to_do(value, said):
    pytest.importorskip("yaml")
    with pytest.raises(errors.PolicyError) as refused:
        READER.yaml(f"quasi: {value}")
    assert said in str(refused.value)
    assert "zip" not in str(refused.value)
