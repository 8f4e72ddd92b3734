"""Pseudonyms: identifiers replaced by keyed ones, per recipient and per period."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

from anonrisk.api.question import in_one_state
from anonrisk.core.arguments import whole_number
from anonrisk.core.columns import as_name, require
from anonrisk.engines import engine_for
from anonrisk.errors import ArgumentError, MissingTimeError

if TYPE_CHECKING:
    from datetime import timedelta

    from anonrisk.core.columns import FrameT, Name
    from anonrisk.core.types import Alphabet
    from anonrisk.pseudonyms.keys import Key


@in_one_state
def pseudonymize(
    frame: FrameT,
    column: Name,
    *,
    key: Key | bytes,
    period: str | timedelta | int | None = None,
    time: Name | None = None,
    scope: str | None = None,
    format: Alphabet = "hex",  # noqa: A002
    length: int | None = None,
    people: int | None = None,
    max_collision: float = 1e-6,
) -> FrameT:
    """Replace an identifier by keyed pseudonyms, in a new table of the same kind.

    Whoever has the key can make the pseudonym of any value, and so find a person; who has not,
    cannot, however few values there are. A bare hash would give them away to anybody who tries
    all of them. Guard the key as you guard the names.

    Parameters
    ----------
    frame : DataFrame
        A table of pandas, Spark or pandas-on-Spark.
    column : name
        The identifier: text, integers, dates or instants. Floats are refused: they can be written
        in more than one way. A missing value stays missing.
    key : Key or bytes
        See `anonrisk.keys.Key`: from an environment variable, a file or bytes, at least 16.
    period : str, timedelta or int, optional
        When a person gets a new pseudonym. A length of time such as ``"30D"`` (s, min, h, D, W)
        starts anew at every multiple of it since 1970-01-01 UTC, for all persons together. A
        number n starts anew after n records of the person, in the order of `time`; records of the
        same time share a rank, so that a few more than n may be linked where times are tied.
    time : name, optional
        The column of times, for `period`: dates, timestamps, or for a number of records also
        integers. A timestamp without a zone is read as UTC.
    scope : str, optional
        The recipient. Pseudonyms of different scopes cannot be linked without the key.
    format : {"hex", "base32", "base64url"}
        The alphabet of the pseudonyms.
    length : int, optional
        Number of characters: 128 bits if left out, at least 64 bits.
    people : int, optional
        How many persons will ever get a pseudonym of this key and scope, each counted once a
        period; needed for a length of fewer than 128 bits. See
        `anonrisk.identity.collision_chance`.
    max_collision : float
        The largest chance, that any two of them share a pseudonym, which is taken.

    Returns
    -------
    DataFrame
        The table with the column replaced by text; everything else as it was, declared roles too:
        declare again, for example with ``unit=``, if the column was declared ``direct``. Lazy on
        Spark.

    Raises
    ------
    ColumnNotFoundError, UnsupportedColumnError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.
    SecretKeyError
        If `key` is missing, too short, or cannot be read.
    MissingTimeError
        If `period` needs a `time`, and none is named or a record has none.
    CollisionError
        If two values get one pseudonym.

    See Also
    --------
    anonrisk.keys.Key : where the secret comes from
    anonrisk.linkability : whether a new pseudonym helped
    anonrisk.identity.IdentityProtector : pseudonyms that can be revealed

    Notes
    -----
    HMAC-SHA-256 over the bytes that `anonrisk.pseudonyms.pseudonym` lists, under a subkey of the
    key, the same on every engine. On Spark neither is in a plan, event log or page of the UI, but
    the subkey travels to the executors inside the function that they run: encrypt Spark's network
    traffic (``spark.network.crypto.enabled``, TLS for Connect). On Connect the client's debug log
    (``SPARK_CONNECT_LOG_LEVEL=debug``) must be off: it writes every request, with the function and
    the subkey in it.

    In process, a table in which two values have got one pseudonym is refused (`CollisionError`).
    Spark is lazy, and does not look: there the chance is all that speaks against it.

    Transaction and relationship pseudonyms are Fischer-Hübner's; see also `anonrisk.linkability`,
    which tells whether a new pseudonym helped.

    References
    ----------
    - RFC 2104, *HMAC: Keyed-Hashing for Message Authentication*, 1997.
    - RFC 5869, *HMAC-based Extract-and-Expand Key Derivation Function (HKDF)*, 2010.
    - S. Fischer-Hübner, *Privacy Enhancing Security Criteria* (slides), 2.1, pseudonymity.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> from anonrisk.pseudonyms.keys import Key
    >>> key = Key.generate()
    >>> df = pd.DataFrame({"patient": ["Ann", "Bob", "Ann", None], "ward": [1, 1, 2, 2]})
    >>> df.anon.pseudonymize("patient", key=key, length=16, people=1000)["patient"].tolist()[:3]
    ['...', '...', '...']
    >>> shared = df.anon.pseudonymize("patient", key=key, scope="insurer")
    >>> int(shared["patient"].nunique()), int(shared["patient"].isna().sum())
    (2, 1)
    """
    from anonrisk.core.arguments import microseconds
    from anonrisk.pseudonyms.keys import as_key
    from anonrisk.pseudonyms.pseudonym import Pseudonymisation, check_scope, safe_form

    secret, recipient = as_key(key), check_scope(scope)
    form = safe_form(format, length, people, max_collision)
    by_records = isinstance(period, Integral)
    every = None
    if by_records:
        every = whole_number(period, "period", at_least=1)
    elif period is not None:
        every = microseconds(period)
    if period is not None and time is None:
        raise MissingTimeError("period= needs time=, the column that says when a record was made")
    if period is None and time is not None:
        raise ArgumentError("time= is for period=, which is not given")
    as_name(column, "column")
    engine = engine_for(frame)
    schema = engine.schema(frame)
    columns = schema.columns
    require([column], "column", columns)
    roles = {column: "column"}
    if time is not None:
        as_name(time, "time")
        require([time], "time", columns)
        if time == column:
            raise ArgumentError(f"column {column!r} cannot be its own time")
        roles[time] = "time"
    schema.check(roles)
    step = Pseudonymisation(column, secret, form, recipient, every, time, by_records)
    return engine.rewrite(frame, step)
