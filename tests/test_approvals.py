"""Approvals: who has agreed to exactly what, and who does not count."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from keys import KEY, approvers, person

from anonrisk.errors import ArgumentError, PolicyError, SecretKeyError
from anonrisk.policy.finding import Finding
from anonrisk.pseudonyms.seal import PublicKey, SigningKey
from anonrisk.releases.release.approvals import (
    Approval,
    counted,
    finding,
    read_approvals,
    read_approvers,
    write_approvals,
)

pytest.importorskip("cryptography", reason="needs the extra 'releases'")

NAMES = ("Ada", "Grace", "Linus")
PEOPLE = read_approvers(approvers(*NAMES), Path())
STATEMENT = json.dumps({"predicate": {"approvers": approvers(*NAMES)}}).encode()
CHANGED = STATEMENT.replace(b"Linus", b"linus")


def approval(by="Ada", statement=STATEMENT):
    return Approval.made(statement, PEOPLE, person(by))


def those(*approvals, by="Publisher", people=PEOPLE):
    kept, why = counted(approvals, statement=STATEMENT, approvers=people, by=by)
    return [one.by for one in kept], why


def test_two_people_are_two():
    assert those(approval("Ada"), approval("Grace")) == (["Ada", "Grace"], [])


def test_the_signature_is_that_of_the_standard():
    """What is signed is spelt out, and checked by the library of the keys alone."""
    one = approval()
    message = b"DSSEv1 28 application/vnd.in-toto+json %d %b" % (len(STATEMENT), STATEMENT)
    assert len(b"application/vnd.in-toto+json") == 28
    PEOPLE["Ada"].reveal().verify(base64.b64decode(one.sig), message)


def test_no_key_approves_twice_whatever_it_is_called():
    kept, why = those(approval("Ada"), replace(approval("Ada"), by="Grace"))
    assert kept == ["Ada"]
    assert why == ["Ada: has approved it already"]


@pytest.mark.parametrize("again", ["ada", " ADA ", "A\u200bda", "\uff21da", "A\u034fda", "A-da."])
def test_nobody_approves_what_they_publish(again):
    kept, why = those(approval("Ada"), by=again)
    assert kept == []
    assert why == ["Ada: publishes it"]


def test_what_changed_since_does_not_count():
    kept, why = those(approval(statement=CHANGED))
    assert kept == []
    assert why == ["Ada: the release has changed since"]
    # Nor does it if it claims to be about this one.
    kept, why = those(replace(approval(statement=CHANGED), digest=approval().digest))
    assert kept == []
    assert why == ["Ada: the signature is not of this key"]


@pytest.mark.parametrize("sig", ["", "!", "AAAA", base64.b64encode(bytes(64)).decode()])
def test_what_is_no_signature_does_not_count(sig):
    kept, why = those(replace(approval(), sig=sig))
    assert kept == []
    assert why == ["Ada: the signature is not of this key"]


def test_the_key_of_another_does_not_count():
    forged = replace(approval("Grace"), keyid=PEOPLE["Ada"].key_id)
    assert those(forged) == ([], ["Ada: the signature is not of this key"])
    few = {"Ada": PEOPLE["Ada"]}
    kept, why = those(approval("Grace"), people=few)
    assert kept == []
    assert why == [f"Grace: the key {PEOPLE['Grace'].key_id} is not that of an approver"]
    with pytest.raises(PolicyError, match="is not that of an approver that the release names"):
        Approval.made(STATEMENT, few, person("Grace"))


def test_the_key_of_the_ledger_approves_nothing():
    for key in (KEY, KEY.reveal(), PEOPLE["Ada"]):
        with pytest.raises(ArgumentError, match="the ledger's key approves nothing"):
            Approval.made(STATEMENT, PEOPLE, key)


def test_too_few_is_a_failure_that_says_why():
    one = finding((approval("Ada"),), ["Bob: the release has changed since"], 2)
    assert (one.status, one.value, one.limit) == ("fail", 1, 0)
    assert "2 approvals asked for, 1 given by Ada. Does not count: Bob" in one.sentence
    assert not one.waivable
    enough = finding((approval("Ada"), approval("Grace")), [], 2)
    assert enough.passed
    for stored in (one, enough):
        assert Finding.from_dict(stored.to_dict()) == stored


def test_a_file_of_them_is_an_envelope_that_comes_back():
    both = (approval("Ada"), approval("Grace"))
    # One of another statement is void, and a second one of a key says the same.
    text = write_approvals(STATEMENT, (*both, approval("Linus", CHANGED), approval("Ada")))
    assert read_approvals(text) == both
    envelope = json.loads(text)
    assert base64.b64decode(envelope["payload"]) == STATEMENT
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    assert [one["keyid"] for one in envelope["signatures"]] == [one.keyid for one in both]


def envelope(payload=STATEMENT, **changes):
    body = {"payload": base64.b64encode(payload).decode(), "signatures": []}
    return json.dumps({**body, "payloadType": "application/vnd.in-toto+json", **changes})


@pytest.mark.parametrize(
    "text",
    [
        *("{}", "[]", "null", '[{"by": "Ada"}]', "x"),
        envelope(payloadType="text/plain"),
        envelope(signatures=[{"keyid": "a"}]),
        envelope(signatures=[{"keyid": 1, "sig": "AAAA"}]),
        envelope(signatures=[{"keyid": "a", "sig": "A"}]),
        envelope(b"not JSON"),
        envelope(b"{}"),
        envelope(b'{"predicate": {"approvers": 7}}'),
        envelope(b'{"predicate": {"approvers": {"Ada": "none.pub"}}}'),
    ],
)
def test_what_is_no_file_of_approvals_is_refused(text):
    with pytest.raises(ArgumentError):
        read_approvals(text)


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        (["Ada"], "a mapping of names to public keys"),
        ({"": person("Ada").public.line}, "the name of a person"),
        ({7: person("Ada").public.line}, "the name of a person"),
        ({"Ada": 7}, "must be a"),
        ({"Ada": "none.pub"}, "cannot read the key file"),
        ({"Ada": "ssh-ed25519 AAAA"}, "this is not an Ed25519 key"),
        ({"Ada": "ssh-rsa AAAAB3NzaC1yc2E="}, "this is not an Ed25519 key"),
        ({**approvers("Ada"), "a-da": person("Grace").public.line}, "names 'a-da' twice"),
        ({**approvers("Ada"), "Eve": person("Ada").public.line}, "the key of 'Ada' twice"),
    ],
)
def test_approvers_have_names_and_keys_of_their_own(stated, said):
    with pytest.raises(PolicyError, match=said):
        read_approvers(stated, Path())


def test_what_others_have_written_reads_no_file_of_this_machine(tmp_path):
    path = tmp_path / "ada.pub"
    person("Ada").public.save(path)
    stated = {"Ada": str(path)}
    assert read_approvers(stated, Path()) == {"Ada": PEOPLE["Ada"]}
    with pytest.raises(PolicyError, match="this is not an Ed25519 key"):
        read_approvers(stated)
    with pytest.raises(PolicyError, match="this is not an Ed25519 key"):
        read_approvals(envelope(json.dumps({"predicate": {"approvers": stated}}).encode()))


@given(st.lists(st.sampled_from(NAMES), max_size=6))
def test_as_many_count_as_there_are_other_people(names):
    kept, why = those(*map(approval, names), by="grace")
    assert len(kept) == len({*names} - {"Grace"})
    assert len(kept) + len(why) == len(names)


# ---- keys of people ------------------------------------------------------------------------


def made(tmp_path, *words):
    if shutil.which("ssh-keygen") is None:
        pytest.skip("no ssh-keygen")
    path = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-f", path, *words], check=True)
    return path


def test_keys_of_openssh_are_taken(tmp_path):
    path = made(tmp_path, "-N", "", "-C", "ada@example.org")
    key, public = SigningKey.from_file(path), PublicKey.from_file(f"{path}.pub")
    assert key.public == public
    assert public.line + " ada@example.org\n" == Path(f"{path}.pub").read_text()
    printed = subprocess.run(["ssh-keygen", "-lf", path], check=True, capture_output=True)
    assert printed.stdout.split()[1].decode() == public.key_id
    assert read_approvers({"Ada": path.name + ".pub"}, tmp_path) == {"Ada": public}
    path.chmod(0o644)
    with pytest.raises(SecretKeyError, match="chmod 600"):
        SigningKey.from_file(path)


def test_a_key_with_a_password_is_left_to_the_agent(tmp_path, monkeypatch):
    path = made(tmp_path, "-N", "a long password")
    with pytest.raises(SecretKeyError, match="let ssh-agent sign"):
        SigningKey.from_file(path)
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    key = SigningKey.from_file(f"{path}.pub")
    assert key.public == PublicKey.from_file(f"{path}.pub")
    with pytest.raises(SecretKeyError, match="SSH_AUTH_SOCK is not set"):
        key.sign(b"x")
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "none"))
    with pytest.raises(SecretKeyError, match="cannot be asked: No such file"):
        key.sign(b"x")
    with pytest.raises(SecretKeyError, match="gives none away"):
        key.save(tmp_path / "copy")


@pytest.mark.skipif(shutil.which("ssh-agent") is None, reason="no ssh-agent")
def test_an_agent_signs_as_the_key_itself_does(tmp_path, monkeypatch):
    path = made(tmp_path, "-N", "")
    socket = tmp_path / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if socket.exists():
                break
            assert agent.poll() is None
            time.sleep(0.05)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
        key = SigningKey.from_file(f"{path}.pub")
        with pytest.raises(SecretKeyError, match="it has no such key"):
            key.sign(b"what was checked")
        subprocess.run(["ssh-add", "-q", path], check=True)
        assert key.sign(b"what was checked") == SigningKey.from_file(path).sign(b"what was checked")
    finally:
        agent.terminate()
        agent.wait()
