"""Keys: where they come from, which are refused, and parts of them."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import math
import os
import pickle
import stat
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keys import KEY, SECRET

from anonrisk import errors
from anonrisk.keys import Key, KeyPart, SigningKey
from anonrisk.pseudonyms.pseudonym import HEADER
from anonrisk.pseudonyms.weak_keys import least_different

T = pd.DataFrame({"who": ["Ann", "Bob"]})


def test_keys_come_from_the_environment_a_file_or_bytes(monkeypatch, tmp_path):
    monkeypatch.setenv("PLAIN", "q7-Vx2_Zp0mK=4rT")
    monkeypatch.setenv("HEX", SECRET.hex())
    monkeypatch.setenv("BASE64", base64.b64encode(SECRET).decode())
    assert Key.from_env("PLAIN").reveal() == b"q7-Vx2_Zp0mK=4rT"
    assert Key.from_env("HEX", "hex") == Key.from_env("BASE64", "base64") == KEY
    (tmp_path / "key").write_bytes(SECRET + b"\n")
    (tmp_path / "hex").write_text(SECRET.hex() + "\n")
    for name in ("key", "hex"):
        (tmp_path / name).chmod(0o600)
    assert Key.from_file(tmp_path / "key") == Key.from_file(tmp_path / "hex", "hex") == KEY
    assert Key.from_bytes(bytearray(SECRET)) == KEY != Key.generate()
    assert hash(Key.from_bytes(SECRET)) == hash(KEY)
    monkeypatch.setenv("SHORT", "topsecret")
    for call, text in (
        (lambda: Key.from_env("SHORT"), "at least 16 bytes"),
        (lambda: Key.from_env("PLAIN", "hex"), "not written as hex"),
        (lambda: Key.from_env("NONE"), "'NONE' is not set"),
        (lambda: Key.from_env(None), "a text, not None"),
        (lambda: Key.from_file(None), "a text or a path, not None"),
        (lambda: Key.from_file(tmp_path / "no"), "cannot read the key file"),
        (lambda: Key.from_bytes("k" * 32), "made of bytes"),
    ):
        with pytest.raises(errors.SecretKeyError, match=text) as raised:
            call()
        assert "topsecret" not in str(raised.value)
        assert "q7-V" not in str(raised.value)
    with pytest.raises(errors.ArgumentError, match="encoding"):
        Key.from_env("PLAIN", "rot13")


def test_a_key_shows_and_stores_nothing():
    for shown in (repr(KEY), str(KEY), f"{KEY}", repr([KEY])):
        assert "hidden" in shown
        assert SECRET.hex() not in shown
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not pickled"):
            leak(KEY)
    assert not hasattr(KEY, "__dict__")
    assert HEADER.isascii()


RANDOM = hashlib.sha256(b"another").digest()


@pytest.mark.parametrize(
    ("secret", "told"),
    [
        (bytes(16), "all of its bytes are the same"),
        (b"\xff" * 32, "all of its bytes are the same"),
        (bytes(range(32)), "the same step more"),
        (bytes((250 + 3 * i) % 256 for i in range(40)), "the same step more"),
        (bytes(range(31, -1, -1)), "the same step more"),
        (RANDOM[:8] * 4, "repeats a block"),
        (RANDOM[:11] * 2, "repeats a block"),
        (RANDOM[:26] + RANDOM[:6], "repeats a block"),
        (RANDOM.hex()[:16].encode() * 2, "repeats a block"),
        (bytes(RANDOM[0] & 1 << i and 200 + i for i in range(7)) + bytes(25), "fewer different"),
        (bytes(31) + b"\x01", "fewer different"),
        (b"a" * 63 + b"b", "fewer different"),
        (b"4829105736482910", "estimated entropy"),
        (b"passwordpassword", "estimated entropy"),
        (b"correct horse battery staple", "estimated entropy"),
        (b"St. Mary's Hospital", "estimated entropy"),
        (b"Summer2024!Hospital", "estimated entropy"),
        (RANDOM.hex()[:16].encode(), "estimated entropy"),
        # As people type who have other letters, and as files end.
        ("Lösungswörter2026".encode(), "estimated entropy"),
        ("Zażółć gęślą 2026".encode(), "estimated entropy"),
        (b"Summer2024!Hospital\n", "estimated entropy"),
        # What is written is random no more than what it is written of.
        (bytes(range(32)).hex().encode(), "same step"),
        (b"00112233445566778899aabbccddeeff\n", "same step"),
        (base64.b64encode(bytes(range(16))), "same step"),
        (base64.urlsafe_b64encode(bytes(range(240, 256)) * 2).rstrip(b"="), "repeats"),
    ],
)
def test_a_key_that_nobody_drew_by_chance_is_refused(secret, told):
    for make in (Key.from_bytes, lambda given: T.anon.pseudonymize("who", key=given)):
        with pytest.raises(errors.SecretKeyError, match=told) as raised:
            make(secret)
        assert "secrets.token_hex(32)" in str(raised.value)
        assert not any(part in str(raised.value) for part in ("correct", "Mary", "4829", "Hosp"))


def test_random_keys_are_taken_however_they_are_written():
    drawn = np.random.default_rng(0)
    for _ in range(100):
        short, long = drawn.bytes(16), drawn.bytes(32)
        for secret in (
            *(short, long, short.hex().encode(), long.hex().encode(), long.hex().upper().encode()),
            *(base64.b64encode(long), base64.urlsafe_b64encode(long), base64.b32encode(long)),
            long.hex().encode() + b"\n",
        ):
            assert Key.from_bytes(secret).reveal() == secret


def test_digits_are_not_judged_as_another_alphabet():
    """As base64 these have fewer different bytes than 48 random ones."""
    drawn = np.random.default_rng(1)
    few = ["".join(drawn.permutation(list("0123456789abcdef"))[:9]) for _ in range(20)]
    for digits in few:
        secret = "".join(drawn.choice(list(digits), 64)).encode()
        if len(set(secret)) == 9:
            assert Key.from_bytes(secret).reveal() == secret


def test_so_many_different_bytes_are_drawn_by_chance():
    """By hand: ways to have d different of n (Stirling numbers), over all ways."""
    for n, alphabet in ((16, 256), (32, 256), (64, 16), (26, 32)):
        ways = [[0] * (n + 1) for _ in range(n + 1)]
        ways[0][0] = 1
        for i in range(1, n + 1):
            for d in range(1, i + 1):
                ways[i][d] = d * ways[i - 1][d] + ways[i - 1][d - 1]
        chances = [Fraction(ways[n][d] * math.perm(alphabet, d), alphabet**n) for d in range(n + 1)]
        least = least_different(n, alphabet)
        assert sum(chances[:least]) < Fraction(1, 2**40) <= sum(chances[: least + 1])


# ---- files --------------------------------------------------------------------------------


def key_file(tmp_path, mode=0o600, folder_mode=0o700):
    folder = tmp_path / "secrets"
    folder.mkdir()
    path = folder / "key"
    path.write_text(SECRET.hex())
    path.chmod(mode)
    folder.chmod(folder_mode)
    return path


posix = pytest.mark.skipif(os.name != "posix", reason="Windows has no such modes")


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o620, 0o602, 0o666])
def test_a_key_file_that_others_may_use_is_refused(tmp_path, mode):
    path = key_file(tmp_path, mode)
    with pytest.raises(errors.SecretKeyError, match=rf"mode {mode:04o}\): chmod 600 it") as raised:
        Key.from_file(path, "hex")
    # Who may write to it may put another key there.
    writable = mode & 0o022
    assert ("shared=True" in str(raised.value)) == (not writable)
    if writable:
        with pytest.raises(errors.SecretKeyError, match="chmod go-w it"):
            Key.from_file(path, "hex", shared=True)
    else:
        assert Key.from_file(path, "hex", shared=True) == KEY


@posix
def test_a_folder_that_everybody_may_write_to_is_refused(tmp_path):
    path = key_file(tmp_path, 0o444, 0o777)
    for shared in (False, True):
        path.chmod(0o444 if shared else 0o600)
        with pytest.raises(errors.SecretKeyError, match="exchange the file"):
            Key.from_file(path, "hex", shared=shared)
    # As a cluster mounts its secrets: a link in a folder with the sticky bit.
    path.parent.chmod(0o1777)
    (path.parent / "link").symlink_to(path)
    assert Key.from_file(path.parent / "link", "hex", shared=True) == KEY
    with pytest.raises(errors.SecretKeyError, match="not taken"):
        Key.from_file(path.parent / "link", "hex")
    # A link elsewhere does not make a folder safe.
    path.chmod(0o600)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(errors.SecretKeyError, match="exchange the file"):
        Key.from_file(tmp_path / "link", "hex")


@posix
@pytest.mark.skipif(os.name != "posix" or os.geteuid(), reason="only root gives files away")
def test_a_key_file_of_another_account_is_refused(tmp_path):
    path = key_file(tmp_path)
    os.chown(path, 65_534, -1)
    with pytest.raises(errors.SecretKeyError, match=r"belongs to another account.* shared=True"):
        Key.from_file(path)
    assert Key.from_file(path, shared=True)


def test_private_keys_and_parts_are_read_as_keys_are(tmp_path):
    pytest.importorskip("cryptography")
    SigningKey.generate().save(tmp_path / "private.pem")
    KEY.split("Ann", "Bob")[0].save(tmp_path / "part")
    for read, name in ((SigningKey.from_file, "private.pem"), (KeyPart.from_file, "part")):
        path = tmp_path / name
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        read(path)
        path.chmod(0o644)
        read(path, shared=True)
        with pytest.raises(errors.SecretKeyError, match="mode 0644"):
            read(path)


def test_a_file_that_is_no_key_is_not_read_to_its_end(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(SECRET * 2049)
    path.chmod(0o600)
    with pytest.raises(errors.SecretKeyError, match="more than 65,536 bytes"):
        Key.from_file(path)


# ---- parts --------------------------------------------------------------------------------

NAMES = ("Ann", "Bob", "Cem", "Dee", "Eve")


@given(st.binary(min_size=24, max_size=70), st.integers(2, 5), st.randoms(use_true_random=False))
def test_all_parts_give_the_key_and_fewer_do_not(secret, n, random):
    secret = hashlib.sha512(secret).digest()[: max(16, len(secret) % 65)]
    parts = list(Key.from_bytes(secret).split(*NAMES[:n]))
    saved = [KeyPart.from_bytes(part.to_bytes()) for part in parts]
    random.shuffle(saved)
    key = Key.from_parts(saved)
    assert key.reveal() == secret
    assert key.holders == NAMES[:n]
    assert Key.from_bytes(secret).holders == ()
    for i in range(n):
        with pytest.raises(errors.SecretKeyError, match=f"part {i + 1} of {n} is missing"):
            Key.from_parts(parts[:i] + parts[i + 1 :])
    for part in parts:
        assert part.reveal() != secret
        assert secret.hex() not in part.to_bytes().decode() + repr(part)


def test_parts_are_random_whatever_the_key_is():
    """No part says anything of the key: over many splits each bit of it is set in half of them."""
    n = 2000
    drawn = [KEY.split("Ann", "Bob", "Cem") for _ in range(n)]
    bits = np.array([[list(part.reveal()) for part in parts] for parts in drawn], dtype=np.uint8)
    shares = np.unpackbits(bits, axis=2).mean(axis=0)
    # 768 shares, each with a standard deviation of 0.0112: six of them are never reached.
    assert np.abs(shares - 0.5).max() < 6 * 0.5 / math.sqrt(n)
    assert len({part.reveal() for parts in drawn for part in parts}) == 3 * n
    assert len({part.split for parts in drawn for part in parts}) == n
    # Two of three are as random: only all three are the key.
    two = np.unpackbits(bits[:, 0] ^ bits[:, 2], axis=1).mean(axis=0)
    assert np.abs(two - 0.5).max() < 6 * 0.5 / math.sqrt(n)


def test_a_key_given_in_place_of_its_name_is_in_no_error():
    names = [SECRET.hex(), SECRET.hex().upper(), base64.b64encode(SECRET).decode()]
    names += [base64.b32encode(SECRET).decode(), base64.urlsafe_b64encode(SECRET).decode()]
    for secret in names:
        for call in (Key.from_env, Key.from_file, KeyPart.from_file):
            with pytest.raises(errors.SecretKeyError, match="of this name") as raised:
                call(secret)
            assert secret not in str(raised.value)
    for name in ("KEY", "PSEUDONYM_KEY_OF_THE_NORTHERN_HOSPITALS_2026", "patients"):
        with pytest.raises(errors.SecretKeyError, match=f"'{name}' is not set"):
            Key.from_env(name)
    for name in ("/no/patients.key", "keys/prod-2026-11-16.hex", "/usr/no-9f3c2a71d0b84e56"):
        with pytest.raises(errors.SecretKeyError, match=name):
            Key.from_file(name)


def test_parts_that_do_not_fit_are_refused():
    ann, bob = KEY.split("Ann", "Bob")
    for parts, told in (
        (None, "put together from its parts"),
        (7, "put together from its parts"),
        ([], "put together from its parts"),
        (["part"], "put together from its parts"),
        ([KEY, ann], "put together from its parts"),
        (ann, "part 2 of 2 is missing"),
        ([ann, ann], "part 1 of 2 is given twice"),
        ([ann, bob, bob], "part 2 of 2 is given twice"),
        ([ann, KEY.split("Ann", "Bob")[1]], "more than one splitting"),
        ([ann, KeyPart(ann.split, 2, 2, "Ann", bob.reveal())], "'Ann' holds two parts"),
        ([ann, KeyPart(ann.split, 2, 2, "\uff41NN ", bob.reveal())], "holds two parts"),
        ([ann, KeyPart(ann.split, 2, 2, "Bob", bob.reveal()[:-1])], "do not fit together"),
        ([ann, KeyPart(ann.split, 2, 3, "Bob", bob.reveal())], "do not fit together"),
    ):
        with pytest.raises(errors.SecretKeyError, match=told) as raised:
            Key.from_parts(parts)
        assert ann.reveal().hex() not in str(raised.value)
    # Changed on purpose it gives another key, which is all that can be told without a store.
    forged = KeyPart(ann.split, 2, 2, "Bob", bytes(32))
    assert Key.from_parts([ann, forged]) != KEY


def test_a_damaged_part_is_noticed():
    written = KEY.split("Ann", "Bob")[0].to_bytes()
    told = json.loads(written)
    for place in range(len(written)):
        damaged = bytearray(written)
        damaged[place] ^= 1
        with pytest.raises(errors.SecretKeyError, match="not a part of a key, or it is damaged"):
            KeyPart.from_bytes(bytes(damaged))
    for data in (
        *(b"", b"[]", b"{}", b"null", written[:-1], written * 2, b"\xff" + written, None, 7),
        json.dumps({**told, "of": 10**9}).encode(),
        json.dumps({**told, "holder": "Eve"}, indent=1).encode() + b"\n",
    ):
        with pytest.raises(errors.SecretKeyError, match="not a part of a key"):
            KeyPart.from_bytes(data)
    for of, number in ((10**9, 1), (2, 0), (2, 3)):
        with pytest.raises(errors.SecretKeyError, match="not a part of a key"):
            KeyPart.from_bytes(KeyPart(told["split"], number, of, "Ann", SECRET).to_bytes())


@pytest.mark.parametrize(
    ("holders", "told"),
    [
        ((), "2 to 255 persons"),
        (("Ann",), "2 to 255 persons"),
        (("Ann", "Ann"), "'Ann' cannot hold two parts"),
        (("Ann", " aNN"), "cannot hold two parts"),
        (("Ann", " "), "not blank"),
        (("Ann", None), "not blank"),
        (("Ann", "B\nob"), "without control characters"),
        (("Ann", "B" * 256), "at most 255 characters"),
        (map(str, range(256)), "2 to 255 persons"),
    ],
)
def test_holders_are_two_persons_with_names(holders, told):
    with pytest.raises(errors.ArgumentError, match=told):
        KEY.split(*holders)


def test_parts_show_and_store_nothing_by_themselves(tmp_path):
    part = KEY.split("Ann", "Bob")[1]
    assert repr(part) == "KeyPart(2 of 2, held by Bob)"
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not pickled"):
            leak(part)
    part.save(tmp_path / "bob")
    with pytest.raises(errors.SecretKeyError, match="File exists"):
        part.save(tmp_path / "bob")
    with pytest.raises(errors.SecretKeyError, match="cannot write the key file"):
        part.save(tmp_path / "none" / "bob")
    with pytest.raises(AttributeError):
        KEY.holders = ("Ann", "Bob")
