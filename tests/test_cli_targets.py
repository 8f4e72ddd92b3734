"""Where results of the command line are written: never over what is read, and into pipes."""

from __future__ import annotations

import json
import os
import threading

import pandas as pd
import pytest

from anonrisk.cli import main
from anonrisk.cli.deliver import write

POLICY = {"version": 1, "roles": {"quasi": ["zip"]}, "budgets": {"k": 1}}


@pytest.fixture
def check(tmp_path):
    (tmp_path / "p.json").write_text(json.dumps(POLICY))
    pd.DataFrame({"zip": ["a", "a"]}).to_csv(tmp_path / "t.csv", index=False)

    def run(*more):
        given = [str(tmp_path / "t.csv"), "--policy", str(tmp_path / "p.json"), *map(str, more)]
        return main(["check", *given])

    return run


@pytest.mark.parametrize("option", ["--output", "--junit"])
def test_the_policy_is_not_written_over(check, tmp_path, capsys, option):
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "p.json")
    for path in (tmp_path / "p.json", link):
        assert check(option, path) == 2
        assert "is the policy" in capsys.readouterr().err
    assert json.loads((tmp_path / "p.json").read_text()) == POLICY
    population = tmp_path / "all.csv"
    population.write_text("zip\na\na\n")
    assert check("--population", population, option, population) == 2
    assert population.read_text().startswith("zip")


def test_what_a_link_points_at_is_written(check, tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    link.symlink_to(real)
    assert check("--output", link) == 0
    assert link.is_symlink()
    assert json.loads(real.read_text())["status"] == "pass"
    dangling = tmp_path / "dangling.json"
    dangling.symlink_to(tmp_path / "new.json")
    assert check("--output", dangling) == 0
    assert dangling.is_symlink()
    assert json.loads((tmp_path / "new.json").read_text())["status"] == "pass"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names")
def test_a_pipe_is_written_to_and_stays(check, tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    assert check("--output", pipe) == 0
    reader.join(10)
    assert pipe.is_fifo()
    assert json.loads(read[0])["status"] == "pass"


def test_a_device_is_written_to(tmp_path):
    # A descriptor of a file under the name that the system gives it, as /dev/stdout is.
    if not os.path.isdir("/dev/fd"):  # noqa: PTH112
        pytest.skip("the system has no names for descriptors")
    with (tmp_path / "out").open("w") as stream:
        stream.write("before ")
        stream.flush()
        write(f"/dev/fd/{stream.fileno()}", "after")
    assert (tmp_path / "out").read_text() == "before after"
