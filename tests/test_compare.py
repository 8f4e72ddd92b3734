"""What two releases tell together that neither tells alone."""

from __future__ import annotations

import functools
import hashlib
import json
from collections import Counter
from itertools import combinations_with_replacement, product

import numpy as np
import oracle_compare as oracle
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keys import KEY, OTHER

import anonrisk
from anonrisk.errors import ArgumentError, EmptyTableError, StateError, WrongKeyError
from anonrisk.measures.counts.keyed import KeyedCounts, KeyedTally, KeyedValues
from anonrisk.measures.counts.question import Question
from anonrisk.releases.compare.compare import compare_all
from anonrisk.releases.compare.difference import compare_counts, compare_with_all
from anonrisk.releases.compare.numbers import NumberedHashes, interned

FATES = [fate for fate in product((None, "a", "b"), repeat=2) if any(fate)]


def hashed(words):
    digests = [hashlib.sha256(repr(word).encode()).digest()[:16] for word in words]
    return np.frombuffer(b"".join(digests), dtype=np.uint64).reshape(-1, 2)


def keyed(rows, *, unit="who", sensitive=True, qid=("zip",), missing="value"):
    """Keyed counts of rows (person, class, value), as an engine gives them."""
    people, classes, values = ([row[i] for row in rows] for i in range(3))
    persons = hashed(people) if unit else None
    ones = np.ones(len(rows), dtype=np.int64)
    asked = KeyedTally(Question((qid,), unit, missing), ("ill",) if sensitive else (), KEY)
    of_values = KeyedValues.of(hashed(classes), persons, hashed(values), ones)
    kinds = dict.fromkeys((*qid, *filter(None, [unit]), *asked.sensitive), "s")
    held = {"ill": of_values} if sensitive else {}
    arrays = {"classes": hashed(classes), "persons": persons, "rows": ones, "values": held}
    return KeyedCounts.of(asked, kinds, **arrays, n_dropped=0)


def check_net(found, expected):
    assert found.net
    assert found.n_added == sum(come for (come, _), _ in expected.values())
    assert found.n_removed == sum(went for _, (went, _) in expected.values())
    assert found.learned_values() == sum(one for sides in expected.values() for _, one in sides)
    for k in (2, 5):
        small = (n for sides in expected.values() for n, _ in sides if n < k)
        assert found.exposed(k) == sum(small)
    return found


def check(before, now):
    """Compare two releases, and hold every number to the oracle."""
    found = compare_counts(keyed(before), keyed(now))
    if not {row[0] for row in before} & {row[0] for row in now}:
        assert found.n_both == 0
        return check_net(found, oracle.net(before, now, persons=True))
    smallest, learned = oracle.compared(before, now)
    assert Counter(smallest.values()) == Counter(
        {
            (group, oracle.CHANGES.index(change)): sum(
                one.persons for one in found.persons if one[:2] == (change, group)
            )
            for change, group, *_ in found.persons
        }
    )
    for k in (2, 3, 5):
        exposed = {person for person, (size, _) in smallest.items() if size < k}
        assert found.exposed(k) == sum(found.exposed_by(k).values()) == len(exposed)
        assert found.at_risk(k) == len(exposed | learned)
        assert found.learned_values(among=k) == len(learned - exposed)
        assert found.learned_values("ill", among=k) == len(learned - exposed)
        small = {
            person
            for rows in (before, now)
            for people in oracle.by_key(rows, 1, 0).values()
            if len(people) < k
            for person in people
        }
        assert found.unseen(k) == len(exposed - small)
    assert found.learned_values() == found.learned_values("ill") == len(learned)
    assert found.new_singletons == len(oracle.alone(now) - oracle.alone(before))
    assert found.changed_values == {"ill": len(oracle.other_values(before, now))}
    old, new = ({row[:2] for row in rows} for rows in (before, now))
    came, went = Counter(cls for _, cls in new - old), Counter(cls for _, cls in old - new)
    pairs = Counter((came[cls], went[cls]) for cls in {*came, *went})
    assert {(one.added, one.removed): one.classes for one in found.classes} == pairs
    assert (found.n_added, found.n_removed) == (came.total(), went.total())
    persons = [{row[0] for row in rows} for rows in (before, now)]
    assert (found.n_before, found.n_now) == tuple(map(len, persons))
    assert found.n_both == len(persons[0] & persons[1])
    return found


# ---- against brute force ------------------------------------------------------------------------


def all_pairs(n):
    """Every two releases of n people in two classes with two values, whoever they are."""
    return combinations_with_replacement(list(product(FATES, "xy")), n)


def check_attack(people):
    """Nobody's value is learned from both releases, and by neither alone, without being counted."""
    before, now = (oracle.rows_of(people, release) for release in (0, 1))
    if not before or not now:
        return
    by_both = oracle.learned_by(people, (0, 1))
    alone = oracle.learned_by(people, (0,)) | oracle.learned_by(people, (1,))
    _, counted = oracle.compared(before, now)
    assert by_both - alone <= counted, people
    check(before, now)
    if not any(was and is_ for (was, is_), _ in people):
        # Nobody is in both: what is counted are net changes.
        return
    only_more = all(was is None or was == is_ for (was, is_), _ in people)
    if only_more:
        # Where nobody leaves, what is counted is what the attacker learns, no more.
        assert by_both - alone == counted, people


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2])
def test_no_attack_on_two_small_releases_is_missed(n):
    for people in all_pairs(n):
        check_attack(people)


@pytest.mark.nightly
@pytest.mark.parametrize("n", [3])
def test_no_attack_on_two_larger_releases_is_missed(n):
    for people in all_pairs(n):
        check_attack(people)


PAIRS = [*product([(1, 1, 0), (1, 0, 1), (0, 1, 1)], "xy")]


@pytest.mark.parametrize(
    ("releases", "together"),
    [
        # Two halves, then the whole and one person more.
        ([*product([(1, 0, 1), (0, 1, 1)], "xy"), ((0, 0, 1), "x")], 1),
        # The smallest in which every two releases have somebody in common.
        ([*PAIRS, ((0, 0, 1), "x")], 1),
        # The smallest that the earlier releases together do not show either.
        ([*PAIRS, ((1, 0, 0), "x")], 0),
    ],
)
def test_attacks_by_three_releases_that_no_pair_shows(releases, together):
    people = [(tuple("a" if is_in else None for is_in in place), v) for place, v in releases]
    last = len(people) - 1
    assert oracle.learned_by(people, (0, 1, 2)) == {last}
    first, second, third = (oracle.rows_of(people, release) for release in range(3))
    for one, other in ((first, second), (first, third), (second, third)):
        assert check(one, other).at_risk(2) == 0
    assert check(list({*first, *second}), third).at_risk(2) == together


rows = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from("abc"), st.sampled_from("xyz")),
    min_size=1,
    max_size=24,
)


@given(rows, rows)
def test_people_in_several_classes(before, now):
    found = check(before, now)
    back = compare_counts(keyed(now), keyed(before))
    swapped = {"added": "removed", "removed": "added"}
    by_change = {swapped.get(change, change): n for change, n in back.exposed_by(3).items()}
    assert by_change["stayed"] + by_change["moved"] <= back.exposed(3) == found.exposed(3)


@given(rows, rows)
def test_people_of_whom_nobody_is_in_both(before, now):
    check(before, [(f"other {who}", cls, value) for who, cls, value in now])


@given(rows, rows)
def test_net_changes(before, now):
    found = compare_counts(keyed(before, unit=None), keyed(now, unit=None))
    check_net(found, oracle.net(before, now))
    assert found.n_both is None
    assert (found.n_before, found.n_now) == (len(before), len(now))
    sizes = [Counter(cls for _, cls, _ in rows) for rows in (before, now)]
    alone = sum(n == 1 != sizes[0][cls] for cls, n in sizes[1].items())
    assert found.new_singletons == alone


# ---- as users ask -------------------------------------------------------------------------------

CELLS = {
    "zip": ["1011"] * 6 + ["1012"] * 5,
    "who": list(range(11)),
    "ill": ["flu", "cold"] * 5 + ["flu"],
}
# Without the person of place 4, who has flu.
BEFORE = {name: [*cells[:4], *cells[5:]] for name, cells in CELLS.items()}


def test_the_example_of_two_releases_that_pass_alone(frame):
    now, before = frame(CELLS), frame(BEFORE)
    assert anonrisk.k(now, "zip") == anonrisk.k(before, "zip") == 5
    assert anonrisk.ldiv(now, "zip", "ill") == anonrisk.ldiv(before, "zip", "ill") == 2
    found = anonrisk.compare(now, "zip", previous=before, unit="who", sensitive="ill")
    assert found.exposed(5) == found.unseen(5) == found.learned_values() == 1
    assert found.exposed_by(5)["added"] == 1
    assert found == anonrisk.compare(
        now, "zip", previous=pd.DataFrame(BEFORE), unit="who", sensitive="ill"
    )


def test_a_table_without_a_unit(frame):
    # One left and one came: nobody sees that, unless the values tell.
    before, now = frame(CELLS), frame({**CELLS, "ill": ["gout", *CELLS["ill"][1:]]})
    found = anonrisk.compare(now, "zip", previous=before)
    assert found.net
    assert found.exposed(5) == 0
    told = anonrisk.compare(now, "zip", previous=before, sensitive="ill")
    assert told.exposed_by(5) == {"added": 1, "removed": 1, "stayed": 0, "moved": 0}
    assert told.learned_values("ill") == 2


df = pd.DataFrame(CELLS)


def test_a_state_stands_for_an_earlier_release():
    before = pd.DataFrame(BEFORE).anon.state("zip", unit="who", sensitive="ill", key=KEY)
    found = df.anon.compare("zip", previous=before, unit="who", sensitive="ill")
    assert found == df.anon.compare(
        "zip", previous=pd.DataFrame(BEFORE), unit="who", sensitive="ill"
    )
    assert found == df.anon.state("zip", unit="who", sensitive="ill", key=KEY).compare(before)


def test_roles_that_were_declared_are_taken():
    told = df.anon.declare(quasi="zip", unit="who", sensitive="ill")
    assert told.anon.compare(previous=pd.DataFrame(BEFORE)) == df.anon.compare(
        "zip", previous=pd.DataFrame(BEFORE), unit="who", sensitive="ill"
    )


def test_a_finer_recoding_splits_classes():
    people = pd.DataFrame({"who": range(10), "age": [31, 32] * 5})
    before = people.assign(age="30-39").anon.state("age", unit="who", key=KEY)
    now = people.assign(age=people["age"].map(str)).anon.state("age", unit="who", key=KEY)
    found = now.compare(before)
    assert (found.n_split, found.n_classes_both, found.n_both) == (1, 0, 10)
    assert found.exposed_by(6) == {"added": 0, "removed": 0, "stayed": 0, "moved": 10}
    assert found.exposed(5) == 0
    # Back again nothing is split.
    assert before.compare(now).n_split == 0


def test_the_same_people_under_new_quasi_identifiers():
    people = pd.DataFrame({"who": range(8), "zip": list("aaaabbbb"), "job": list("xxyyxxyy")})
    by_zip = people.anon.state("zip", unit="who", key=KEY)
    by_job = people.anon.state("job", unit="who", key=KEY)
    assert by_zip.k == by_job.k == 4
    found = by_job.compare(by_zip)
    assert (found.qid_before, found.qid) == (("zip",), ("job",))
    assert found.exposed(4) == found.unseen(4) == 8
    assert found.exposed(2) == 0
    assert "zip" in repr(found)


def test_a_value_that_changed():
    now = df.assign(ill=["gout", *CELLS["ill"][1:]])
    found = now.anon.compare("zip", previous=df, unit="who", sensitive="ill")
    assert found.changed_values == {"ill": 1}
    assert found.exposed(5) == found.n_added == found.n_removed == 0


def test_a_row_more_of_somebody_who_was_there_is_left_over(frame):
    """The same five persons both times; who knows that one of them came again learns why."""
    before = {"zip": ["a"] * 5, "who": [1, 2, 3, 4, 5], "ill": ["flu", "cold"] * 2 + ["flu"]}
    more = {"zip": ["a"], "who": [1], "ill": ["gout"]}
    now = {name: [*before[name], *more[name]] for name in before}
    found = frame(now).anon.compare("zip", previous=frame(before), unit="who", sensitive="ill")
    assert (found.exposed(5), found.learned_values("ill"), found.unseen(5)) == (1, 1, 1)
    back = frame(before).anon.compare("zip", previous=frame(now), unit="who", sensitive="ill")
    assert back.exposed_by(5) == {"added": 0, "removed": 1, "stayed": 0, "moved": 0}


def test_a_second_value_of_one_person_hides_no_other():
    before = [(who, "a", ("flu", "cold")[who % 2]) for who in range(10)]
    came = [(who, "a", "hiv") for who in range(100, 105)]
    again = [(who, "a", "hiv") for who in range(5)]
    for rows, one_more in ((came, (100, "a", "flu")), (again, (0, "a", "gout"))):
        for now in ([*before, *rows], [*before, *rows, one_more]):
            assert check(before, now).learned_values() == 5


def test_a_second_value_of_a_newcomer_hides_no_other_from_several_releases_or_net_changes():
    base = [(who, "a", ("flu", "cold", "gout")[who % 3]) for who in range(12)]
    came = [(who, "a", "hiv") for who in range(100, 105)]
    for now in (came, [*came, (100, "a", "flu")]):
        earlier = [keyed(base[:8]), keyed(base[4:])]
        found = list(compare_with_all(earlier, keyed([*base, *now])))
        assert [one.at_risk(2) for one in found] == [0, 0, 5]
        net = check([(f"was {who}", *rest) for who, *rest in base], [*base, *now])
        assert net.learned_values() == 5


def test_what_a_class_told_before_excuses_no_other_value():
    others = [(who, "b", ("flu", "cold")[who % 2]) for who in range(10, 16)]
    before = [*((who, "a", "flu") for who in range(5)), *others]
    now = [*((who, "b", "hiv") for who in range(5)), *others]
    assert check(before, now).learned_values() == 5


def test_all_who_came_again_with_one_value():
    before = [(who, "a", "xyz"[who % 3]) for who in range(6)]
    now = [*before, *((who, "a", "w") for who in range(6))]
    assert check(before, now).learned_values() == 6


def test_earlier_releases_together_count_nobody_twice():
    both = [df.anon.state("zip", unit="who", sensitive="ill", key=KEY) for _ in range(2)]
    assert [one.at_risk(100) for one in compare_all(both, both[0])] == [0, 0, 0]


def test_the_same_release_tells_nothing():
    found = df.anon.compare(
        "zip", previous=df.sample(frac=1, random_state=1), unit="who", sensitive="ill"
    )
    assert found.persons == found.classes == ()
    assert found.at_risk(100) == 0
    assert "No class has changed" in repr(found)


def states(**changed):
    given = {"frame": df, "qids": "zip", "unit": "who", "sensitive": "ill", "key": KEY}
    return anonrisk.state(**{**given, **changed})


@pytest.mark.parametrize(
    ("changed", "error", "words"),
    [
        ({"key": OTHER}, WrongKeyError, "different keys"),
        ({"unit": None}, StateError, "same unit: it was None and is 'who' now"),
        ({"sensitive": None}, StateError, "same sensitive columns"),
        ({"missing": "drop"}, StateError, "same missing: it was 'drop'"),
        ({"frame": df.assign(zip=range(11))}, StateError, "'zip' was of type integer"),
        ({"frame": df.assign(who=df["who"].map(str))}, StateError, "'who' was of type text"),
        ({"frame": df.head(0)}, EmptyTableError, "the earlier release"),
    ],
)
def test_what_does_not_fit_is_refused(changed, error, words):
    with pytest.raises(error, match=words):
        states().compare(states(**changed))


def test_without_a_unit_other_columns_are_refused():
    with pytest.raises(StateError, match="without a unit, persons cannot be matched"):
        states(unit=None).compare(states(unit=None, qids="who"))
    with pytest.raises(StateError, match="not with a DataFrame"):
        states().compare(df)


def test_questions_that_have_no_answer():
    found = df.anon.compare("zip", previous=pd.DataFrame(BEFORE), unit="who", sensitive="ill")
    with pytest.raises(ArgumentError, match="did you mean 'ill'"):
        found.learned_values("il")
    with pytest.raises(ArgumentError, match="k"):
        found.exposed(1)


def test_what_is_given_away_holds_no_cell():
    found = df.anon.compare("zip", previous=pd.DataFrame(BEFORE), unit="who", sensitive="ill")
    text = json.dumps(found.to_dict()) + repr(found) + found._repr_html_()
    assert not any(cell in text for cell in ("1011", "1012", "flu", "cold"))
    assert found.to_frame().to_dict("records") == [{"added": 1, "removed": 0, "classes": 1}]


def test_hashes_that_share_a_half_are_told_apart():
    found, n = interned(np.array([[7, 1], [5, 1], [7, 2], [7, 1], [0, 2]], dtype=np.uint64))
    assert n == 4
    assert found.tolist() == [0, 1, 2, 0, 3]


FEW_HASHES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=9)


@given(these=FEW_HASHES, others=st.lists(FEW_HASHES, max_size=3), shift=st.sampled_from([0, 60]))
def test_hashes_that_are_numbered_once_are_told_apart_as_well(these, others, shift):
    # By their first bits they are found, or all of them share these.
    every = [np.array(item, dtype=np.uint64) << np.uint64(shift) for item in (these, *others)]
    earlier, now, n = NumberedHashes(every[0]).number(every[1:])
    numbers = [number for part in (now, *earlier) for number in part.tolist()]
    hashes = [pair for part in (these, *others) for pair in part]
    assert len(set(zip(numbers, hashes, strict=True))) == len(set(numbers)) == n
    assert n == len({*hashes})
    assert set(numbers) == set(range(n))


def test_so_many_columns_that_their_combinations_have_no_number_are_told_as_each_alone():
    # 4 values of each and a number of rows: 8 to the power of 30 numbers would be needed.
    names = [f"ill {i}" for i in range(30)]
    before = pd.DataFrame({"who": range(60), "zip": np.arange(60) % 3})
    before[names] = np.tile(np.minimum(np.arange(60), 3)[:, None], len(names))
    before[names[0]] = np.arange(60) % 4
    frames = before, before.drop(index=[0, 7]).assign(zip=lambda f: f["zip"] * (f["who"] != 10))
    old, new = (f.anon.state("zip", unit="who", sensitive=names, key=KEY) for f in frames)
    found = new.compare(old)
    for name in names:
        alone = (f.anon.state("zip", unit="who", sensitive=name, key=KEY) for f in frames)
        one = next(alone)
        by_itself = next(alone).compare(one)
        assert found.learned[name] == by_itself.learned[name]
        assert found.exposed_by(5) == by_itself.exposed_by(5)
    assert any(found.learned.values())


@pytest.mark.slow
@settings(max_examples=40)
@given(data=st.data())
def test_all_releases_together_are_their_states_merged(data):
    row = st.tuples(st.integers(0, 5), st.sampled_from("ab"), st.sampled_from("xy"))
    tables = data.draw(st.lists(st.lists(row, min_size=1, max_size=8), min_size=3, max_size=5))
    states = [
        pd.DataFrame(rows, columns=["who", "zip", "ill"]).anon.state(
            "zip", unit="who", sensitive="ill", key=KEY
        )
        for rows in tables
    ]
    *earlier, current = states
    merged = functools.reduce(lambda one, other: one.merge(other), earlier)
    *each, together = compare_all(earlier, current)
    assert each == [current.compare(state) for state in earlier]
    assert together == compare_counts(merged.counts, current.counts, of_several=True)
