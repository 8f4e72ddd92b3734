"""Every kind of table answers what docs/engines.md says, and refuses what is listed."""

from __future__ import annotations

import every_call
import pytest

from anonrisk.engines.refused import REFUSED, TABLES
from anonrisk.errors import UnsupportedColumnError, UnsupportedFrameError

# Forty calls take a minute there; by day Connect is asked, which has the fewest functions.
BY_NIGHT = ("spark", "pandas_on_spark")


def compare(frame):
    title = every_call.title_of(frame.kind)
    if title is None:
        pytest.skip("a table that holds another, which has its own column")
    table = frame(every_call.CELLS)
    answers = {word: every_call.outcome(call, table) for word, call in every_call.calls()}
    assert answers == every_call.columns()[title]


@pytest.mark.engine
@pytest.mark.slow
def test_every_call_is_answered_or_refused_as_the_page_says(frame):
    if frame.kind in BY_NIGHT:
        pytest.skip("asked by night")
    compare(frame)


@pytest.mark.engine
@pytest.mark.nightly
def test_every_call_is_answered_or_refused_on_spark_as_the_page_says(frame):
    if frame.kind not in BY_NIGHT:
        pytest.skip("asked by day")
    compare(frame)


@pytest.mark.contract
def test_what_is_listed_is_refused_in_these_words(frame):
    for refusal in every_call.refusals_of(frame.kind):
        for ask in every_call.asking(refusal):
            with pytest.raises((UnsupportedFrameError, UnsupportedColumnError)) as raised:
                ask(frame)
            assert refusal.sentence in str(raised.value), refusal.asked


def test_the_page_is_written_from_the_list():
    text = every_call.PAGE.read_text(encoding="utf-8")
    assert every_call.written(text) == text, "python tests/every_call.py writes it anew"


def test_every_refusal_can_be_provoked_and_is_of_a_table_of_the_page():
    words = {word for word, _ in every_call.calls()}
    assert tuple(every_call.TITLES) == TABLES
    for refusal in REFUSED:
        # tests/test_sqlframe.py asks SQLFrame, in an environment of its own.
        assert refusal.tables == ("SQLFrame",) or {*refusal.tables} <= {*TABLES}
        assert refusal.tables == ("SQLFrame",) or refusal.asked in {*words, *every_call.USES}
    assert {*every_call.USES} <= {refusal.asked for refusal in REFUSED}
