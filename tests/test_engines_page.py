"""docs/engines.md says which calls each kind of table has, and says it truly."""

from __future__ import annotations

import os

import every_call
import pytest

pytestmark = pytest.mark.engine
# Forty calls take a minute there; by day Connect is asked, which has the fewest functions.
BY_NIGHT = ("spark", "pandas_on_spark")


def compare(frame):
    titles = [title for title, kinds in every_call.TITLES.items() if frame.kind in kinds]
    if not titles:
        pytest.skip("a table that holds another, which has its own column")
    table = frame(every_call.CELLS)
    found = {word: every_call.outcome(call, table) for word, call in every_call.calls()}
    if os.environ.get("ANONRISK_WRITE_PAGES"):
        every_call.write(titles[0], found)
    assert found == every_call.on_page()[titles[0]]


@pytest.mark.slow
def test_every_call_is_answered_or_refused_as_the_page_says(frame):
    if frame.kind in BY_NIGHT:
        pytest.skip("asked by night")
    compare(frame)


@pytest.mark.nightly
def test_every_call_is_answered_or_refused_on_spark_as_the_page_says(frame):
    if frame.kind not in BY_NIGHT:
        pytest.skip("asked by day")
    compare(frame)
