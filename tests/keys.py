"""Keys for tests: as good as random ones, and the same in every run."""

from __future__ import annotations

import hashlib

from anonrisk.pseudonyms.keys import Key

SECRET = hashlib.sha256(b"anonrisk example, not a secret").digest()
KEY = Key.from_bytes(SECRET)
OTHER_SECRET = hashlib.sha256(b"anonrisk example, another one").digest()
OTHER = Key.from_bytes(OTHER_SECRET)
