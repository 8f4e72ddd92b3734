"""The examples run, and say what they are there to say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name, *arguments):
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.slow
def test_publish_query_analyse_decide(tmp_path):
    pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")
    said = run("priors.py", tmp_path / "priors.sqlite")
    for step in ("1. PUBLISH", "2. QUERY", "3. ANALYSE", "4. DECIDE"):
        assert step in said
    assert "Refused: 300 records are fewer than the floor" in said
    assert "10 submissions" in said
    assert "no disagreement" in said
    assert "pc4 + year_of_birth + gender: fail" in said
    assert "The survey may ask: decade_of_birth + gender\n" in said


@pytest.mark.slow
def test_municipalities_without_real_ages(tmp_path):
    pytest.importorskip("matplotlib", reason="needs the extra 'report'")
    said = run("municipalities.py", "--table", "no.csv", "--picture", tmp_path / "m.png")
    assert "There is no table at no.csv" in said
    assert "83502NED" in said
    assert "17 synthetic towns" in said
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.nightly
def test_the_figures_of_three_chapters_are_drawn(tmp_path):
    pytest.importorskip("matplotlib", reason="needs the extra 'report'")
    said = run("municipalities.py", "--figures", tmp_path / "figures")
    drawn = sorted(path.stem for path in (tmp_path / "figures").glob("*.png"))
    assert drawn == ["4.1", "4.2", "5.1", "5.2", "6.1", "6.2"]
    assert all(f"Figure {name}: " in said for name in drawn)


@pytest.mark.slow
def test_municipalities_with_real_ages(shared):
    table = shared / "data" / "cbs" / "gemeente_leeftijd_geslacht.csv"
    if not table.exists():
        pytest.skip("the CBS table is not in ../shared")
    said = run("municipalities.py", "--table", table)
    assert "353 municipalities, 20 five-year age groups" in said
    # At half a person and one person a value the prediction keeps what the rule promises: 7%.
    fine = [line.split() for line in said.splitlines() if " fine " in line]
    assert len(fine) >= 2
    assert all(float(re.sub("%", "", words[-1])) < 7 for words in fine)


@pytest.mark.slow
def test_a_month_and_the_next():
    pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")
    pytest.importorskip("pyarrow", reason="needs the extra 'arrow'")
    said = " ".join(run("monthly_release.py").split())
    assert "2026-01: pass; published, 400 patients: pass" in said
    # Every month goes out, and the one that was withdrawn goes out twice.
    assert len(re.findall(r"published, \d+ patients: pass", said)) == 13
    assert len(re.findall("fail, mended: ", said)) >= 11
    assert "2026-06 is withdrawn" in said
    assert "Waived until 2999-12-31 by A. Officer" in said
    assert "approved by A. Officer and B. Board" in said
    assert "chain entry 15" in said
    assert "'patients.csv' was changed: its bytes are others" in said
