"""Every kind of table answers what docs/engines.md says, and refuses what is listed."""

from __future__ import annotations

import every_call
import pandas as pd
import pytest

from anonrisk.engines.pandas import PandasEngine
from anonrisk.engines.refusals import LIMITS, REFUSED, TABLES, refused
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


@pytest.mark.contract
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


def test_a_listed_sentence_excuses_only_what_it_is_about(monkeypatch):
    def refuse(*_, **__):
        raise refused(LIMITS)

    monkeypatch.setattr(PandasEngine, "score", refuse)
    with pytest.raises(UnsupportedFrameError) as raised:
        pd.DataFrame(every_call.CELLS).anon.ldiv(every_call.QID, sensitive="value")
    assert [*every_call.words_on(raised.value.__traceback__)] == [("ldiv", {"sensitive": "value"})]
    assert not every_call.is_listed("sqlite", raised.value)


@pytest.mark.parametrize(
    ("listed", "word", "keywords", "is_about"),
    [
        ("kl_after", "kl_after", {}, True),
        ("kl_after", "k", {}, False),
        ("suppress(cells=True)", "suppress", {"cells": True}, True),
        ("suppress(cells=True)", "suppress", {}, False),
        ("missing='wildcard'", "k", {"missing": "wildcard"}, True),
        ("missing='wildcard'", "k", {}, False),
        ("at_risk(l=), at_risk(t=)", "at_risk", {"t": 0.1}, True),
        ("at_risk(l=), at_risk(t=)", "ldiv", {"t": 0.1}, False),
        ("a stream", "k", {}, True),
    ],
)
def test_what_a_refusal_is_about(listed, word, keywords, is_about):
    assert every_call.is_about(listed, word, keywords) == is_about


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
