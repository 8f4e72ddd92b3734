"""Keys: where they come from, which are refused, and parts of them."""

from __future__ import annotations

import ast
import base64
import copy
import gc
import hashlib
import json
import math
import os
import pickle
import re
import stat
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keys import KEY, SECRET

import anonrisk
from anonrisk import errors
from anonrisk.cli import main
from anonrisk.identity import IdentityProtector
from anonrisk.keys import Key, KeyPart, SigningKey
from anonrisk.pseudonyms.pseudonym import HEADER

T = pd.DataFrame({"who": ["Ann", "Bob"]})


def test_keys_come_from_the_environment_a_file_or_bytes(monkeypatch, tmp_path):
    written = [SECRET.hex(), SECRET.hex().upper(), base64.b64encode(SECRET).decode()]
    written += [base64.urlsafe_b64encode(SECRET).decode(), f" {SECRET.hex()}\r\n"]
    for text in written:
        monkeypatch.setenv("LEDGER_KEY", text)
        (tmp_path / "key").write_text(text + "\n")
        (tmp_path / "key").chmod(0o600)
        assert Key.from_env("LEDGER_KEY") == Key.from_file(tmp_path / "key") == KEY
    assert Key.from_bytes(bytearray(SECRET)) == KEY != Key.generate()
    assert hash(Key.from_bytes(SECRET)) == hash(KEY)
    KEY.save(tmp_path / "saved")
    assert (tmp_path / "saved").read_text() == SECRET.hex() + "\n"
    assert Key.from_file(tmp_path / "saved") == KEY
    for call, text in (
        (lambda: Key.from_env("NONE"), "'NONE' is not set"),
        (lambda: Key.from_env(None), "a text, not None"),
        (lambda: Key.from_file(None), "a text or a path, not None"),
        (lambda: Key.from_file(tmp_path / "no"), "cannot read the key file"),
        (lambda: Key.from_bytes("k" * 32), "made of bytes"),
        (lambda: KEY.save(tmp_path / "saved"), "File exists"),
    ):
        with pytest.raises(errors.SecretKeyError, match=text):
            call()


def test_the_command_writes_a_key_that_only_its_owner_may_read(tmp_path, capsys):
    path = tmp_path / "ledger.key"
    assert main(["key", "-o", str(path)]) == 0
    assert "Wrote" in capsys.readouterr().out
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    key = Key.from_file(path)
    # Nothing is written over a key.
    assert main(["key", "-o", str(path), "--json"]) == 3
    said = capsys.readouterr()
    assert "File exists; name a new file" in said.err
    assert main(["key", "-o", str(tmp_path / "gone" / "key")]) == 3
    assert "make its folder first" in capsys.readouterr().err
    assert key.reveal().hex() not in said.out + said.err
    assert Key.from_file(path) == key
    assert main(["key"]) == 2


TYPED = (
    "changeme_changeme_changeme_please!",
    "correct horse battery staple, and so on for 64 characters, quite",
    "ThisIsTheVerySecretKeyOfTheLedgerOfOurHospi",
    "thisisthesecretkeyoftheledgerofourhospital!!",
    "00112233445566778899aabbccddeeff" * 2,
    "deadbeef" * 8,
    "changeme" * 5 + "chA=",
    bytes(range(32)).hex(),
    base64.b64encode(b"thirty-two letters of a sentence").decode(),
    b"thirty-two letters of a sentence".hex(),
    SECRET.hex()[:-1],
    SECRET.hex() + "0",
    SECRET.hex()[:32],
    base64.b64encode(SECRET).decode().rstrip("="),
    base64.b64encode(SECRET * 2).decode(),
    base64.b32encode(SECRET).decode(),
    "q7-Vx2_Zp0mK=4rT",
    "",
    "\ud800",
)


@pytest.mark.parametrize("text", TYPED)
def test_what_somebody_typed_is_no_key(text, monkeypatch, tmp_path):
    written = text.encode("utf-8", "surrogatepass")
    (tmp_path / "key").write_bytes(written)
    (tmp_path / "key").chmod(0o600)
    calls = [lambda: Key.from_file(tmp_path / "key"), lambda: Key.from_bytes(written)]
    if text != "\ud800":
        monkeypatch.setenv("LEDGER_KEY", text)
        calls.append(lambda: Key.from_env("LEDGER_KEY"))
    for call in calls:
        with pytest.raises(errors.SecretKeyError, match="`anonrisk key -o FILE` makes one") as said:
            call()
        assert not text or text not in str(said.value)


@given(st.binary(min_size=32, max_size=32))
def test_bytes_are_refused_by_the_three_rules_and_no_other(secret):
    try:
        is_text = secret.decode().replace("\n", " ").isprintable()
    except UnicodeDecodeError:
        is_text = False
    counted = bytes((secret[0] + i * (secret[1] - secret[0])) % 256 for i in range(32)) == secret
    bad = is_text or counted or len(set(secret)) < 18
    if bad:
        with pytest.raises(errors.SecretKeyError, match="makes one"):
            Key.from_bytes(secret)
    else:
        assert Key.from_bytes(secret).reveal() == secret


def test_a_wrapped_key_is_unwrapped_by_a_hook(monkeypatch, tmp_path):
    def unwrap(wrapped):
        if wrapped == b"for another account":
            raise PermissionError(f"the key is {SECRET.hex()}")
        return bytes(a ^ 7 for a in wrapped)

    path = tmp_path / "wrapped"
    path.write_bytes(bytes(a ^ 7 for a in SECRET))
    # Others may read what is wrapped.
    path.chmod(0o644)
    assert Key.from_file(path, unwrap=unwrap) == KEY
    monkeypatch.setenv("WRAPPED", SECRET.hex())
    assert Key.from_env("WRAPPED", unwrap=lambda text: bytes.fromhex(text.decode())) == KEY
    path.write_bytes(b"for another account")
    with pytest.raises(errors.SecretKeyError, match="raised PermissionError") as said:
        Key.from_file(path, unwrap=unwrap)
    assert said.value.__cause__ is said.value.__context__ is None
    for made, told in (
        (b"short", "32 random bytes"),
        ("text", "made of bytes"),
        (None, "of bytes"),
    ):
        with pytest.raises(errors.SecretKeyError, match=told):
            Key.from_file(path, unwrap=lambda _, made=made: made)


def test_a_key_shows_and_stores_nothing():
    for shown in (repr(KEY), str(KEY), f"{KEY}", repr([KEY])):
        assert "hidden" in shown
        assert SECRET.hex() not in shown
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not pickled"):
            leak(KEY)
    assert not hasattr(KEY, "__dict__")
    assert HEADER.isascii()


def test_so_many_different_bytes_are_drawn_by_chance():
    """By hand: ways to have d different of 32 (Stirling numbers), over all ways."""
    ways = [[0] * 33 for _ in range(33)]
    ways[0][0] = 1
    for i in range(1, 33):
        for d in range(1, i + 1):
            ways[i][d] = d * ways[i - 1][d] + ways[i - 1][d - 1]
    chances = [Fraction(ways[32][d] * math.perm(256, d), 256**32) for d in range(33)]
    assert sum(chances[:18]) < Fraction(1, 2**40) <= sum(chances[:19])


# ---- what holds a key ---------------------------------------------------------------------

# A field that is a secret, or one that a subkey goes into.
HOLDS = re.compile(
    r"^    (secret: bytes|__slots__ = .*'_(secret|share)')|cls\(.*\.derived\(", re.MULTILINE
)


def holders():
    """Return the names of all classes of ours that hold a key."""
    for path in Path(anonrisk.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        # Writing a whole library anew takes long, and what is looked for has one of these words.
        worth_it = re.search(r"secret|share|derived", text)
        for node in ast.walk(ast.parse(text)) if worth_it else ():
            if isinstance(node, ast.ClassDef) and HOLDS.search(ast.unparse(node)):
                yield node.name


def test_nothing_that_holds_a_key_is_pickled(monkeypatch, tmp_path):
    """Subkeys are noted as they are derived; then no object of ours gives one away."""
    pytest.importorskip("sqlalchemy")
    pytest.importorskip("cryptography")
    from anonrisk.pseudonyms import keys, session

    made = {SECRET}
    derive = keys.hkdf
    for module in (keys, session):
        monkeypatch.setattr(module, "hkdf", lambda *asked: made.add(key := derive(*asked)) or key)
    policy = anonrisk.Policy(quasi="zip", k=2, differencing={"k": 2, "net": True})
    ledger = anonrisk.Ledger(tmp_path / "ledger.db", key=KEY, new=True)
    anonrisk.Release({"t": pd.DataFrame({"zip": ["a"] * 4})}, policy, name="1").publish(
        ledger, by="x"
    )
    keeper = IdentityProtector(KEY, "sqlite://", admin="Ada")
    keeper.grant("Bob", "issue", scope="s", per_day=9, by="Ada", reason="job")
    keeper.issue("Ann", scope="s", by="Bob", reason="job")
    with keeper._session.turn() as turn:
        held = [turn.tags, turn.keys, turn.keys.sealer, turn.keys.chain]
    held += [ledger, ledger._chain, keeper, KEY, SigningKey.generate(), *KEY.split("A", "B")]
    held += [T.anon.state("who", key=KEY), anonrisk.sketch(T, "who", key=KEY)]
    kinds = {type(item).__name__ for item in held}
    names = set(holders())
    assert {"Chain", "Key", "Sealer"} <= names <= kinds, (
        "a new class holds a key: hand one of it to this test"
    )
    ours = [item for item in gc.get_objects() if str(type(item).__module__).startswith("anonrisk")]
    for item in [*held, *ours]:
        try:
            data = pickle.dumps(item)
        except (TypeError, AttributeError, pickle.PicklingError):
            continue
        assert not any(key in data for key in made), type(item)
    for name in names:
        (item, *_) = [one for one in held if type(one).__name__ == name]
        with pytest.raises(TypeError, match="not pickled"):
            copy.copy(item)


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
        Key.from_file(path)
    # Who may write to it may put another key there.
    writable = mode & 0o022
    assert ("shared=True" in str(raised.value)) == (not writable)
    if writable:
        with pytest.raises(errors.SecretKeyError, match="chmod go-w it"):
            Key.from_file(path, shared=True)
    else:
        assert Key.from_file(path, shared=True) == KEY


@posix
def test_a_folder_that_everybody_may_write_to_is_refused(tmp_path):
    path = key_file(tmp_path, 0o444, 0o777)
    for shared in (False, True):
        path.chmod(0o444 if shared else 0o600)
        with pytest.raises(errors.SecretKeyError, match="exchange the file"):
            Key.from_file(path, shared=shared)
    # As a cluster mounts its secrets: a link in a folder with the sticky bit.
    path.parent.chmod(0o1777)
    (path.parent / "link").symlink_to(path)
    assert Key.from_file(path.parent / "link", shared=True) == KEY
    with pytest.raises(errors.SecretKeyError, match="not taken"):
        Key.from_file(path.parent / "link")
    # A link elsewhere does not make a folder safe.
    path.chmod(0o600)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(errors.SecretKeyError, match="exchange the file"):
        Key.from_file(tmp_path / "link")


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


@given(st.binary(max_size=9), st.integers(2, 5), st.randoms(use_true_random=False))
def test_all_parts_give_the_key_and_fewer_do_not(secret, n, random):
    secret = hashlib.sha256(secret).digest()
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
