"""Releases: several tables, several times; what passes one by one may fail together."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keys import KEY, approvers, person

import anonrisk
from anonrisk import Ledger, Policy, Release, ReleaseBlocked, ReleaseVerdict
from anonrisk.cli import formats
from anonrisk.cli.output import Outcome
from anonrisk.engines.reading.files import FORMATS
from anonrisk.errors import (
    AnonRiskError,
    ArgumentError,
    LedgerMovedError,
    ManifestError,
    PolicyError,
    UnreadableTableError,
)
from anonrisk.releases.release import check as release_check
from anonrisk.releases.release import parts as release_parts
from anonrisk.releases.release.contents import TableFiles

pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")

SCHEMA = Path(anonrisk.__file__).parent / "releases" / "schema.json"
# Six people in each of two classes, with two illnesses in each.
PEOPLE = pd.DataFrame(
    {
        "who": [f"p{i:02d}" for i in range(12)],
        "zip": ["1011"] * 6 + ["1012"] * 6,
        "illness": ["flu", "gout"] * 6,
    }
)
POLICY = Policy(
    quasi="zip",
    sensitive="illness",
    unit="who",
    missing_sensitive="error",
    k=5,
    ldiv={"l": 2},
    differencing={"k": 5},
)
WAIVER = {
    "budget": "differencing",
    "table": "people",
    "reason": "agreed",
    "owner": "A. Officer",
    "expires": "2999-12-31",
}
ASKED = {"approvals": 2, "approvers": approvers("Ada", "Grace", "Linus")}


@pytest.fixture
def ledger(tmp_path):
    tmp_path.chmod(0o700)
    return Ledger(tmp_path / "ledger.db", key=KEY, new=True)


def release(people=PEOPLE, name="first", policy=POLICY, **more):
    return Release({"people": people}, policy, name=name, **more)


def found(verdict, budget="differencing", table="people"):
    (one,) = [one for one in verdict.tables[table].findings if one.budget == budget]
    return one


# ---- after earlier releases ---------------------------------------------------------------------


def test_two_releases_that_each_pass_and_differ_by_one_person_fail(ledger):
    second = PEOPLE.drop(index=11)
    alone = Policy.from_dict(
        {**POLICY.to_dict(), "budgets": {"k": 5, "ldiv": {"l": 2}}},
    )
    assert alone.check(PEOPLE).passed
    assert alone.check(second).passed
    release().publish(ledger, by="me")
    verdict = release(second, "second").check(ledger)
    one = found(verdict)
    assert (verdict.status, one.status, one.value, one.limit) == ("fail", "fail", 1, 0)
    assert one.sentence.endswith("Compared with first.")
    assert verdict.earlier == ("first",)
    with pytest.raises(ReleaseBlocked, match="1 person is exposed"):
        release(second, "second").publish(ledger, by="me")
    assert [entry.release for entry in ledger.entries()] == ["first"]


def test_the_same_once_more_tells_nothing_new_and_is_written_once(ledger):
    first = release().publish(ledger, by="me")
    assert release().check(ledger).passed
    again = release().publish(ledger, by="me")
    assert again.sha256 == first.sha256
    assert len(ledger.entries()) == 1
    second = release(name="second").publish(ledger, by="me")
    assert second.previous == ledger.entries()[0].head


def test_without_a_ledger_nobody_can_tell(ledger):
    verdict = release().check()
    assert verdict.status == "could_not_assess"
    assert "needs a release and a ledger" in found(verdict).sentence
    assert release().check(ledger).passed


def test_all_audiences_share_unless_they_are_separate(ledger):
    release(audience="insurers").publish(ledger, by="me")
    second = PEOPLE.drop(index=11)
    assert release(second, "second", audience="researchers").check(ledger).status == "fail"
    apart = release(second, "second", audience="researchers", separate="insurers").check(ledger)
    assert apart.passed
    assert apart.earlier == ()
    assert "not with those for insurers, who share nothing" in repr(apart)


def test_every_earlier_release_is_compared_and_the_worst_is_told(ledger):
    release().publish(ledger, by="me")
    more = pd.concat([PEOPLE, PEOPLE.assign(who=PEOPLE["who"] + "x")], ignore_index=True)
    release(more, "second").publish(ledger, by="me")
    # Nobody is alone in the difference to the second, one person is in that to the first.
    third = release(pd.concat([PEOPLE, more.tail(7)], ignore_index=True), "third").check(ledger)
    assert third.earlier == ("first", "second")
    assert "The worst of 3 comparisons" in found(third).sentence


def test_comparisons_are_one_object_that_prints(ledger):
    assert len(release().compare(ledger)) == 0
    assert "No table of the release was published before" in repr(release().compare(ledger))
    release().publish(ledger, by="me")
    compared = release(PEOPLE.drop(index=11), "second").compare(ledger)
    (one,) = compared.of("people")
    assert compared.of("others") == ()
    assert [(each.table, each.since) for each in compared] == [("people", "first")]
    assert one.comparison.exposed(5) == 1
    assert compared.to_dict() == {"compared": [one.to_dict()]}
    assert repr(one).startswith("people, since first\nComparison of zip: 12 persons before, 11 now")
    title, header, row = repr(compared).splitlines()
    assert title == "1 comparison with earlier releases"
    assert header.split() == [
        *("table", "since", "before", "now"),
        *("in", "groups", "below", "5", "value", "learned", "of"),
    ]
    assert row.split() == ["people", "first", "12", "11", "1", "1"]


def test_what_is_no_ledger_and_no_approval_is_told(ledger, tmp_path):
    for wrong, kind in ((None, "None"), (str(tmp_path / "ledger.db"), "a str"), (7, "an int")):
        for takes in (lambda one: release().publish(one, by="me"), release().compare):
            with pytest.raises(
                ArgumentError, match=rf"the ledger is an anonrisk\.Ledger, not {kind}:"
            ):
                takes(wrong)
    with pytest.raises(ArgumentError, match=r"the ledger is an anonrisk\.Ledger, not a str"):
        release().check("ledger.db")
    with pytest.raises(ArgumentError, match="the url of a ledger is a path, or that of a database"):
        Ledger(None, key=KEY)
    manifest = release().publish(ledger, by="me")
    with pytest.raises(ArgumentError, match=r"ledger= takes an anonrisk\.Ledger, not an int"):
        manifest.verify([], key=KEY, ledger=7)
    for wrong in (None, "B. Board", ["B. Board"]):
        with pytest.raises(
            ArgumentError, match=r"approvals= is a list of what Release\.approve returns"
        ):
            release().check(ledger, approvals=wrong)


def test_a_ledger_without_the_budget_is_no_pass_from_the_first_release_on(ledger):
    verdict = release(policy=Policy(quasi="zip", insensitive=["who", "illness"], k=5)).check(ledger)
    assert found(verdict).status == verdict.status == "could_not_assess"
    assert "add the budget differencing, as differencing: {k: 5}" in found(verdict).sentence


@pytest.mark.parametrize("change", ["came", "stayed"])
@pytest.mark.parametrize("of_all", [None, {"k": 1}, {"k": 1, "ldiv": {"l": 2, "severity": "warn"}}])
def test_who_knows_some_of_the_columns_learns_what_no_class_of_all_columns_tells(
    ledger, change, of_all
):
    budgets = {"k": 5, "ldiv": {"l": 2}}
    policy = Policy.from_dict(
        {
            "version": 1,
            "roles": {"quasi": ["zip", "age"], "sensitive": ["illness"], "unit": "who"},
            "missing_sensitive": "error",
            "qids": [
                {"columns": ["zip"], "budgets": {**budgets, "differencing": {"k": 5}}},
                {"columns": ["age"], "budgets": budgets},
                *([] if of_all is None else [{"columns": ["zip", "age"], "budgets": of_all}]),
            ],
        }
    )

    def rows(start, n, zipped, age, *ill):
        whole = {"who": range(start, start + n), "zip": zipped, "age": age}
        return pd.DataFrame(whole).assign(illness=[ill[i % len(ill)] for i in range(n)])

    here = rows(0, 10, "1011", 40, "flu", "gout")
    away = [rows(100 * age, 10, "1012", age, "flu", "gout") for age in (30, 40, 50)]
    if change == "came":
        # Whoever knows the five newcomers of 1011 sees that all five new rows say hiv.
        tables, n = ([here, *away], [here, rows(10, 5, "1011", 30, "hiv"), *away]), 5
    else:
        # Whoever knows who stays in 1011 sees which row does.
        one, others = rows(10, 1, "1011", 30, "flu"), rows(20, 10, "1011", 50, "flu", "gout")
        tables, n = ([here, one, *away], [others, one, *away]), 1
    first, second = (pd.concat(item, ignore_index=True) for item in tables)
    release(first, policy=policy).publish(ledger, by="me")
    assert policy.check(second).findings[0].passed
    assert found(release(second, "second", policy).check(ledger)).value == n
    # Where nothing changes, nothing is told.
    assert release(first, "second", policy).check(ledger).passed


@pytest.mark.parametrize("renamed", [False, True])
@pytest.mark.parametrize("change", ["came", "moved", "came again"])
@pytest.mark.parametrize("means", ["value", "drop"])
def test_a_missing_value_that_counts_as_none_hides_nobody(ledger, means, change, renamed):
    some = pd.DataFrame({"who": list("abcdef"), "zip": "1011", "illness": ["hiv"] * 5 + [None]})
    before = {
        "came": PEOPLE,
        "moved": pd.concat([PEOPLE, some.assign(zip="1012")]),
        "came again": pd.concat([PEOPLE, some.assign(illness=["flu", "gout"] * 3)]),
    }[change]
    now = pd.concat([before if change == "came again" else PEOPLE, some])
    before, now = (table.reset_index(drop=True) for table in (before, now))
    if renamed:
        now["who"] += " again"
    policy = Policy(
        quasi="zip",
        sensitive="illness",
        unit="who",
        missing_sensitive=means,
        max_dropped_fraction=0.5 if means == "drop" else None,
        k=5,
        ldiv={"l": 2},
        differencing={"k": 5, "net": True},
    )
    release(before, policy=policy).publish(ledger, by="me")
    one = found(release(now, "second", policy).check(ledger))
    # By net changes, five at least have come again with hiv.
    told = means == "drop" or (change == "came again" and renamed)
    assert one.status == ("fail" if told else "pass")


def test_a_table_of_another_name_is_the_same_table(ledger):
    release().publish(ledger, by="me")
    verdict = Release({"people_v2": PEOPLE.drop(index=11)}, POLICY, name="second").check(ledger)
    one = found(verdict, table="people_v2")
    assert (one.status, one.value) == ("fail", 1)
    assert one.sentence.endswith("Compared with first, table people.")
    assert verdict.earlier == ("first",)
    # New pseudonyms and a new name at once: nobody can tell.
    other = PEOPLE.assign(who=PEOPLE["who"] + "x")
    rotated = Release({"people_v2": other}, POLICY, name="second").check(ledger)
    assert found(rotated, table="people_v2").status == "could_not_assess"


def test_tables_of_other_people_beside_each_other_keep_their_names(ledger):
    south = PEOPLE.assign(who=PEOPLE["who"] + "s")
    Release({"north": PEOPLE, "south": south}, POLICY, name="first").publish(ledger, by="me")
    assert Release({"north": PEOPLE, "south": south}, POLICY, name="second").check(ledger).passed
    # The people of the north but one, beside a north as it was.
    tables = {"north": PEOPLE, "south": PEOPLE.drop(index=11)}
    verdict = Release(tables, POLICY, name="second").check(ledger)
    assert found(verdict, table="south").status != "pass"
    more = {"north": PEOPLE, "south": south, "north_v2": PEOPLE.drop(index=11)}
    verdict = Release(more, POLICY, name="second").check(ledger)
    assert (found(verdict, table="north_v2").value, verdict.status) == (1, "fail")


def test_another_unit_or_other_columns_cannot_be_compared(ledger):
    release().publish(ledger, by="me")
    other = Policy.from_dict(POLICY.to_dict()).with_roles(sensitive=["other"])
    verdict = release(PEOPLE.rename(columns={"illness": "other"}), "second", other).check(ledger)
    assert found(verdict).status == "could_not_assess"
    assert "sensitive" in found(verdict).sentence


def test_a_waiver_lets_it_pass_and_stands_in_the_manifest(ledger):
    release().publish(ledger, by="me")
    second = release(PEOPLE.drop(index=11), "second", waivers=[WAIVER])
    verdict = second.check(ledger)
    assert verdict.passed
    assert found(verdict).severity == "waived"
    assert ReleaseVerdict.from_json(verdict.to_json()) == verdict
    manifest = second.publish(ledger, by="me")
    assert manifest.waivers == (WAIVER,)
    assert manifest.status == "pass"
    with pytest.raises(PolicyError, match="expired on 2020-01-01"):
        replace_waiver(second, expires="2020-01-01").check(ledger)


def replace_waiver(made, **change):
    return release(made.tables["people"], made.name, waivers=[WAIVER | change])


def test_no_waiver_covers_what_nobody_can_tell():
    verdict = release(waivers=[WAIVER]).check()
    assert found(verdict).status == "could_not_assess"
    assert verdict.status == "could_not_assess"


def test_whoever_publishes_meanwhile_makes_publishing_fail(ledger, monkeypatch):
    check = release_check.check

    def slowly(*given, **named):
        made = check(*given, **named)
        monkeypatch.undo()
        release(name="quicker").publish(ledger, by="somebody else")
        return made

    monkeypatch.setattr("anonrisk.releases.release.release.check", slowly)
    with pytest.raises(LedgerMovedError, match="check it again"):
        release(name="slower").publish(ledger, by="me")
    assert [entry.release for entry in ledger.entries()] == ["quicker"]


# ---- joined -------------------------------------------------------------------------------------

VISITS = pd.DataFrame({"who": PEOPLE["who"], "day": ["Mon", "Tue", "Wed"] * 4})
LINKED = {
    "people": Policy(quasi="zip", insensitive="illness", unit="who", k=2, linked=3),
    "visits": Policy(quasi="day", unit="who", k=2),
}


def test_tables_that_each_pass_fail_joined():
    tables = {"people": PEOPLE, "visits": VISITS}
    links = [{"tables": ["people", "visits"], "on": "who"}]
    verdict = Release(tables, LINKED, links=links).check()
    one = found(verdict, "linked")
    assert (verdict.status, one.value, one.limit) == ("fail", 2, 3)
    assert "people.zip + visits.day" in one.sentence
    assert one.qid == ("zip",)
    # Who joins by hand sees the same.
    joined = PEOPLE.merge(VISITS, on="who")
    assert anonrisk.k(joined, ["zip", "day"], unit="who") == one.value
    assert verdict.tables["visits"].passed
    kept = LINKED | {"people": Policy(quasi="zip", insensitive="illness", unit="who", linked=2)}
    assert Release(tables, kept, links=links).check().passed


def test_a_join_that_matches_hardly_anybody_is_seen_everywhere():
    """The second table has the keys of one person only, and everybody is alike in it."""
    keys = [PEOPLE["who"][0], *(f"no. {i}" for i in range(11))]
    tables = {"people": PEOPLE.assign(zip="1011"), "visits": VISITS.assign(day="Mon", who=keys)}
    one = Policy(quasi="zip", insensitive="illness", unit="who", k=2, linked=1)
    links = [{"tables": ["people", "visits"], "on": "who"}]
    verdict = Release(tables, LINKED | {"people": one}, links=links).check()
    assert verdict.passed
    (warning,) = (w for w in verdict.tables["people"].warnings if w.budget == "linked")
    assert warning.sentence.startswith("Hardly anything was joined: only 1 of 12 persons of people")
    told = f"matched: {', '.join(f'1 of 12 persons of {table}' for table in tables)}"
    outcome = Outcome.of_release(verdict)
    given = SimpleNamespace(policy="p.yaml", table=["t.csv"], release="r.yaml")
    for text in (
        repr(verdict),
        verdict._repr_html_(),
        verdict.to_markdown(),
        verdict.to_json(),
        verdict.report().to_html(),
        formats.junit_document(outcome),
        formats.sarif_document(outcome, given),
    ):
        plain = " ".join(text.split())
        assert f"oined: people and visits; {told}" in plain
        assert "Hardly anything was joined" in plain
    assert ReleaseVerdict.from_json(verdict.to_json()) == verdict
    both = Release({**tables, "visits": VISITS}, LINKED | {"people": one}, links=links).check()
    assert not any(w.budget == "linked" for w in both.tables["people"].warnings)
    assert "12 of 12 persons of visits" in " ".join(repr(both).split())


def test_a_budget_without_a_link_and_a_link_without_a_budget():
    verdict = Release({"people": PEOPLE, "visits": VISITS}, LINKED).check()
    assert found(verdict, "linked").status == "could_not_assess"
    assert "no link of the release joins this table" in found(verdict, "linked").sentence
    loose = LINKED | {"people": Policy(quasi="zip", k=2)}
    with pytest.raises(PolicyError, match="add the budget linked"):
        Release(
            {"people": PEOPLE, "visits": VISITS},
            loose,
            links=[{"tables": ["people", "visits"], "on": "who"}],
        )


# ---- files --------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    PEOPLE.to_csv(tmp_path / "people.csv", index=False)
    POLICY.save(tmp_path / "policy.json")
    document = {
        "version": 1,
        "name": "first",
        "policy": "policy.json",
        "tables": {"people": "people.csv"},
    }
    (tmp_path / "release.json").write_text(json.dumps(document))
    return tmp_path


def test_a_document_and_its_files(files, ledger):
    made = Release.load(files / "release.json")
    assert made.check(ledger).tables["people"].files == (str(files / "people.csv"),)
    manifest = made.publish(ledger, by="me")
    assert [(one.path, one.table) for one in manifest.files] == [("people.csv", "people")]
    manifest.verify(files / "people.csv", key=KEY, ledger=ledger)
    assert PEOPLE.to_csv(index=False) == (files / "people.csv").read_text()


def test_files_that_change_while_they_are_checked_are_no_pass(files, ledger, monkeypatch):
    made = Release.load(files / "release.json")
    opened = TableFiles.opened

    def touching(self, wanted):
        with (files / "people.csv").open("a") as file:
            file.write("p99,1011,flu\n")
        return opened(self, wanted)

    monkeypatch.setattr(TableFiles, "opened", touching)
    verdict = made.check(ledger)
    assert verdict.status == "could_not_assess"
    (one,) = verdict.findings
    assert "changed while they were checked" in one.sentence
    with pytest.raises(ReleaseBlocked):
        made.publish(ledger, by="me")
    assert len(ledger.entries()) == 0


def test_a_file_that_cannot_be_read_is_no_pass(files, ledger):
    (files / "people.csv").write_bytes(b"who,zip\n\xff\xfe,1\n")
    verdict = Release.load(files / "release.json").check(ledger)
    assert verdict.status == "could_not_assess"
    assert "UTF-8" in repr(verdict)


# ---- approvals ----------------------------------------------------------------------------------


def test_two_others_must_agree_to_exactly_this(ledger):
    made = release(**ASKED)
    ada, grace = (made.approve(person(who), ledger_key=KEY) for who in ("Ada", "Grace"))
    for given_, by in (((), "me"), ((ada,), "me"), ((ada, ada), "me"), ((ada, grace), "ADA ")):
        with pytest.raises(ReleaseBlocked, match="2 approvals asked for"):
            made.publish(ledger, by=by, approvals=given_)
    assert made.check(ledger, approvals=[ada]).approvals == (ada,)
    for change in ({"people": PEOPLE[::-1].assign(zip="1011")}, {"audience": "others"}):
        with pytest.raises(ReleaseBlocked, match="the release has changed since"):
            release(**ASKED, **change).publish(ledger, by="me", approvals=[ada, grace])
    manifest = made.publish(ledger, by="me", approvals=[ada, grace])
    assert [one["by"] for one in manifest.approvals] == ["Ada", "Grace"]
    verified = manifest.verify([], tables={"people": PEOPLE}, key=KEY, ledger=ledger)
    assert verified.approvals[0] == f"Ada ({person('Ada').public.key_id})"


def with_another_key(approvals):
    return [{**one, "keyid": person("Eve").public.key_id} for one in approvals]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: {"approvals": m.approvals[:1]}, "1 of 2 are there"),
        (lambda m: {"approvals": m.approvals[:1] * 2}, "has approved it already"),
        (lambda m: {"approvals": with_another_key(m.approvals)}, "not that of an approver"),
        (lambda m: {"approvals": [{"by": "Ada"}]}, "are not valid: digest of an approval"),
        (lambda m: {"by": "ADA"}, "Ada: publishes it"),
        (lambda m: {"terms": {**m.terms, "approvals": 1}}, "about another release"),
        (lambda m: {"terms": {**m.terms, "approvals": None}}, "about another release"),
        (lambda m: {"terms": {**m.terms, "approvers": {}}}, "about another release"),
        (lambda m: {"terms": {}}, "name of the manifest is not that of the release's terms"),
        (lambda m: {"audience": "others"}, "audience of the manifest is not that"),
        (lambda m: {"waivers": (WAIVER,)}, "waivers of the manifest is not that"),
        (
            lambda m: {
                "terms": {**m.terms, "approvals": 0},
                "verdict": {**m.verdict, "digest": release(**ASKED | {"approvals": 0}).digest(KEY)},
            },
            "the release has changed since",
        ),
    ],
)
def test_whoever_holds_the_key_of_the_ledger_cannot_write_approvals(ledger, change, said):
    """Sealed anew with the ledger's key, and no approver's: it does not verify, nor get in."""
    made = release(**ASKED)
    given_ = [made.approve(person(who), ledger_key=KEY) for who in ("Ada", "Grace")]
    manifest = made.publish(ledger, by="me", approvals=given_)
    forged = replace(manifest, **change(manifest), signatures=()).sealed(KEY)
    with pytest.raises(ManifestError, match=said):
        forged.verify([], tables={"people": PEOPLE}, key=KEY)
    with pytest.raises(ManifestError, match=said):
        Ledger(ledger._engine.url.database, key=KEY).append(forged)


def test_a_manifest_says_which_release_replaced_it(ledger):
    rows = {"tables": {"people": PEOPLE}, "key": KEY}
    first = release().publish(ledger, by="me")
    assert first.verify([], **rows).replaced_by is None
    assert first.verify([], **rows, ledger=ledger).replaced_by is None
    Release({"others": PEOPLE}, POLICY, name="other table").publish(ledger, by="me")
    release(name="elsewhere", audience="others").publish(ledger, by="me")
    assert first.verify([], **rows, ledger=ledger).replaced_by is None
    for name in ("second", "third"):
        release(name=name).publish(ledger, by="me")
    verified = first.verify([], **rows, ledger=ledger)
    assert verified.replaced_by == "third"
    assert "entry 1, replaced by third" in repr(verified)
    day = datetime.fromisoformat(str(first.to_dict()["at"])).date()
    assert first.verify([], **rows, ledger=ledger, at=day).replaced_by == "third"
    assert ledger.manifest("third").verify([], **rows, ledger=ledger).replaced_by is None


def test_the_digest_names_everything_that_is_said():
    made = release()
    digests = {
        one.digest(KEY)
        for one in (
            made,
            release(name="second"),
            release(audience="others"),
            release(audience="others", separate=["insurers"]),
            release(approvers=approvers("Ada")),
            release(approvals=1, approvers=approvers("Ada")),
            release(waivers=[WAIVER]),
            release(PEOPLE.drop(index=3)),
            release(policy=Policy(quasi="zip", k=2)),
        )
    }
    assert len(digests) == 9
    # Rows have no order.
    assert release(PEOPLE[::-1]).digest(KEY) == made.digest(KEY)
    with pytest.raises(ArgumentError, match="no file needs key="):
        made.digest()


# ---- documents ----------------------------------------------------------------------------------

DOCUMENT = {
    "version": 1,
    "name": "autumn",
    "audience": "researchers",
    "separate": ["insurers"],
    "policy": {"people": "research_k5", "visits": "open_data"},
    "tables": {
        "people": ["a.csv", "b.csv"],
        "visits": {"files": "v.csv", "sep": ";", "na": ["-"], "dtypes": {"cost": "number"}},
    },
    "approvals": 2,
    "approvers": approvers("Ada", "Grace"),
    "waivers": [WAIVER | {"budget": "k"}],
}


def read(document):
    return Release(**release_parts.from_plain(document, Path()))


def test_a_document_in_yaml_and_json_is_the_same(tmp_path):
    yaml = pytest.importorskip("yaml")
    links = [{"tables": ["people", "visits"], "on": "who"}]
    POLICY.save(tmp_path / "own.json")
    Policy(quasi="zip", k=2, linked=2).save(tmp_path / "linked.json")
    whole = {**DOCUMENT, "links": links, "policy": {"people": "linked.json", "visits": "own.json"}}
    (tmp_path / "r.json").write_text(json.dumps(whole))
    # YAML takes a plain on for true, and a day for a date.
    text = yaml.safe_dump(whole).replace("'on'", "on").replace("'2999-12-31'", "2999-12-31")
    assert "\n- on: who" in text
    (tmp_path / "r.yaml").write_text(text)
    assert Release.load(tmp_path / "r.yaml") == Release.load(tmp_path / "r.json")
    assert Release.load(tmp_path / "r.yaml").links[0].on == ("who",)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": None}, "needs version: 1"),
        ({"version": 2}, "version must be 1"),
        ({"tabels": {}}, "no key 'tabels'; did you mean 'tables'"),
        ({"exceptions": []}, "did you mean 'waivers'"),
        ({"tables": {}}, "tables must be a non-empty mapping"),
        ({"tables": None}, "has no tables"),
        ({"tables": {"people": {"file": "a.csv"}}}, "no key 'file'; did you mean 'files'"),
        ({"tables": {"people": 1}}, "names files by paths"),
        ({"tables": {"people": "-"}}, "a pipe has none"),
        ({"tables": {"people": {"files": "a.csv", "sep": ";;"}}}, "sep is one character"),
        ({"policy": None}, "has no policy"),
        ({"policy": {"people": "research_k5"}}, "table 'visits' has no policy"),
        ({"policy": {"peple": "research_k5"}}, "no such table; did you mean 'people'"),
        ({"policy": "reserch_k5"}, "did you mean 'research_k5'"),
        ({"links": [{"tables": ["people", "vists"]}]}, "'vists', which is not in the release"),
        ({"links": [{"tables": ["people"]}]}, "two tables or more"),
        ({"links": [{"table": "people"}]}, "no key 'table'; did you mean 'tables'"),
        ({"name": "n" * 301}, "name has 301 characters; at most 300 are allowed"),
        ({"audience": "half \ud800"}, "audience holds half a character"),
        ({"tables": {"half \ud800": "a.csv"}}, "the name of a table holds half a character"),
        ({"approvals": "two"}, "approvals must be a number"),
        ({"approvals": -1}, "at least 0"),
        ({"approvals": 3}, "3 approvals asked for, and approvers names 2 persons with a public"),
        ({"approvers": None}, "2 approvals asked for, and approvers names 0 persons"),
        ({"approvers": ["Ada"]}, "approvers is a mapping of names"),
        ({"separate": ["researchers"]}, "cannot be separate from itself"),
        ({"separate": ["insurers", "Public"]}, "what is public reaches every audience"),
        ({"audience": None}, "what is public reaches every audience"),
        ({"waivers": [{"budget": "k"}]}, "has no table"),
        ({"waivers": [WAIVER]}, "budget 'differencing', which the policy of 'people' does not"),
    ],
)
def test_what_is_wrong_is_said(change, said):
    read(DOCUMENT)
    with pytest.raises(ArgumentError, match=said):
        read(DOCUMENT | change)


@pytest.mark.parametrize("key", ["links", "waivers", "separate"])
@pytest.mark.parametrize("given", [None, 1, {"a": 1}, {"a"}])
def test_what_is_no_list_is_said(key, given):
    with pytest.raises(PolicyError, match=f"{key} must be a list, not"):
        Release({"people": PEOPLE}, POLICY, **{key: given})


VALUES = st.sampled_from([None, 1, 0, "x", "", [], ["x"], {}, {"x": "y"}, True, 2.5])
PATHS = st.sampled_from(
    [
        *((key,) for key in release_parts.KEYS),
        ("tables", "visits", "files"),
        ("tables", "visits", "format"),
        ("tables", "visits", "encoding"),
        ("waivers", 0, "owner"),
        ("waivers", 0, "expires"),
        ("policy", "people"),
    ]
)


@given(PATHS, VALUES)
def test_the_schema_and_the_reader_agree(path, value):
    jsonschema = pytest.importorskip("jsonschema")
    document = json.loads(json.dumps(DOCUMENT))
    *above, last = path
    place = document
    for step in above:
        place = place[step]
    place[last] = value
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    valid = jsonschema.Draft202012Validator(schema).is_valid(document)
    try:
        release_parts.from_plain(document, Path())
        Release(**release_parts.from_plain(document, Path()))
        accepted = True
    except ArgumentError as error:
        # What needs a look at other parts, or at a disk, no schema can say.
        beyond = ("there is no file", "no such table", "has no policy", "is not known")
        beyond = (*beyond, "which is not in the release", "a day, as", "asked for", "key file")
        beyond = (*beyond, "reaches every audience")
        if any(words in str(error) for words in beyond):
            return
        accepted = False
    assert accepted == valid, (path, value)


def test_a_release_has_a_name_before_it_is_published(ledger):
    with pytest.raises(ArgumentError, match="has a name"):
        release(name=None).publish(ledger, by="me")
    with pytest.raises(PolicyError, match="by must be a non-empty text, not an empty one"):
        release().publish(ledger, by=" ")


def test_the_frozen_release_prints():
    made = release(
        waivers=[WAIVER], approvals=1, approvers=approvers("Ada"), audience="all <of> them"
    )
    assert repr(made).startswith("Release 'first' for all <of> them: 1 waiver, 1 approval")
    assert "<of>" not in made._repr_html_()
    with pytest.raises(AttributeError):
        made.name = "second"


def test_a_table_without_a_digest_is_no_error_and_no_pass(tmp_path):
    sql = pytest.importorskip("anonrisk.sql")
    sqlalchemy = pytest.importorskip("sqlalchemy")
    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path / 'tables.db'}")
    pd.DataFrame({"zip": ["a", "a"]}).to_sql("t", engine, index=False)
    policy = Policy(quasi="zip", k=2, differencing={"k": 2, "net": True})
    release = Release({"t": sql.table(engine, "t")}, policy)
    verdict = release.check(Ledger(tmp_path / "ledger.db", KEY, new=True))
    assert verdict.status == "could_not_assess"
    assert "no digest: 't'" in verdict.findings[0].sentence
    with pytest.raises(AnonRiskError, match="no digest can be made"):
        release.digest(key=KEY)


def test_paths_that_no_system_takes_are_told_in_our_words():
    policy = Policy(quasi="zip", k=2)
    for path in ("a\0b", "a" * 5_000):
        with pytest.raises(AnonRiskError):
            Ledger(path, KEY)
        with pytest.raises(AnonRiskError):
            Ledger(path, KEY, new=True)
        with pytest.raises(UnreadableTableError):
            Release({"t": f"{path}.csv"}, policy).check()


def test_the_schema_knows_every_format():
    table = json.loads(SCHEMA.read_text())["properties"]["tables"]["additionalProperties"]
    assert table["oneOf"][2]["properties"]["format"]["enum"] == [*FORMATS, None]


def test_a_mapping_is_no_list_of_missing_values():
    with pytest.raises(ArgumentError, match="na lists the texts"):
        TableFiles.of({"files": "t.csv", "na": {"-": 1}}, "tables.t", Path())


def test_a_policy_may_have_a_name_longer_than_any_file(tmp_path):
    document = tmp_path / "release.json"
    stated = {"version": 1, "tables": {"t": "t.csv"}, "policy": "p" * 301}
    document.write_text(json.dumps(stated))
    with pytest.raises(PolicyError, match="there is no file 'ppp"):
        Release.load(document)
