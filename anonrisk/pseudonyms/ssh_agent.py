"""Ed25519 keys that an SSH agent holds: it signs with them, and gives none away.

The agent's protocol is that of draft-ietf-sshm-ssh-agent: a length, a number that says what is
asked, and texts with their length.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

from anonrisk.errors import SecretKeyError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

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
