"""Rights: for a recipient, so many persons in any 24 hours, and never by one's own grant."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from keys import KEY

from anonrisk.errors import ArgumentError, NotAllowedError

pytest.importorskip("sqlalchemy")
pytest.importorskip("cryptography")

from kept import WHY, WORK, Clock, do_not_wait, grant, opened

from anonrisk.identity import Event, IdentityProtector
from anonrisk.pseudonyms import hash_chain
from anonrisk.pseudonyms.rights import ANY, DAY, Keeping, StoreSettings

SERVER = pytest.param("postgresql", marks=pytest.mark.nightly)
CLERK = {"scope": "hospital", "by": "clerk", "reason": "test"}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    do_not_wait(monkeypatch)


@pytest.fixture(params=["memory", SERVER])
def keeper(request):
    url = request.getfixturevalue("postgres") if request.param == "postgresql" else "sqlite://"
    with opened(url) as made:
        yield made


def outcomes(keeper, action):
    return [event.outcome for event in keeper.audit(by="officer") if event.action == action]


# ---- who may what --------------------------------------------------------------------------


def test_only_who_was_granted_it_may_do_it(keeper):
    pseudonym = keeper.issue("Ann", scope="hospital", **WORK)
    with pytest.raises(NotAllowedError, match="'clerk' may not reveal for 'hospital'; somebody"):
        keeper.reveal(pseudonym, **CLERK)
    with pytest.raises(PermissionError):
        keeper.grant("clerk", "reveal", scope="hospital", per_day=9, by="clerk", reason="mine")
    grant(keeper, "clerk", "reveal", scope="hospital", per_day=5)
    assert keeper.reveal(pseudonym, **CLERK) == "Ann"
    for call in (
        lambda: keeper.convert(pseudonym, to="insurer", **CLERK),
        lambda: keeper.issue("Bob", **CLERK),
        lambda: keeper.reveal(pseudonym, **{**CLERK, "scope": "insurer"}),
        lambda: keeper.audit(by="clerk"),
        lambda: keeper.rights(by="clerk"),
        lambda: keeper.verify(by="clerk"),
        lambda: keeper.revoke("officer", "audit", by="clerk", reason="test"),
    ):
        with pytest.raises(NotAllowedError, match="'clerk' may not"):
            call()
    keeper.revoke("clerk", "reveal", scope="hospital", **WHY)
    with pytest.raises(NotAllowedError):
        keeper.reveal(pseudonym, **CLERK)
    events = [e for e in keeper.audit(by="officer") if (e.action, e.by) == ("reveal", "clerk")]
    assert [e.outcome for e in events] == ["refused", "done", "refused", "refused"]
    assert {(e.pseudonyms, e.reason) for e in events} == {((pseudonym,), "test")}
    assert all(datetime.fromisoformat(e.at).tzinfo is not None for e in events)


def test_who_issues_cannot_build_the_table_that_reveal_guards(keeper):
    """findfix s4: a clerk with the right to issue asked for all names, and compared."""
    names = [f"person {i}" for i in range(200)]
    published = keeper.issue_all(names, scope="insurer", **WORK)
    grant(keeper, "clerk", "issue", scope="hospital", per_day=1_000)
    with pytest.raises(NotAllowedError, match="may not issue for 'insurer'"):
        keeper.issue_all(names, scope="insurer", by="clerk", reason="test")
    grant(keeper, "clerk", "issue", scope="insurer", per_day=20)
    with pytest.raises(NotAllowedError, match=r"20 persons more for 'insurer' now, not 200"):
        keeper.issue_all(names, scope="insurer", by="clerk", reason="test")
    known = keeper.issue_all(names[:20], scope="insurer", by="clerk", reason="new claims")
    with pytest.raises(NotAllowedError, match=r"may issue 0 persons more"):
        keeper.issue(names[20], scope="insurer", by="clerk", reason="one more")
    assert len(set(known.values()) & set(published.values())) == 20
    event = next(e for e in keeper.audit(by="officer") if e.reason == "new claims")
    assert event.pseudonyms == tuple(sorted(known.values()))
    refused = [e for e in keeper.audit(by="officer") if e.by == "clerk" and e.outcome == "refused"]
    assert [(e.persons, e.pseudonyms) for e in refused] == [(200, ()), (200, ()), (1, ())]


def test_nobody_grants_themselves_anything(keeper):
    for action, more in (("reveal", {"scope": "*", "per_day": 9}), ("rotate", {}), ("grant", {})):
        with pytest.raises(NotAllowedError, match="nobody may grant rights to themselves"):
            keeper.grant("officer", action, **more, **WHY)
    # The first administrator may grant and audit, and nothing else.
    for call in (keeper.issue, keeper.reveal):
        with pytest.raises(NotAllowedError, match="'officer' may not"):
            call("f00d", scope="hospital", **WHY)
    assert outcomes(keeper, "grant")[-3:] == ["refused"] * 3


def test_only_what_was_granted_is_revoked_and_never_the_last_right_to_grant(keeper):
    with pytest.raises(ArgumentError, match="'judge' may not reveal for 'hospital': nothing is"):
        keeper.revoke("judge", "reveal", scope="hospital", **WHY)
    # What was granted for all is not taken back for one.
    with pytest.raises(ArgumentError, match="nothing is taken back"):
        keeper.revoke("worker", "reveal", scope="hospital", **WHY)
    with pytest.raises(NotAllowedError, match="the last person with the right to grant"):
        keeper.revoke("officer", "grant", **WHY)
    keeper.grant("deputy", "grant", **WHY)
    keeper.revoke("officer", "grant", by="deputy", reason="left")
    with pytest.raises(NotAllowedError, match="'officer' may not revoke"):
        keeper.revoke("deputy", "grant", **WHY)
    assert outcomes(keeper, "revoke") == ["unknown", "unknown", "refused", "done", "refused"]


# ---- volumes -------------------------------------------------------------------------------


def test_a_volume_is_of_any_24_hours(keeper, monkeypatch):
    time = Clock(monkeypatch)
    grant(keeper, "clerk", "issue", scope="hospital", per_day=3)
    keeper.issue_all(["a", "b"], **CLERK)
    time.forward(hours=20)
    keeper.issue("c", **CLERK)
    time.forward(hours=3, minutes=59)
    for person in ("d", "a"):
        with pytest.raises(NotAllowedError, match="may issue 0 persons more"):
            keeper.issue(person, **CLERK)
    time.forward(minutes=1)
    with pytest.raises(NotAllowedError, match="2 persons more for 'hospital' now, not 3"):
        keeper.issue_all(["d", "e", "f"], **CLERK)
    keeper.issue_all(["d", "e"], **CLERK)
    time.forward(hours=20)
    with pytest.raises(NotAllowedError):
        keeper.issue_all(["f", "g"], **CLERK)
    keeper.issue("f", **CLERK)
    (right,) = (one for one in keeper.rights(by="officer") if one.person == "clerk")
    assert (right.per_day, right.left) == (3, 0)


def test_granting_anew_does_not_give_the_volume_back(keeper):
    grant(keeper, "clerk", "issue", scope="hospital", per_day=2)
    keeper.issue_all(["a", "b"], **CLERK)
    keeper.revoke("clerk", "issue", scope="hospital", **WHY)
    grant(keeper, "clerk", "issue", scope="hospital", per_day=2)
    with pytest.raises(NotAllowedError, match="0 persons more"):
        keeper.issue("c", **CLERK)
    grant(keeper, "clerk", "issue", scope="hospital", per_day=3)
    keeper.issue("c", **CLERK)


def test_several_grants(keeper):
    grant(keeper, "clerk", "issue", scope="hospital", per_day=2)
    grant(keeper, "clerk", "issue", scope="*", per_day=3)
    keeper.issue_all(["a", "b"], **CLERK)
    left = {one.scope: one.left for one in keeper.rights(by="officer") if one.person == "clerk"}
    assert left == {"hospital": 0, "*": 1}
    # One with room left is enough.
    keeper.issue("c", **CLERK)
    for scope in ("hospital", "insurer"):
        with pytest.raises(NotAllowedError, match="0 persons more"):
            keeper.issue("d", **{**CLERK, "scope": scope})


def test_a_conversion_needs_both_recipients_and_is_one_person(keeper):
    first, second = keeper.issue_all(["a", "b"], scope="hospital", **WORK).values()
    grant(keeper, "clerk", "convert", scope="hospital", per_day=5)
    for to in ("insurer", "hospital"):
        if to == "insurer":
            with pytest.raises(NotAllowedError, match="may not convert for 'insurer'"):
                keeper.convert(first, to=to, **CLERK)
        else:
            assert keeper.convert(first, to=to, **CLERK) == first
    grant(keeper, "clerk", "convert", scope="insurer", per_day=1)
    made = keeper.convert(first, to="insurer", **CLERK)
    with pytest.raises(NotAllowedError, match="0 persons more for 'insurer'"):
        keeper.convert(second, to="insurer", **CLERK)
    with pytest.raises(NotAllowedError, match="0 persons more for 'insurer'"):
        keeper.convert(made, to="hospital", **{**CLERK, "scope": "insurer"})
    left = {one.scope: one.left for one in keeper.rights(by="officer") if one.person == "clerk"}
    assert left == {"hospital": 3, "insurer": 0}
    grant(keeper, "boss", "convert", scope="*", per_day=1)
    keeper.convert(second, to="insurer", **{**CLERK, "by": "boss"})


def test_what_was_refused_or_not_there_is_not_counted(keeper):
    grant(keeper, "clerk", "reveal", scope="hospital", per_day=1)
    for _ in range(3):
        with pytest.raises(LookupError):
            keeper.reveal("f00d", **CLERK)
    pseudonym = keeper.issue("Ann", scope="hospital", **WORK)
    assert keeper.reveal(pseudonym, **CLERK) == "Ann"


def test_a_right_that_goes_between_two_parts(keeper, monkeypatch):
    """What was issued stays, the rest is refused, and both are on record."""
    monkeypatch.setattr("anonrisk.pseudonyms.issuing.PART", 2)
    grant(keeper, "clerk", "issue", scope="hospital", per_day=5)
    from anonrisk.pseudonyms import issuing

    issue = issuing._issue

    def revoked_after(turn, part, doing):
        issue(turn, part, doing)
        turn.record(
            issuing.replace(doing, by="officer", action="revoke", person="clerk", target="issue")
        )

    monkeypatch.setattr(issuing, "_issue", revoked_after)
    with pytest.raises(NotAllowedError, match="'clerk' may not issue for 'hospital'"):
        keeper.issue_all(["a", "b", "c", "d", "e"], **CLERK)
    assert outcomes(keeper, "issue") == ["done", "refused"]
    assert keeper.verify(by="officer").pseudonyms == 2


def test_the_table_of_rights(keeper):
    grant(keeper, "clerk", "issue", scope="hospital", per_day=1_000)
    keeper.issue("Ann", **CLERK)
    rights = keeper.rights(by="officer")
    assert [(one.person, one.action) for one in rights][:2] == [
        ("clerk", "issue"),
        ("officer", "grant"),
    ]
    assert len(rights) == 7
    assert re.search(r"clerk +issue +hospital +1,000 +999\n", repr(rights))


# ---- several at once -----------------------------------------------------------------------


def issue_many(url, number):
    told = 0
    with IdentityProtector(KEY, url) as keeper:
        for i in range(10):
            try:
                keeper.issue(f"{number} {i}", **CLERK)
            except NotAllowedError:
                continue
            told += 1
    return told


def test_writers_in_threads_keep_to_a_volume(tmp_path):
    url = tmp_path / "identities.db"
    with opened(url) as keeper:
        grant(keeper, "clerk", "issue", scope="hospital", per_day=17)
        with ThreadPoolExecutor(4) as pool:
            told = list(pool.map(lambda number: issue_many(url, number), range(4)))
        assert sum(told) == 17
        assert keeper.verify(by="officer").pseudonyms == 17
        assert outcomes(keeper, "issue").count("refused") == 23


def test_several_make_one_store(tmp_path):
    url = tmp_path / "identities.db"

    def make(_):
        with IdentityProtector(KEY, url, admin="officer") as keeper:
            return keeper.head

    with ThreadPoolExecutor(6) as pool:
        heads = set(pool.map(make, range(6)))
    assert len(heads) == 1
    assert heads.pop().startswith("1:")


PROGRAM = """
import sys
sys.path[:0] = sys.argv[3:]
from test_identity_rights import issue_many
print(issue_many(sys.argv[1], int(sys.argv[2])))
"""


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_eight_processes_keep_to_a_volume(request, tmp_path, kind):
    on_server = kind == "postgresql"
    url = request.getfixturevalue("postgres") if on_server else str(tmp_path / "identities.db")
    with opened(url) as keeper:
        grant(keeper, "clerk", "issue", scope="hospital", per_day=33)
        started = [
            subprocess.Popen(
                [sys.executable, "-c", PROGRAM, url, str(number), *sys.path],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for number in range(8)
        ]
        told = 0
        for process in started:
            out, err = process.communicate(timeout=300)
            assert process.returncode == 0, err[-2000:]
            told += int(out)
        assert told == 33
        assert keeper.verify(by="officer").pseudonyms == 33


# ---- against an oracle ---------------------------------------------------------------------

PEOPLE, SCOPES = ("ann", "bob"), ("a", "b")
START = hash_chain.microseconds(datetime(2026, 1, 1, tzinfo=UTC))
RIGHTS = st.sampled_from([("issue", "a"), ("issue", "b"), ("issue", ANY), ("convert", ANY)])


@st.composite
def histories(draw):
    """Events in the order of their times, but where somebody accepted a clock that went back."""
    at, events = START, []
    for number in range(1, draw(st.integers(1, 25))):
        kind = draw(st.sampled_from(["grant", "revoke", "issue", "issue", "convert", "clock"]))
        hours = draw(st.integers(0, 30))
        at += (-hours if kind == "clock" else hours // 3) * DAY // 24
        told = {"number": number, "at": hash_chain.written(at), "by": draw(st.sampled_from(PEOPLE))}
        if kind in ("grant", "revoke"):
            action, scope = draw(RIGHTS)
            per_day = draw(st.integers(1, 6)) if kind == "grant" else None
            about = {"person": draw(st.sampled_from(PEOPLE)), "target": action, "scope": scope}
            events.append(Event(action=kind, per_day=per_day, **about, **told))
        elif kind == "clock":
            events.append(Event(action="accept_clock", **told))
        else:
            outcome = draw(st.sampled_from(["done", "done", "refused", "failed", "unknown"]))
            scope = draw(st.sampled_from(SCOPES))
            to = {"target": draw(st.sampled_from(SCOPES))} if kind == "convert" else {}
            names = tuple("xyz"[: draw(st.integers(1, 3))]) if kind == "issue" else ("x",)
            about = {"scope": scope, "pseudonyms": names, "outcome": outcome, **to}
            events.append(Event(action=kind, **about, **told))
    return events, at + draw(st.integers(0, 30)) * DAY // 24


def left_by_hand(events, now, person, action, scope):
    """Slow and obvious: go through the whole list once for each question."""
    granted = {}
    for event in events:
        if event.action == "grant" and (event.person, event.target) == (person, action):
            granted[event.scope] = event.per_day
        if event.action == "revoke" and (event.person, event.target) == (person, action):
            granted.pop(event.scope, None)
    rooms = []
    for fits in (scope, ANY):
        if fits not in granted:
            continue
        used = 0
        for place, event in enumerate(events):
            mine = (event.by, event.action, event.outcome) == (person, action, "done")
            if mine and (fits == ANY or fits in (event.scope, event.target)):
                used += event.persons * still_counts(events[place:], now)
        rooms.append(max(0, granted[fits] - used))
    return max(rooms) if rooms else None


def still_counts(events, now):
    """Follow one use through the clocks that were accepted after it."""
    moment = last = events[0].moment
    for event in events[1:]:
        if event.action == "accept_clock":
            if moment <= last - DAY:
                return False
            moment = min(moment, event.moment)
        last = event.moment
    return moment > now - DAY


@given(histories(), st.integers(0, 25), st.booleans())
def test_rights_are_what_the_events_say(history, cut, stored):
    events, now = history
    begin = Keeping(StoreSettings("officer"))
    whole = begin.after(events)
    # In two goes, and by way of what an event keeps of those before it.
    first = begin.after(events[:cut])
    if stored:
        first = Keeping.from_dict(first.to_dict())
    parts = first.after(events[cut:])
    for person in PEOPLE:
        for action in ("issue", "convert"):
            for scope in SCOPES:
                right = left_by_hand(events, now, person, action, scope)
                asked = (person, action, scope, now)
                assert whole.left(*asked) == parts.left(*asked) == right


def test_a_clock_that_went_back_gives_no_volume_back(keeper, monkeypatch):
    time = Clock(monkeypatch)
    grant(keeper, "clerk", "issue", scope="hospital", per_day=2)
    time.forward(days=800)
    keeper.issue("a", **CLERK)
    time.forward(days=-800)
    keeper.accept_clock(**WHY)
    keeper.issue("b", **CLERK)
    with pytest.raises(NotAllowedError, match="0 persons more"):
        keeper.issue("c", **CLERK)
    time.now += timedelta(hours=24)
    keeper.issue_all(["c", "d"], **CLERK)
