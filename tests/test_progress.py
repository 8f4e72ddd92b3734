"""How far long work is: who sees it, when, and that nothing of it stays."""

from __future__ import annotations

import io
import os
import re
import sys
import threading
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace

import pandas as pd
import pytest
from planned import with_options

import anonrisk
from anonrisk.core import progress
from anonrisk.core.progress import Told, interruptible, shown, tell
from anonrisk.errors import StoppedWarning

WIPED = "\r\033[K"


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """A clock, and an event that comes when it is so late; on the way there work tells things."""

    def __init__(self, until, work):
        self.now, self.until, self.work = 0.0, until, work

    def wait(self, seconds):
        self.now = min(self.now + seconds, self.until)
        self.work(self.now)
        return self.now >= self.until


class Seen:
    """A screen that remembers."""

    interval = 0.5

    def __init__(self):
        self.lines, self.wiped = [], False

    def show(self, told, seconds):
        self.lines.append(told.line(seconds))

    def wipe(self):
        self.wiped = True


def terminal(monkeypatch):
    """Make a terminal without a sign of a test or a build server; in a test, which has both."""
    for name in ("CI", "PYTEST_CURRENT_TEST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    return sys.stderr


@pytest.fixture
def no_rich(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)


def followed(monkeypatch, until, screen, *, tells=True):
    """Follow work that takes so many seconds of a clock that nobody waits for."""
    work = progress._Followed()

    def go_on(now):
        if tells:
            work.progress = Told("sets of 2 columns", int(now * 100), 400)

    clock = Clock(until, go_on)
    monkeypatch.setattr(progress, "monotonic", lambda: clock.now)
    follower = progress._Follower(work, lambda: screen, progress.PATIENCE)
    follower.over = clock
    follower.run()


def test_it_comes_after_two_seconds_moves_and_goes(monkeypatch):
    screen = Seen()
    followed(monkeypatch, 3.5, screen)
    assert screen.lines == [
        "sets of 2 columns: 200 of 400 (2 s)",
        "sets of 2 columns: 250 of 400 (2 s)",
        "sets of 2 columns: 300 of 400 (3 s)",
    ]
    assert screen.wiped


def test_who_waits_for_less_sees_nothing(monkeypatch):
    screen = Seen()
    followed(monkeypatch, 1.9, screen)
    assert (screen.lines, screen.wiped) == ([], False)


def test_one_long_step_is_seen_to_be_under_way(monkeypatch):
    screen = Seen()
    followed(monkeypatch, 60.1, screen, tells=False)
    assert screen.lines[0] == "working (2 s)"
    assert screen.lines[-1] == "working (60 s)"


def test_a_screen_that_breaks_disturbs_nobody(monkeypatch):
    class Broken(Seen):
        def show(self, told, seconds):
            raise BrokenPipeError

    screen = Broken()
    followed(monkeypatch, 5.0, screen)
    assert screen.wiped


def test_who_sees_it(monkeypatch):
    terminal(monkeypatch)

    def where(**asked):
        return progress._screen(progress=asked.get("progress"))

    assert where() is progress._bar_or_line
    assert where(progress=False) is None
    for name in ("CI", "PYTEST_CURRENT_TEST"):
        with monkeypatch.context() as patch:
            patch.setenv(name, "true")
            assert where() is None, name
            assert where(progress=True) is progress._bar_or_line
    with monkeypatch.context() as patch:
        patch.setenv("TERM", "dumb")
        assert where() is None
    for stream in (io.StringIO(), None):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", stream)
            assert where() is None
            # What is asked for goes to a file too, and nowhere where there is none.
            assert where(progress=True) is (None if stream is None else progress._Lines)
    elsewhere = []
    thread = threading.Thread(target=lambda: elsewhere.append(where()))
    thread.start()
    thread.join()
    assert elsewhere == [None], "threads would write over each other"


@contextmanager
def waited_for(stream, text):
    """Work that goes on until something is seen."""
    with shown(progress=True):
        tell("adding up", 2, 8)
        seen = threading.Event()
        for _ in range(500):
            if text in stream.getvalue():
                break
            seen.wait(0.01)
        yield


@pytest.mark.slow
def test_a_terminal_is_left_as_it_was(no_rich, monkeypatch):
    stream = terminal(monkeypatch)
    with waited_for(stream, "adding up: 2 of 8 (0 s)"):
        pass
    assert stream.getvalue().startswith(WIPED)
    assert stream.getvalue().endswith(WIPED)
    assert "\n" not in stream.getvalue()


@pytest.mark.slow
def test_a_line_is_never_folded(no_rich, monkeypatch):
    stream = terminal(monkeypatch)
    monkeypatch.setattr(progress.shutil, "get_terminal_size", lambda: os.terminal_size((12, 3)))
    with waited_for(stream, "adding up"):
        pass
    # A terminal writes ^C behind it.
    assert {len(line) for line in stream.getvalue().split(WIPED)} <= {0, 12 - len("^C") - 1}


def test_a_line_is_as_long_as_where_it_is_written(monkeypatch):
    """Standard output may be a file, and is asked only where nothing else is known."""
    pty = pytest.importorskip("pty")
    from fcntl import ioctl
    from struct import pack
    from termios import TIOCSWINSZ

    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("COLUMNS", "200")
        ioctl(theirs, TIOCSWINSZ, pack("HHHH", 30, 50, 0, 0))
        assert progress._width() == 47
        ioctl(theirs, TIOCSWINSZ, pack("HHHH", 0, 0, 0, 0))
        assert progress._width() == 197
    os.close(ours)


def test_nothing_of_it_stands_beside_what_stays(no_rich, monkeypatch):
    stream = terminal(monkeypatch)
    with waited_for(stream, "adding up"):
        tell("adding up", 3, 8)
        with interruptible() as interruption:
            raise KeyboardInterrupt
        with pytest.warns(StoppedWarning):
            interruption.keep(3, 8, "sums")
        assert stream.getvalue().endswith(WIPED)
        sys.stderr.write("stopped")
        tell("adding up", 4, 8)
    assert stream.getvalue().endswith(f"{WIPED}stopped")


def test_a_bar_of_rich_leaves_room_for_what_a_terminal_writes(monkeypatch):
    stream = terminal(monkeypatch)
    pytest.importorskip("rich")
    monkeypatch.setattr(progress.shutil, "get_terminal_size", lambda: os.terminal_size((30, 3)))
    with waited_for(stream, "adding"):
        pass
    uncoloured = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "\r", uncoloured).splitlines()
    assert max(map(len, lines)) == 30 - len("^C") - 1


def test_a_bar_of_rich_goes_too(monkeypatch):
    stream = terminal(monkeypatch)
    pytest.importorskip("rich")
    with waited_for(stream, "adding up: 2 of 8"):
        pass
    written = stream.getvalue()
    # The cursor is back, and the line was erased after it was written for the last time.
    assert written.rindex("\x1b[?25l") < written.rindex("\x1b[?25h")
    assert written.rindex("adding up") < written.rindex("\x1b[2K")


@pytest.mark.slow
def test_what_is_asked_for_is_kept_in_a_file(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with waited_for(stream, "adding up: 2 of 8 (0 s)\n"):
        pass
    assert "\r" not in stream.getvalue()
    assert "\033" not in stream.getvalue()


def test_a_notebook_has_an_output_that_updates_itself(monkeypatch):
    stream = terminal(monkeypatch)
    bundles = []
    output = SimpleNamespace(update=lambda bundle, raw: bundles.append(bundle))

    def display(bundle, *, raw, display_id):
        assert raw
        assert display_id
        bundles.append(bundle)
        return output

    ipython, displays = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython, displays.display = lambda: SimpleNamespace(kernel=object()), display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", displays)
    assert progress._screen(progress=None) is progress._Cell
    screen = progress._Cell()
    screen.show(Told("adding up", 2, 8), 3.0)
    screen.show(Told("reading"), 4.0)
    screen.wipe()
    assert [bundle["text/plain"] for bundle in bundles] == [
        *("", "adding up: 2 of 8 (3 s)", "reading (4 s)", "")
    ]
    assert bundles[1]["text/html"].startswith('<progress value="2" max="8"></progress> ')
    assert bundles[2]["text/html"].startswith("<progress></progress> ")
    assert bundles[3]["text/html"] == ""
    assert stream.getvalue() == ""
    # IPython on a terminal has no kernel.
    ipython.get_ipython = SimpleNamespace
    assert progress._screen(progress=None) is progress._bar_or_line


def test_work_within_work_is_shown_with_it(monkeypatch):
    terminal(monkeypatch)
    with shown(progress=True):
        outer = progress._current.get()
        with shown(progress=True):
            tell("inside")
            assert progress._current.get() is outer
        assert outer.progress == Told("inside")
    assert progress._current.get() is None
    tell("nobody looks")


def test_an_error_ends_it(no_rich, monkeypatch):
    stream = terminal(monkeypatch)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt), waited_for(stream, "adding up"):
        raise KeyboardInterrupt
    assert threading.active_count() == before
    assert stream.getvalue().endswith(WIPED)


PEOPLE = {"zip": list("aabbccdd"), "age": [1, 2, 1, 2, 1, 2, 3, 3], "sex": list("fmfmfffm")}
LONG = {
    "find_qids": anonrisk.find_qids,
    "plan": lambda table, **asked: anonrisk.plan(
        table, ["zip", "age"], **with_options(k=2, **asked)
    ),
    "report": lambda table, **asked: anonrisk.report(table, ["zip", "age"], **asked),
    "suda": lambda table, **asked: anonrisk.suda(table, ["zip", "age"], **asked),
    "trajectory": lambda table, **asked: anonrisk.trajectory(
        table, "age", unit="zip", length=2, **asked
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("word", LONG)
def test_long_work_tells_and_is_silent(word, frame, monkeypatch, capsys):
    told = []
    monkeypatch.setattr(
        progress._Followed,
        "progress",
        property(None, lambda _, one: told.append(one)),
        raising=True,
    )
    table = frame(PEOPLE)
    LONG[word](table)
    assert told == []
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(progress, "_screen", lambda *, progress: Seen if progress else None)
    LONG[word](table, progress=True)
    assert len(told) > 1
    assert all(one.done <= one.total or not one.total for one in told)
    names = {"zip", "age", "sex"}
    assert not any(names & set(one.doing.replace(",", " ").split()) for one in told)
    told.clear()
    LONG[word](table, progress=False)
    assert told == []


def test_a_search_tells_of_each_size_by_itself(monkeypatch):
    told = []
    monkeypatch.setattr("anonrisk.measures.find_qids.tell", lambda *one: told.append(Told(*one)))
    anonrisk.find_qids(pd.DataFrame(PEOPLE), alpha=0.4)
    assert [one.total for one in told] == sorted((one.total for one in told), reverse=True)
    assert told[0] == Told("0 found, sets of 1 column decided", 0, 3)
    assert told[-1].done == told[-1].total == 1
    assert told[-1].doing.endswith("found, sets of 3 columns decided")


def test_reading_a_file_tells_how_many_rows(tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr("anonrisk.cli.source.tell", told.append)
    pd.DataFrame(PEOPLE).to_csv(tmp_path / "t.csv", index=False)
    from anonrisk.cli import main

    assert main(["measure", str(tmp_path / "t.csv"), "--qids", "zip"]) == 0
    assert told[-1] == "reading, 8 rows"
