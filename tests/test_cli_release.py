"""`anonrisk release`: check, approve, publish, verify, show, diff, by exit codes and files."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from xml.etree import ElementTree as ET

import pandas as pd
import pytest
from keys import OTHER_SECRET, SECRET, approvers, person
from released import append
from test_cli_next import steps

from anonrisk import Ledger, Manifest, Policy, ReleaseVerdict
from anonrisk.cli import main
from anonrisk.keys import Key

pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")

PASS, FAIL, USAGE, UNKNOWN = range(4)
PATIENTS = pd.DataFrame(
    {
        "patient": [f"p{i:02d}" for i in range(24)],
        "area": [("north", "east")[i % 2] for i in range(24)],
        "illness": [("flu", "gout", "cold")[i // 2 % 3] for i in range(24)],
    }
)
POLICY = Policy(
    quasi="area",
    sensitive="illness",
    unit="patient",
    missing_sensitive="error",
    k=5,
    differencing={"k": 5},
)
WAIVER = {
    "budget": "differencing",
    "table": "patients",
    "reason": "the patient has agreed",
    "owner": "A. Officer",
    "expires": "2999-12-31",
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LEDGER_KEY", SECRET.hex())
    POLICY.save("policy.json")
    write()
    return tmp_path


def write(name="2026-10", patients=PATIENTS, **more):
    patients.to_csv("out/patients.csv", index=False)
    release = {
        "version": 1,
        "name": name,
        "audience": "researchers",
        "policy": "policy.json",
        "tables": {"patients": "out/patients.csv"},
        **more,
    }
    Path("release.json").write_text(json.dumps(release), encoding="utf-8")


def run(action, *words, key=True):
    return main(["release", action, *words, *(["--key-env", "LEDGER_KEY"] if key else [])])


def keep(*names):
    """Write the private and the public keys of people."""
    for name in names:
        person(name).save(name)
        person(name).public.save(f"{name}.pub")


def approve(name, *words):
    return run("approve", "release.json", "--signing-key", name, *words, key=False)


def publish(*words):
    more = ("--by", "D. Engineer", "-o", "out/manifest.json")
    return run("publish", "release.json", "--ledger", "ledger.db", *more, *words)


def test_a_month_and_the_next(folder, capsys):
    assert run("check", "release.json", key=False) == UNKNOWN
    assert "needs a release and a ledger" in capsys.readouterr().out
    assert publish("--new") == PASS
    assert "Wrote out/manifest.json" in capsys.readouterr().out
    assert run("verify", "out/manifest.json", "out", "--ledger", "ledger.db") == PASS
    write("2026-11", PATIENTS.drop(index=7))
    assert run("check", "release.json", "--ledger", "ledger.db") == FAIL
    assert "1 person is exposed" in " ".join(capsys.readouterr().out.split())
    assert publish() == FAIL
    # What does not pass leaves ledger and manifest as they were.
    assert Manifest.load("out/manifest.json").release == "2026-10"
    assert run("show", "--ledger", "ledger.db") == PASS
    assert "Ledger of 1 entry" in capsys.readouterr().out
    assert run("diff", "release.json", "--ledger", "ledger.db") == PASS
    told = capsys.readouterr().out
    assert "patients, since 2026-10" in told
    assert "removed" in told
    keep("D. Engineer", "B. Board")
    asked = {"approvals": 1, "approvers": {"D. Engineer": "D. Engineer.pub", "B. Board": "b.pub"}}
    Path("B. Board.pub").rename("b.pub")
    write("2026-11", PATIENTS.drop(index=7), waivers=[WAIVER], **asked)
    assert run("check", "release.json", "--ledger", "ledger.db") == PASS
    assert publish() == FAIL
    assert "1 approval asked for, 0 given" in capsys.readouterr().out
    assert approve("D. Engineer") == PASS
    assert publish() == FAIL
    assert "D. Engineer: publishes it" in " ".join(capsys.readouterr().out.split())
    assert approve("B. Board") == PASS
    assert publish() == PASS
    verify = ("verify", "out/manifest.json", "out", "--ledger", "ledger.db")
    capsys.readouterr()
    assert run(*verify) == PASS
    assert "B. Board (SHA256:" in capsys.readouterr().out
    assert run(*verify, "--at", "2999-12-31") == PASS
    assert run(*verify, "--at", "3000-01-01") == FAIL
    assert "expired on 2999-12-31" in capsys.readouterr().err
    for day in ("tomorrow", "29991231"):
        assert run(*verify, "--at", day) == USAGE
        assert "is not a day, as 2026-11-18" in capsys.readouterr().err
    (file,) = folder.glob("out/*.csv")
    file.write_bytes(file.read_bytes().replace(b"flu", b"hiv", 1))
    assert run("verify", "out/manifest.json", "out", "--ledger", "ledger.db") == FAIL
    assert "'patients.csv' was changed" in capsys.readouterr().err


def mend(folder, *words):
    more = ("--leavers", "keep", "-o", folder)
    return run("mend", "release.json", "--ledger", "ledger.db", *more, *words)


@pytest.mark.parametrize(
    ("name", "written", "sep"),
    [
        ("patients.csv.gz", "patients.csv.gz", ","),
        ("patients.tsv", "patients.tsv", "\t"),
        ("patients.csv.bz2", "patients.csv", ","),
    ],
)
def test_a_mended_file_keeps_its_name(folder, name, written, sep):
    place = f"out/{name}"
    more = {"tables": {"patients": place}}
    write("2026-10", **more)
    PATIENTS.to_csv(place, index=False, sep=sep)
    assert publish("--new") == PASS
    Path("october.json").write_text(Path("release.json").read_text(encoding="utf-8"))
    PATIENTS.to_csv(f"old-{name}", index=False, sep=sep)
    before = json.loads(Path("october.json").read_text(encoding="utf-8"))
    before["tables"] = {"patients": f"old-{name}"}
    Path("october.json").write_text(json.dumps(before))
    write("2026-11", **more)
    PATIENTS.drop(index=7).to_csv(place, index=False, sep=sep)
    assert mend("november", "--previous", "october.json") == PASS
    assert [path.name for path in Path("november/tables").iterdir()] == [written]
    again = pd.read_csv(f"november/tables/{written}", sep=sep)
    assert again.sort_values("patient", ignore_index=True).equals(PATIENTS)
    if written.endswith("gz"):
        # No name and no hour in the header of the file.
        assert Path(f"november/tables/{written}").read_bytes()[3:8] == bytes(5)


def test_a_month_that_is_mended(folder, capsys):
    assert publish("--new") == PASS
    before = json.loads(Path("release.json").read_text(encoding="utf-8"))
    Path("october.json").write_text(json.dumps({**before, "tables": {"patients": "oct.csv"}}))
    PATIENTS.to_csv("oct.csv", index=False)
    new = PATIENTS.drop(index=7)
    new.loc[30] = ["p30", "north", "flu"]
    write("2026-11", new)
    assert mend("november") == USAGE
    assert "as previous=" in capsys.readouterr().err
    Path("erased.txt").write_text("p07 \n", encoding="utf-8")
    assert mend("november", "--previous", "october.json", "--erased", "erased.txt") == USAGE
    assert "1 of 1 values of erased= are nobody's" in " ".join(capsys.readouterr().err.split())
    Path("erased.txt").write_text("\ufeffp07\n", encoding="utf-8")
    assert mend("erased", "--previous", "october.json", "--erased", "erased.txt") == PASS
    assert "p07" not in Path("erased/tables/patients.csv").read_text(encoding="utf-8")
    capsys.readouterr()
    assert mend("november", "--previous", "october.json") == PASS
    told = " ".join(capsys.readouterr().out.split())
    assert "1 of 24 persons: not published yet" in told
    assert "Wrote november/release.yaml" in told
    assert [path.name for path in Path("november/tables").iterdir()] == ["patients.csv"]
    # What left stays as it was, and what came waits.
    written = pd.read_csv("november/tables/patients.csv").sort_values("patient", ignore_index=True)
    assert written.equals(PATIENTS)
    more = ("--by", "D. Engineer", "-o", "november/manifest.json")
    assert run("publish", "november/release.yaml", "--ledger", "ledger.db", *more) == PASS
    published = ("november/manifest.json", "november/tables")
    assert run("verify", *published, "--ledger", "ledger.db") == PASS
    # Nothing is written over, and what was published last is asked for.
    write("2026-12", new)
    assert mend("november", "--previous", "november/release.yaml") == USAGE
    assert "is there already" in capsys.readouterr().err
    wrong = PATIENTS.drop(index=3)
    wrong.to_csv("oct.csv", index=False)
    assert mend("december", "--previous", "october.json") != PASS
    assert not Path("december").exists()


def test_a_failed_release_ends_with_the_commands_that_help(folder, capsys):
    assert publish("--new") == PASS
    table = {"files": "out/patients.csv", "sep": ";", "dtypes": {"area": "text"}}
    write("2026-11", tables={"patients": table})
    PATIENTS.drop(index=7).to_csv("out/patients.csv", index=False, sep=";")
    Path("strict.json").write_text(
        Policy.from_dict({**POLICY.to_dict(), "budgets": {"k": 12}}).to_json()
    )
    capsys.readouterr()
    assert run("check", "release.json", "--ledger", "ledger.db", "-o", "r.json") == FAIL
    mend = ["release", "mend", "release.json", "--leavers", "drop", "--ledger=ledger.db"]
    mend += ["--key-env=LEDGER_KEY", "-o", "mended"]
    (step,) = steps(capsys.readouterr().out)
    assert shlex.split(step) == ["anonrisk", *mend]
    assert json.loads(Path("r.json").read_text())["next_steps"][0].startswith("anonrisk release")
    assert main(mend) != USAGE
    capsys.readouterr()
    write("2026-11", policy="strict.json", tables={"patients": table})
    PATIENTS.drop(index=7).to_csv("out/patients.csv", index=False, sep=";")
    assert run("check", "release.json", key=False) == FAIL
    (step,) = steps(capsys.readouterr().out)
    explain = "anonrisk check --explain out/patients.csv '--sep=;' --dtypes area=text"
    assert step == f"{explain} --policy strict.json"
    assert main(shlex.split(step)[1:]) == FAIL


def test_nobody_left_to_publish_is_no_pass(folder, capsys):
    assert publish("--new") == PASS
    write("2026-11", PATIENTS.head(2))
    assert mend("november", "--leavers", "drop") in (FAIL, UNKNOWN)
    assert "Nothing can go out" in capsys.readouterr().out
    assert not Path("november").exists()


def test_a_pass_with_a_caveat_is_nowhere_a_plain_one(folder, capsys):
    caveat = "attribute disclosure not judged for illness"
    Policy(quasi="area", sensitive="illness", unit="patient", k=5).save("policy.json")
    assert main(["report", "out/patients.csv", "--policy", "policy.json", "-o", "r.html"]) == 0
    assert capsys.readouterr().out.startswith(f"pass, {caveat}\n")
    assert run("check", "release.json", key=False) == PASS
    assert capsys.readouterr().out.startswith(f"pass, {caveat} in patients: release")
    assert run("check", "release.json", "--markdown", "r.md", key=False) == PASS
    assert f"pass, {caveat} in patients" in Path("r.md").read_text(encoding="utf-8").lower()
    POLICY.save("policy.json")
    capsys.readouterr()
    assert publish("--new") == PASS
    assert f": pass, {caveat} in patients" in " ".join(capsys.readouterr().out.split())
    assert run("show", "out/manifest.json", key=False) == PASS
    assert f": pass, {caveat} in patients" in " ".join(capsys.readouterr().out.split())


def test_the_caveats_of_many_tables_are_counted():
    verdict = Policy(quasi="area", sensitive="illness", unit="patient", k=5).check(PATIENTS)
    tables = {f"t{i}": verdict for i in range(4)}
    assert ReleaseVerdict(tables).caveats == (
        "with something not judged, or waived, in 4 of 4 tables",
    )
    assert ReleaseVerdict(tables).report().to_dict()["verdict"]["tone"] == "doubt"


def test_an_approval_is_void_once_anything_changes(folder, capsys):
    assert publish("--new") == PASS
    keep("B. Board")
    asked = {"approvals": 1, "approvers": approvers("B. Board")}
    write("2026-11", **asked)
    assert approve("B. Board") == PASS
    write("2026-11", **asked, patients=PATIENTS[::-1])
    assert publish() == FAIL
    assert "the release has changed since" in " ".join(capsys.readouterr().out.split())
    # Approved anew, what was void is gone.
    assert approve("B. Board") == PASS
    assert len(json.loads(Path("release.approvals.json").read_text())["signatures"]) == 1
    assert publish() == PASS


def test_one_key_is_one_approval(folder, capsys):
    assert publish("--new") == PASS
    keep("A. Officer", "B. Board", "Eve")
    write("2026-11", approvals=2, approvers=approvers("A. Officer", "B. Board"))
    for _ in range(2):
        assert approve("A. Officer") == PASS
    assert publish() == FAIL
    assert "2 approvals asked for, 1 given by A. Officer" in capsys.readouterr().out
    assert approve("Eve") == USAGE
    assert "not that of an approver" in capsys.readouterr().err
    assert approve("nobody") == UNKNOWN
    assert "cannot read the key file 'nobody'" in capsys.readouterr().err
    assert approve("B. Board") == PASS
    assert publish() == PASS


def test_approvals_may_be_kept_elsewhere(folder):
    keep("A. Officer", "B. Board")
    write(approvers=approvers("A. Officer", "B. Board"))
    assert approve("A. Officer", "--approvals", "new.json") == PASS
    assert approve("B. Board", "--approvals", "new.json") == PASS
    assert len(json.loads((folder / "new.json").read_text())["signatures"]) == 2


def test_no_manifest_is_written_over_the_ledger(folder, capsys):
    assert publish("--new") == PASS
    before = (folder / "ledger.db").read_bytes()
    assert publish("-o", "ledger.db") == USAGE
    assert (folder / "ledger.db").read_bytes() == before


def test_every_rendering_is_written(folder, capsys):
    pytest.importorskip("jinja2", reason="needs the extra 'report'")
    assert publish("--new") == PASS
    write("2026-11", PATIENTS.drop(index=7), waivers=[WAIVER])
    files = {"--output": "v.json", "--junit": "v.xml", "--sarif": "v.sarif"}
    files |= {"--markdown": "v.md", "-o": "v.html"}
    words = [word for pair in files.items() for word in pair]
    assert run("check", "release.json", "--ledger", "ledger.db", *words) == PASS
    assert "Wrote v.html" in capsys.readouterr().out
    for path in files.values():
        text = (folder / path).read_text(encoding="utf-8")
        assert "Waived until 2999-12-31 by A. Officer: the patient has agreed." in text, path
    stored = json.loads((folder / "v.json").read_text())
    assert stored.pop("exit_code") == PASS
    found = ReleaseVerdict.from_json(json.dumps(stored))
    assert found.passed
    assert found.earlier == ("2026-10",)
    cases = ET.fromstring((folder / "v.xml").read_text()).findall("testcase")
    assert {case.get("classname") for case in cases} == {"anonrisk.check.patients"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "release.json", "--ledger", "ledger.db"], "no key: say --key-env"),
        (["check", "nothing.yaml"], "cannot read the release 'nothing.yaml'"),
        (["check", "release.json", "--output", "out/patients.csv"], "is part of a table"),
        (["check", "release.json", "-o", "release.json"], "is the release"),
        (["check", "release.json", "--output", "policy.json"], "is a policy of the release"),
        (["check", "release.json", "--ledger", "l.db", "--junit", "./l.db"], "is the ledger"),
        (["check", "release.json", "--ledger", "sqlite:///l.db", "--sarif", "l.db"], "the ledger"),
        (["verify", "m.json", "out", "--output", "m.json"], "is the manifest"),
        (["verify", "m.json", "out", "--output", "out/new.json"], "part of the release"),
        (["approve", "release.json", "--signing-key", "x", "-o", "x"], "is the key"),
        (["show"], "show what"),
    ],
)
def test_wrong_usage(folder, words, said, capsys):
    before = (folder / "out" / "patients.csv").read_bytes()
    assert main(["release", *words]) == USAGE
    assert said in capsys.readouterr().err
    assert (folder / "out" / "patients.csv").read_bytes() == before


def test_an_expired_waiver_and_a_ledger_that_is_not_there(folder, capsys):
    write(waivers=[WAIVER | {"expires": "2020-01-01"}])
    assert run("check", "release.json", key=False) == USAGE
    assert "expired on 2020-01-01" in capsys.readouterr().err
    write()
    assert publish() == UNKNOWN
    assert "there is no ledger" in capsys.readouterr().err
    assert not (folder / "ledger.db").exists()


def test_an_end_that_was_cut_off_is_missed_by_a_head_that_was_kept(folder, capsys):
    import sqlite3

    assert publish("--new") == PASS
    capsys.readouterr()
    assert run("show", "--ledger", "ledger.db", "--json") == PASS
    head = json.loads(capsys.readouterr().out)["head"]
    check = ("check", "release.json", "--ledger", "ledger.db")
    assert run(*check, "--head", head) == PASS
    with sqlite3.connect("ledger.db") as connection:
        connection.execute("DELETE FROM anonrisk_ledger")
        connection.execute("DELETE FROM anonrisk_ledger_part")
    connection.close()
    assert run(*check) == PASS
    capsys.readouterr()
    for action in (check, ("diff", *check[1:]), ("show", *check[2:])):
        assert run(*action, "--head", head) == UNKNOWN
        assert "its end was cut off" in capsys.readouterr().err
    assert publish("--head", head) == UNKNOWN
    assert run("verify", "out/manifest.json", "out", "--head", head) == USAGE


def test_another_key_is_refused(folder, monkeypatch, capsys):
    assert publish("--new") == PASS
    monkeypatch.setenv("LEDGER_KEY", OTHER_SECRET.hex())
    assert run("check", "release.json", "--ledger", "ledger.db") == UNKNOWN
    assert run("verify", "out/manifest.json", "out") == UNKNOWN
    assert "another key" in capsys.readouterr().err


def test_a_release_and_a_manifest_are_shown(folder, capsys):
    assert publish("--new") == PASS
    capsys.readouterr()
    assert run("show", "release.json", key=False) == PASS
    assert capsys.readouterr().out.startswith("Release '2026-10' for researchers")
    assert run("show", "out/manifest.json", "--json", key=False) == PASS
    assert json.loads(capsys.readouterr().out)["shown"]["release"] == "2026-10"


def test_a_table_that_is_not_there_is_no_verdict(folder, capsys):
    Path("out/patients.csv").unlink()
    assert run("check", "release.json", key=False) == UNKNOWN
    assert "there is no file" in capsys.readouterr().err


def test_the_key_may_be_in_parts_or_in_a_file_that_a_container_mounts(folder, capsys):
    for part in Key.from_bytes(SECRET).split("Ann", "Bob"):
        part.save(f"{part.holder}.part")
    Path("mounted").write_text(SECRET.hex())
    Path("mounted").chmod(0o444)
    asked = ("publish", "release.json", "--ledger", "ledger.db", "--by", "Eve", "-o", "m.json")
    both = ("--key-part", "Ann.part", "--key-part", "Bob.part")
    assert run(*asked, "--new", *both, key=False) == PASS
    assert run("show", "--ledger", "ledger.db", "--key-file", "mounted", key=False) == UNKNOWN
    assert "--key-shared" in capsys.readouterr().err
    shared = ("--key-file", "mounted", "--key-shared")
    assert run("show", "--ledger", "ledger.db", *shared, key=False) == PASS
    assert run("show", "--ledger", "ledger.db", *both[:2], key=False) == UNKNOWN
    assert "part 2 of 2 is missing" in capsys.readouterr().err
    # Nothing is written over a part.
    asked = (*asked[:-1], "Bob.part")
    assert run(*asked, *both, key=False) == USAGE
    assert "a part of the key" in capsys.readouterr().err


# ---- a ledger with a life -------------------------------------------------------------------

WHY = ("--ledger", "ledger.db", "--by", "A. Officer", "--reason", "ticket 12")


def test_a_clock_that_was_wrong_is_accepted(folder, capsys):
    ahead = {"at": "2036-01-01T00:00:00+00:00", "states": {}}
    append(Ledger("ledger.db", key=SECRET, new=True), "ahead", **ahead)
    assert publish() == UNKNOWN
    assert "anonrisk release accept-clock" in " ".join(capsys.readouterr().err.split())
    assert run("accept-clock", *WHY[:-2]) == USAGE
    assert run("accept-clock", *WHY, "--json") == PASS
    assert publish() == PASS
    assert run("accept-clock", *WHY) == USAGE


def test_a_release_is_withdrawn_and_a_corrected_one_follows(folder, capsys):
    assert publish("--new") == PASS
    assert run("withdraw", "2026-09", *WHY) == UNKNOWN
    capsys.readouterr()
    assert run("withdraw", "2026-10", "--nobody-received", *WHY, "--json") == PASS
    told = json.loads(capsys.readouterr().out)
    assert told["entry"]["details"] == {"entry": 1, "withdrawn": "never handed out"}
    assert run("verify", "out/manifest.json", "out", "--ledger", "ledger.db") == FAIL
    assert "was withdrawn" in capsys.readouterr().err
    # The file that was wrong had a patient who is not in it now.
    write("2026-10", PATIENTS.drop(index=7))
    assert publish() == PASS
    assert run("verify", "out/manifest.json", "out", "--ledger", "ledger.db") == PASS
    assert run("withdraw", "2026-10", *WHY) == UNKNOWN
    assert "--revision 1" in capsys.readouterr().err
    assert run("withdraw", "2026-10", "--revision", "1", *WHY, "--json") == PASS
    assert json.loads(capsys.readouterr().out)["entry"]["revision"] == 1


def test_a_first_release_is_checked_and_leaves_nothing_unless_it_passes(folder, capsys):
    before = sorted(folder.rglob("*"))
    check = ("check", "release.json", "--ledger", "ledger.db")
    assert run(*check) == UNKNOWN
    assert "--new" in capsys.readouterr().err
    assert run(*check, "--new") == PASS
    assert run("check", "release.json", "--new", key=False) == USAGE
    write("2026-10", PATIENTS.head(5))
    assert run(*check, "--new") == FAIL
    assert publish("--new") == FAIL
    assert sorted(folder.rglob("*")) == before
    write("2026-10", PATIENTS)
    assert publish("--new") == PASS
    assert run(*check, "--new") == UNKNOWN
    assert run(*check) == PASS


def test_a_ledger_gets_another_key(folder, monkeypatch):
    pytest.importorskip("cryptography")
    assert publish("--new") == PASS
    assert main(["key", "-o", "new.key"]) == PASS
    assert run("rotate", *WHY) == USAGE
    assert run("rotate", "--new-key-file", "new.key", *WHY) == PASS
    assert run("show", "--ledger", "ledger.db") == UNKNOWN
    assert run("show", "--ledger", "ledger.db", "--key-file", "new.key", key=False) == PASS
    monkeypatch.setenv("LEDGER_KEY", Path("new.key").read_text())
    write("2026-11", PATIENTS.drop(index=7))
    assert run("check", "release.json", "--ledger", "ledger.db") == FAIL


def test_a_person_is_erased_from_a_table_that_is_published_no_more(folder, capsys):
    assert publish("--new") == PASS
    Path("person").write_text("p07\n")
    erase = ("erase", "--person", "person", *WHY)
    assert run(*erase) == UNKNOWN
    assert "--ended" in capsys.readouterr().err
    assert run(*erase, "--ended", "patient") == USAGE
    assert "'patients'?" in capsys.readouterr().err
    assert run(*erase, "--ended", "patients") == PASS
    write("2026-11", PATIENTS.drop(index=7))
    assert run("check", "release.json", "--ledger", "ledger.db") == FAIL


def test_old_states_expire_and_a_person_is_erased(folder, capsys):
    assert publish("--new") == PASS
    write("2026-11", PATIENTS.drop(index=7), waivers=[WAIVER])
    assert publish() == PASS
    Path("person").write_text("p07\n")
    assert run("erase", "--person", "person", *WHY) == PASS
    assert "p07" not in capsys.readouterr().out
    assert run("erase", "--person", "person", *WHY) == UNKNOWN
    Path("person").write_text("p08\np09\n")
    assert run("erase", "--person", "person", *WHY) == USAGE
    assert run("erase", "--person", "none", *WHY) == USAGE
    assert run("expire", "--before", "yesterday", *WHY) == USAGE
    assert run("expire", "--before", "2020-01-01", *WHY) == PASS
    assert "Nothing is so old" in capsys.readouterr().out
    assert run("expire", "--before", "2999-01-01", *WHY) == PASS
    capsys.readouterr()
    assert run("show", "--ledger", "ledger.db", "--json") == PASS
    entries = json.loads(capsys.readouterr().out)["entries"]
    assert [sorted(entry["states"]) for entry in entries] == [[], ["patients"], [], []]
