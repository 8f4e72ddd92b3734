"""Manifests: whatever is not as it was when it was checked is refused, with words."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import stat
import subprocess
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from keys import KEY, OTHER, person
from released import append, manifest_of, verdict_of

from anonrisk.core.documents import canonical
from anonrisk.errors import (
    AnonRiskError,
    ArgumentError,
    LedgerError,
    ManifestError,
    ReleaseBlocked,
    SecretKeyError,
    UnreadableTableError,
    UnwritableTableError,
    WrongKeyError,
)
from anonrisk.pseudonyms import seal as seal_module
from anonrisk.pseudonyms.seal import PublicKey, Signature, SigningKey, signed_bytes
from anonrisk.releases.ledger.ledger import Ledger
from anonrisk.releases.ledger.manifest import Manifest
from anonrisk.releases.release import published_files as files_module
from anonrisk.releases.release.published_files import PublishedFile, PublishedTable, published_files

WAIVER = {
    "budget": "k",
    "table": "patients",
    "reason": "agreed",
    "owner": "B. Owner",
    "expires": "2026-12-31",
}


@pytest.fixture
def folder(tmp_path):
    """A folder with a table in two parts."""
    made = tmp_path / "out"
    (made / "deep").mkdir(parents=True)
    (made / "a.csv").write_bytes(b"zip\n1011\n")
    (made / "deep" / "b.csv").write_bytes(b"zip\n1012\n")
    return made


@pytest.fixture
def sealed(folder):
    return manifest_of(folder, folder).sealed(KEY)


# ---- one form ------------------------------------------------------------------------------


def test_it_comes_back_as_it_was(sealed, tmp_path):
    path = tmp_path / "manifest.json"
    sealed.save(path)
    assert Manifest.load(path) == sealed
    assert path.read_bytes() == sealed.to_bytes()
    assert Manifest.load(path).sha256 == sealed.sha256
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


def test_the_form_is_the_one_that_the_page_says(sealed):
    written = sealed.to_bytes()
    assert written.isascii()
    assert written.endswith(b"}\n")
    envelope = json.loads(written)
    assert sorted(envelope) == ["payload", "payloadType", "signatures"]
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    payload = base64.b64decode(envelope["payload"])
    read = json.loads(payload)
    for document, text in ((envelope, written.removesuffix(b"\n")), (read, payload)):
        assert json.dumps(document, sort_keys=True, separators=(",", ":")).encode() == text
    assert read["_type"] == "https://in-toto.io/Statement/v1"
    assert read["predicateType"] == "urn:anonrisk:release:v1"
    assert read["subject"] == [
        {"name": name, "digest": {"sha256": hashlib.sha256(data).hexdigest()}}
        for name, data in (("a.csv", b"zip\n1011\n"), ("deep/b.csv", b"zip\n1012\n"))
    ]
    columns = {one["name"]: one["role"] for one in read["predicate"]["tables"][0]["columns"]}
    assert columns == {"zip": "quasi", "né": "not looked at", "row labels": "not looked at"}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    )
)
def test_what_is_read_is_written_the_same(value):
    try:
        text = canonical(value)
    except ValueError:  # infinity has no digits
        assert "inf" in repr(value)
        return
    assert canonical(json.loads(text)) == text


@pytest.mark.slow
def test_every_byte_counts():
    """Whichever byte is another one, in whichever bit: it is not read, or does not verify."""
    manifest = manifest_of(tables=(), verdict={"status": "pass", "x": 0.25}).sealed(KEY)
    written = manifest.to_bytes()
    assert len(written) < 1100
    for place in range(len(written)):
        for bit in (0, 2, 5):
            changed = bytearray(written)
            changed[place] ^= 1 << bit
            with pytest.raises((ManifestError, WrongKeyError)):
                Manifest.from_bytes(bytes(changed)).check_seal(key=KEY)
    for end in range(0, len(written), 7):
        with pytest.raises(ManifestError):
            Manifest.from_bytes(written[:end])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.replace('"by":', '"by":"B","by":', 1), "'by' is written twice"),
        (lambda t: t.replace('"status":"pass"', '"status":"fail"', 1), "contradicts the rest"),
        (lambda t: t.replace('{"_type', '{ "_type', 1), "not in its one form"),
        (lambda t: t.replace('"at":', '"aa":1,"at":', 1), "'aa' of the manifest contradicts"),
        (lambda t: t.replace('"role":"quasi"', '"role":"direct"', 1), "'tables' of the manifest"),
        (lambda t: t.replace('"size":9', '"size":9.0', 1), "this is not a manifest of anonrisk"),
        (lambda t: t.replace('"sha256":"', '"sha256":"F', 1), "size or SHA-256 is not valid"),
        (lambda t: t.replace("release:v1", "release:v2", 1), "version 2, .* reads 1"),
        (lambda t: t.replace("release:v1", "release:v0", 1), "'predicateType' of the manifest"),
        (lambda t: t.replace("Statement/v1", "Statement/v0.1", 1), "'_type' of the manifest"),
        (lambda t: t.replace('"name":"a.csv"', '"name":"b.csv"', 1), "'subject' of the manifest"),
        (lambda t: t.replace('"subject":', '"more":1,"subject":', 1), "'more' of the manifest"),
        (lambda t: t.replace('"path":"a.csv"', '"path":"../a.csv"', 1), "out of its folder"),
        (lambda t: t.replace('"path":"a.csv"', '"path":"/a.csv"', 1), "out of its folder"),
        (lambda t: t.replace('"path":"a.csv"', '"path":"x//a.csv"', 1), "out of its folder"),
        (lambda t: t.replace('"path":"a.csv"', '"path":"..\\\\a.csv"', 1), "out of its folder"),
        (
            lambda t: t.replace('"path":"deep/b.csv"', '"path":"a.csv"', 1),
            "is in the manifest twice",
        ),
        (lambda t: t.replace('"table":"patients"', '"table":"x"', 1), "of which .* says nothing"),
        (lambda t: "[]", "not a manifest"),
        (lambda t: t[:-9], "not JSON"),
        (lambda t: t.replace('"size":9', '"size":NaN', 1), "NaN is not a number"),
    ],
)
def test_a_manifest_that_was_written_over_is_refused(sealed, change, message):
    envelope = json.loads(sealed.to_bytes())
    text = base64.b64decode(envelope["payload"]).decode()
    changed = change(text)
    assert changed != text
    payload = base64.b64encode(changed.encode()).decode()
    with pytest.raises(ManifestError, match=message):
        Manifest.from_bytes((canonical({**envelope, "payload": payload}) + "\n").encode())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: {**e, "payloadType": "application/json"}, "does not hold application/vnd"),
        (lambda e: {**e, "payload": e["payload"][:-1]}, "not a manifest of anonrisk"),
        (lambda e: {**e, "payload": e["payload"] + "\n"}, "not a manifest of anonrisk"),
        (lambda e: {**e, "payload": 7}, "not a manifest of anonrisk"),
        (lambda e: {**e, "signatures": [{**e["signatures"][0], "sig": "?"}]}, "not written in"),
        (lambda e: {**e, "signatures": [{**e["signatures"][0], "x": 1}]}, "not a manifest"),
        (lambda e: {**e, "signatures": [{**e["signatures"][0], "keyid": "a\n"}]}, "has no key"),
        (lambda e: {**e, "signatures": {}}, "not in its one form"),
        (lambda e: {**e, "more": 1}, "not in its one form"),
        (lambda e: {"payload": e["payload"]}, "not a manifest of anonrisk"),
        (lambda _: [], "not a manifest"),
    ],
)
def test_an_envelope_that_is_none_of_ours_is_refused(sealed, change, message):
    changed = change(json.loads(sealed.to_bytes()))
    with pytest.raises(ManifestError, match=message):
        Manifest.from_bytes((canonical(changed) + "\n").encode())


@pytest.mark.parametrize("path", ["", ".", "..", "a/../b", "/a", "a\\b", "./a", "a//b", "a/"])
def test_paths_that_escape_are_no_paths_of_a_manifest(path):
    with pytest.raises(ManifestError, match="leads out of its folder"):
        PublishedFile(path, 0, "0" * 64)


# ---- what is published ---------------------------------------------------------------------


def test_files_as_they_were_are_verified(sealed, folder, tmp_path):
    found = sealed.verify(folder, key=KEY)
    assert (found.release, found.n_files, found.n_bytes) == ("2026-11", 2, 18)
    assert "no ledger was consulted" in repr(found)
    assert sealed.verify([folder / "a.csv", folder / "deep"], key=KEY) == found
    sealed.save(folder / "manifest.json")
    assert sealed.verify(folder, key=KEY) == found
    moved = folder.rename(tmp_path / "moved")
    assert sealed.verify(str(moved), key=KEY) == found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: (f / "a.csv").write_bytes(b"zip\n1012\n"), "'a.csv' was changed: its bytes"),
        (lambda f: (f / "a.csv").write_bytes(b"zip\n"), "'a.csv' was changed: it has 4 bytes"),
        (lambda f: (f / "a.csv").write_bytes(b"x" * 1050), "it has 1,050 bytes, not 9"),
        (lambda f: (f / "a.csv").unlink(), "'a.csv' is missing"),
        (lambda f: (f / "c.csv").write_bytes(b""), "'c.csv' is not in the manifest"),
        (lambda f: (f / "a.csv").rename(f / "c.csv"), "'a.csv' is missing; 'c.csv' is not in"),
        (lambda f: (f / "zip=1011").write_bytes(b""), "'zip=…' is not in the manifest"),
        (lambda f: (f / "deep" / "b.csv").rename(f / "b.csv"), "'deep/b.csv' is missing"),
    ],
)
def test_files_that_are_others_are_refused(sealed, folder, change, message):
    change(folder)
    with pytest.raises(ManifestError, match=message) as raised:
        sealed.verify(folder, key=KEY)
    assert isinstance(raised.value, ReleaseBlocked)
    assert "1011" not in str(raised.value)


def test_no_link_is_followed(sealed, folder, tmp_path):
    (folder / "a.csv").rename(tmp_path / "a.csv")
    (folder / "a.csv").symlink_to(tmp_path / "a.csv")
    with pytest.raises(ManifestError, match=r"a\.csv' is a link"):
        sealed.verify(folder, key=KEY)
    with pytest.raises(ManifestError, match="is a link"):
        published_files({"patients": folder}, folder)
    (folder / "a.csv").unlink()
    (tmp_path / "a.csv").rename(folder / "a.csv")
    (folder / "deep").rename(tmp_path / "deep")
    (folder / "deep").symlink_to(tmp_path / "deep")
    with pytest.raises(ManifestError, match="deep' is a link"):
        sealed.verify(folder, key=KEY)
    (tmp_path / "current").symlink_to(folder)
    with pytest.raises(ManifestError, match="current' is a link"):
        sealed.verify(tmp_path / "current", key=KEY)


@pytest.mark.parametrize("by_folders", [True, False])
def test_a_link_put_in_between_is_not_followed(sealed, folder, tmp_path, monkeypatch, by_folders):
    """Between the listing of the folder and the reading, a folder becomes a link to its copy."""
    monkeypatch.setattr(files_module, "_BY_FOLDERS", by_folders and files_module._BY_FOLDERS)
    opened = files_module._opened

    def swapped(root, path):
        if path == "deep/b.csv" and not (folder / "deep").is_symlink():
            (folder / "deep").rename(tmp_path / "deep")
            (folder / "deep").symlink_to(tmp_path / "deep")
        return opened(root, path)

    monkeypatch.setattr(files_module, "_opened", swapped)
    with pytest.raises(ManifestError, match=r"deep/b\.csv' is a link"):
        sealed.verify(folder, key=KEY)


def test_a_file_that_changes_while_it_is_read_is_refused(sealed, folder, monkeypatch):
    digest = files_module.hashlib.file_digest

    def slow(file, name):
        found = digest(file, name)
        (folder / "a.csv").write_bytes(b"zip\n1011\n1013\n")
        return found

    monkeypatch.setattr(files_module.hashlib, "file_digest", slow)
    with pytest.raises(ManifestError, match="changed while it was read"):
        sealed.verify(folder / "a.csv", key=KEY)


def test_what_is_no_file_is_refused_and_not_waited_for(sealed, folder):
    (folder / "a.csv").unlink()
    os.mkfifo(folder / "a.csv")
    with pytest.raises(ManifestError, match=r"a\.csv' is not a file"):
        sealed.verify(folder, key=KEY)


def test_files_are_named_once_and_from_their_folder(folder, tmp_path):
    with pytest.raises(ArgumentError, match="named twice"):
        published_files({"x": folder, "y": folder / "a.csv"})
    with pytest.raises(ArgumentError, match="not in the folder of the release"):
        published_files({"x": folder}, root=folder / "deep")
    with pytest.raises(ArgumentError, match="no file"):
        published_files({})
    with pytest.raises(UnreadableTableError, match=r"cannot read .*none"):
        published_files({"x": folder / "none"})
    with pytest.raises(ArgumentError, match="a folder, a path or a list"):
        published_files({"x": 7})
    assert [one.path for one in published_files({"x": folder})] == ["a.csv", "deep/b.csv"]
    assert published_files({"x": folder}, tmp_path)[0].path == "out/a.csv"


# ---- what allowed it -----------------------------------------------------------------------


@pytest.mark.parametrize("status", ["fail", "could_not_assess"])
def test_a_release_that_did_not_pass_is_refused(folder, status):
    manifest = manifest_of(folder, verdict={"status": status}).sealed(KEY)
    with pytest.raises(ManifestError, match=f"did not pass: its verdict is {status}"):
        manifest.verify(folder, key=KEY)


def with_direct():
    covered = verdict_of("patients")["coverage"]
    (first, *others) = covered["columns"]
    return {**covered, "columns": [{**first, "role": "direct"}, *others]}


def edited(**changes):
    return (PublishedTable("patients", {**verdict_of("patients"), **changes}),)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"tables": (PublishedTable("patients", verdict_of("patients", 3)),)},
            "table of it did not",
        ),
        ({"tables": edited(status="fail")}, "the status of this verdict is not that of"),
        ({"tables": edited(table="visits")}, "is about another table"),
        ({"tables": edited(checked_at="2999-01-01T00:00:00+00:00")}, "contradicts that it passed"),
        ({"at": "2020-01-01T00:00:00+00:00"}, "checked after it was published"),
        ({"verdict": {"status": "pass", "tables": {}}}, "has other tables"),
        ({"tables": edited(coverage=with_direct())}, "contradicts"),
    ],
)
def test_a_manifest_that_contradicts_itself_is_refused(folder, changes, message):
    manifest = manifest_of(folder, **changes).sealed(KEY)
    with pytest.raises(ManifestError, match=message):
        manifest.verify(folder, key=KEY)


def test_waivers_hold_until_the_end_of_their_last_day(folder):
    published = {"at": "2026-12-30T23:59:59+00:00", "tables": ()}
    manifest = manifest_of(waivers=(WAIVER,), **published).sealed(KEY)
    last = date(2026, 12, 31)
    assert "agreed" in repr(manifest.verify([], key=KEY, at=last))
    assert "agreed" in repr(manifest)
    # It does not undo what was published, whatever the day is by now.
    assert "expires 2026-12-31" in repr(manifest.verify([], key=KEY))
    with pytest.raises(ManifestError, match=r"for 'patients' by 'B\. Owner' expired on 2026-12-31"):
        manifest.verify([], key=KEY, at=date(2027, 1, 1))
    with pytest.raises(ManifestError, match="on 2026-12-29 the release was not published yet, but"):
        manifest.verify([], key=KEY, at=date(2026, 12, 29))
    with pytest.raises(ArgumentError, match="at= takes a date, not a datetime"):
        manifest.verify([], key=KEY, at=datetime(2026, 12, 31, tzinfo=UTC))
    late = replace(manifest, at="2027-01-01T00:00:00+00:00", signatures=()).sealed(KEY)
    with pytest.raises(ManifestError, match="expired on 2026-12-31"):
        late.verify([], key=KEY)
    without_end = {key: value for key, value in WAIVER.items() if key != "expires"}
    manifest = manifest_of(folder, waivers=(without_end,)).sealed(KEY)
    with pytest.raises(ManifestError, match="has no expires"):
        manifest.verify(folder, key=KEY)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"release": ""}, "release of a manifest must be a non-empty text"),
        ({"by": None}, "by of a manifest must be a non-empty text"),
        ({"at": "yesterday"}, "one in UTC"),
        ({"at": "2026-11-16T12:00:00"}, "one in UTC"),
        ({"at": "2026-11-16T12:00:00+02:00"}, "one in UTC"),
        ({"verdict": {"status": "maybe"}}, "says pass, fail or could_not_assess"),
        ({"verdict": {"status": "pass", "x": float("nan")}}, "plain values only"),
        ({"verdict": {"status": "pass", "x": object()}}, "plain values only"),
    ],
)
def test_what_no_manifest_holds_is_refused(changes, message):
    with pytest.raises(ManifestError, match=message):
        manifest_of(**changes).sealed(KEY)


# ---- the seal ------------------------------------------------------------------------------


def test_without_a_seal_or_a_key_nothing_is_verified(folder, sealed):
    with pytest.raises(ManifestError, match="no seal"):
        manifest_of(folder).verify(folder, key=KEY)
    with pytest.raises(ArgumentError, match=r"key= .* or public_key="):
        sealed.verify(folder)
    with pytest.raises(WrongKeyError, match="sealed with another key"):
        sealed.verify(folder, key=OTHER)
    with pytest.raises(ArgumentError, match="takes a PublicKey"):
        sealed.verify(folder, public_key=b"x" * 32)
    # Who seals what another has written needs the key.
    forged = replace(sealed, by="Somebody", signatures=sealed.signatures)
    with pytest.raises(ManifestError, match="seal does not fit"):
        forged.verify(folder, key=KEY)
    (own,) = sealed.signatures
    told = replace(Signature.made(sealed.envelope.payload, OTHER), keyid=own.keyid)
    # Nor does a second one of that name help.
    for signatures in ((told,), (own, told), (told, own)):
        with pytest.raises(ManifestError, match="seal does not fit"):
            replace(sealed, signatures=signatures).verify(folder, key=KEY)


def test_what_is_signed_is_as_the_standard_says():
    """The test vector of DSSE's protocol, and lengths in bytes."""
    vector = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    assert signed_bytes("http://example.com/HelloWorld", b"hello world") == vector
    assert signed_bytes("é", "é ü".encode()) == "DSSEv1 2 é 5 é ü".encode()
    assert signed_bytes("", b"") == b"DSSEv1 0  0 "


def test_several_keys_seal_one_manifest(folder):
    """Each is checked by the library of the keys alone, from what is in the file."""
    names = ("Ada", "Grace")
    manifest = manifest_of(folder).sealed(KEY)
    for name in names:
        manifest = manifest.sealed(person(name))
    # Once more changes nothing: Ed25519 signs the same text the same way.
    again = manifest.sealed(person("Ada"))
    assert {*again.signatures} == {*manifest.signatures}
    for name in names:
        public = person(name).public
        assert manifest.verify(folder, public_key=public).sealed_by == public.key_id
    assert manifest.verify(folder, key=KEY).n_files == 1 + 1
    envelope = json.loads(manifest.to_bytes())
    payload = base64.b64decode(envelope["payload"])
    message = b"DSSEv1 28 application/vnd.in-toto+json %d %b" % (len(payload), payload)
    signed = {one["keyid"]: base64.b64decode(one["sig"]) for one in envelope["signatures"]}
    for name in names:
        person(name).public.reveal().verify(signed[person(name).public.key_id], message)
    with pytest.raises(WrongKeyError, match="sealed with another key"):
        manifest.verify(folder, public_key=person("Linus").public)


def test_a_seal_by_ed25519_is_checked_by_everybody(folder, sealed, tmp_path):
    pytest.importorskip("cryptography")
    private, public = tmp_path / "private.pem", tmp_path / "public.pem"
    made = SigningKey.generate()
    made.save(private)
    made.public.save(public)
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    signed = manifest_of(folder).sealed(SigningKey.from_file(private))
    found = signed.verify(folder, public_key=PublicKey.from_file(public))
    assert found.sealed_by == made.public.key_id
    with pytest.raises(WrongKeyError, match=r"SHA256:.*public_key= one by Ed25519"):
        signed.verify(folder, key=KEY)
    with pytest.raises(WrongKeyError, match=r"\(hmac-sha256:.*, not SHA256:.*key= checks a"):
        sealed.verify(folder, public_key=made.public)
    with pytest.raises(WrongKeyError, match="another key"):
        signed.verify(folder, public_key=SigningKey.generate().public)
    (signature,) = signed.signatures
    for change in (bytes(64), base64.b64decode(signature.sig)[:-2], b"", bytes(65)):
        wrong = replace(signature, sig=base64.b64encode(change).decode())
        with pytest.raises(ManifestError, match="seal does not fit"):
            replace(signed, signatures=(wrong,)).verify(folder, public_key=made.public)
    with pytest.raises(SecretKeyError, match="File exists"):
        made.save(private)
    private.chmod(0o640)
    with pytest.raises(SecretKeyError, match=r"mode 0640\): chmod 600"):
        SigningKey.from_file(private)
    with pytest.raises(SecretKeyError, match="not an Ed25519 key"):
        PublicKey.from_file(private)
    with pytest.raises(SecretKeyError, match="No such file"):
        SigningKey.from_file(tmp_path / "none.pem")
    with pytest.raises(TypeError, match="not pickled"):
        made.__reduce_ex__(4)
    assert repr(made) == "SigningKey(hidden)"


def test_signatures_are_those_of_the_standard():
    """RFC 8032, section 7.1, test 2."""
    ed25519 = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    known = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
    signature = (
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    key = PublicKey(ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(known)))
    assert key.signed(b"\x72", bytes.fromhex(signature))
    assert not key.signed(b"\x73", bytes.fromhex(signature))


@pytest.mark.slow
def test_keys_of_openssl_are_taken(tmp_path, folder):
    pytest.importorskip("cryptography")
    path, public = tmp_path / "key.pem", tmp_path / "public.pem"
    for command in (
        ["genpkey", "-algorithm", "ed25519", "-out", path],
        ["pkey", "-in", path, "-pubout", "-out", public],
    ):
        try:
            subprocess.run(["openssl", *command], check=True, capture_output=True)
        except FileNotFoundError:
            pytest.skip("no openssl")
    path.chmod(0o600)
    signed = manifest_of(folder).sealed(SigningKey.from_file(path))
    assert signed.verify(folder, public_key=PublicKey.from_file(public)).n_files == 2


def test_without_cryptography_the_error_says_what_to_install(monkeypatch):
    import builtins

    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("cryptography"):
            raise ImportError
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(AnonRiskError, match=r"pip install 'anonrisk\[releases\]'"):
        seal_module.SigningKey.generate()


def test_files_that_cannot_be_read_or_written_are_our_errors(sealed, tmp_path):
    with pytest.raises(UnwritableTableError, match="cannot write manifest"):
        sealed.save(tmp_path / "none" / "m.json")
    with pytest.raises(UnreadableTableError, match="cannot read manifest"):
        Manifest.load(tmp_path / "none.json")
    with pytest.raises(UnreadableTableError, match="cannot read manifest"):
        Manifest.load(tmp_path)


# ---- the ledger ----------------------------------------------------------------------------


def test_the_chain_is_asked(folder, tmp_path):
    pytest.importorskip("sqlalchemy")
    ledger = Ledger(tmp_path / "l.db", key=KEY, new=True)
    append(ledger, "2026-10")
    manifest = manifest_of(folder, previous=ledger.head).sealed(KEY)
    with pytest.raises(ManifestError, match="'2026-11' is not in the ledger"):
        manifest.verify(folder, key=KEY, ledger=ledger)
    ledger.append(manifest)
    found = manifest.verify(folder, key=KEY, ledger=ledger)
    assert found.ledger_entry == 2
    assert "entry 2" in repr(found)
    another = replace(manifest, by="B. Officer", signatures=()).sealed(KEY)
    with pytest.raises(ManifestError, match=r"entry 2 .* another manifest"):
        another.verify(folder, key=KEY, ledger=ledger)
    with ledger._engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM anonrisk_ledger WHERE number = 1")
    with pytest.raises(LedgerError, match="entry 1 of the ledger is missing"):
        manifest.verify(folder, key=KEY, ledger=ledger)


def test_printed_it_says_what_nobody_looked_at(sealed):
    text = repr(sealed)
    assert "patients: né: not looked at" in text
    assert "patients: Not looked at: row labels" in text
    assert "sealed by hmac-sha256" in text
    assert KEY.reveal().hex() not in text
