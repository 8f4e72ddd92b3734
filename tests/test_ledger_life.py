"""A ledger after publishing: what is withdrawn, and what later releases are judged with."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from keys import KEY, OTHER, approvers, person
from released import manifest_of

from anonrisk import Ledger, Manifest, Policy, Release
from anonrisk.errors import (
    ArgumentError,
    LedgerError,
    LedgerMovedError,
    ManifestError,
    ReleaseBlocked,
    SecretKeyError,
    StoreError,
    WrongKeyError,
)
from anonrisk.keys import Key
from anonrisk.releases.ledger.chain import NO_RELEASE, PUBLISH, ROTATE, Chain

sqlalchemy = pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")
POLICY = Policy(quasi="zip", unit="who", k=5, differencing={"k": 5})
OCTOBER = pd.DataFrame({"zip": ["a", "b"] * 20, "who": [f"p{i}" for i in range(40)]})
# One person is gone.
NOVEMBER = OCTOBER.drop(index=7)
WHY = {"by": "Ada", "reason": "ticket 12"}


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)])
def url(request, tmp_path):
    if request.param == "postgresql":
        return request.getfixturevalue("postgres")
    return str(tmp_path / "ledger.db")


@pytest.fixture
def ledger(url):
    return Ledger(url, key=KEY, new=True)


def release(table=OCTOBER, name="10", policy=POLICY, **more):
    return Release({"people": table}, policy, name=name, **more)


def publish(ledger, table=OCTOBER, name="10", **more):
    return release(table, name, **more).publish(ledger, by="Bob")


# ---- withdrawing ----------------------------------------------------------------------------


def test_what_was_received_is_compared_with_after_it_was_withdrawn(ledger):
    manifest = publish(ledger)
    tables = {"tables": {"people": OCTOBER}, "key": KEY, "ledger": ledger}
    manifest.verify([], **tables)
    assert release(NOVEMBER, "11").check(ledger).status == "fail"
    entry = ledger.withdraw("10", **WHY)
    assert (entry.action, entry.release, entry.revision) == ("withdraw", "10", 1)
    assert ledger.entry("10").withdrawn == "recalled"
    with pytest.raises(ManifestError, match="'10' was withdrawn: recalled"):
        manifest.verify([], **tables)
    assert release(NOVEMBER, "11").check(ledger).status == "fail"
    # What is corrected may follow under the name, and only once.
    again = publish(ledger)
    assert ledger.entry("10").revision == 2
    assert not ledger.entry("10").withdrawn
    assert again.verify([], **tables).ledger_entry == 3
    with pytest.raises(ManifestError, match="with another manifest"):
        manifest.verify([], **tables)
    assert publish(ledger) == again
    with pytest.raises(LedgerError, match="withdraw that one first"):
        publish(ledger, audience="others")
    assert [entry.withdrawn for entry in ledger.verify()] == ["recalled", "", ""]
    assert "recalled" in repr(ledger.entries())


def test_what_nobody_received_is_compared_with_no_more(ledger):
    publish(ledger)
    ledger.withdraw("10", received=False, **WHY)
    assert not list(ledger.states("people"))
    assert release(NOVEMBER, "11").check(ledger).status == "pass"
    # Somebody had it after all.
    ledger.withdraw("10", **WHY)
    assert ledger.entry("10").withdrawn == "recalled"
    assert release(NOVEMBER, "11").check(ledger).status == "fail"
    for received in (False, True):
        with pytest.raises(LedgerError, match="withdrawn already: recalled"):
            ledger.withdraw("10", received=received, **WHY)
    assert len(ledger.verify()) == 3


def test_of_several_revisions_it_is_said_which_is_withdrawn(ledger):
    publish(ledger)
    ledger.withdraw("10", received=False, **WHY)
    publish(ledger, NOVEMBER)
    assert release(NOVEMBER, "11").check(ledger).status == "pass"
    said = r"nobody received it: revision=1 \(--revision 1\) if somebody did, revision=2"
    with pytest.raises(LedgerError, match=said):
        ledger.withdraw("10", **WHY)
    assert ledger.withdraw("10", revision=1, **WHY).revision == 1
    assert [entry.withdrawn for entry in ledger.verify()] == ["recalled", "", "", ""]
    assert "10 (revision 2)" in repr(ledger.entries())
    assert release(NOVEMBER, "11").check(ledger).status == "fail"
    with pytest.raises(LedgerError, match="'10', revision 1, was withdrawn already: recalled"):
        ledger.withdraw("10", revision=1, **WHY)
    with pytest.raises(LedgerError, match="'10', revision 3, is not in the ledger"):
        ledger.withdraw("10", revision=3, **WHY)
    with pytest.raises(ArgumentError, match="revision must be a whole number"):
        ledger.withdraw("10", revision="1", **WHY)
    # No other can be meant now.
    assert ledger.withdraw("10", **WHY).revision == 2


def test_only_what_was_published_is_withdrawn(ledger):
    publish(ledger)
    for name in ("11", "", None):
        with pytest.raises(LedgerError, match="is not in the ledger"):
            ledger.withdraw(name, **WHY)
    for wrong in ({"by": " "}, {"reason": ""}, {"received": 1}):
        with pytest.raises(ArgumentError):
            ledger.withdraw("10", **{**WHY, **wrong})
    assert len(ledger.entries()) == 1


def test_who_has_checked_before_something_was_withdrawn_checks_again(ledger):
    publish(ledger)
    before = ledger.head
    ledger.withdraw("10", received=False, **WHY)
    with pytest.raises(LedgerMovedError, match=r"\(withdraw of release '10' by Ada\)"):
        ledger.append(manifest_of(previous=before).sealed(KEY))


# ---- before the first publication -----------------------------------------------------------


def test_a_ledger_is_made_with_its_first_entry(url, tmp_path):
    planned = Ledger(url, key=KEY, new="when published")
    assert release().check(planned).status == "pass"
    assert len(planned.verify(head=planned.head)) == 0
    with pytest.raises(ReleaseBlocked):
        publish(planned, OCTOBER.head(3))
    for call in (
        lambda: planned.withdraw("10", **WHY),
        lambda: planned.accept_clock(**WHY),
        lambda: planned.manifest("10"),
        lambda: Ledger(url, key=KEY),
    ):
        with pytest.raises(LedgerError, match=r"there is no ledger|is not in the ledger"):
            call()
    assert not list(tmp_path.iterdir())
    other = Ledger(url, key=KEY, new="when published")
    publish(planned)
    assert [entry.release for entry in Ledger(url, key=KEY).verify()] == ["10"]
    assert planned.entry("10").number == 1
    # Of two who are the first, one is.
    with pytest.raises(LedgerError, match="holds a ledger already"):
        publish(other, name="11")
    with pytest.raises(LedgerError, match="holds a ledger already"):
        Ledger(url, key=KEY, new="when published")
    with pytest.raises(ArgumentError, match="new= is True, False or 'when published'"):
        Ledger(url, key=KEY, new="yes")


# ---- a policy that asks for less ------------------------------------------------------------

ABOUT = {"quasi": ["zip"], "unit": "who", "name": "people 1"}
STRICT = {"k": 5, "differencing": {"k": 5}, "max_unique_fraction": 0.1}


def weakened(made, ledger):
    return [item for item in made.check(ledger).findings if "asks for less" in item.sentence]


@pytest.mark.parametrize(
    ("about", "budgets", "told"),
    [
        ({}, {"k": 4}, "at least 5"),
        ({}, {"max_unique_fraction": 0.2}, "0.1"),
        ({}, {"k": {"at_least": 5, "severity": "warn"}}, "warn"),
        (
            {},
            {"differencing": {"k": 4}},
            "at most 0 (k 5); now it is differencing of zip at most 0",
        ),
        ({}, {"differencing": {"k": 5, "at_most": 3}}, "differencing"),
        ({}, {"max_unique_fraction": None}, "nothing like it"),
        ({"name": "people 2"}, {}, "It was called people 1 and is called people 2"),
        ({"name": None}, {}, "is called no name"),
        ({"quasi": ["sex"], "insensitive": ["zip"]}, {}, "zip"),
        ({"unlisted": "ignore"}, {}, "unlisted was refuse; now it is ignore"),
        ({"missing_sensitive": "value"}, {}, "missing_sensitive was unset; now it is value"),
        (
            {"missing_sensitive": "drop", "max_dropped_fraction": 1.0},
            {},
            "max_dropped_fraction was unset; now it is 1.0",
        ),
        ({"stable_unit": "numbers of members"}, {}, "The unit is said to be stable now"),
        (
            {"acknowledged": [{"column": "zip", "doubt": "names", "reason": "codes"}]},
            {},
            "The doubt names about 'zip' is acknowledged now",
        ),
    ],
)
def test_a_policy_that_asks_for_less_is_approved_by_somebody(ledger, about, budgets, told):
    table = OCTOBER.assign(sex="f")
    roles = {"insensitive": ["sex"], **ABOUT}
    publish(ledger, table, policy=Policy(**roles, **STRICT))
    asked = {name: item for name, item in {**STRICT, **budgets}.items() if item is not None}
    who = approvers("Bob", "Ada")
    made = release(table, "11", policy=Policy(**{**roles, **about}, **asked), approvers=who)
    (finding,) = weakened(made, ledger)
    assert (finding.status, finding.budget) == ("fail", "approvals")
    assert told in finding.sentence
    with pytest.raises(ReleaseBlocked, match="asks for less than in release 10"):
        made.publish(ledger, by="Bob")
    agreed = [made.approve(person(name), ledger_key=KEY) for name in who]
    with pytest.raises(ReleaseBlocked, match="asks for less"):
        made.publish(ledger, by="Bob", approvals=agreed[:1])
    verdict = made.check(ledger, approvals=agreed)
    assert verdict.status == "pass"
    assert "Approved by" in " ".join(item.sentence for item in verdict.findings)
    made.publish(ledger, by="Bob", approvals=agreed)
    # From then on it is the policy of the release before.
    assert not weakened(release(table, "12", policy=made.policies["people"]), ledger)


def test_a_policy_that_asks_for_more_or_the_same_needs_nobody(ledger):
    publish(ledger, policy=Policy(**ABOUT, **STRICT))
    for more in ({}, {"k": 6}, {"max_unique_fraction": 0}, {"differencing": {"k": 6}}):
        asked = Policy(**ABOUT, **{**STRICT, **more})
        assert not weakened(release(name="11", policy=asked), ledger)


def test_another_name_makes_no_room_for_a_weaker_policy(ledger):
    weak = Policy(**ABOUT, **{**STRICT, "k": 4})

    def made(table, name, policy=weak):
        return Release({table: OCTOBER}, policy, name=name, approvers=approvers("Ada"))

    made("people", "10", Policy(**ABOUT, **STRICT)).publish(ledger, by="Bob")
    (finding,) = weakened(made("people_v2", "11"), ledger)
    assert "table people_v2 asks for less than in release 10, table people." in finding.sentence
    with pytest.raises(ReleaseBlocked, match="asks for less"):
        made("people_v2", "11").publish(ledger, by="Bob")
    agreed = made("people_v2", "11").approve(person("Ada"), ledger_key=KEY)
    made("people_v2", "11").publish(ledger, by="Bob", approvals=[agreed])
    assert not weakened(made("people_v2", "12"), ledger)
    # What was agreed to for that table was not for this one.
    assert weakened(made("people", "12"), ledger)
    # Of the revision that had the table, not of the one that has no such table any more.
    ledger.withdraw("11", **WHY)
    other = Release(
        {"x": OCTOBER.rename(columns={"zip": "y"})},
        Policy(quasi="y", unit="who", k=2, differencing={"k": 2}),
        name="11",
    )
    other.publish(ledger, by="Bob")
    assert not weakened(made("people_v2", "12"), ledger)


def test_a_table_beside_it_makes_no_room_for_a_weaker_policy(ledger):
    strict, weak = (Policy(**ABOUT, k=k, differencing={"k": k, "net": True}) for k in (5, 2))
    others = OCTOBER.assign(who="other " + OCTOBER["who"])
    publish(ledger, policy=strict)
    both = {"people": OCTOBER, "x": others}
    made = Release(both, {"people": strict, "x": weak}, name="11")
    made.publish(ledger, by="Bob")
    assert Release(both, {"people": strict, "x": weak}, name="12").check(ledger).passed
    # The people of the one under the name of the other.
    (finding,) = weakened(Release({"x": OCTOBER}, weak, name="12"), ledger)
    assert "than in release 11, table people." in finding.sentence


# ---- another key ----------------------------------------------------------------------------


def change(url, *statements):
    address = url if "://" in url else f"sqlite:///{url}"
    engine = sqlalchemy.create_engine(address, poolclass=sqlalchemy.NullPool)
    with engine.begin() as connection:
        return [connection.execute(sqlalchemy.text(item)) for item in statements]


def test_after_a_rotation_only_the_new_key_opens_the_ledger(ledger, url):
    pytest.importorskip("cryptography")
    publish(ledger)
    kept, behind = ledger.head, Ledger(url, key=KEY)
    entry = ledger.rotate(OTHER, **WHY)
    assert (entry.number, entry.action) == (2, "rotate")
    assert ledger.key == OTHER
    for old in (lambda: Ledger(url, key=KEY), behind.entries, lambda: publish(behind, name="x")):
        with pytest.raises(WrongKeyError, match="rotated"):
            old()
    for opened in (ledger, Ledger(url, key=OTHER)):
        assert len(opened.verify(head=kept)) == 2
        # What was published before is compared with, and persons are found again.
        assert release(NOVEMBER, "11").check(opened).status == "fail"
        mended = release(NOVEMBER, "11").mend(opened, leavers="keep", previous=OCTOBER)
        assert mended.verdict.passed
    mended.release.publish(ledger, by="Bob")
    for key in (OTHER, KEY, OTHER.reveal()):
        with pytest.raises(ArgumentError, match="has or had this key"):
            ledger.rotate(key, **WHY)
    third = Key.generate()
    ledger.rotate(third, **WHY)
    again = Ledger(url, key=third)
    assert [item.action for item in again.verify(head=kept)] == [
        *("publish", "rotate", "publish", "rotate")
    ]
    assert release(NOVEMBER, "12").check(again).status == "fail"
    assert again.state_key == KEY


def test_whoever_has_an_old_key_changes_nothing(ledger, url):
    pytest.importorskip("cryptography")
    publish(ledger)
    ledger.rotate(OTHER, **WHY)
    publish(ledger, name="11")
    old = Chain.of(KEY, ledger._chain.ledger, states=KEY)
    entries = ledger.entries()
    about = {**NO_RELEASE, "by": "Eve", "at": entries[-1].at, "reason": "x"}
    for action, after in ((PUBLISH, entries[0]), (ROTATE, entries[0]), (PUBLISH, entries[2])):
        forged, content = old.link(after.head, {**about, "action": action})
        query = f"SELECT * FROM anonrisk_ledger WHERE number <= {after.number} ORDER BY number"
        with ledger._engine.connect() as connection:
            stored = connection.execute(sqlalchemy.text(query)).all()
        row = SimpleNamespace(number=forged.number, release="", content=content, seal=forged.seal)
        with pytest.raises(LedgerError, match=r"was changed|end was cut off"):
            ledger._chain.entries([*stored, row])
    change(url, "UPDATE anonrisk_ledger_about SET value = 'f00d' WHERE name = 'state key'")
    with pytest.raises(StoreError, match="the state key that is kept in the store was changed"):
        Ledger(url, key=OTHER)


def test_a_rotation_that_is_cut_off_is_noticed(ledger, url):
    pytest.importorskip("cryptography")
    publish(ledger)
    kept = ledger.rotate(OTHER, **WHY).head
    change(url, "DELETE FROM anonrisk_ledger WHERE number = 2")
    with pytest.raises(LedgerError, match="its end was cut off"):
        Ledger(url, key=OTHER).entries()
    assert kept.startswith("2:")


def test_a_rotation_that_fails_leaves_the_old_key(ledger, url, monkeypatch):
    pytest.importorskip("cryptography")
    publish(ledger)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "_parts", lambda *_: 1 / 0)
        with pytest.raises(StoreError):
            ledger.rotate(OTHER, **WHY)
    assert ledger.key == KEY
    assert len(ledger.verify()) == len(Ledger(url, key=KEY).verify()) == 1
    with pytest.raises(SecretKeyError, match="makes one"):
        ledger.rotate(b"changeme", **WHY)


# ---- what is old ----------------------------------------------------------------------------


def test_old_states_go_and_the_last_of_every_table_stays(ledger, monkeypatch):
    days = iter(("2036-01-01", *(f"2026-0{month}-01" for month in (2, 3, 4, 5, 6))))
    at = f"{next(days)}T12:00:00+00:00"
    monkeypatch.setattr("anonrisk.releases.ledger.ledger.current_time", lambda: at)
    # Tables were checked today, by the clock of this machine.
    monkeypatch.setattr(Manifest, "refuse_contradictions", lambda _: None)

    def append(name, *tables):
        manifest = manifest_of(release=name, previous=ledger.head, at=at)
        ledger.append(manifest.sealed(KEY), {table: table.encode() for table in tables})

    # The first clock was ten years ahead.
    append("1", "people", "once")
    at = f"{next(days)}T12:00:00+00:00"
    ledger.accept_clock(**WHY)
    for name in ("3", "4"):
        at = f"{next(days)}T12:00:00+00:00"
        append(name, "people")
    at = f"{next(days)}T12:00:00+00:00"
    append("5", "people")
    ledger.withdraw("5", received=False, **WHY)
    at = f"{next(days)}T12:00:00+00:00"
    assert ledger.expire(dt.date(2026, 2, 1), **WHY) is None
    assert len(ledger.entries()) == 6
    entry = ledger.expire(dt.date(2026, 4, 1), **WHY)
    assert entry.details == {"states": {"1": {"people": None}, "3": {"people": None}}}
    assert {item.release: item.tables for item in ledger.verify() if item.tables} == {
        "1": ("once",),
        "4": ("people",),
        "5": ("people",),
    }
    # The last that is held stays, and what followed it: somebody may have received that after all.
    assert ledger.expire(dt.date(2030, 1, 1), **WHY) is None
    append("6", "people")
    ledger.expire(dt.date(2030, 1, 1), **WHY)
    assert {item.release: item.tables for item in ledger.verify() if item.tables} == {
        "1": ("once",),
        "6": ("people",),
    }
    assert ledger.manifest("5").release == "5"
    assert ledger.expire(dt.date(2030, 1, 1), **WHY) is None
    for wrong in ("2026-01-01", None, dt.datetime(2026, 1, 1, tzinfo=dt.UTC)):
        with pytest.raises(ArgumentError, match="must be a date"):
            ledger.expire(wrong, **WHY)


def test_what_expired_is_compared_with_no_more(ledger):
    publish(ledger)
    publish(ledger, OCTOBER.iloc[10:].reset_index(drop=True), name="11")
    tomorrow = dt.datetime.now(dt.UTC).date() + dt.timedelta(days=1)
    later = release(name="12")
    assert later.check(ledger).earlier == ("10", "11")
    ledger.expire(tomorrow, **WHY)
    assert later.check(ledger).earlier == ("11",)
    # Nothing else of the table is left.
    with pytest.raises(LedgerError, match=r"'10' were .* because '11' followed"):
        ledger.withdraw("11", received=False, **WHY)
    publish(ledger, OCTOBER.iloc[10:].reset_index(drop=True), name="12")
    assert ledger.withdraw("11", received=False, **WHY).action == "withdraw"


def test_the_last_state_of_every_audience_stays(ledger):
    tomorrow = dt.datetime.now(dt.UTC).date() + dt.timedelta(days=1)
    publish(ledger, audience="a")
    publish(ledger, NOVEMBER.drop(index=range(8, 30)), name="11", audience="b", separate=["a"])
    assert ledger.expire(tomorrow, **WHY) is None
    with pytest.raises(LedgerError, match="without them first, for a, with this"):
        ledger.erase("p7", **WHY)
    assert release(NOVEMBER, "12", audience="a", separate=["b"]).check(ledger).status == "fail"


# ---- who is erased --------------------------------------------------------------------------


@pytest.mark.parametrize("whole", [False, True])
def test_an_erased_person_is_in_no_state(ledger, url, whole):
    table = OCTOBER.assign(ill=["flu", "cold", "gout", "flu"] * 10)
    asked = {
        "policy": Policy(
            quasi="zip", unit="who", sensitive="ill", k=2, differencing={"k": 2, "at_most": 99}
        )
    }
    person = "p7"
    if whole:
        table["who"] = range(40)
        person = "7"
    publish(ledger, table, **asked)
    publish(ledger, table, name="11", **asked)
    with pytest.raises(LedgerError, match=r"'11', has this person: publish one without them"):
        ledger.erase(person, **WHY)
    rest = table.drop(index=7).reset_index(drop=True)
    publish(ledger, rest, name="12", **asked)
    kept = ledger.head
    entry = ledger.erase(person, **WHY)
    assert set(entry.details["states"]) == {"1", "2"}
    about = {"unit": "who", "sensitive": "ill", "key": KEY}
    before, after = (item.anon.state("zip", **about).counts for item in (table, rest))
    gone, nobody = set(), set()
    for opened in (ledger, Ledger(url, key=KEY)):
        assert len(opened.verify(head=kept)) == 4
        first, second, last = (state.counts for _, state in opened.states("people"))
        assert first == second != before
        assert last == after
        gone |= {*map(tuple, before.persons)} - {*map(tuple, first.persons)}
        nobody |= {*map(tuple, first.persons)} - {*map(tuple, before.persons)}
        # Nothing but the person is another one, in every state the same.
        ((was,), (current,)) = gone, nobody
        assert before.renamed(np.array([was]), np.array([current])) == first
    with pytest.raises(LedgerError, match="no state in the ledger has this person"):
        ledger.erase(person, **WHY)
    for nobody in ("nobody", 3.5):
        with pytest.raises(LedgerError, match="no state in the ledger has this person"):
            ledger.erase(nobody, **WHY)
    # Who puts the old state back is noticed.
    again = table.anon.state("zip", **about).to_bytes()
    with ledger._engine.begin() as connection:
        text = "UPDATE anonrisk_ledger_part SET data = :data WHERE number = 1 AND kind = 'state'"
        connection.execute(sqlalchemy.text(text), {"data": again})
    with pytest.raises(LedgerError, match="state of table 'people' in entry 1"):
        ledger.verify()


@pytest.mark.parametrize("leavers", ["keep", "drop"])
def test_whoever_left_with_an_erased_person_stays_hidden(ledger, leavers):
    publish(ledger)
    asked = {"leavers": leavers, "previous": {"people": OCTOBER}, "erased": ["p7"]}
    mended = release(OCTOBER.drop(index=7).reset_index(drop=True), "11").mend(ledger, **asked)
    mended.release.publish(ledger, by="Bob")
    assert mended.price.n_persons - len(mended.tables["people"]) == 4
    ledger.erase("p7", **WHY)
    assert release(mended.tables["people"], "12").check(ledger).passed
    # Whoever comes back is one of those who are seen to be gone.
    assert release(OCTOBER, "12").check(ledger).status == "fail"


def test_a_table_that_was_left_out_goes_out_once_more_before_an_erasure(ledger):
    visits = OCTOBER.rename(columns={"zip": "ward"})
    policies = {
        "people": POLICY,
        "visits": Policy(quasi="ward", unit="who", k=5, differencing={"k": 5}),
    }

    def made(name, **tables):
        return Release(tables, {table: policies[table] for table in tables}, name=name)

    made("10", people=OCTOBER, visits=visits).publish(ledger, by="Bob")
    less = made("11", people=OCTOBER).mend(ledger, leavers="drop", erased=["p7"]).release
    less.publish(ledger, by="Bob")
    with pytest.raises(LedgerError, match=r"'visits', '10', .* with this table once more, judged"):
        ledger.erase("p7", **WHY)
    # What the ledger would have missed, had it forgotten them there.
    assert made("12", visits=visits.drop(index=7)).check(ledger).status == "fail"
    both = made("12", people=less.tables["people"], visits=visits)
    again = both.mend(ledger, leavers="drop", erased=["p7"])
    assert again.verdict.passed
    again.release.publish(ledger, by="Bob")
    assert {*ledger.erase("p7", **WHY).details["states"]} == {"1"}


def test_from_a_table_that_ended_a_person_is_erased_and_is_missed_if_it_comes_back(ledger):
    publish(ledger)
    for wrong, match in ((["peple"], "did you mean 'people'"), ("people", "ended= is a list")):
        with pytest.raises(ArgumentError, match=match):
            ledger.erase("p7", **WHY, ended=wrong)
    with pytest.raises(LedgerError, match=r"or say that this table .* \(ended=, --ended\)"):
        ledger.erase("p7", **WHY)
    entry = ledger.erase("p7", **WHY, ended=["people", "people"])
    assert entry.details["ended"] == ["people"]
    assert ledger.verify()[-1] == entry
    ((_, state),) = ledger.states("people")
    before = OCTOBER.anon.state("zip", unit="who", key=KEY).counts
    assert len({*map(tuple, before.persons)} & {*map(tuple, state.counts.persons)}) == 39
    # Whether the person is in it or not, somebody is seen to have gone alone ...
    for table in (NOVEMBER, OCTOBER):
        assert release(table, "11").check(ledger).status == "fail"
        other = Release({"others": table}, POLICY, name="11")
        assert other.check(ledger).status == "fail"
    # ... and with others that go as well, the table may follow.
    mended = release(NOVEMBER.reset_index(drop=True), "11").mend(ledger, leavers="drop")
    assert mended.verdict.passed
    assert len(mended.tables["people"]) == 35


def test_an_erasure_holds_after_a_withdrawal_and_under_another_key(ledger):
    pytest.importorskip("cryptography")
    publish(ledger)
    ledger.withdraw("10", received=False, **WHY)
    ledger.rotate(OTHER, **WHY)
    # Somebody may have received it after all: nobody would see that they alone are gone.
    with pytest.raises(LedgerError, match="'10', has this person"):
        ledger.erase("p7", **WHY)
    publish(ledger, NOVEMBER, name="11")
    ledger.erase("p7", **WHY)
    ledger.withdraw("10", **WHY)
    state, _ = (state for _, state in ledger.states("people"))
    before = OCTOBER.anon.state("zip", unit="who", key=KEY).counts
    assert len({*map(tuple, before.persons)} & {*map(tuple, state.counts.persons)}) == 39
    assert len(ledger.verify()) == 6
    # Only that release lacks them.
    with pytest.raises(LedgerError, match=r"'10' were .*erase\) because '11' followed"):
        ledger.withdraw("11", received=False, **WHY)


def test_states_without_a_unit_hold_no_person(ledger):
    policy = Policy(quasi="zip", k=2, insensitive="who", differencing={"k": 2, "net": True})
    publish(ledger, policy=policy)
    with pytest.raises(LedgerError, match="no state in the ledger has this person"):
        ledger.erase("p7", **WHY)
