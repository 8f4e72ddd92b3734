"""A fault at any step of any gate: it may end in an error or a refusal, and never in a pass.

A step is a function of the library that a gate enters; which there are is found by running it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import inspect
import io
import itertools
import json
import math
import os
import re
import signal
import sys
from datetime import date
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
import test_versions
from keys import KEY, SECRET

import anonrisk
from anonrisk import Ledger, Manifest, Plan, Policy, Release, ReleaseVerdict, State, Verdict
from anonrisk.cli import job, main
from anonrisk.cli.pre_commit import check_each
from anonrisk.engines import engine_for
from anonrisk.engines.pandas import PandasEngine
from anonrisk.errors import AnonRiskError
from anonrisk.policy import judge, terms
from anonrisk.policy.budgets import BUDGETS
from anonrisk.policy.budgets.base import SensitiveBudget, Value
from anonrisk.policy.dbt.model import python_model
from anonrisk.pseudonyms.seal import SigningKey
from anonrisk.releases.release import parts as release_parts

PACKAGE = str(Path(anonrisk.__file__).parent)
FAULTS = {
    "disk full": OSError(errno.ENOSPC, "No space left on device"),
    "no memory": MemoryError(),
    "interrupted": KeyboardInterrupt(),
    "killed": SystemExit(137),
    "unexpected": ZeroDivisionError(),
}
TABLE = pd.DataFrame({"zip": ["a"] * 6 + ["b"] * 6, "ill": ["flu", "gout"] * 6, "who": range(12)})
TERMS = {
    "quasi": "zip",
    "sensitive": "ill",
    "unit": "who",
    "missing_sensitive": "error",
    "k": 5,
    # Both, because Great Expectations counts once for all: a fault in what nobody asks may pass.
    "ldiv": [{"l": 2}, {"l": 1.9, "variant": "entropy"}],
    "tcloseness": {"t": 0.2, "distance": "equal"},
    "max_unique_fraction": 0.1,
    "risk": {"prosecutor": {"highest": 0.2}},
}
POLICY = Policy(**TERMS)


class Fault:
    """Do something, such as raise an error, when so many functions of the library were entered."""

    def __init__(self, act=None, place=None):
        self.act, self.place, self.entered, self.where = act, place, 0, None
        # Where each function was entered first: these are the steps.
        self.first = {}

    def __call__(self, frame, *_):
        code = frame.f_code
        # A generator is entered once more to be closed, where Python ignores what it raises.
        if code.co_filename.startswith(PACKAGE) and not code.co_flags & inspect.CO_GENERATOR:
            self.entered += 1
            self.first.setdefault(code, self.entered)
            if self.entered == self.place:
                self.where = f"{code.co_filename}:{frame.f_lineno} {code.co_name}"
                self.act()

    def passes(self, gate):
        """Run a gate with the fault in it, and tell whether it passed."""
        before = sys.gettrace()
        sys.settrace(self)
        try:
            return gate()
        except BaseException:  # noqa: BLE001
            return False
        finally:
            sys.settrace(before)


def raising(kind):
    def act():
        raise FAULTS[kind]

    return act


def by_policy(_):
    return lambda: POLICY.check(TABLE).passed


def by_command(folder):
    table, policy = folder / "t.csv", folder / "p.json"
    TABLE.to_csv(table, index=False)
    policy.write_text(POLICY.to_json(), encoding="utf-8")

    def gate():
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return main(["check", str(table), "--policy", str(policy)]) == 0

    return gate


def by_suite(_):
    gx = pytest.importorskip("anonrisk.gx")
    suite = POLICY.to_suite()
    return lambda: gx.run_gate(suite, TABLE).success


def by_checkpoint(_):
    ge = pytest.importorskip("great_expectations")
    from anonrisk.gx import AnonriskGateAction

    context = ge.get_context(mode="ephemeral")
    asset = context.data_sources.add_pandas("s").add_dataframe_asset("t")
    batch = asset.add_batch_definition_whole_dataframe("b")
    suite = context.suites.add(POLICY.to_suite())
    validation = ge.ValidationDefinition(name="v", data=batch, suite=suite)
    context.validation_definitions.add(validation)
    checkpoint = ge.Checkpoint(
        name="c",
        validation_definitions=[validation],
        actions=[AnonriskGateAction.requiring(suite)],
    )
    context.checkpoints.add(checkpoint)
    return lambda: checkpoint.run({"dataframe": TABLE}).success


def by_release(folder):
    pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")
    folder.chmod(0o700)
    ledger = Ledger(folder / "ledger.db", key=KEY, new=True)
    policy = Policy(**TERMS, differencing={"k": 5})
    return lambda: Release({"t": TABLE}, policy, name="first").check(ledger).passed


def by_release_command(folder):
    """`anonrisk release check` of a release with a ledger, after one was published."""
    words = commands_of(folder)
    assert words("publish", "--new") == 0
    return lambda: words("check") == 0


def by_sealing(folder):
    """`anonrisk release publish --seal`: each time another release, of the same table."""
    pytest.importorskip("cryptography", reason="needs the extra 'seal'")
    words = commands_of(folder)
    SigningKey.generate().save(folder / "seal.pem")
    seal = ("--seal", str(folder / "seal.pem"))
    assert words("publish", "--new", *seal) == 0
    return lambda: words("publish", *seal) == 0


def by_verifying(folder):
    words = commands_of(folder)
    assert words("publish", "--new") == 0
    return lambda: words("verify") == 0


def commands_of(folder):
    """What runs `anonrisk release`, each time of another name, and gives the exit code."""
    pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")
    folder.chmod(0o700)
    numbers = itertools.count()
    published = folder / "out"
    published.mkdir()
    TABLE.to_csv(published / "t.csv", index=False)
    Policy(**TERMS, differencing={"k": 5}).save(folder / "p.json")
    (folder / "key").write_text(SECRET.hex())
    (folder / "key").chmod(0o600)

    def run(action, *more):
        document = {"version": release_parts.VERSION, "tables": {"t": "out/t.csv"}}
        document |= {"policy": "p.json", "name": f"r{next(numbers)}"}
        (folder / "r.json").write_text(json.dumps(document), encoding="utf-8")
        manifest = published / "manifest.json"
        given = {
            "check": [folder / "r.json"],
            "publish": [folder / "r.json", "--by", "me", "-o", manifest],
            "verify": [manifest, published],
        }[action]
        of_ledger = ["--ledger", folder / "ledger.db", "--key-file", folder / "key"]
        return silently(lambda: main(["release", action, *map(str, given + of_ledger), *more]))

    return run


def silently(call):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return call()


def by_hook(folder):
    by_command(folder)
    words = [f"--policy={folder / 'p.json'}", str(folder / "t.csv")]
    return lambda: silently(lambda: check_each(words)) == 0


def by_dbt_model(_):
    ((_, text),) = python_model(POLICY, "t").items()
    dbt = SimpleNamespace(config=lambda **_: None, ref=lambda _: TABLE)

    def gate():
        made = {}
        exec(compile(text, "model.py", "exec"), made)
        return silently(lambda: made["model"](dbt, None)) is TABLE

    return gate


GATES = {
    "Policy.check": by_policy,
    "command line": by_command,
    "run_gate": by_suite,
    "checkpoint": by_checkpoint,
    "Release.check": by_release,
    "release check": by_release_command,
    "release publish": by_sealing,
    "release verify": by_verifying,
    "pre-commit": by_hook,
    "dbt model": by_dbt_model,
}


def steps_of(gate):
    """Run a gate until it does the same each time, and list its steps."""
    for _ in range(2):
        assert gate()
    counted = Fault()
    assert counted.passes(gate)
    return [*counted.first.values()]


# Great Expectations asks a metric of ours that raised once more, and has a whole answer then.
ASKED_AGAIN = re.compile(r"gx/metrics\.py:\d+ (answer|measured)$")


def never_passes(gate, n_steps=None, kinds=FAULTS, nth=None):
    """Put one fault into each step, or into so many, the kinds of fault in turn."""
    steps = steps_of(gate)
    some = steps[nth] if nth else steps[:: max(1, len(steps) // n_steps)] if n_steps else steps
    reached = 0
    for step, kind in zip(some, itertools.cycle(kinds), strict=False):
        fault = Fault(raising(kind), step)
        passed = fault.passes(gate)
        again = fault.where and ASKED_AGAIN.search(fault.where)
        assert again or not (passed and fault.where), f"{kind} at {fault.where}"
        reached += fault.where is not None
    assert reached > 0.8 * len(some)
    assert gate(), "a fault leaves nothing behind"


pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


# How many steps get a fault by day: as many as a few seconds take.
BY_DAY = {"Policy.check": 100, "run_gate": 5, "checkpoint": 5, "release publish": 10}


@pytest.mark.slow
@pytest.mark.parametrize("name", GATES)
def test_a_fault_at_a_step_of_a_gate_never_passes(name, tmp_path):
    never_passes(GATES[name](tmp_path), BY_DAY.get(name, 25))


# A release takes a second: its steps are gone through in a week of nights.
OF_RELEASES = ("Release.check", "release check", "release publish", "release verify")
WEEK = 7


@pytest.mark.nightly
@pytest.mark.parametrize("name", GATES)
def test_a_fault_at_every_step_never_passes(name, tmp_path):
    first = date.today().toordinal() % WEEK
    never_passes(
        GATES[name](tmp_path), nth=slice(first, None, WEEK) if name in OF_RELEASES else None
    )


@pytest.mark.nightly
@pytest.mark.parametrize("kind", FAULTS)
def test_every_fault_at_every_step_never_passes(kind, tmp_path):
    never_passes(by_policy(tmp_path), kinds=[kind])


@pytest.mark.slow
def test_what_could_not_be_published_whole_is_not_in_the_ledger(tmp_path):
    pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")
    tmp_path.chmod(0o700)
    policy = Policy(**TERMS, differencing={"k": 5})

    def publish(ledger, name):
        return Release({"t": TABLE}, policy, name=name).publish(ledger, by="me") is not None

    ledger = Ledger(tmp_path / "ledger.db", key=KEY, new=True)
    counted = Fault()
    assert counted.passes(lambda: publish(ledger, "warm"))
    steps = [*counted.first.values()]
    for number, kind in zip(range(10), itertools.cycle(FAULTS), strict=False):
        fault, name = Fault(raising(kind), steps[number * len(steps) // 10]), f"r{number}"
        passed = fault.passes(lambda name=name: publish(ledger, name))
        assert not (passed and fault.where), fault.where
        # Opened anew: what was stored holds together, and is whole or not there.
        again = Ledger(tmp_path / "ledger.db", key=KEY)
        before = [entry.release for entry in again.entries()]
        assert len(before) == len({*before})
        if name not in before:
            assert publish(again, name)
        again.verify()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("option", ["output", "junit", "sarif", "markdown"])
def test_a_run_that_is_killed_leaves_no_older_verdict(option, tmp_path):
    """Once the work has begun; while the process starts, the older file is there (docs say so)."""
    by_command(tmp_path)
    told = tmp_path / "told"
    words = ["check", str(tmp_path / "t.csv"), "--policy", str(tmp_path / "p.json")]
    words += [f"--{option}", str(told)]
    silent = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with silent[0], silent[1]:
        assert main(words) == 0
        older = told.read_bytes()
        TABLE.assign(zip=range(12)).to_csv(tmp_path / "t.csv", index=False)
        counted = Fault()
        assert not counted.passes(lambda: main(words) == 0)
        begun = next(at for code, at in counted.first.items() if code.co_name == "policy_of")
        steps = [at for at in counted.first.values() if at >= begun]
        for step in steps[:: len(steps) // 6]:
            told.write_bytes(older)
            child = os.fork()
            if not child:
                Fault(lambda: os.kill(os.getpid(), signal.SIGKILL), step).passes(
                    lambda: main(words)
                )
                os._exit(0)
            assert os.waitpid(child, 0)[1] == signal.SIGKILL
            assert told.read_bytes() != older


@pytest.mark.parametrize("option", ["output", "junit", "sarif", "markdown"])
def test_a_disk_that_is_full_never_passes(option, tmp_path):
    by_command(tmp_path)
    words = ["check", str(tmp_path / "t.csv"), "--policy", str(tmp_path / "p.json")]
    assert main([*words, f"--{option}", "/dev/full"]) not in {0, 1}


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_a_fault_at_a_step_of_a_stream_releases_nothing(spark, tmp_path):
    stream_releases_nothing(spark, tmp_path, 2)


@pytest.mark.nightly
@pytest.mark.spark("spark")
def test_a_fault_at_many_steps_of_a_stream_releases_nothing(spark, tmp_path):
    stream_releases_nothing(spark, tmp_path, 40)


def stream_releases_nothing(spark, folder, n_steps):
    """Of a batch that fails: what is done with one that passes may come after its release."""
    from anonrisk.spark import foreach_batch

    batch, released = spark.createDataFrame(TABLE.assign(zip=range(12))), []
    gate = foreach_batch(POLICY, lambda *given: released.append(given), str(folder / "q"))
    numbers = itertools.count()

    def run():
        gate(batch, next(numbers))
        return bool(released)

    counted = Fault()
    assert not counted.passes(run)
    steps = [*counted.first.values()]
    assert len(steps) > 100
    some = steps[len(steps) // (2 * n_steps) :: len(steps) // n_steps]
    for step, kind in zip(some, itertools.cycle(FAULTS), strict=False):
        assert not Fault(raising(kind), step).passes(run)


@pytest.mark.nightly
@pytest.mark.spark("spark")
def test_a_fault_at_a_step_of_a_job_on_spark_never_passes(spark, tmp_path):
    TABLE.to_parquet(tmp_path / "t.parquet", index=False)
    POLICY.save(tmp_path / "p.json")
    words = [str(tmp_path / "t.parquet"), "--policy", str(tmp_path / "p.json")]
    never_passes(lambda: silently(lambda: job.main("check", words)) == 0, 40)


# ---- a number that is none ----------------------------------------------------------------------

# Limits that the table keeps, and that a table can break: one that none can is no pass.
ASKED = {
    "k": 5,
    "ldiv": {"l": 2},
    "max_fraction_below_k": {"k": 2, "at_most": 0.5},
    "max_records_below_k": {"k": 2, "at_most": 5},
    "max_suppressed": 0.5,
    "max_unique_fraction": 0.5,
    "max_unique_records": 5,
    "population_unique_fraction": {"population_size": 1000, "at_most": 0.9},
    "predicted_singletons": {"group_size": 6, "at_most": 2},
    "risk": {"prosecutor": {"highest": 0.5}},
    "tcloseness": {"t": 0.2, "distance": "equal"},
    "whole_person": {"k": 2},
}
# Judged by Release.check, of several tables; and where the plan is known.
OF_RELEASES = {"differencing", "linked", "credibility"}


def test_every_budget_is_asked():
    assert set(ASKED) | OF_RELEASES == set(BUDGETS)


@pytest.mark.parametrize("key", ASKED)
def test_a_number_that_is_none_never_passes(key, monkeypatch):
    more = {"suppressed": "*"} if key == "max_suppressed" else {}
    roles = {"quasi": "zip", "sensitive": "ill", "unit": "who"}
    policy = Policy(**roles, missing_sensitive="value", **{key: ASKED[key]}, **more)
    assert policy.check(TABLE, n_original=12).passed
    seen, finding_of = [], judge.finding_of

    def none(budget, qid, value, **about):
        seen.append(value)
        return finding_of(budget, qid, Value(math.nan), **about)

    monkeypatch.setattr(judge, "finding_of", none)
    assert policy.check(TABLE, n_original=12).status == "could_not_assess"
    assert [value for value in seen if isinstance(value, Value)]


def scoring(frame, number, monkeypatch):
    """Let the engine of a table score every class by a number; give the numbers that it had."""
    # What comes by Arrow is scored by pandas.
    kind, had = type(engine_for(frame)), []
    kind = kind if hasattr(kind, "score") else PandasEngine
    score = kind.score

    def none(*given, **how):
        scored = score(*given, **how)
        had.append(scored.worst)
        return dataclasses.replace(scored, worst=dict.fromkeys(scored.worst, number))

    monkeypatch.setattr(kind, "score", none)
    return had


OF_SCORES = {key: ASKED[key] for key in ("ldiv", "tcloseness")}


def test_every_budget_of_scores_is_asked():
    kinds = {key for key, kind in BUDGETS.items() if issubclass(kind, SensitiveBudget)}
    assert kinds - OF_RELEASES == {*OF_SCORES}


@pytest.mark.contract
def test_a_score_that_is_no_number_never_passes(frame, monkeypatch):
    roles = {"quasi": "zip", "sensitive": "ill", "unlisted": "ignore"}
    policy = Policy(**roles, missing_sensitive="value", **OF_SCORES)
    table = frame(TABLE.to_dict("list"))
    assert policy.check(table).passed
    had = scoring(table, math.nan, monkeypatch)
    found = {one.budget: one.status for one in policy.check(table).findings}
    assert found == dict.fromkeys(OF_SCORES, "could_not_assess")
    assert any(had)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in GATES if name != "release verify"])
def test_a_score_that_is_no_number_passes_no_gate(name, tmp_path, monkeypatch):
    """But for `release verify`, which judges files by their manifest, and scores nothing."""
    gate = GATES[name](tmp_path)
    assert gate()
    had = scoring(TABLE, math.nan, monkeypatch)
    assert not Fault().passes(gate)
    assert any(had)


def test_a_batch_that_cannot_say_whether_it_has_rows_passes_no_gate(tmp_path, monkeypatch):
    gate = by_suite(tmp_path)
    assert gate()
    schema = type(PandasEngine().schema(TABLE))

    def refuse(_):
        raise MemoryError

    monkeypatch.setattr(schema, "has_rows", refuse)
    assert not Fault().passes(gate)


# ---- a document of a later version --------------------------------------------------------------


def release_file(folder):
    document = {"version": release_parts.VERSION, "tables": {"t": "t.csv"}}
    by_command(folder)
    (folder / "r.json").write_text(json.dumps({**document, "policy": "p.json"}))
    return folder / "r.json"


def published(folder):
    folder.chmod(0o700)
    ledger = Ledger(folder / "ledger.db", key=KEY, new=True)
    return Release({"t": TABLE}, Policy(**TERMS, differencing={"k": 5}), name="r").publish(
        ledger, by="me"
    )


def identities(folder):
    from anonrisk.identity import IdentityProtector

    IdentityProtector(KEY, folder / "i.db", admin="me").close()
    return folder / "i.db"


def priors(folder):
    from anonrisk.priors import Repository

    Repository(folder / "p.db")
    return folder / "p.db"


# How a document is written into a folder and read, by where its version stands.
WRITTEN = {
    "policy.terms.VERSION": (
        lambda _: {**POLICY.to_dict(), "version": terms.VERSION},
        Policy.from_dict,
    ),
    "policy.verdict.SCHEMA_VERSION": (
        lambda _: POLICY.check(TABLE).to_json(),
        Verdict.from_json,
    ),
    "releases.release.parts.VERSION": (release_file, Release.load),
    "releases.release.verdict.SCHEMA_VERSION": (
        lambda _: Release({"t": TABLE}, POLICY).check().to_json(),
        ReleaseVerdict.from_json,
    ),
    "releases.ledger.manifest.VERSION": (lambda f: published(f).to_bytes(), Manifest.from_bytes),
    "planning.plan._VERSION": (
        lambda _: TABLE.anon.plan(["zip"], k=2).to_json(),
        Plan.from_json,
    ),
    "releases.state.keyed_file.VERSION": (
        lambda _: TABLE.anon.state("zip", key=KEY).to_bytes(),
        lambda data: State.from_bytes(data, key=KEY),
    ),
    "releases.ledger.ledger.VERSION": (
        lambda f: (published(f), f / "ledger.db")[1],
        lambda path: Ledger(path, key=KEY).entries(),
    ),
    "pseudonyms.store.VERSION": (identities, lambda path: identities(path.parent)),
    "priors.repository.VERSION": (priors, lambda path: priors(path.parent)),
}
# Modules that have a number from there.
ALSO_STATED = {"pseudonyms.store.VERSION": {"anonrisk.pseudonyms.session"}}


def test_every_document_that_is_read_is_asked():
    pytest.importorskip("sqlalchemy")
    read = {row[0] for row in test_versions.rows("Stored documents") if row[3] != "for others"}
    assert {test_versions.DOCUMENTS[name] for name in read} == {*WRITTEN}


@pytest.mark.parametrize("place", WRITTEN)
def test_a_document_of_a_later_version_is_refused(place, tmp_path, monkeypatch):
    pytest.importorskip("sqlalchemy")
    (write, read), (module, _, name) = WRITTEN[place], place.rpartition(".")
    read(write(tmp_path))
    later = tmp_path / "later"
    later.mkdir()
    with monkeypatch.context() as patch:
        for stated in {f"anonrisk.{module}", *ALSO_STATED.get(place, ())}:
            now = getattr(import_module(stated), name)
            patch.setattr(f"{stated}.{name}", type(now)(int(now) + 1))
        document = write(later)
    with pytest.raises(AnonRiskError, match="version"):
        read(document)
