"""Identities at rest: the cipher of the library, our form of it, and everything that is refused."""

from __future__ import annotations

import builtins
import dataclasses
import hashlib
import hmac

import pytest

from anonrisk.errors import ArgumentError, MissingLibraryError, StoreError
from anonrisk.pseudonyms.keys import Key
from anonrisk.pseudonyms.store import Opened, Sealer

aead = pytest.importorskip("cryptography.hazmat.primitives.ciphers.aead", reason="extra 'store'")

KEY = Key.from_bytes(hashlib.sha256(b"anonrisk example, not a secret").digest())
SEALER = Sealer.of(KEY, "5e", 1)
ANN = SEALER.seal("insurer", "f00d", b"sAnn", 20_773)


def test_the_library_computes_what_rfc_5297_publishes():
    """Appendix A.1: deterministic authenticated encryption."""
    key = bytes.fromhex("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    part = bytes.fromhex("101112131415161718191a1b1c1d1e1f2021222324252627")
    text = bytes.fromhex("112233445566778899aabbccddee")
    sealed = "85632d07c6e8f37f950acd320a2ecc9340c02b9690c4dc04daef7f6afe5c"
    assert aead.AESSIV(key).encrypt(text, [part]).hex() == sealed
    assert aead.AESSIV(key).decrypt(bytes.fromhex(sealed), [part]) == text


def by_hand(identity, day):
    """The documented form, written down once more: RFC 5869, then what is sealed and bound."""
    extracted = hmac.digest(b"anonrisk", KEY.reveal(), "sha256")
    first = hmac.digest(extracted, b"identity sealing\x01", "sha256")
    second = hmac.digest(extracted, first + b"identity sealing\x02", "sha256")
    text = day.to_bytes(4, "big") + len(identity).to_bytes(2, "big") + identity
    bound = b"anonrisk sealed identity 2"
    for part in (b"5e", b"1", b"insurer", b"f00d"):
        bound += len(part).to_bytes(4, "big") + part
    return aead.AESSIV(first + second).encrypt(text + bytes(256 - len(text)), [bound])


def test_the_form_is_the_documented_one():
    assert by_hand(b"sAnn", 20_773) == ANN
    assert hashlib.sha256(ANN).hexdigest()[:16] == "7c475f9c0eace473"
    assert by_hand(b"", 0) == SEALER.tombstone("insurer", "f00d")


@pytest.mark.parametrize("identity", [b"s", b"i7", b"sZo\xc3\xab", b"s\0\0", b"s" + b"x" * 240])
def test_every_identity_comes_back_and_all_are_sealed_in_one_length(identity):
    sealed = SEALER.seal("insurer", "f00d", identity, 20_773)
    assert len(sealed) == len(SEALER.tombstone("insurer", "f00d")) == 272
    assert SEALER.unseal("insurer", "f00d", sealed) == Opened(identity, 20_773)
    assert SEALER.unseal("insurer", "f00d", memoryview(sealed)).identity == identity


def test_a_tombstone_says_erased_and_nothing_else():
    tombstone = SEALER.tombstone("insurer", "f00d")
    assert SEALER.unseal("insurer", "f00d", tombstone) == Opened(None, 0)
    assert SEALER.tombstone("insurer", "beef") != tombstone


def test_longer_identities_are_refused_without_showing_them():
    for identity in (b"s" + b"Onymous " * 31, "sé".encode() * 81):
        with pytest.raises(ArgumentError, match="at most 240 bytes in UTF-8") as raised:
            SEALER.seal("insurer", "f00d", identity, 1)
        assert "Onymous" not in str(raised.value)
    with pytest.raises(ArgumentError, match="at least one byte"):
        SEALER.seal("insurer", "f00d", b"", 1)


@pytest.mark.parametrize(
    ("sealer", "scope", "pseudonym"),
    [
        (Sealer.of(Key.generate(), "5e", 1), "insurer", "f00d"),
        (Sealer.of(KEY, "5f", 1), "insurer", "f00d"),
        (Sealer.of(KEY, "", 1), "insurer", "f00d"),
        (Sealer.of(KEY, "5e", 2), "insurer", "f00d"),
        (SEALER, "hospital", "f00d"),
        (SEALER, "insurer", "f00e"),
        # The same letters, with the border between two names elsewhere.
        (SEALER, "insurerf", "00d"),
        (SEALER, "insurerf00d", ""),
        (SEALER, "", "insurerf00d"),
        (SEALER, "insurer", "f00d\ud800"),
        # What SQLite may hold in a column of text.
        (SEALER, b"insurer", "f00d"),
        (SEALER, "insurer", None),
        (SEALER, 7, 7),
    ],
)
def test_what_belongs_elsewhere_is_refused(sealer, scope, pseudonym):
    for sealed in (ANN, SEALER.tombstone("insurer", "f00d")):
        with pytest.raises(StoreError, match="was changed, or belongs to another") as raised:
            sealer.unseal(scope, pseudonym, sealed)
        assert raised.value.__cause__ is None


def test_a_border_between_names_cannot_be_moved_even_to_an_empty_one():
    """OpenSSL up to 3.1.1 left out empty parts of what is bound (CVE-2023-2975)."""
    sealed = Sealer.of(KEY, "5e", 1).seal("", "f00d", b"sAnn", 1)
    for scope, pseudonym in (("f00d", ""), ("f00d", "f00d")):
        with pytest.raises(StoreError):
            SEALER.unseal(scope, pseudonym, sealed)
    assert SEALER.unseal("", "f00d", sealed).identity == b"sAnn"


def test_every_flipped_bit_is_noticed():
    for place in range(len(ANN)):
        for bit in range(8):
            changed = bytearray(ANN)
            changed[place] ^= 1 << bit
            with pytest.raises(StoreError):
                SEALER.unseal("insurer", "f00d", changed)


@pytest.mark.parametrize(
    "sealed", [b"", ANN[:15], ANN[:16], ANN[:-1], ANN + b"\0", ANN * 2, "a text", 7, None, [ANN]]
)
def test_other_lengths_and_types_are_refused(sealed):
    with pytest.raises(StoreError):
        SEALER.unseal("insurer", "f00d", sealed)
    with pytest.raises(StoreError):
        SEALER.unwrap(sealed, "old sealing key")


def test_keys_are_wrapped_for_one_purpose_of_one_store_and_epoch():
    secret = bytes(64)
    wrapped = SEALER.wrap(secret, "old sealing key")
    assert secret not in wrapped
    assert SEALER.unwrap(wrapped, "old sealing key") == secret
    for sealer, what in (
        (SEALER, "tag key"),
        (Sealer.of(KEY, "5e", 2), "old sealing key"),
        (Sealer.of(KEY, "5f", 1), "old sealing key"),
        (Sealer.of(Key.generate(), "5e", 1), "old sealing key"),
    ):
        with pytest.raises(StoreError, match=f"the {what} .* was changed"):
            sealer.unwrap(wrapped, what)


def test_a_wrapped_key_is_no_identity_and_an_identity_no_key():
    wrapped = SEALER.wrap(bytes(256), "f00d")
    with pytest.raises(StoreError):
        SEALER.unseal("insurer", "f00d", wrapped)
    with pytest.raises(StoreError):
        SEALER.unwrap(ANN, "f00d")


def test_nothing_of_the_key_or_the_person_is_shown():
    assert repr(SEALER) == "Sealer(store='5e', epoch=1)"
    assert "Ann" not in repr(SEALER.unseal("insurer", "f00d", ANN))
    # A sealer of an old epoch is made of its subkey alone.
    assert dataclasses.replace(SEALER).unseal("insurer", "f00d", ANN).identity == b"sAnn"


def test_without_cryptography_the_error_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("cryptography"):
            raise ImportError
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    for call in (
        lambda one: one.seal("insurer", "f00d", b"sAnn", 1),
        lambda one: one.unseal("insurer", "f00d", ANN),
        lambda one: one.unwrap(ANN, "tag key"),
    ):
        with pytest.raises(MissingLibraryError, match=r"pip install 'anonrisk\[store\]'"):
            call(Sealer.of(KEY, "5e", 1))
