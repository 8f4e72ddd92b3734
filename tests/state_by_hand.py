"""States by hand: what `anonrisk.pseudonyms.encoding` says, written out slowly without its code.

``python tests/state_by_hand.py`` writes the vectors anew: they change with the version
of states only.
"""

from __future__ import annotations

import datetime as dt
import decimal
import hashlib
import hmac
import json
import struct
from collections import Counter
from pathlib import Path

VECTORS = Path(__file__).parent / "data" / "state_vectors.json"
SECRET = hashlib.sha256(b"anonrisk example, not a secret").digest()
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
# As JSON holds them: the letter of a column, and its cells as text.
COLUMNS = {
    "zip": ("s", ["1011", "Zoë 😀", "", None, "1011", "a\u0000b"]),
    "age": ("i", ["7", "-12", "9007199254740993", "0", "7", "7"]),
    "weight": ("f", ["0.1", "-0.0", "1e+300", None, "0.1", "-2.5"]),
    "member": ("b", ["1", "0", None, "1", "1", "0"]),
    "born": ("d", ["2026-11-15", "1912-02-29", None, "0999-01-01", "2026-11-15", "2000-01-01"]),
    "seen": ("t", ["86400000005", "-1000000", None, "0", "86400000005", "1"]),
    "paid": ("m", ["1.5", "-0.25", "100", "0", "1.5", None]),
    "photo": ("x", ["00ff", "", None, "61", "00ff", "6162"]),
    "who": ("i", ["1", "2", "3", "1", "1", "2"]),
    "illness": ("s", ["flu", "cold", None, "flu", "cold", "flu"]),
}
ASKED = [
    *({"qid": [name]} for name in list(COLUMNS)[:8]),
    {"qid": ["zip", "age"]},
    {"qid": ["zip"], "unit": "who", "sensitive": ["illness"]},
    {"qid": ["age"], "sensitive": ["illness", "born"]},
]


def cell(letter, text):
    """A cell as Python has it."""
    if text is None:
        return None
    return {
        "s": str,
        "i": int,
        "f": float,
        "b": lambda digit: digit == "1",
        "d": dt.date.fromisoformat,
        "t": lambda digits: EPOCH + dt.timedelta(microseconds=int(digits)),
        "m": decimal.Decimal,
        "x": bytes.fromhex,
    }[letter](text)


def cells(columns):
    return {name: [cell(letter, one) for one in texts] for name, (letter, texts) in columns.items()}


def sized(part):
    return struct.pack(">I", len(part)) + part


def encoded(letter, text):
    if text is None:
        return sized(b"n")
    if letter == "f":
        number = 0.0 if float(text) == 0 else float(text)
        return sized(b"f" + struct.pack(">d", number))
    content = bytes.fromhex(text) if letter == "x" else text.encode("utf-8")
    return sized(letter.encode() + content)


def hashed(purpose, message):
    extracted = hmac.new(b"anonrisk", SECRET, hashlib.sha256).digest()
    subkey = hmac.new(extracted, purpose.encode() + b"\x01", hashlib.sha256).digest()
    return hmac.new(subkey, message, hashlib.sha256).hexdigest()[:32]


def state(columns, qid, unit=None, sensitive=()):
    """Rows of each (class[, person]), and of each (class[, person], value), by their hashes."""
    n_rows = len(columns[qid[0]][1])
    classes, values = Counter(), {name: Counter() for name in sensitive}
    for row in range(n_rows):
        of = {name: encoded(letter, texts[row]) for name, (letter, texts) in columns.items()}
        message = b"".join(sized(name.encode()) for name in sorted(qid))
        message += b"".join(of[name] for name in sorted(qid))
        entry = [hashed("state class", message)]
        if unit is not None:
            entry.append(hashed("state person", of[unit]))
        classes[" ".join(entry)] += 1
        for name in sensitive:
            value = hashed("state value", sized(name.encode()) + of[name])
            values[name][" ".join([*entry, value])] += 1
    return {
        "classes": dict(sorted(classes.items())),
        "values": {name: dict(sorted(found.items())) for name, found in sorted(values.items())},
    }


def vectors():
    made = [{**asked, **state(COLUMNS, **asked)} for asked in ASKED]
    return {"key": SECRET.hex(), "columns": COLUMNS, "states": made}


if __name__ == "__main__":
    VECTORS.write_text(json.dumps(vectors(), indent=1) + "\n", encoding="utf-8")
