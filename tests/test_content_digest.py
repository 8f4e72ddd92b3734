"""Digests of tables that are no files: the same rows, the same digest, and no other rows."""

from __future__ import annotations

import hmac
from collections import Counter

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keys import KEY, OTHER
from released import manifest_of, verdict_of

from anonrisk.errors import (
    AnonRiskError,
    ArgumentError,
    ManifestError,
    UnreadableTableError,
    WrongKeyError,
)
from anonrisk.pseudonyms.seal import SigningKey
from anonrisk.releases.release.contents import content_digest
from anonrisk.releases.release.published_files import PublishedTable

CELLS = {"zip": ["1011", "1012", "1011", None], "né": [1, 2, 1, 3]}


def by_hand(cells, kinds):
    """Every row encoded as the page of states says, hashed, counted, sorted and hashed again."""

    def sized(part):
        return len(part).to_bytes(4, "big") + part

    names = sorted(cells, key=lambda name: name.encode())
    start = b"".join(sized(name.encode()) for name in names)
    rows = Counter(
        hmac.digest(
            KEY.derived("state class"),
            start
            + b"".join(
                sized(b"n" if cells[name][i] is None else f"{kinds[name]}{cells[name][i]}".encode())
                for name in names
            ),
            "sha256",
        )[:16]
        for i in range(len(cells[names[0]]))
    )
    columns = b"".join(sized(name.encode()) + kinds[name].encode() for name in names)
    ordered = sorted(rows)
    message = b"anonrisk content 1" + sized(columns) + len(ordered).to_bytes(8, "big")
    message += b"".join(ordered) + b"".join(rows[one].to_bytes(8, "big") for one in ordered)
    return "hmac-sha256:" + hmac.digest(KEY.derived("content digest"), message, "sha256").hex()


def test_it_is_that_of_the_definition_on_every_engine(frame):
    try:
        found = content_digest(frame(CELLS), key=KEY)
    except AnonRiskError as error:
        if "SQLite" not in str(error):  # which has no SHA-256
            raise
        pytest.skip(str(error))
    assert found == by_hand(CELLS, {"zip": "s", "né": "i"})


def test_order_index_and_other_types_of_the_same_kind_change_nothing():
    df = pd.DataFrame(CELLS)
    made = content_digest(df, key=KEY)
    turned = df.iloc[::-1][["né", "zip"]].set_axis(list("abcd"))
    assert content_digest(turned, key=KEY) == made
    assert content_digest(df.astype({"né": "Int32"}), key=KEY) == made
    assert content_digest(df, key=OTHER) != made


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2)), max_size=5),
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 2)), max_size=5),
)
def test_two_tables_have_one_digest_exactly_if_they_have_the_same_rows(one, other):
    types = {"x": "str", "y": "int64"}
    digests = [
        content_digest(pd.DataFrame(rows, columns=["x", "y"]).astype(types), key=KEY)
        for rows in (one, other)
    ]
    same = Counter(one) == Counter(other) and bool(one) == bool(other)
    assert (digests[0] == digests[1]) == same


@pytest.mark.parametrize(
    "other",
    [
        {"zip": ["1011", "1012", "1011", None], "ne": [1, 2, 1, 3]},
        {"zip": ["1011", "1012", "1011", ""], "né": [1, 2, 1, 3]},
        {"zip": ["1011", "1012", "1011", None], "né": ["1", "2", "1", "3"]},
        {"zip": ["1011", "1012", "1012", None], "né": [1, 2, 1, 3]},
        {"zip": ["1011", "1012", "1011", None, None], "né": [1, 2, 1, 3, 3]},
        {"zip": ["1011", "1012", None], "né": [1, 2, 3]},
    ],
)
def test_other_names_types_cells_and_rows_have_another_digest(other):
    assert content_digest(pd.DataFrame(other), key=KEY) != content_digest(
        pd.DataFrame(CELLS), key=KEY
    )


def test_no_digest_is_a_sum():
    """What two tables that differ by a row have in common says nothing about the row."""
    base, more = pd.DataFrame(CELLS), pd.DataFrame({"zip": ["9999"], "né": [7]})
    numbers = [
        int(content_digest(df, key=KEY).partition(":")[2], 16)
        for df in (base, pd.concat([base, more]), more, pd.concat([more, more]))
    ]
    with_row, alone = numbers[1] - numbers[0], numbers[2]
    assert with_row % 2**256 != alone
    assert numbers[0] ^ numbers[1] != alone
    assert numbers[3] - numbers[2] != alone


# ---- verified -----------------------------------------------------------------------------------


def published(digest):
    """A manifest of a table that is no file, without a seal."""
    return manifest_of(tables=(PublishedTable("patients", verdict_of("patients"), digest),))


def test_a_table_that_is_no_file_is_verified_by_its_rows(frame):
    table = frame(CELLS)
    try:
        manifest = published(content_digest(table, key=KEY)).sealed(KEY)
    except AnonRiskError as error:
        if "SQLite" not in str(error):
            raise
        pytest.skip(str(error))
    found = manifest.verify([], tables={"patients": table}, key=KEY)
    assert found.by_rows == ("patients",)
    assert "0 files, 0 bytes, rows of 1 table" in repr(found)
    other = frame({**CELLS, "né": [1, 2, 1, 4]})
    with pytest.raises(ManifestError, match="'patients' is not what was checked"):
        manifest.verify([], tables={"patients": other}, key=KEY)


def test_rows_that_nobody_gives_are_not_verified(tmp_path):
    manifest = published(content_digest(pd.DataFrame(CELLS), key=KEY)).sealed(KEY)
    for files in ([], tmp_path):
        with pytest.raises(UnreadableTableError, match="'patients' is not a file"):
            manifest.verify(files, key=KEY)
    with pytest.raises(ArgumentError, match=r"tables= has 'patient', .* did you mean 'patients'"):
        manifest.verify([], tables={"patient": pd.DataFrame(CELLS)}, key=KEY)
    with pytest.raises(
        ArgumentError, match="tables= must be a mapping of names to tables, not a list"
    ):
        manifest.verify([], tables=["patients"], key=KEY)
    with pytest.raises(ArgumentError, match="at= takes a date, not a str"):
        manifest.verify([], key=KEY, at="2026-11-16")
    with pytest.raises(WrongKeyError):
        manifest.verify([], tables={"patients": pd.DataFrame(CELLS)}, key=OTHER)


def test_rows_of_a_release_that_a_public_key_verifies_need_the_key_of_the_ledger():
    pytest.importorskip("cryptography", reason="needs the extra 'releases'")
    seal, tables = SigningKey.generate(), {"patients": pd.DataFrame(CELLS)}
    manifest = published(content_digest(tables["patients"], key=KEY)).sealed(seal)
    found = manifest.verify([], tables=tables, key=KEY, public_key=seal.public)
    assert found.sealed_by == seal.public.key_id
    with pytest.raises(ArgumentError, match="tables= takes key="):
        manifest.verify([], tables=tables, public_key=seal.public)
    with pytest.raises(ManifestError, match="the key is not the ledger's"):
        manifest.verify([], tables=tables, key=OTHER, public_key=seal.public)
    with pytest.raises(WrongKeyError):
        manifest.verify([], tables=tables, key=KEY, public_key=SigningKey.generate().public)
