"""Ctrl-C in the middle of long work: what was known by then, marked; a gate never passes on it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from itertools import combinations, islice
from math import factorial

import pandas as pd
import pytest

import anonrisk
from anonrisk.core.progress import interruptible
from anonrisk.errors import StoppedWarning
from anonrisk.measures.find_qids import _Search

PEOPLE = pd.DataFrame(
    {
        "zip": list("aabbccddee"),
        "age": [1, 2, 1, 2, 1, 2, 3, 3, 1, 1],
        "sex": list("fmfmfffmff"),
        "ill": list("yynnynnyyy"),
    }
)
TRACES = pd.DataFrame({"user": [i // 4 for i in range(24)], "item": [i * i % 7 for i in range(24)]})
# How many places of each work Ctrl-C is tried at.
_PLACES = 40


def interrupted(work, file, at):
    """Do some work, with Ctrl-C at a place inside of one file; give its end and the places seen.

    A place is between two instructions of Python, the least that an interrupt can come between.
    """
    seen = 0

    def trace(frame, event, _):
        nonlocal seen
        if not frame.f_code.co_filename.endswith(file):
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            seen += 1
            if seen == at:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = work()
    except KeyboardInterrupt:
        return None, seen
    finally:
        sys.settrace(before)
    stopped = any(issubclass(one.category, StoppedWarning) for one in caught)
    assert stopped or not result.partial, "nobody overlooks that a result is not all"
    assert stopped or at > seen or at < 0, "Ctrl-C is never swallowed in silence"
    return result, seen


def partial_results(work, file):
    """Return what is left of some work that Ctrl-C ends here and there; at times nothing."""
    work()  # what the first call imports and remembers is no place of the others
    whole, n_places = interrupted(work, file, -1)
    assert not whole.partial
    results = []
    for at in range(1, n_places, max(n_places // _PLACES, 1)):
        result, seen = interrupted(work, file, at)
        assert seen >= at
        results.append(result)
    assert None in results, "where nothing is known yet, Ctrl-C is what it always was"
    left = [one for one in results if one is not None and one.partial]
    assert len(left) > 5
    return whole, left


def marked(result, *words):
    """Check that a result says in every way that it is not all."""
    stored = json.loads(json.dumps(result.to_dict()))
    assert stored["partial"] is True
    for text in (repr(result), result._repr_html_()):
        for word in ("PARTIAL", "stopped", *words):
            assert word in text, text
    return stored


@pytest.mark.slow
def test_sets_found_so_far_are_minimal_and_no_decided_one_is_missing():
    whole, left = partial_results(
        lambda: anonrisk.find_qids(PEOPLE, alpha=0.3), "measures/find_qids.py"
    )
    everything = {found.columns for found in whole.sets}
    for report in left:
        decided = f"stopped: {report.n_settled:,} of {report.n_sets:,} sets decided"
        assert marked(report, decided, "direct identifiers")["complete"] is False
        assert not report.complete
        found = {one.columns for one in report.sets}
        assert found <= everything
        for one in report.coverage:
            if one.decided == one.sets:
                assert {c for c in found if len(c) == one.size} == {
                    c for c in everything if len(c) == one.size
                }
    assert len({report.n_settled for report in left}) > 3
    assert whole.complete
    assert whole.to_dict()["complete"]


def scores_after(table, max_size, n_decided):
    """Score by the first sets only, one record after the other."""
    rows = list(table.itertuples(index=False))
    places = range(table.shape[1])
    every = [c for size in range(1, max_size + 1) for c in combinations(places, size)]
    scores, numbers = [0] * len(rows), [0] * len(rows)
    for r, row in enumerate(rows):
        alone = []
        for columns in islice(every, n_decided):
            same = [other for other in rows if all(other[i] == row[i] for i in columns)]
            if len(same) == 1 and not any(set(one) < set(columns) for one in alone):
                alone.append(columns)
                scores[r] += factorial(len(places) - len(columns))
                numbers[r] += 1
    return scores, numbers


@pytest.mark.slow
def test_scores_so_far_are_those_of_the_sets_looked_at():
    whole, left = partial_results(lambda: anonrisk.suda(PEOPLE, list(PEOPLE), 3), "numpy/sets.py")
    assert whole.n_decided == whole.n_sets == 14
    for found in left:
        stored = marked(found, f"stopped: {found.n_decided} of 14 sets decided")
        assert (stored["complete"], stored["n_decided"]) == (False, found.n_decided)
        scores, numbers = scores_after(PEOPLE, 3, found.n_decided)
        assert found.scores.tolist() == scores
        assert found.records["minimal_uniques"].tolist() == numbers
        assert found.total == sum(scores)
        assert sum(found.n_minimal) == sum(numbers)
        assert found.n_scored == sum(score > 0 for score in scores)
        weights = found.records[[f"suda_{name}" for name in PEOPLE]].mul(found.scores, axis=0)
        shares = weights.sum() / (found.total or 1)
        assert shares.tolist() == pytest.approx(list(found.contributions.values()))
    assert len({found.n_decided for found in left}) > 5


@pytest.mark.slow
def test_lengths_and_draws_so_far_are_as_if_only_they_were_asked_for():
    def asked(draws):
        return anonrisk.trajectory(TRACES, "item", unit="user", length=3, draws=draws, seed=1)

    once, twice = asked(1), asked(2)
    _, left = partial_results(lambda: asked(2), "numpy/traces.py")
    for found in left:
        stored = marked(found, f"stopped: {found.n_done} of 6 measurements made")
        assert (stored["complete"], stored["n_done"], stored["n_steps"]) == (False, found.n_done, 6)
        for step in found.measured:
            # The first draw is of every length before the second is of any.
            drawn = twice if found.n_done - 3 >= step.length else once
            assert step == drawn.at(step.length)
        assert len(found.measured) == min(found.n_done, 3)
        assert len(found.modelled) == len(found.measured) == len(found.to_frame())
        if len(found.measured) < 3:
            with pytest.raises(anonrisk.errors.ArgumentError, match="not measured; stopped"):
                found.at(3)
    assert {found.n_done for found in left} == {1, 2, 3, 4, 5}


@pytest.mark.slow
def test_runs_so_far():
    timed = TRACES.assign(time=range(len(TRACES)))

    def asked():
        return anonrisk.trajectory(
            timed, "item", unit="user", length=4, time="time", points="consecutive"
        )

    whole, left = partial_results(asked, "numpy/traces.py")
    for found in left:
        marked(found, f"stopped: {found.n_done} of 4 measurements made")
        assert found.measured == whole.measured[: found.n_done]


@pytest.mark.slow
def test_the_best_plan_so_far_keeps_to_k_and_is_not_called_the_best():
    table = pd.DataFrame(
        {"age": [i * i % 11 for i in range(12)], "zip": ["ab"[i % 2] for i in range(12)]}
    )

    def asked():
        return anonrisk.plan(table, ["age", "zip"], k=3, max_suppressed=0.1)

    whole, left = partial_results(asked, "planning/lattice/full_domain.py")
    assert whole.optimal
    for plan in left:
        assert marked(plan, "not proven best")["optimal"] is False
        assert anonrisk.Plan.from_json(plan.to_json()) == plan
        assert plan.after.loss >= whole.after.loss * (1 - 1e-9)
        assert anonrisk.k(anonrisk.apply(table, plan), ["age", "zip"]) >= 3
        assert plan.after.n_below <= 1
    assert "partial" in whole.to_dict()


def test_a_plan_too_lossy_is_no_plan_so_far(monkeypatch):
    def interrupted_there(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("anonrisk.planning.lattice.full_domain._bounded", interrupted_there)
    table = pd.DataFrame({"age": range(40)})
    with pytest.warns(StoppedWarning, match="not proven best"):
        assert anonrisk.plan(table, ["age"], k=3).partial
    with pytest.raises(KeyboardInterrupt), pytest.warns(StoppedWarning):
        anonrisk.plan(table, ["age"], k=3, options=anonrisk.PlanOptions(max_loss=0.0))
    # Nobody says that there is no plan after looking at some.
    monkeypatch.setattr("anonrisk.planning.lattice.full_domain._greedy", lambda lattice, _: None)
    with pytest.raises(KeyboardInterrupt):
        anonrisk.plan(table, ["age"], k=3)


def test_only_ctrl_c_is_taken():
    with pytest.raises(ZeroDivisionError), interruptible():
        _ = 1 / 0
    with pytest.raises(SystemExit), interruptible():
        sys.exit(3)
    with interruptible() as interruption:
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt):
        interruption.keep(0, 5, "sets decided")
    with pytest.warns(StoppedWarning, match="stopped: 2 of 5 sets decided") as caught:
        assert interruption.keep(2, 5, "sets decided")
    assert caught[0].filename == __file__


# ---- gates and the command line ---------------------------------------------------------------


def stop(*_):
    raise KeyboardInterrupt


def test_every_engine_gives_what_was_found(frame, monkeypatch):
    monkeypatch.setattr(_Search, "_grow", stop)
    # Engines may warn of themselves as well.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = anonrisk.find_qids(frame(PEOPLE.to_dict("list")), alpha=0.3)
    (said,) = (str(one.message) for one in caught if one.category is StoppedWarning)
    assert "stopped: 4 of 15 sets decided" in said
    assert (report.sets, report.n_settled, report.partial) == ((), 4, True)


def test_looking_for_direct_identifiers_may_be_stopped_too(monkeypatch):
    monkeypatch.setattr("anonrisk.api.find_qids._look_alikes", stop)
    with pytest.warns(StoppedWarning):
        report = anonrisk.find_qids(PEOPLE, alpha=0.3)
    assert report.n_settled == report.n_sets
    assert report.partial, "columns were not looked at for being direct identifiers"
    assert marked(report)["direct"] == []


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    from anonrisk.cli import main

    monkeypatch.chdir(tmp_path)
    # Nobody is alone with one column.
    PEOPLE[["age", "sex"]].to_csv("t.csv", index=False)

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def test_the_command_line_prints_what_was_found_and_never_passes(command, monkeypatch, tmp_path):
    monkeypatch.setattr(_Search, "_grow", stop)
    for gate in ([], ["--fail-if-found"]):
        code, out, err = command("find-qids", "t.csv", "--alpha", 0.1, *gate)
        assert code == 3
        assert "PARTIAL: stopped: 2 of 3 sets decided" in out
        assert out.startswith("could not assess") == bool(gate)
        assert "--time-limit" not in out
        assert err == "anonrisk: note: stopped: 2 of 3 sets decided\n"
    code, out, _ = command("find-qids", "t.csv", "--alpha", 0.1, "--json", "--output", "f.json")
    assert code == 3
    assert json.loads(out)["partial"] is True
    assert (tmp_path / "f.json").read_text(encoding="utf-8") == out


def test_the_command_line_writes_no_table_by_half_a_plan(command, monkeypatch, tmp_path):
    monkeypatch.setattr("anonrisk.planning.lattice.full_domain._bounded", stop)
    asked = ("plan", "t.csv", "--qids", "age", "sex", "--k", 2, "--apply", "out.csv")
    code, out, _ = command(*asked)
    assert code == 3
    assert "PARTIAL: stopped, not proven best" in out
    assert "Nothing was written" in out
    assert not (tmp_path / "out.csv").exists()
    code, out, _ = command(*asked, "--json")
    assert (code, json.loads(out)["partial"]) == (3, True)
    assert "written" not in json.loads(out)


# ---- a real Ctrl-C ------------------------------------------------------------------------------

CHILD = """
import json, sys
import numpy as np, pandas as pd
import anonrisk
from anonrisk.core import progress
progress._Lines.interval = 0.02
random = np.random.default_rng(1)
n = 60_000
{work}
print(json.dumps(found.to_dict()))
"""
MANY = "table = pd.DataFrame({f'c{i}': random.integers(0, 4 + i, n) for i in range(22)})\n"
WORK = {
    "find_qids": MANY + "found = anonrisk.find_qids(table, alpha=0.99, max_size=6, progress=True)",
    "suda": MANY + "found = anonrisk.suda(table, list(table), 5, progress=True)",
    "plan": (
        "table = pd.DataFrame({f'c{i}': random.integers(0, 3000, n) for i in range(5)})\n"
        "found = anonrisk.plan(table, list(table), k=50, progress=True)"
    ),
    "trajectory": (
        "table = pd.DataFrame({'u': random.integers(0, n // 20, n),"
        " 'i': random.zipf(1.3, n) % 500})\n"
        "found = anonrisk.trajectory("
        "table, 'i', unit='u', length=4, draws=5000, seed=1, progress=True)"
    ),
}


@pytest.mark.nightly
@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is no signal there")
@pytest.mark.parametrize("word", WORK)
def test_a_process_that_is_sent_ctrl_c_gives_what_it_has_found(word):
    script = CHILD.format(work=WORK[word])
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    moved = 0
    for line in child.stderr:
        # Told of more than the first few steps, so that something is known.
        moved += " of " in line and not line.partition(": ")[2].startswith("0 of ")
        if moved > 10:
            child.send_signal(signal.SIGINT)
            break
    out, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert json.loads(out)["partial"] is True, err
    assert "StoppedWarning: stopped: " in err
