"""Seals: who holds the key said so, and not a byte has changed since.

What is sealed stands in an envelope of DSSE (github.com/secure-systems-lab/dsse), with any number
of signatures over its bytes and their type. One by HMAC is checked with the key that made it, so
that whoever can check can also forge. One by Ed25519 (RFC 8032) is made with a private key and
checked with the public one, which may be given to everybody.

The agent's protocol is that of draft-ietf-sshm-ssh-agent: a length, a number that says what is
asked, and texts with their length.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import re
import socket
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from anonrisk.core.arguments import as_path
from anonrisk.core.documents import canonical
from anonrisk.core.frozen import dataclass
from anonrisk.errors import ManifestError, MissingLibraryError, SecretKeyError, WrongKeyError
from anonrisk.pseudonyms.private_files import NeverPickled, read_key_file, write_key_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cryptography.hazmat.primitives.asymmetric.ed25519 import (
        Ed25519PrivateKey,
        Ed25519PublicKey,
    )

    from anonrisk.pseudonyms.keys import Key

_KIND = b"ssh-ed25519"
_SIGN, _SIGNED = b"\x0d", b"\x0e"
_NO_FLAGS = bytes(4)
_SIGNATURE_BYTES = 64
# People may be asked to press a key; an agent that is gone is not waited for.
_SECONDS = 60


class AgentKey:
    """A private key by its public one."""

    def __init__(self, public: Ed25519PublicKey) -> None:
        """Keep the public key."""
        self._public = public

    def public_key(self) -> Ed25519PublicKey:
        """Return the public key."""
        return self._public

    def sign(self, message: bytes) -> bytes:
        """Ask the agent to sign; it signs the message itself, as the private key would."""
        answer = _asked(_SIGN + _text(wire_form(self._public)) + _text(message) + _NO_FLAGS)
        begin = _text(_KIND) + _SIGNATURE_BYTES.to_bytes(4, "big")
        signed = _SIGNED + (len(begin) + _SIGNATURE_BYTES).to_bytes(4, "big") + begin
        if not answer.startswith(signed) or len(answer) != len(signed) + _SIGNATURE_BYTES:
            raise SecretKeyError(
                "the SSH agent did not sign: it has no such key (ssh-add -l), or was told not to"
            )
        return answer[len(signed) :]


def wire_form(key: Ed25519PublicKey) -> bytes:
    """Return a public key as SSH sends it."""
    return _text(_KIND) + _text(key.public_bytes_raw())


def _text(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def _asked(request: bytes) -> bytes:
    place = os.environ.get("SSH_AUTH_SOCK")
    if not place:
        raise SecretKeyError("there is no SSH agent: SSH_AUTH_SOCK is not set")
    try:
        with socket.socket(socket.AF_UNIX) as agent:
            agent.settimeout(_SECONDS)
            agent.connect(place)
            agent.sendall(_text(request))
            with agent.makefile("rb") as answer:
                return answer.read(int.from_bytes(answer.read(4), "big"))
    except AttributeError:
        raise SecretKeyError("this system has no SSH agents: sign with a key in a file") from None
    except OSError as error:
        why = error.strerror or "it does not answer"
        raise SecretKeyError(f"the SSH agent cannot be asked: {why}") from None


PAYLOAD_TYPE = "application/vnd.in-toto+json"
_PURPOSE = "manifest"
# Whatever others call their keys is shown in errors.
_KEY_ID = re.compile(r"[!-~]{1,200}")
# Enough to tell keys apart, in hexadecimal digits.
_ID_DIGITS = 16
_SSH_PRIVATE = b"-----BEGIN OPENSSH PRIVATE KEY-----"
_FORMS = (
    "an Ed25519 key without a password, as `ssh-keygen -t ed25519` or "
    "`openssl genpkey -algorithm ed25519` writes it; of one with a password name the public key "
    "(.pub), and let ssh-agent sign"
)


def signed_bytes(payload_type: str, payload: bytes) -> bytes:
    """Return what is signed of an envelope, which DSSE calls its pre-authentication encoding.

    Examples
    --------
    >>> signed_bytes("http://example.com/HelloWorld", b"hello world")
    b'DSSEv1 29 http://example.com/HelloWorld 11 hello world'
    """
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


@dataclass(frozen=True)
class Signature:
    """One signature of an envelope.

    Attributes
    ----------
    keyid : str
        Which key made it: its fingerprint as OpenSSH writes it, or what tells keys of HMAC apart.
    sig : str
        The signature, or the HMAC, in Base64.
    """

    keyid: str
    sig: str

    def __post_init__(self) -> None:
        """Reject what is no signature; each has one form."""
        keyid: Any = self.keyid
        named = isinstance(keyid, str) and _KEY_ID.fullmatch(keyid)
        if not named or base64.b64encode(self._bytes).decode() != self.sig:
            raise ManifestError("a signature has no key, or is not written in Base64")

    @classmethod
    def made(cls, payload: bytes, key: Key | SigningKey) -> Self:
        """Sign a payload."""
        message = signed_bytes(PAYLOAD_TYPE, payload)
        made = key.sign(message) if isinstance(key, SigningKey) else _hmac(message, key)
        return cls(key_id_of(key), base64.b64encode(made).decode())

    def fits(self, payload: bytes, key: Key | PublicKey) -> bool:
        """Return whether this key made it over this payload."""
        message = signed_bytes(PAYLOAD_TYPE, payload)
        if isinstance(key, PublicKey):
            return key.signed(message, self._bytes)
        return hmac.compare_digest(self._bytes, _hmac(message, key))

    @property
    def _bytes(self) -> bytes:
        try:
            return base64.b64decode(self.sig, validate=True)
        except (TypeError, ValueError):
            return b""


@dataclass(frozen=True)
class Envelope:
    """Bytes, and who signed them.

    Examples
    --------
    >>> from anonrisk.keys import Key
    >>> key = Key.generate()
    >>> envelope = Envelope(b"what was checked").signed(key)
    >>> envelope.check(key) == key_id_of(key)
    True
    >>> replace(envelope, payload=b"something else").check(key)
    Traceback (most recent call last):
    ...
    anonrisk.errors.ManifestError: the seal does not fit: the manifest was changed
    """

    payload: bytes
    signatures: tuple[Signature, ...] = ()

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """Read what `to_bytes` wrote, once it is read as JSON."""
        if stored["payloadType"] != PAYLOAD_TYPE:
            raise ManifestError(f"the envelope does not hold {PAYLOAD_TYPE}")
        payload = base64.b64decode(stored["payload"], validate=True)
        return cls(payload, tuple(Signature(**item) for item in stored["signatures"]))

    def to_bytes(self) -> bytes:
        """Write it as JSON, in one form."""
        document = {
            "payload": base64.b64encode(self.payload).decode(),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [vars(item) for item in self.signatures],
        }
        return canonical(document).encode("ascii") + b"\n"

    def signed(self, key: Key | SigningKey) -> Self:
        """Return it with a signature more, in the place of an earlier one of the key."""
        made = Signature.made(self.payload, key)
        others = (item for item in self.signatures if item.keyid != made.keyid)
        return replace(self, signatures=(*others, made))

    def check(self, key: Key | PublicKey) -> str:
        """Raise unless the key signed it; return which key it is."""
        own = key_id_of(key)
        made = [item for item in self.signatures if item.keyid == own]
        if not made:
            others = ", ".join(item.keyid for item in self.signatures)
            raise WrongKeyError(
                f"the manifest is sealed with another key ({others}, not {own}); key= checks a "
                "seal by HMAC, public_key= one by Ed25519"
            )
        if not all(item.fits(self.payload, key) for item in made):
            raise ManifestError("the seal does not fit: the manifest was changed")
        return own


def key_id_of(key: Key | SigningKey | PublicKey) -> str:
    """Return what names a key and says nothing else about it."""
    if isinstance(key, SigningKey):
        return key.public.key_id
    if isinstance(key, PublicKey):
        return key.key_id
    return f"hmac-sha256:{key.derived('manifest key id').hex()[:_ID_DIGITS]}"


class SigningKey(NeverPickled):
    """A private Ed25519 key that no repr or pickle gives away (extra ``releases``).

    Examples
    --------
    >>> key = SigningKey.generate()
    >>> key
    SigningKey(hidden)
    >>> key.public.signed(b"what was checked", key.sign(b"what was checked"))
    True
    """

    __slots__ = ("_secret",)

    def __init__(self, secret: Ed25519PrivateKey | AgentKey) -> None:
        """Keep the key, or the way to the agent that has it."""
        self._secret = secret

    @classmethod
    def generate(cls) -> Self:
        """Make a new key; `save` it, or it is gone with the process."""
        ed25519, _ = _library()
        return cls(ed25519.Ed25519PrivateKey.generate())

    @classmethod
    def from_bytes(cls, pem: bytes) -> Self:
        """Read a private key in PEM or as OpenSSH writes it, for example from a vault's client."""
        ed25519, form = _library()
        loads = (form.load_ssh_private_key, form.load_pem_private_key)
        secret = _loaded(pem, _SSH_PRIVATE, *loads, password=None)
        if not isinstance(secret, ed25519.Ed25519PrivateKey):
            raise SecretKeyError(f"this is not {_FORMS}")
        return cls(secret)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], *, shared: bool = False) -> Self:
        """Read a private key, from a file as `anonrisk.keys.Key.from_file` takes it.

        Of a public key (.pub) the private one is asked of the SSH agent, whenever it signs.
        """
        if as_path(path, "a key file", SecretKeyError).suffix == ".pub":
            return cls(AgentKey(PublicKey.from_file(path).reveal()))
        return cls.from_bytes(read_key_file(path, shared=shared))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a new file that only its owner may read."""
        _, form = _library()
        if isinstance(self._secret, AgentKey):
            raise SecretKeyError("an SSH agent signs with its keys, and gives none away")
        pem = self._secret.private_bytes(
            form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
        )
        write_key_file(path, pem)

    @property
    def public(self) -> PublicKey:
        """The key that checks what this one seals."""
        return PublicKey(self._secret.public_key())

    def sign(self, message: bytes) -> bytes:
        """Sign a message."""
        return self._secret.sign(message)

    def __repr__(self) -> str:
        """Show nothing."""
        return "SigningKey(hidden)"


class PublicKey:
    """A public Ed25519 key: checks seals and makes none (extra ``releases``)."""

    __slots__ = ("_key",)

    def __init__(self, key: Ed25519PublicKey) -> None:
        """Keep the key."""
        self._key = key

    @classmethod
    def from_bytes(cls, pem: bytes) -> Self:
        """Read a public key in PEM, or a line as OpenSSH writes it."""
        ed25519, form = _library()
        key = _loaded(pem, b"ssh-", form.load_ssh_public_key, form.load_pem_public_key)
        if not isinstance(key, ed25519.Ed25519PublicKey):
            raise SecretKeyError(f"this is not {_FORMS}")
        return cls(key)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Self:
        """Read a public key."""
        return cls.from_bytes(read_key_file(path, secret=False))

    def to_bytes(self) -> bytes:
        """Write it in PEM."""
        _, form = _library()
        pem: bytes = self._key.public_bytes(
            form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo
        )
        return pem

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that may be given to everybody."""
        write_key_file(path, self.to_bytes(), secret=False)

    @property
    def line(self) -> str:
        """The key as OpenSSH writes it, without a comment."""
        return f"ssh-ed25519 {base64.b64encode(wire_form(self._key)).decode()}"

    @property
    def key_id(self) -> str:
        """Which key it is: its fingerprint, as ``ssh-keygen -l`` prints it."""
        digest = hashlib.sha256(wire_form(self._key)).digest()
        return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"

    def reveal(self) -> Ed25519PublicKey:
        """Return the key itself, for code that needs it."""
        return self._key

    def signed(self, message: bytes, signature: bytes) -> bool:
        """Return whether the private key signed this message."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(signature, message)
        except InvalidSignature:
            return False
        return True

    def __eq__(self, other: object) -> bool:
        """Compare which keys they are."""
        return isinstance(other, PublicKey) and self.key_id == other.key_id

    def __hash__(self) -> int:
        return hash(self.key_id)

    def __repr__(self) -> str:
        """Show which key it is."""
        return f"PublicKey({self.key_id})"


def _hmac(message: bytes, key: Key) -> bytes:
    return hmac.digest(key.derived(_PURPOSE), message, "sha256")


def _loaded(text: Any, begin: bytes, of_ssh: Any, of_pem: Any, **how: Any) -> Any:
    """Read a key by how it begins; what the library says of it is withheld: it may quote it."""
    from cryptography.exceptions import UnsupportedAlgorithm

    try:
        load = of_ssh if text.lstrip().startswith(begin) else of_pem
        return load(text, **how)
    except (AttributeError, TypeError, ValueError, UnsupportedAlgorithm):
        raise SecretKeyError(f"this is not {_FORMS}") from None


def _library() -> tuple[Any, Any]:
    """Return the modules of keys and of how they are written."""
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingLibraryError(
            "Ed25519 needs cryptography: pip install 'anonrisk[releases]'; a seal by HMAC needs "
            "nothing (key=Key.from_file(…))"
        ) from None
    return ed25519, serialization
