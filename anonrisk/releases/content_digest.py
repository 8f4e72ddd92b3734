"""A keyed digest of the rows of a table that is no file."""

from __future__ import annotations

import hmac
from typing import TYPE_CHECKING, Any

from anonrisk.core.encoding import name_bytes
from anonrisk.core.keys import as_key
from anonrisk.core.pseudonyms import sized
from anonrisk.counts.keyed import KeyedTally
from anonrisk.counts.question import Question
from anonrisk.engines import engine_for

if TYPE_CHECKING:
    from anonrisk.core.keys import Key

_HEADER = b"anonrisk content 1"


def content_digest(frame: Any, *, key: Key | bytes) -> str:
    """Digest all rows of a table: the same rows in any order, on any engine, give the same.

    Never a sum of row hashes, which would be cheaper: the difference of two sums is the hash of the
    row that was added.

    Parameters
    ----------
    frame : DataFrame
        The table; its columns count, whatever their order, and labels of rows do not.
    key : Key or bytes
        Without it a table of few columns could be guessed, and the guess be confirmed.

    Returns
    -------
    str
        HMAC-SHA-256 over the names and types of the columns and the sorted keyed hashes of the
        different rows, with how often each occurs.

    Examples
    --------
    >>> import pandas as pd
    >>> from anonrisk.keys import Key
    >>> df = pd.DataFrame({"zip": ["1011", "1012"], "age": [30, 40]})
    >>> key = Key.generate()
    >>> made = content_digest(df, key=key)
    >>> made == content_digest(df[::-1], key=key)
    True
    >>> made == content_digest(df[:1], key=key)
    False
    """
    secret = as_key(key)
    engine = engine_for(frame)
    schema = engine.schema(frame)
    question = Question((tuple(schema.columns),), None, "value")
    schema.check(question.roles())
    counts = engine.tally(frame, KeyedTally(question, (), secret))
    columns = b"".join(sized(name_bytes(name)) + counts.kinds[name].encode() for name in counts.qid)
    # Sorted by the counts, so that where a row stood in the table is not in it.
    hashes, rows = counts.classes.astype(">u8").tobytes(), counts.rows.astype(">i8").tobytes()
    message = _HEADER + sized(columns) + len(counts.rows).to_bytes(8, "big") + hashes + rows
    digest = hmac.digest(secret.derived("content digest"), message, "sha256")
    return f"hmac-sha256:{digest.hex()}"
