"""Few short texts as views: the answers of Arrow's own dictionary, whatever stands in a view."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonrisk

pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")
views = pytest.importorskip("anonrisk.engines.arrow.cells")
cells = pytest.importorskip("anonrisk.engines.arrow.cells")

pytestmark = pytest.mark.skipif(
    not cells.views_are_coded(), reason="this pyarrow cannot tell views apart"
)

SHORT = st.text(max_size=12).filter(lambda text: len(text.encode("utf-8", "replace")) <= 12)
CLOSE = ["", "\0", "\0\0", "a", "a\0", "aaaaaaaaaaaa", "baaaaaaaaaaa", "aaaaaaaaaaab", "aaaa"]


@pytest.fixture
def small(monkeypatch):
    """Columns of any length are looked up, a few rows at once."""
    monkeypatch.setattr(views, "_LARGE", 1)
    monkeypatch.setattr(views, "_PART", 3)


def of_views(texts, chunks=1):
    parts = [pa.array(list(part), pa.string_view()) for part in np.array_split(texts, chunks)]
    return pa.chunked_array(parts, pa.string_view())


@pytest.mark.usefixtures("small")
@settings(max_examples=60)
@given(
    st.lists(st.none() | st.sampled_from(CLOSE) | SHORT, min_size=1, max_size=40),
    st.integers(1, 4),
    st.integers(0, 3),
)
def test_each_row_has_its_own_text(texts, chunks, cut):
    texts = [None if text is None else text.encode("utf-8", "ignore").decode() for text in texts]
    column = of_views(np.array([*"x" * cut, *texts], dtype=object), chunks).slice(cut)
    few = views.FewTexts.of(column)
    listed = few.cells().to_pylist()
    assert [listed[place] for place in few.places.tolist()] == texts
    assert len(set(listed)) == len(listed) == len(set(texts))
    assert few.n_missing == texts.count(None)
    codes = few.codes()
    assert codes.cardinality == len(set(texts))
    assert codes.missing.tolist() == [text is None for text in texts]


@pytest.mark.parametrize(
    "texts",
    [
        ["a"] * 5 + ["thirteen byte"],
        ["é" * 7] * 4,
        [str(i) for i in range(views._MOST + 1)],
    ],
    ids=["a longer one at the end", "bytes, not letters", "too many"],
)
@pytest.mark.usefixtures("small")
def test_others_are_left_to_arrow(texts):
    assert views.FewTexts.of(of_views(texts)) is None
    frame = pl.DataFrame({"q": texts * 2})
    assert anonrisk.k(frame, ["q"]) == 2 * min(map(texts.count, texts))


@pytest.mark.usefixtures("small")
def test_as_many_as_there_is_room_for():
    texts = [f"{i:012}" for i in range(views._MOST)] * 2
    few = views.FewTexts.of(of_views([*texts, None]))
    listed = few.cells().to_pylist()
    assert [listed[place] for place in few.places.tolist()] == [*texts, None]


@pytest.mark.usefixtures("small")
def test_a_view_that_is_not_filled_up_with_zeros_is_not_another_text():
    raw = np.frombuffer(of_views(["ab"] * 2).chunk(0).buffers()[1], dtype=np.uint8).copy()
    raw[31] = 7
    column = pa.Array.from_buffers(pa.string_view(), 2, [None, pa.py_buffer(raw)])
    assert column.to_pylist() == ["ab", "ab"]
    assert views.FewTexts.of(column) is None
    assert anonrisk.k(pa.table({"q": column}), ["q"]) == 2


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("more", [1, 8, 17])
def test_a_buffer_may_be_longer_than_its_views(more):
    raw = bytes(of_views(["a", "b", "a"]).chunk(0).buffers()[1]) + b"x" * more
    column = pa.Array.from_buffers(pa.string_view(), 3, [None, pa.py_buffer(raw)])
    assert views.FewTexts.of(column).places.tolist() == [0, 1, 0]
    assert anonrisk.k(pa.table({"q": column}), ["q"]) == 1


@pytest.mark.usefixtures("small")
def test_what_lies_behind_a_missing_one_counts_for_nothing():
    raw = of_views(["a", "b", "c"]).chunk(0).buffers()[1]
    valid = pa.py_buffer(b"\x05")
    column = pa.Array.from_buffers(pa.string_view(), 3, [valid, raw])
    few = views.FewTexts.of(column)
    assert few.texts == [b"a", b"c"]
    assert few.places.tolist() == [0, 2, 1]


@pytest.mark.usefixtures("small")
def test_texts_that_are_no_utf8_stay_as_they_are():
    raw = np.frombuffer(of_views(["ab"] * 2).chunk(0).buffers()[1], dtype=np.uint8).copy()
    raw[[4, 20]] = 0xFF
    column = pa.Array.from_buffers(pa.string_view(), 2, [None, pa.py_buffer(raw)])
    few = views.FewTexts.of(column)
    assert few.places.tolist() == [0, 0]
    assert few.cells().cast(pa.large_binary()).to_pylist() == [b"\xffb"]


def test_a_large_table_has_the_answers_of_pandas():
    random = np.random.default_rng(3)
    texts = np.array(["", "a", "bb", None, "long enough to lie elsewhere"], dtype=object)
    n = 2 * views._LARGE
    frame = pl.DataFrame(
        {
            "few": texts[random.integers(0, 4, n)].tolist(),
            "long": texts[random.integers(0, 5, n)].tolist(),
            "s": random.integers(0, 5, n),
        }
    )
    for qid in (["few"], ["long"], ["few", "long"]):
        for kind in (frame, frame.lazy(), frame.to_arrow()):
            for missing in ("value", "drop"):
                one, other = (
                    anonrisk.assess(table, qid, "s", missing=missing).to_dict()
                    for table in (kind, frame.to_pandas())
                )
                assert one == other
