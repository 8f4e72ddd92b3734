"""The counts of a stream: each released batch once, whatever is tried again."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keys import KEY, OTHER

from anonrisk import Policy, State
from anonrisk.errors import StateError, WrongKeyError
from anonrisk.releases.state.stream import StreamState

POLICY = Policy(quasi="zip", k=2)


def batch(text):
    return pd.DataFrame({"zip": pd.Series(list(text), dtype=object)})


def run(union, number, rows, *, policy=POLICY, keep=True):
    verdict, counted = union.check(policy, rows, number, name=f"batch {number}")
    if keep:
        union.keep(number, counted if verdict.passed else None)
    return verdict


@pytest.mark.slow
@settings(max_examples=10)
@given(
    st.lists(st.tuples(st.text("abc", min_size=1, max_size=6), st.integers(0, 2)), max_size=4),
    st.randoms(use_true_random=False),
)
def test_every_released_batch_is_counted_once(tmp_path_factory, batches, random):
    """Attempts that were killed before or after their state was saved come again."""
    folder = tmp_path_factory.mktemp("union") / "states"
    released = ""
    for number, (text, again) in enumerate(batches):
        for _ in range(again):
            run(StreamState(folder, KEY), number, batch(text), keep=random.random() < 0.5)
        verdict = run(StreamState(folder, KEY), number, batch(text))
        whole = POLICY.check(batch(released + text))
        assert (verdict.status, verdict.n_rows) == (whole.status, len(released + text))
        released += text if verdict.passed else ""
    files = sorted(folder.iterdir(), key=lambda path: int(path.stem[9:])) if folder.exists() else []
    assert len(files) <= 2
    if released:
        assert State.load(files[-1], key=KEY) == batch(released).anon.state("zip", key=KEY)
    else:
        assert not files


def test_a_batch_that_no_longer_passes_is_forgotten(tmp_path):
    union = StreamState(tmp_path, KEY)
    assert run(union, 0, batch("aabb")).passed
    assert not run(union, 0, batch("aabb"), policy=Policy(quasi="zip", k=3)).passed
    assert not list(tmp_path.iterdir())


def test_another_checkpoint_is_refused(tmp_path):
    union = StreamState(tmp_path, KEY)
    run(union, 7, batch("aa"))
    with pytest.raises(StateError, match="has seen batch 7 of another run, and this is batch 3"):
        run(union, 3, batch("aa"))
    with pytest.raises(WrongKeyError):
        run(StreamState(tmp_path, OTHER), 8, batch("aa"))


def test_what_cannot_be_counted_together_could_not_be_assessed(tmp_path):
    union = StreamState(tmp_path, KEY)
    run(union, 0, batch("aa"))
    numbers = pd.DataFrame({"zip": [1, 1]})
    verdict = run(union, 1, numbers)
    assert verdict.status == "could_not_assess"
    assert "was of type text and is of type integer now" in verdict.findings[0].sentence
    wanted = [{"columns": columns, "budgets": {"k": 2}} for columns in (["zip"], ["zip", "age"])]
    several = Policy(qids=wanted)
    verdict = run(union, 2, batch("aa").assign(age=1), policy=several)
    assert verdict.status == "could_not_assess"
    assert "has 2 quasi-identifiers" in verdict.findings[0].sentence
    assert run(union, 3, batch("a")).passed


def test_persons_and_sensitive_values_are_of_the_union_too(tmp_path):
    union = StreamState(tmp_path, KEY)
    policy = Policy(quasi="zip", unit="who", sensitive="ill", k=2, ldiv={"l": 2})

    def rows(people):
        return pd.DataFrame(people, columns=["zip", "who", "ill"])

    assert run(union, 0, rows([("a", 1, "flu"), ("a", 2, "hiv")]), policy=policy).passed
    assert run(union, 1, rows([("a", 1, "flu")]), policy=policy).passed
    failed = run(union, 2, rows([("b", 1, "flu"), ("b", 2, "flu")]), policy=policy)
    assert {one.budget: one.status for one in failed.findings} == {"k": "pass", "ldiv": "fail"}
