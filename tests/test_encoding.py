"""The encoding of cells: what is equal has one hash, what is not has two, and no cell gets out."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import state_by_hand as by_hand
from hypothesis import example, given
from hypothesis import strategies as st
from keys import KEY, SECRET

from anonrisk.errors import ArgumentError, StateError, UnsupportedColumnError
from anonrisk.pseudonyms.encoding import LETTERS, agreed, encoded, letter_of, name_bytes
from anonrisk.pseudonyms.keys import Key, hkdf
from anonrisk.pseudonyms.pseudonym import keyed_digests

# RFC 5869, appendix A: secret, salt, info, what is derived.
RFC_5869 = [
    (
        "0b" * 22,
        "000102030405060708090a0b0c",
        "f0f1f2f3f4f5f6f7f8f9",
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
    ),
    (
        "".join(f"{i:02x}" for i in range(0x50)),
        "".join(f"{i:02x}" for i in range(0x60, 0xB0)),
        "".join(f"{i:02x}" for i in range(0xB0, 0x100)),
        (
            "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c"
            "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3db71"
            "cc30c58179ec3e87c14c01d5c1f3434f1d87"
        ),
    ),
    (
        "0b" * 22,
        "",
        "",
        "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
    ),
]


@pytest.mark.parametrize(("secret", "salt", "info", "expected"), RFC_5869)
def test_subkeys_are_those_of_the_rfc(secret, salt, info, expected):
    secret, salt, info = map(bytes.fromhex, (secret, salt, info))
    assert hkdf(secret, salt, info, len(expected) // 2).hex() == expected


def test_a_subkey_is_for_one_purpose():
    assert KEY.derived("a") == hkdf(SECRET, b"anonrisk", b"a", 32)
    assert len({KEY.derived("a"), KEY.derived("b"), Key.generate().derived("a")}) == 3


@example(bytes(range(65)), b"", [b"a"])
@given(st.binary(max_size=150), st.binary(max_size=99), st.lists(st.binary(max_size=99)))
def test_digests_are_the_usual_hmac(secret, start, ends):
    import hmac

    expected = b"".join(hmac.digest(secret, start + end, "sha256") for end in ends)
    digests = keyed_digests(secret, start)
    assert digests(ends) == expected
    assert b"".join(digests([end]) for end in ends) == expected


def test_vectors_are_those_by_hand():
    assert json.loads(by_hand.VECTORS.read_text()) == json.loads(json.dumps(by_hand.vectors()))


@pytest.mark.parametrize("name", by_hand.COLUMNS)
def test_cells_are_encoded_as_documented(name):
    letter, texts = by_hand.COLUMNS[name]
    cells = [by_hand.cell(letter, text) for text in texts]
    expected = [by_hand.encoded(letter, text) for text in texts]
    assert encoded(cells, name) == expected
    assert letter_of(expected, name) == letter


SAME = [
    ([0.0, -0.0, np.float64(-0.0), np.float32(0)], "f"),
    ([None, float("nan"), pd.NA, pd.NaT, np.float64("nan"), Decimal("NaN")], "n"),
    ([7, np.int8(7), np.uint64(7)], "i"),
    ([True, np.bool_(1)], "b"),
    ([Decimal(100), Decimal("1E+2"), Decimal("100.000")], "m"),
    ([Decimal(0), Decimal("-0.00"), Decimal("0E+5"), Decimal("-0E-9")], "m"),
    (
        [
            dt.datetime(2026, 11, 15, 12, tzinfo=dt.UTC),
            dt.datetime(2026, 11, 15, 12),
            dt.datetime(2026, 11, 15, 13, tzinfo=dt.timezone(dt.timedelta(hours=1))),
            pd.Timestamp("2026-11-15T12:00", tz="UTC"),
        ],
        "t",
    ),
]


@pytest.mark.parametrize(("cells", "letter"), SAME)
def test_equal_cells_have_one_encoding(cells, letter):
    found = [encoded([cell], "x")[0] for cell in cells]
    assert len({*found}) == 1
    assert letter_of(found, "x") == letter


def test_cells_of_different_types_have_different_encodings():
    cells = ["7", 7, 7.0, Decimal(7), True, b"7", dt.date(1970, 1, 1), dt.datetime(1970, 1, 1)]
    found = [encoded([cell], "x")[0] for cell in [*cells, None]]
    assert len({*found}) == len(LETTERS)
    with pytest.raises(UnsupportedColumnError, match="'x' mixes types"):
        letter_of(found, "x")


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6))
def test_decimals_keep_every_digit(number):
    (cell,) = encoded([number], "x")
    assert Decimal(cell[5:].decode()) == number
    assert cell[5:] == b"0" or not (b"." in cell and cell.endswith((b"0", b".")))


# Where NumPy has floats that no double holds.
LONGER = [one for one in [np.longdouble(1) + np.longdouble(2) ** -60] if one > 1]
SECRET_CELL = "Ann Example"


class Odd:
    def __repr__(self):
        return SECRET_CELL

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other


@pytest.mark.parametrize(
    "value",
    [
        dt.timedelta(1),
        np.timedelta64(1, "D"),
        dt.time(1),
        pd.Interval(0, 1),
        pd.Period("2026"),
        1j,
        Decimal("Infinity"),
        Odd(),
        SECRET_CELL + "\ud800",
        pd.Timestamp("2026-11-15T12:00:00.000000001"),
        10**5000,
        *(
            [np.longdouble(1) + np.finfo(np.longdouble).eps]
            if np.longdouble(1) + 2**-60 > 1
            else []
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_has_no_encoding_is_refused_without_being_quoted(value):
    with pytest.raises(UnsupportedColumnError, match="column 'x' holds") as refused:
        encoded([value], "x")
    assert SECRET_CELL not in str(refused.value)


def test_letters_that_do_not_fit_are_told():
    assert [agreed("x", *pair) for pair in ("nn", "ns", "sn", "ss")] == ["n", "s", "s", "s"]
    with pytest.raises(StateError, match=r"was of type integer .* float now.*astype\('Int64'"):
        agreed("age", "i", "f")
    with pytest.raises(StateError, match="'age' was of type text and is of type date now") as told:
        agreed("age", "s", "d")
    assert "Int64" not in str(told.value)


@pytest.mark.parametrize("name", [0, ("a", "b"), dt.date(2026, 1, 1), "a\ud800"])
def test_columns_are_known_by_text(name):
    with pytest.raises(ArgumentError, match="rename"):
        name_bytes(name)
