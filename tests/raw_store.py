"""What somebody does who has a store of identities, or its key, and does not use the library.

With sqlite3, hmac and the formats that docs/pseudonyms.md and docs/ledger.md publish.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import sqlite3
from contextlib import closing


def sized(part):
    return len(part).to_bytes(4, "big") + part


def subkey(secret, purpose, length=32):
    """HKDF-SHA-256 with salt `anonrisk`, as docs/ledger.md has it."""
    extracted = hmac.digest(b"anonrisk", secret, "sha256")
    made, block = b"", b""
    while len(made) < length:
        block = hmac.digest(extracted, block + purpose + bytes([len(made) // 32 + 1]), "sha256")
        made += block
    return made[:length]


def pseudonym_of(name, scope, secret):
    """A pseudonym by the bytes of docs/pseudonyms.md."""
    message = b"anonrisk pseudonym 2" + sized(scope.encode()) + sized(b"") + b"s" + name.encode()
    return hmac.digest(subkey(secret, b"pseudonym"), message, "sha256").hex()[:32]


def cipher_of(key):
    """What seals the identities of a store under this key."""
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

    return AESSIV(subkey(key.reveal(), b"identity sealing", 64))


class Database:
    """The file of a store, in the hands of somebody who does not use the library."""

    def __init__(self, path):
        self.path = path

    def rows(self, query, *values):
        with closing(sqlite3.connect(self.path)) as raw:
            return raw.execute(query, values).fetchall()

    def write(self, *statements):
        """Run statements, each alone or with its values."""
        with closing(sqlite3.connect(self.path)) as raw, raw:
            for one in statements:
                raw.execute(*((one,) if isinstance(one, str) else one))

    def says(self, name):
        return self.rows("SELECT value FROM anonrisk_keeper WHERE name = ?", name)[0][0]

    def bound(self, kind, epoch, *names):
        """What a seal is bound to."""
        parts = (self.says("store"), str(epoch), *names)
        return kind + b"".join(sized(one.encode()) for one in parts)

    def event(self, number):
        content = "SELECT content FROM anonrisk_audit WHERE number = ?"
        return json.loads(self.rows(content, number)[0][0])

    def last(self):
        return self.rows("SELECT max(number) FROM anonrisk_audit")[0][0]

    def forged(self, **about):
        """The content of an event that follows the last one; everything in it is known."""
        last = self.last()
        (content,) = self.rows("SELECT content FROM anonrisk_audit WHERE number = ?", last)[0]
        told = {**self.event(last), "number": last + 1, **about}
        told["previous"] = hashlib.sha256(content.encode()).hexdigest()
        return json.dumps(told, sort_keys=True, separators=(",", ":"))

    def append(self, content, mac):
        number = json.loads(content)["number"]
        values = (number, int(self.says("epoch")), content, mac)
        self.write(("INSERT INTO anonrisk_audit VALUES (?, ?, ?, ?)", values))

    def cut(self, after):
        """Take off the end of the audit, with the identities that it issued."""
        gone = [self.event(number) for number in range(after + 1, self.last() + 1)]
        named = [(event["scope"], one) for event in gone for one in event["pseudonyms"]]
        self.write(
            f"DELETE FROM anonrisk_audit WHERE number > {after}",
            *(
                ("DELETE FROM anonrisk_identity WHERE scope = ? AND pseudonym = ?", one)
                for one in named
            ),
        )
