"""Pseudonyms: the same bytes on every engine, nothing of the key anywhere."""

from __future__ import annotations

import base64
import datetime as dt
import functools
import hashlib
import hmac
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from keys import KEY, OTHER, OTHER_SECRET, SECRET
from tables import columns_of, to_rows

from anonrisk import errors
from anonrisk.identity import IdentityProtector, collision_chance
from anonrisk.pseudonyms import pseudonym as pseudonyms
from anonrisk.pseudonyms.keys import Key


def by_hand(value, scope=b"", period=b"", secret=SECRET):
    """The message as its documentation says, by the standard library."""
    extracted = hmac.new(b"anonrisk", secret, hashlib.sha256).digest()
    subkey = hmac.new(extracted, b"pseudonym\x01", hashlib.sha256).digest()
    message = b"anonrisk pseudonym 2"
    message += len(scope).to_bytes(4, "big") + scope + len(period).to_bytes(4, "big") + period
    return hmac.new(subkey, message + value, hashlib.sha256).digest()


VALUES = {
    "text": (
        ["Ann", "Zoë 😀", "", None, "Ann"],
        [b"sAnn", "sZoë 😀".encode(), b"s", None, b"sAnn"],
    ),
    "whole": ([7, -12, 2**53 + 1, 0], [b"i7", b"i-12", b"i9007199254740993", b"i0"]),
    "day": (
        [dt.date(2026, 11, 15), dt.date(1912, 2, 29), None],
        [b"d2026-11-15", b"d1912-02-29", None],
    ),
    "instant": (
        [dt.datetime(1970, 1, 2, 0, 0, 0, 5), dt.datetime(1969, 12, 31, 23, 59, 59)],
        [b"t86400000005", b"t-1000000"],
    ),
}


@pytest.mark.parametrize("kind", VALUES)
def test_every_engine_makes_the_pseudonym_of_the_documented_bytes(frame, kind):
    values, known = VALUES[kind]
    if kind == "day" and not frame.is_pandas and frame.kind == "pandas_on_spark":
        pytest.skip("pandas-on-Spark keeps dates as objects")
    cells = {"who": values, "row": list(range(len(values)))}
    changed = frame(cells).anon.pseudonymize("who", key=KEY, scope="insurer")
    found = {row["row"]: row["who"] for row in to_rows(changed)}
    expected = [None if b is None else by_hand(b, b"insurer").hex()[:32] for b in known]
    assert [found[i] for i in range(len(values))] == expected


def test_formats_lengths_scopes_and_keys_keep_people_apart(frame):
    table = frame({"who": ["Ann", "Bob"], "row": [0, 1]})
    digest = by_hand(b"sAnn")
    expected = {
        ("hex", None): digest.hex()[:32],
        ("hex", 64): digest.hex(),
        ("base32", 20): base64.b32encode(digest).decode().lower()[:20],
        ("base64url", None): base64.urlsafe_b64encode(digest).decode()[:22],
    }
    for (form, length), pseudonym in expected.items():
        asked = {"format": form, "length": length, "people": 1000}
        rows = to_rows(table.anon.pseudonymize("who", key=KEY, **asked))
        assert pseudonym in {row["who"] for row in rows}
    made = [
        {row["who"] for row in to_rows(table.anon.pseudonymize("who", key=key, scope=scope))}
        for key, scope in ((KEY, None), (KEY, "a"), (KEY, "b"), (OTHER, None))
    ]
    assert len(set().union(*made)) == 8
    assert by_hand(b"sAnn", secret=OTHER_SECRET).hex()[:32] in made[3]


STAMPS = [
    dt.datetime(2026, 1, 1),
    dt.datetime(2026, 1, 29),
    dt.datetime(2026, 1, 29),
    dt.datetime(2026, 3, 1),
    dt.datetime(1969, 12, 31, 23),
    dt.datetime(2026, 1, 1),
]
WHO = ["Ann", "Ann", "Ann", "Ann", "Bob", None]


def test_periods_start_at_the_epoch_and_records_are_ranked(frame):
    cells = {"who": WHO, "at": STAMPS, "row": list(range(6))}
    table = frame(cells)
    changed = table.anon.pseudonymize("who", key=KEY, period="30D", time="at")
    found = {row["row"]: row["who"] for row in to_rows(changed)}
    every = 30 * 86_400
    for i, (who, at) in enumerate(zip(WHO, STAMPS, strict=True)):
        number = int((at - dt.datetime(1970, 1, 1)).total_seconds()) // every
        label = f"{every}000000:{number}".encode()
        assert found[i] == (who and by_hand(b"s" + who.encode(), period=label).hex()[:32])
    assert found[4] == by_hand(b"sBob", period=b"2592000000000:-1").hex()[:32]
    changed = table.anon.pseudonymize("who", key=KEY, period=2, time="at")
    found = {row["row"]: row["who"] for row in to_rows(changed)}
    # Ann's ranks are 0, 1, 1 and 3: ties share one.
    for i, number in ((0, 0), (1, 0), (2, 0), (3, 1)):
        assert found[i] == by_hand(b"sAnn", period=f"2 records:{number}".encode()).hex()[:32]
    assert found[5] is None


def test_nothing_else_changes(frame):
    cells = {"a": ["x", "y"], "who": ["Ann", "Bob"], "z": [1, None]}
    table = frame(cells).anon.declare(quasi="a", direct="who")
    changed = table.anon.pseudonymize("who", key=KEY)
    assert columns_of(changed) == ["a", "who", "z"]
    assert changed.anon.roles() == table.anon.roles()
    before, after = to_rows(table), to_rows(changed)
    assert sorted((r["a"], r["z"]) for r in before if r["z"]) == sorted(
        (r["a"], r["z"]) for r in after if r["z"]
    )
    assert {r["who"] for r in before} == {"Ann", "Bob"}


def test_pandas_keeps_index_and_order_and_takes_any_label():
    table = pd.DataFrame({("a", 1): ["x", None, "x"], "b": [1, 2, 3]}, index=[9, 9, 4])
    changed = table.anon.pseudonymize(("a", 1), key=KEY)
    assert changed.index.tolist() == [9, 9, 4]
    assert list(changed.columns) == list(table.columns)
    assert changed[("a", 1)].isna().tolist() == [False, True, False]
    assert table[("a", 1)].tolist()[0] == "x"
    assert len(table.iloc[:0].anon.pseudonymize("b", key=KEY)) == 0


@pytest.mark.parametrize(
    "same",
    [
        lambda s: s.astype("category"),
        lambda s: s.astype(object),
        lambda s: s.astype("string"),
        lambda s: pd.Series(pd.Categorical(s, categories=["q", *s.unique()])),
    ],
)
def test_the_type_of_text_does_not_matter(same):
    text = pd.Series(["Ann", "Bob", "Ann"])
    one, other = (
        pd.DataFrame({"who": s}).anon.pseudonymize("who", key=KEY)["who"].tolist()
        for s in (text, same(text))
    )
    assert one == other


def test_the_width_of_integers_does_not_matter():
    wide = pd.Series([-128, 127, 5, 5])
    expected = pd.DataFrame({"who": wide}).anon.pseudonymize("who", key=KEY)["who"].tolist()
    for dtype in ("int8", "int16", "Int64", object):
        table = pd.DataFrame({"who": wide.astype(dtype)})
        assert table.anon.pseudonymize("who", key=KEY)["who"].tolist() == expected
    far = pd.DataFrame({"who": np.array([2**63 + 5, 1], dtype="uint64")})
    assert (
        far.anon.pseudonymize("who", key=KEY)["who"][0]
        == by_hand(b"i9223372036854775813").hex()[:32]
    )


def test_an_instant_is_one_in_every_zone():
    utc = pd.Series(pd.to_datetime(["2026-10-25 00:30", "2026-10-25 01:30"], utc=True))
    amsterdam = utc.dt.tz_convert("Europe/Amsterdam")
    objects = pd.Series([t.to_pydatetime() for t in amsterdam], dtype=object)
    made = [
        pd.DataFrame({"t": s}).anon.pseudonymize("t", key=KEY)["t"].tolist()
        for s in (utc, amsterdam, objects, utc.dt.tz_localize(None), utc.dt.as_unit("s"))
    ]
    # The wall clock in Amsterdam shows 02:30 twice that night.
    assert made[0][0] != made[0][1]
    assert all(one == made[0] for one in made)
    fine = pd.DataFrame({"t": pd.to_datetime(["2026-01-01 00:00:00.000000001"])})
    with pytest.raises(errors.UnsupportedColumnError, match="finer than a microsecond"):
        fine.anon.pseudonymize("t", key=KEY)


@pytest.mark.parametrize(
    ("column", "text"),
    [
        ([1.5, 2.5], r"(float|Float|double).*astype\('Int64'\)"),
        ([True, False], "bool"),
        ([b"secret", b"x"], "bytes|binary"),
    ],
)
def test_types_without_canonical_bytes_are_refused(frame, column, text):
    if frame.kind == "pandas_on_spark":
        pytest.skip("has its own names of types")
    with pytest.raises(errors.UnsupportedColumnError, match=text) as raised:
        frame({"who": column}).anon.pseudonymize("who", key=KEY)
    assert "secret" not in str(raised.value)


LATE = dt.datetime(9999, 12, 31, 23, 59, tzinfo=dt.timezone(dt.timedelta(hours=-5)))
FAR, FARTHER = (np.array([f"{y}-01-01"], dtype="datetime64[s]") for y in (20_000, 300_000))


@pytest.mark.parametrize(
    ("cells", "text"),
    [
        (pd.Series(FAR), "years 1 to 9999"),
        (pd.Series(FAR, dtype="category"), "years 1 to 9999"),
        (lambda: pd.Series(FAR).astype("timestamp[s][pyarrow]"), "years 1 to 9999"),
        (pd.Series(FAR).dt.tz_localize("UTC"), "years 1 to 9999"),
        (pd.Series(FARTHER), "years 1 to 9999"),
        (pd.Series([LATE], dtype=object), "years 1 to 9999"),
        (pd.Series([10**5000], dtype=object), "too many digits"),
    ],
)
def test_what_python_cannot_write_is_refused_without_its_value(cells, text):
    cells = cells() if callable(cells) else cells
    with pytest.raises(errors.UnsupportedColumnError, match=f"column 'who'.*{text}") as raised:
        pd.DataFrame({"who": cells}).anon.pseudonymize("who", key=KEY)
    assert "0000" not in str(raised.value)
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_times_too_far_away_are_not_called_too_fine():
    asked = {"key": KEY, "period": "1D", "time": "at"}
    for at in (pd.Series(FARTHER), pd.Series(FARTHER).astype("timestamp[s][pyarrow]")):
        with pytest.raises(errors.UnsupportedColumnError, match=r"time 'at'.*too far from 1970"):
            pd.DataFrame({"who": ["Ann"], "at": at}).anon.pseudonymize("who", **asked)
    fine = pd.Series(pd.to_datetime(["2026-01-01 00:00:00.000000001"])).dt.as_unit("ns")
    for at in (fine, fine.astype("timestamp[ns][pyarrow]")):
        with pytest.raises(errors.UnsupportedColumnError, match="finer than a microsecond"):
            pd.DataFrame({"who": ["Ann"], "at": at}).anon.pseudonymize("who", **asked)


def test_a_missing_time_is_an_error_where_it_is_needed():
    table = pd.DataFrame({"who": ["Ann", None, "Bob"], "at": [pd.NaT, pd.NaT, pd.Timestamp(0)]})
    with pytest.raises(errors.MissingTimeError, match="time 'at' is missing in 1 record"):
        table.anon.pseudonymize("who", key=KEY, period="1D", time="at")


T = pd.DataFrame({"who": ["secret1"], "at": [pd.Timestamp(0)], "n": [1], "l": [["x"]]})


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: T.anon.pseudonymize("wo", key=KEY),
            errors.ColumnNotFoundError,
            "column 'wo' .* 'who'",
        ),
        (lambda: T.anon.pseudonymize("who", key=None), errors.SecretKeyError, "no key given"),
        (lambda: T.anon.pseudonymize("who", key="s" * 32), errors.SecretKeyError, "not a str"),
        (lambda: T.anon.pseudonymize("who", key=b"k" * 15), errors.SecretKeyError, "32 random"),
        (lambda: T.anon.pseudonymize("who", key=KEY, scope=""), errors.ArgumentError, "scope="),
        (
            lambda: T.anon.pseudonymize("who", key=KEY, scope="\ud800"),
            errors.ArgumentError,
            "UTF-8",
        ),
        (lambda: T.anon.pseudonymize("who", key=KEY, format="hx"), errors.ArgumentError, "'hex'"),
        (
            lambda: T.anon.pseudonymize("who", key=KEY, length=15),
            errors.ArgumentError,
            "from 16 to 64",
        ),
        (
            lambda: T.anon.pseudonymize("who", key=KEY, length=65),
            errors.ArgumentError,
            "from 16 to 64",
        ),
        (
            lambda: T.anon.pseudonymize("who", key=KEY, period="30D"),
            errors.MissingTimeError,
            "time=",
        ),
        (lambda: T.anon.pseudonymize("who", key=KEY, period=3), errors.MissingTimeError, "time="),
        (
            lambda: T.anon.pseudonymize("who", key=KEY, time="at"),
            errors.ArgumentError,
            "for period=",
        ),
        (
            lambda: T.anon.pseudonymize("who", key=KEY, period=0, time="at"),
            errors.ArgumentError,
            "period must be a whole number",
        ),
        (
            lambda: T.anon.pseudonymize("who", key=KEY, period="1M", time="at"),
            errors.ArgumentError,
            "months and years",
        ),
        (
            lambda: T.anon.pseudonymize("who", key=KEY, period="0D", time="at"),
            errors.ArgumentError,
            "longer than zero",
        ),
        (
            lambda: T.anon.pseudonymize("who", key=KEY, period="1D", time="n"),
            errors.UnsupportedColumnError,
            "no days or hours",
        ),
        (
            lambda: T.anon.pseudonymize("at", key=KEY, period="1D", time="at"),
            errors.ArgumentError,
            "its own time",
        ),
        (
            lambda: T.anon.pseudonymize("who", key=KEY, period="9" * 5000 + "D", time="at"),
            errors.ArgumentError,
            "shorter than 146,000 years",
        ),
        (lambda: Key.from_file("a\0b"), errors.SecretKeyError, "cannot read the key file"),
        (lambda: Key.from_file("\ud800"), errors.SecretKeyError, "cannot read the key file"),
        (lambda: Key.from_env("\ud800"), errors.SecretKeyError, "is not set"),
        (lambda: T.anon.pseudonymize("l", key=KEY), errors.UnsupportedColumnError, "one cell"),
    ],
)
def test_wrong_calls(call, error, text):
    with pytest.raises(error, match=text) as raised:
        call()
    assert "secret" not in str(raised.value)


# ---- Spark --------------------------------------------------------------------------------

LEAKS = """
import sys, base64, pathlib, datetime as dt
from pyspark.sql import SparkSession
kind, log = sys.argv[1:]
b = SparkSession.builder
b = b.remote("local[1]") if kind == "connect" else b.master("local[1]")
for k, v in {"spark.eventLog.enabled": "true", "spark.eventLog.dir": "file://" + log,
             "spark.ui.enabled": "true", "spark.ui.port": "0", "spark.sql.shuffle.partitions": "1",
             "spark.eventLog.compress": "false"}.items():
    b = b.config(k, v)
spark = b.getOrCreate()
import hashlib
import anonrisk
from anonrisk.pseudonyms.keys import Key
from anonrisk.identity import IdentityProtector, collision_chance
secret = hashlib.sha256(b"anonrisk example, not a secret").digest()
rows = [("Ann", dt.datetime(2026, 1, 1)), ("Bob", dt.datetime(2026, 2, 1))]
df = spark.createDataFrame(rows, "who string, at timestamp")
made = df.anon.pseudonymize("who", key=Key.from_bytes(secret), period=1, time="at")
assert len({r["who"] for r in made.collect()}) == 2
key = Key.from_bytes(secret)
assert df.anon.state("at", unit="who", key=key).k == 1
assert anonrisk.sketch(df, "at", key=key).k == 1
import io, contextlib
out = io.StringIO()
with contextlib.redirect_stdout(out):
    made.explain(True)
    made.explain("codegen")
    made.printSchema()
    print(made, made.schema)
shown = out.getvalue().encode()
assert b"pseudonym" in shown
pages = b""
if kind == "spark":
    import urllib.request
    ask = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
    ui, of = spark.sparkContext.uiWebUrl, spark.sparkContext.applicationId
    rest = f"api/v1/applications/{of}/"
    for page in ("jobs/", "stages/", "environment/", "SQL/", "SQL/execution/?id=0", "storage/",
                 rest + "sql?details=true&planDescription=true", rest + "jobs", rest + "stages"):
        pages += ask(f"{ui}/{page}").read()
    assert b"pseudonym" in pages
spark.stop()
subkeys = [key.derived(p) for p in ("pseudonym", "state class", "state person", "state value")]
blocks = [part.ljust(64, bytes(1)) for part in (secret, *subkeys)]
parts = [secret, *subkeys]
parts += [bytes(x ^ pad for x in block) for block in blocks for pad in (0x36, 0x5C)]
files = [p for p in pathlib.Path(log).rglob("*") if p.is_file()]
logged = b"".join(p.read_bytes() for p in files)
assert len(logged) > 10_000, "no event log"
assert b"pseudonym" in logged
for where, text in (("plan", shown), ("log", logged), ("UI", pages)):
    for part in parts:
        for written in (part, part[:32], part.hex().encode(), part[:32].hex().encode(),
                        base64.b64encode(part), base64.urlsafe_b64encode(part),
                        base64.b64encode(part[:30]), str(list(part))[1:60].encode(),
                        "".join(f"\\\\{x:03o}" for x in part[:16]).encode()):
            assert written not in text, where
print("NOTHING", len(logged))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.spark(kind)) for kind in ("spark", "connect")]
)
def test_no_key_is_in_a_plan_an_event_log_or_the_ui(kind, tmp_path):
    import os
    import subprocess
    import sys

    run = subprocess.run(
        [sys.executable, "-c", LEAKS, kind, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        # The port of a Connect server of its own: this process may have one already.
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            **({"SPARK_TESTING": "1"} if kind == "connect" else {}),
        },
    )
    assert "NOTHING" in run.stdout, run.stderr[-2000:]


@pytest.mark.spark("spark")
@pytest.mark.slow
def test_executors_need_nothing_of_ours(spark):
    """What travels to the executors, unpickled where anonrisk cannot be imported."""
    import subprocess
    import sys

    from pyspark import cloudpickle

    from anonrisk.engines.spark.rewrite import _function
    from anonrisk.pseudonyms.pseudonym import Form, Pseudonymisation

    sent = cloudpickle.dumps(
        _function(Pseudonymisation("who", KEY, Form.of("hex", None), "insurer"))
    )
    assert SECRET not in sent
    assert KEY.derived("pseudonym") in sent
    code = (
        "import sys, pickle, base64\n"
        "sys.modules['anonrisk'] = sys.modules['pandas'] = sys.modules['numpy'] = None\n"
        "from pyspark import cloudpickle\n"
        f"f = pickle.loads(base64.b64decode({base64.b64encode(sent).decode()!r}))\n"
        "print(f('sAnn', None), f(None, None))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stdout.split() == [by_hand(b"sAnn", b"insurer").hex()[:32], "None"], run.stderr


@pytest.mark.spark("spark")
@pytest.mark.slow
def test_zones_of_the_session_change_nothing(spark):
    cells = [("Ann", dt.datetime(2026, 10, 25, 1, 30, tzinfo=dt.UTC))]
    table = spark.createDataFrame(cells, "who string, at timestamp")
    table = table.selectExpr("who", "at", "timestamp_ntz'2026-10-25 01:30:00' AS wall")
    expected = by_hand(b"t1792891800000000").hex()[:32]
    try:
        for zone in ("America/New_York", "Asia/Tokyo"):
            spark.conf.set("spark.sql.session.timeZone", zone)
            for column in ("at", "wall"):
                made = table.anon.pseudonymize(column, key=KEY).collect()
                assert made[0][column] == expected
            rotated = table.anon.pseudonymize("who", key=KEY, period="1h", time="wall").collect()
            label = f"3600000000:{1792891800 // 3600}".encode()
            assert rotated[0]["who"] == by_hand(b"sAnn", period=label).hex()[:32]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    late = spark.createDataFrame([("Ann", None)], "who string, at timestamp")
    late = late.anon.pseudonymize("who", key=KEY, period="1D", time="at")
    with pytest.raises(Exception, match="time 'at' is missing"):
        late.collect()


def test_a_number_of_records_may_be_numpys():
    table = pd.DataFrame({"who": ["a"] * 4, "at": [1, 2, 3, 4]})
    asked = {"key": KEY, "time": "at"}
    numpys = table.anon.pseudonymize("who", period=np.int64(2), **asked)
    assert numpys.equals(table.anon.pseudonymize("who", period=2, **asked))


def test_a_column_declared_direct_must_be_declared_again():
    table = pd.DataFrame({"who": ["a", "b"], "zip": [1, 1]})
    declared = table.anon.declare(quasi=["zip"], direct=["who"])
    made = declared.anon.pseudonymize("who", key=KEY)
    assert tuple(made.anon.roles().direct) == ("who",)
    again = made.anon.declare(quasi=["zip"], unit="who")
    assert tuple(again.anon.roles().direct) == ()
    assert again.anon.roles().unit == "who"


# ---- collisions ---------------------------------------------------------------------------


def drawn_apart(people, bits):
    """The chance by hand: each person misses all before them (exact, for few people)."""
    apart = Fraction(1)
    for before in range(people):
        apart *= 1 - Fraction(before, 2**bits)
    return float(1 - apart)


def test_the_chance_of_a_collision_is_that_of_birthdays():
    # 2.7% for a milliard people of 64 bits, as the birthday paradox has it.
    assert collision_chance(10**9, length=16).chance == pytest.approx(0.02674, rel=1e-3)
    for people, asked, bits in (
        (2, {"length": 16}, 64),
        (500, {"length": 16}, 64),
        (500, {"format": "base32", "length": 13}, 65),
        (500, {"format": "base64url"}, 132),
    ):
        found = collision_chance(people, **asked)
        assert (found.people, found.bits) == (people, bits)
        assert found.chance == pytest.approx(drawn_apart(people, bits), rel=1e-6)
    assert collision_chance(1).chance == 0
    assert collision_chance(10**299, length=64).chance == 1
    assert collision_chance(10**30, length=64).bits == 256
    assert collision_chance(10**30, format="base64url", length=43).bits == 256
    # The largest number of people within one in a million, by its formula.
    most = int((2**65 * 1e-6) ** 0.5)
    assert collision_chance(most, length=16).is_within
    assert not collision_chance(most + 10, length=16).is_within
    assert repr(collision_chance(1000)).endswith("within the limit (one in 1,000,000)")


@pytest.mark.parametrize("format_", ["hex", "base32", "base64url"])
def test_short_pseudonyms_need_a_number_of_people(frame, format_):
    table = frame({"who": ["Ann", "Bob"]})
    short = {"hex": 31, "base32": 25, "base64url": 21}[format_]
    ask = functools.partial(table.anon.pseudonymize, "who", key=KEY, format=format_)
    with pytest.raises(errors.ArgumentError, match="fewer than the usual 128: say people="):
        ask(length=short)
    assert len(to_rows(ask(length=short + 1))) == 2
    assert len(to_rows(ask(length=short, people=10**6))) == 2
    least = {"hex": 16, "base32": 13, "base64url": 11}[format_]
    with pytest.raises(errors.ArgumentError, match=r"people=1,000,000,000 .* above max_collision="):
        ask(length=least, people=10**9)
    assert len(to_rows(ask(length=least, people=10**9, max_collision=0.03))) == 2


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"people": 0}, "people"),
        ({"people": 2.5}, "people"),
        ({"people": "many"}, "people"),
        ({"people": True}, "people"),
        ({"people": 5, "max_collision": 0}, "max_collision= is a chance"),
        ({"people": 5, "max_collision": 1.5}, "max_collision= is a chance"),
        ({"people": 5, "max_collision": float("nan")}, "max_collision= is a chance"),
        ({"people": 5, "max_collision": "1e-6"}, "max_collision= is a chance"),
        ({"people": 5, "max_collision": True}, "max_collision= is a chance"),
        # The usual length is not safe for everybody either.
        ({"people": 10**17}, "above max_collision="),
    ],
)
def test_numbers_of_people_that_make_no_sense_are_refused(asked, told):
    with pytest.raises(errors.ArgumentError, match=told):
        T.anon.pseudonymize("who", key=KEY, **asked)


def test_two_values_with_one_pseudonym_are_refused(monkeypatch):
    """Forced: pseudonyms of one character, as `Form.of` never allows."""
    forced = pseudonyms.Form("hex", 1)
    monkeypatch.setattr(pseudonyms.Form, "of", classmethod(lambda *_: forced))
    table = pd.DataFrame({"who": [f"Person {i}" for i in range(40)], "at": range(40)})
    for more in ({}, {"period": 1, "time": "at"}):
        ask = functools.partial(table.anon.pseudonymize, "who", key=KEY, **more)
        with pytest.raises(errors.CollisionError, match="share a pseudonym") as raised:
            ask(people=2, max_collision=1)
        assert "Person" not in str(raised.value)
    # One value in many records is no collision.
    same = pd.DataFrame({"who": ["Ann"] * 40})
    assert len(set(same.anon.pseudonymize("who", key=KEY, people=1)["who"])) == 1


def test_the_protector_refuses_short_pseudonyms_too():
    pytest.importorskip("sqlalchemy")
    ask = functools.partial(IdentityProtector, KEY, "sqlite://", admin="officer", length=16)
    with pytest.raises(errors.ArgumentError, match="say people="):
        ask()
    with pytest.raises(errors.ArgumentError, match="above max_collision="):
        ask(people=10**9)
    ask(people=10**9, max_collision=0.03).close()
    ask(people=10**5).close()
