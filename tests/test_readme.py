"""The front page: its picture, the words that people search for, and what it compares us with."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest

from anonrisk.accessor import FUNCTIONS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_picture_is_one_that_a_page_can_carry():
    assert "](docs/images/report.png)" in README
    content = (ROOT / "docs" / "images" / "report.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", content[16:24])
    assert width == 900
    assert height < width
    assert len(content) < 150_000


@pytest.mark.parametrize(
    "word",
    [
        *("k-anonymity", "l-diversity", "t-closeness", "quasi-identifier", "GDPR", "HIPAA"),
        *("re-identification risk", "de-identification", "statistical disclosure control"),
        *("ARX", "sdcMicro", "differential privacy"),
    ],
)
def test_people_who_search_for_it_find_it(word):
    assert word in README


def test_it_is_a_front_page():
    assert len(README.splitlines()) <= 140
    prose = re.sub("```.*?```", "", README, flags=re.DOTALL)
    assert len(prose.split()) <= 900


def test_every_function_is_listed():
    listed = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    assert [one.__name__ for one in FUNCTIONS if f"{one.__name__}(" not in listed] == []
