"""What counts in process needs no pandas: a table of lists that tells codes and cells is enough."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import oracle
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anonrisk import errors
from anonrisk.core import radix
from anonrisk.engines.numpy import count, match, profile, tally
from anonrisk.engines.numpy.sets import CodedSets
from anonrisk.engines.numpy.table import Codes
from anonrisk.measures.counts import class_profiles
from anonrisk.measures.counts.question import Against, Question, Score, Sensitive
from anonrisk.measures.scores import FORMULAS


class Lists:
    """A table of lists, the missing None."""

    def __init__(self, columns):
        self.columns = columns

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def codes(self, roles):
        return {name: self._codes(self.columns[name]) for name in roles}

    def _codes(self, cells):
        known = sorted({cell for cell in cells if cell is not None}, key=str)
        places = {cell: place for place, cell in enumerate([*known, None])}
        n_missing = cells.count(None)
        values = np.array([places[cell] for cell in cells], dtype=np.int64)
        return Codes(values, max(len(known) + bool(n_missing), 1), n_missing)

    def cells(self, column, rows):
        return [self.columns[column][row] for row in rows]

    def sortable(self, column, rows):
        return np.array(self.cells(column, rows))

    def plain(self, column, rows):
        return "whole", self.sortable(column, rows).astype(np.int64)

    def weights(self, column):
        return np.array(self.columns[column], dtype=float)

    def stacked(self, other, columns):
        return Lists({name: self.columns[name] + other.columns[name] for name in columns})


CELLS = st.sampled_from([None, 1, 2, 10])
ROWS = st.lists(st.tuples(CELLS, CELLS, st.integers(1, 4), st.integers(1, 9)), min_size=1)
NAMES = ("a", "b", "who", "s")
QID = ("a", "b")


def given_rows(drawn):
    rows = [dict(zip(NAMES, row, strict=True)) for row in drawn]
    return rows, Lists({name: [row[name] for row in rows] for name in NAMES})


def histogram(sizes):
    return dict(zip(sizes.sizes.tolist(), sizes.classes.tolist(), strict=True))


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("missing", ["value", "drop"])
@given(drawn=ROWS)
def test_classes_are_counted(unit, missing, drawn):
    rows, table = given_rows(drawn)
    question = Question((QID,), unit, missing)
    if not oracle.kept(rows, QID, missing):
        with pytest.raises(errors.EmptyTableError):
            count.class_sizes(table, question)
        return
    (sizes,) = count.class_sizes(table, question)
    classes, records = oracle.class_sizes(rows, QID, unit, missing)
    assert histogram(sizes) == classes
    # Of a size that is nobody's smallest there are none.
    assert Counter(dict(zip(sizes.sizes.tolist(), sizes.records.tolist(), strict=True))) == records
    (both,) = CodedSets(table, question).count([(0, 1)])
    assert histogram(both) == classes


@given(drawn=ROWS)
def test_records_know_the_size_of_their_class(drawn):
    rows, table = given_rows(drawn)
    sizes, kept = count.Encoded.of(table, Question((QID,))).sizes_by_row()
    assert sizes.tolist() == oracle.sizes(rows, QID)
    assert kept.all()


@given(drawn=ROWS)
def test_groups_are_counted_by_themselves(drawn):
    rows, table = given_rows(drawn)
    (groups,) = count.class_sizes_by(table, Question((QID,)), "who")
    assert [group.label for group in groups] == sorted({row["who"] for row in rows})
    for group in groups:
        inside = [row for row in rows if row["who"] == group.label]
        assert histogram(group.sizes) == oracle.class_sizes(inside, QID)[0]


@pytest.mark.parametrize("unit", [None, "who"])
@given(drawn=ROWS)
def test_sensitive_values_are_scored(unit, drawn):
    rows, table = given_rows(drawn)
    asked = [Score("distinct"), Score("alpha")]
    found = profile.scores(table, Question((QID,), unit), Sensitive("s"), asked)
    assert found.worst[asked[0]] == oracle.ldiv(rows, QID, "s", unit=unit)
    assert found.worst[asked[1]] == pytest.approx(oracle.alpha(rows, QID, "s", unit))


@given(drawn=ROWS)
def test_values_have_the_order_of_numbers_or_the_one_given(drawn):
    rows, table = given_rows(drawn)
    seen = sorted({row["s"] for row in rows})
    table_counts = Counter(row["s"] for row in rows)
    for order, values in ((None, seen), (tuple(range(9, 0, -1)), seen[::-1])):
        sensitive = Sensitive("s", ordered=True, order=order)
        counted = profile.profiles(table, Question((QID,)), sensitive)
        assert counted.overall.tolist() == [table_counts[value] for value in values]


@given(drawn=ROWS)
def test_a_population_is_matched_class_by_class(drawn):
    rows, table = given_rows(drawn)
    people = Lists({name: cells * 3 for name, cells in table.columns.items()})
    found = match.matched(table, Question((QID,)), Against(population=people))
    assert found.presence.lowest == found.presence.highest == pytest.approx(1 / 3)
    sums = match.weighted(table, Question((QID,)), "s")
    assert sums.total == sum(row["s"] for row in rows)


@given(drawn=ROWS)
def test_classes_keep_their_values(drawn):
    rows, table = given_rows(drawn)
    counted = tally.tally(table, dict.fromkeys(QID, "quasi-identifier"))
    values = {name: [*counted.domains[name].values.tolist(), None] for name in QID}
    found = {
        tuple(values[name][code] for name, code in zip(QID, codes, strict=True)): n
        for *codes, n in zip(*(counted.codes[name] for name in QID), counted.counts, strict=True)
    }
    assert found == Counter((row["a"], row["b"]) for row in rows)
    domain, places = tally.coded_rows(table, "a")
    assert [[*domain.values.tolist(), None][place] for place in places] == table.columns["a"]


@given(
    st.lists(st.integers(1, 2**31), min_size=1, max_size=4),
    st.randoms(use_true_random=False),
    st.booleans(),
)
# Just below and above 32 bits, and 64.
@example([46_340, 46_340], Random(1), True)
@example([46_341, 46_341], Random(1), True)
@example([2**16, 2**16], Random(1), True)
@example([2**31], Random(1), True)
@example([2**31, 2**31, 3], Random(1), False)
def test_keys_never_overflow_whatever_their_width(sizes, random, short):
    rows = [[random.choice([0, size // 2, size - 1]) for size in sizes] for _ in range(20)]
    columns = [
        (np.array(codes, dtype=np.int32 if short else np.min_scalar_type(size - 1)), size)
        for codes, size in zip(zip(*rows, strict=True), sizes, strict=True)
    ]
    keys, bound = radix.keys_of(columns, short=short)
    assert keys.dtype == (np.int32 if short and bound < 2**31 else np.int64)
    assert 0 <= keys.min() <= keys.max() < bound
    # Equal where all digits are, and nowhere else.
    digits = list(map(tuple, rows))
    assert len(set(zip(keys.tolist(), digits, strict=True))) == len(set(digits))
    assert len(set(keys.tolist())) == len(set(digits))
    # Codes may be the table's own numbers, which no key is written over.
    assert list(zip(*(codes.tolist() for codes, _ in columns), strict=True)) == digits


@pytest.mark.parametrize("n_values", [255, 256, 257, 65_536])
def test_ranks_have_room_for_every_value(n_values):
    """As many values as a width of integers has numbers: none may come round to another's rank."""
    halves = np.arange(n_values, dtype=np.int64) * 2 // n_values
    codes = {
        "q": Codes(halves, 2),
        "s": Codes(np.arange(n_values, dtype=np.min_scalar_type(n_values - 1)), n_values),
    }
    table = Lists({"q": halves.tolist(), "s": list(range(n_values))})
    table.codes = lambda roles: {name: codes[name] for name in roles}
    score = Score("ordered")
    about = Sensitive("s", ordered=True)
    scored = profile.scores(table, Question((("q",),)), about, [score])
    # The share of the lower half runs ahead of the table's up to the middle, and then falls behind.
    Q = np.arange(1, n_values + 1) / n_values
    lower = np.minimum(np.arange(1, n_values + 1) / (halves == 0).sum(), 1)
    upper = np.maximum(0, 1 - np.arange(n_values - 1, -1, -1) / (halves == 1).sum())
    expected = max(np.abs(P - Q).sum() / (n_values - 1) for P in (lower, upper))
    assert scored.worst[score] == pytest.approx(expected)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 6)), min_size=1, max_size=80),
    st.integers(1, 9),
)
def test_some_classes_at_a_time_score_as_all_at_once(rows, n_entries):
    cells = {"q": [q for q, _ in rows], "s": [s for _, s in rows]}
    about = Sensitive("s", ordered=True)
    asked = [Score(f.name, 2.0 if f.takes_c else None) for f in FORMULAS.values()]
    asked = [score for score in asked if score.name != "hierarchical"]
    whole = profile.profiles(Lists(cells), Question((("q",),)), about)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(class_profiles, "_ENTRIES", n_entries)
        assert len(list(whole.parts())) <= len(whole.sizes)
        scored = profile.scores(Lists(cells), Question((("q",),)), about, asked)
    assert scored.worst == {score: FORMULAS[score.name].worst(whole, score.c) for score in asked}
