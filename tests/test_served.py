"""The served explorer by its HTTP: the numbers of the static page, and no answer to strangers."""

from __future__ import annotations

import base64
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonrisk
from anonrisk.cli import main
from anonrisk.errors import ArgumentError, NoColumnsError
from anonrisk.reporting.explorer import packed_counts
from anonrisk.reporting.served import ServedExplorer

pytest.importorskip("tornado")
pytest.importorskip("jinja2")

QID = ["zip", "age", "sex"]
HOSTILE = [
    "<script>alert(1)</script>",
    'a"b&c',
    "'; drop",
    "../../etc/passwd",
    "\u202egnp",
    "</td>",
]


def people(n=400):
    rng = np.random.default_rng(33)
    return pd.DataFrame(
        {
            "zip": [str(one) for one in 1000 + rng.integers(0, 6, n) * 10 + rng.integers(0, 4, n)],
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m", "x"], n, p=[0.5, 0.45, 0.05]),
            "illness": rng.choice(["flu", "cold", "gout", "pox"], n),
            "who": np.arange(n) // 2,
        }
    )


class Asking:
    """Asks a served page as its own script does, but for what a test changes."""

    def __init__(self, served):
        self.host = urlsplit(served.url).netloc
        self.token = served.url.partition("token=")[2]

    def __call__(self, path="/count", body=None, *, method="POST", host=None, **headers):
        connection = http.client.HTTPConnection(self.host, timeout=30)
        connection.putrequest(method, path, skip_host=True)
        own = {
            "Host": self.host if host is None else host,
            "Authorization": f"Bearer {self.token}",
            "Origin": f"http://{self.host}",
        }
        own |= {name.replace("_", "-"): value for name, value in headers.items()}
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        if method == "POST":
            own["Content-Length"] = str(len(sent))
        for name, value in own.items():
            if value is not None:
                connection.putheader(name, value)
        # All at once: what refuses the head does not wait for the body, and one that arrives later
        # resets the connection before the refusal is read.
        parts = []
        connection.connect()
        connection.send = parts.append
        connection.endheaders(sent if method == "POST" else None)
        connection.sock.sendall(b"".join(parts))
        answer = connection.getresponse()
        told = answer.status, answer.read(), answer.headers
        connection.close()
        return told

    def page(self, **headers):
        return self(f"/?token={self.token}", method="GET", Origin=None, **headers)

    def count(self, *nodes, state=1):
        status, told, _ = self(body={"state": state, "nodes": [*nodes]})
        return status, json.loads(told)


@pytest.fixture(scope="module")
def asking():
    with people().anon.explore(QID, sensitive="illness", serve=True) as served:
        yield Asking(served)


# ---- numbers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "more", [{}, {"sensitive": "illness"}, {"unit": "who"}, {"sensitive": "illness", "unit": "who"}]
)
def test_every_combination_is_that_of_the_static_page(more):
    static = people().anon.explore(QID, **more).to_dict()
    with people().anon.explore(QID, serve=True, **more) as served:
        asking = Asking(served)
        number = len(static["counts"]["below"])
        for start in range(0, number, 64):
            nodes = range(start, min(start + 64, number))
            counts = {
                name: [[people[n] for n in nodes] for people in values]
                if name == "smaller"
                else [values[n] for n in nodes]
                for name, values in static["counts"].items()
            }
            about = [
                {
                    **{key: [one[key][n] for n in nodes] for key in ("ldiv", "tcloseness")},
                    "of_classes_from": {
                        size: {key: [values[n] for n in nodes] for key, values in away.items()}
                        for size, away in one["of_classes_from"].items()
                    },
                }
                for one in static["sensitive"]
            ]
            told = {"counts": counts, "sensitive": about}
            told = packed_counts(told, static["floor"], static["t_step"])
            assert asking.count(*nodes) == (200, {"nodes": [*nodes], **told})


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_one_combination_of_a_small_table_is_that_of_the_static_page(data):
    n = data.draw(st.integers(8, 40))
    column = st.lists(st.integers(0, 5), min_size=n, max_size=n)
    table = pd.DataFrame({name: data.draw(column) for name in ("a", "b", "ill", "who")})
    missing = data.draw(st.sets(st.integers(0, n - 1)))
    table["b"] = table["b"].mask(table.index.isin(missing))
    asked = {"k": 2, "floor": 4, "sensitive": data.draw(st.sampled_from([None, "ill"]))}
    if data.draw(st.booleans()) and len({*table["who"]}) > 1:
        asked["unit"] = "who"
    static = anonrisk.explore(table, ["a", "b"], **asked).to_dict()
    served = anonrisk.explore(table, ["a", "b"], serve=True, **asked)
    served.close()
    opened = served._page._opened
    for node in data.draw(
        st.lists(st.integers(0, len(static["counts"]["below"]) - 1), min_size=1, max_size=4)
    ):
        told = opened.counts_of([node])
        for name, values in told["counts"].items():
            if name != "smaller":
                assert values == [static["counts"][name][node]]
        assert told["counts"]["smaller"] == [[of[node]] for of in static["counts"]["smaller"]]
        for one, other in zip(told["sensitive"], static["sensitive"], strict=True):
            assert (one["ldiv"], one["tcloseness"]) == (
                [other["ldiv"][node]],
                [other["tcloseness"][node]],
            )


def test_the_page_begins_with_one_combination_and_no_cell():
    table = people().assign(note="Canary-7f3a")
    table["zip"] = "Zip-" + table["zip"]
    static = table.anon.explore(QID)
    with table.anon.explore(QID, serve=True) as served:
        asking = Asking(served)
        status, page, _ = asking.page()
        assert status == 200
        number = len(static.to_dict()["counts"]["below"])
        _, told, _ = asking(body={"state": 1, "nodes": [*range(min(number, 64))]})
    data = json.loads(re.search(rb'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert data["counted"]["nodes"] == [0]
    assert len(base64.b64decode(data["counted"]["smaller"][1]["data"])) == 1
    for text in (page, told):
        for cell in (b"Canary", b"Zip-1", b"gout"):
            assert cell not in text
    assert [c["levels"][0]["piece"] for c in data["columns"]] == [
        c["levels"][0]["piece"] for c in static.to_dict()["columns"]
    ]


def test_fifty_presses_at_once_are_all_answered(asking):
    number = asking.count(10**6)[1]["refused"]
    last = int(re.search(r"to ([\d,]+)", number)[1])
    nodes = [i % (last + 1) for i in range(50)]
    with ThreadPoolExecutor(50) as pool:
        told = list(pool.map(asking.count, nodes))
    assert [status for status, _ in told] == [200] * 50
    assert told == [asking.count(node) for node in nodes]


# ---- strangers -----------------------------------------------------------------------------------


def test_a_missing_or_wrong_token_is_refused(asking):
    for path in ("/", "/?token=", "/?token=x", f"/?token={asking.token}x", "/?token=%ff"):
        status, body, _ = asking(path, method="GET", Origin=None)
        assert status in (400, 403), path
        assert b"zip" not in body
    # A page that is loaded tells its token in the address, a script in a header.
    for wrong in (None, "", "Bearer ", f"Bearer {asking.token[:-1]}", f"Basic {asking.token}", "é"):
        assert asking(f"/count?token={asking.token}", {}, Authorization=wrong)[0] == 403, wrong
    assert asking("/roles", {}, Authorization=None)[0] == 403


def test_other_origins_and_other_names_of_the_machine_are_refused(asking):
    port = asking.host.rpartition(":")[2]
    asked = {"state": 1, "nodes": [0]}
    assert asking(body=asked)[0] == 200
    for origin in (
        "http://evil.example",
        "null",
        f"https://{asking.host}",
        "http://127.0.0.1",
        f"http://localhost:{port}",
        f"http://{asking.host}.evil.example",
        None,
        "",
    ):
        assert asking(body=asked, Origin=origin)[0] == 403, origin
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        f"localhost:{port}",
        "",
        f"127.0.0.1:{port}.evil.example",
        f"[::1]:{port}",
        f"evil@127.0.0.1:{port}",
    ):
        assert asking(body=asked, host=host)[0] in (400, 403), host
        assert asking(f"/?token={asking.token}", method="GET", host=host, Origin=None)[0] in (
            400,
            403,
        ), host
    for site in ("cross-site", "same-site", "none"):
        assert asking(body=asked, Sec_Fetch_Site=site)[0] == 403, site
    assert asking(f"/?token={asking.token}", method="GET", Origin="http://evil.example")[0] == 403
    # What a browser asks before a script of another origin may send headers.
    status, _, headers = asking("/count", method="OPTIONS", Origin="http://evil.example")
    assert status == 403
    assert not [name for name in headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/static/../server.py",
        "/count/",
        "/count%00",
        "/count%0a",
        "/favicon.ico",
        "/C:/Windows/win.ini",
        "/" + "a" * 4_000,
    ],
)
def test_no_path_leads_anywhere(asking, path):
    status, body, _ = asking(f"{path}?token={asking.token}", method="GET", Origin=None)
    assert (status, body) == (404, b"Not done (404).")
    assert asking(path, {})[0] == 404
    assert asking(path, {}, Authorization=None)[0] == 403
    assert asking(path, method="GET", Origin=None)[0] == 403


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b"null",
        [],
        {"nodes": [0]},
        {"state": 1},
        {"state": "1", "nodes": [0]},
        {"state": True, "nodes": [0]},
        {"state": 2, "nodes": [0]},
        {"state": 1, "nodes": []},
        {"state": 1, "nodes": [0] * 65},
        {"state": 1, "nodes": ["0"]},
        {"state": 1, "nodes": [True]},
        {"state": 1, "nodes": [-1]},
        {"state": 1, "nodes": [0.0]},
        {"state": 1, "nodes": [10**30]},
        {"state": 1, "nodes": [[0]]},
    ],
)
def test_what_is_no_question_is_refused(asking, body):
    status, told, _ = asking(body=body)
    assert status == 400
    assert set(json.loads(told)) == {"refused"}
    assert asking.count(0)[0] == 200


def test_other_methods_and_too_long_requests_are_refused(asking):
    for method in ("PUT", "DELETE", "PATCH"):
        assert asking("/count", method=method)[0] == 405
    assert asking("/count", method="GET", Origin=None)[0] == 403
    assert asking(f"/count?token={asking.token}", method="GET", Origin=None)[0] == 405
    assert asking("/", {})[0] == 405
    # It answers that it is too long, or hangs up.
    with suppress(OSError):
        assert asking(body=b" " * 300_000)[0] in (400, 413)
    with suppress(OSError, http.client.HTTPException):
        assert asking.page(X="a" * 50_000)[0] in (400, 431)
    assert asking.count(0)[0] == 200


def test_the_page_may_be_kept_nowhere_and_framed_by_nobody(asking):
    _, page, headers = asking.page()
    assert headers["Cache-Control"] == "no-store"
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "Server" not in headers
    assert "Set-Cookie" not in headers
    assert b"connect-src 'self'" in page
    assert asking.token.encode() not in page
    assert not re.search(rb"https?://", page)


def test_nothing_is_logged(asking, caplog):
    with caplog.at_level(0):
        asking.page()
        asking("/nowhere", {})
        asking(body=b"[")
        asking("/", method="GET", Authorization=None)
    assert not [one for one in caplog.records if asking.token in one.getMessage()]
    assert not [one for one in caplog.records if one.levelno >= 30]


def test_an_error_of_ours_is_told_by_a_number_alone(asking, monkeypatch):
    def broken(*_):
        raise RuntimeError("Canary-cell")

    monkeypatch.setattr("anonrisk.reporting.explored.OpenedTable.counts_of", broken)
    status, body, _ = asking(body={"state": 1, "nodes": [0]})
    assert (status, body) == (500, b"Not done (500).")


# ---- names and roles -----------------------------------------------------------------------------


def test_hostile_names_stay_names():
    rng = np.random.default_rng(3)
    table = pd.DataFrame({name: rng.integers(0, 9, 60) for name in HOSTILE})
    with table.anon.explore(HOSTILE[:3], serve=True) as served:
        asking = Asking(served)
        page = asking.page()[1].decode()
        assert "<script>alert" not in page
        assert "\u202e" not in page
        given = ["", "quasi", "insensitive", "sensitive", "quasi", "direct"]
        assert asking("/roles", {"k": 7, "roles": given})[0] == 200
        page = asking.page()[1].decode()
        assert "<script>alert" not in page
        data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    plan = json.loads("".join([data["plan"][0], "3", *data["plan"][1:2], "0.0", *data["plan"][2:]]))
    assert plan["leave_out"] == [HOSTILE[5]]
    assert data["k"] == 7
    pieces = [json.loads(c["levels"][0]["piece"])["column"] for c in data["columns"]]
    assert pieces == [HOSTILE[1], HOSTILE[4]]


def test_roles_that_are_none_change_nothing():
    with people().anon.explore(["zip", "age"], serve=True) as served:
        asking = Asking(served)
        before = asking.page()[1]
        fits = ["quasi", "quasi", "", "", ""]
        for k, given in [
            (5, fits[:-1]),
            (5, ["nonsense", *fits[1:]]),
            (5, [["quasi"], *fits[1:]]),
            (5, ["unit", "unit", "quasi", "", ""]),
            (5, [""] * 5),
            (1, fits),
            (5.0, fits),
            (10**6, fits),
            (None, fits),
        ]:
            status, told, _ = asking("/roles", {"k": k, "roles": given})
            assert status == 400, (k, given)
            assert "refused" in json.loads(told)
        assert asking.page()[1] == before
        assert asking.count(1)[0] == 200
        assert asking("/roles", {"k": 7, "roles": fits})[0] == 200
        # Numbers of combinations are those of one state.
        status, told = asking.count(1)
        assert status == 400
        assert "load this one again" in told["refused"]
        assert asking.count(1, state=2)[0] == 200


def test_what_is_refused_tells_no_number_that_is_not_rounded():
    table = people(403).assign(whose=[None, *range(2, 404)])
    fits = ["quasi", "quasi", "", "", "", ""]
    with table.anon.explore(["zip", "age"], serve=True) as served:
        asking = Asking(served)
        for k, unit, said in [
            (406, "", "which has up to 405 records"),
            (206, "who", "which has up to 205 persons"),
            (5, "whose", "missing in up to 5 rows"),
            (3, "", "k is 2, or at least 5"),
            (4, "", "k is 2, or at least 5"),
        ]:
            roles = [
                "unit" if name == unit else role for name, role in zip(table, fits, strict=True)
            ]
            status, told, _ = asking("/roles", {"k": k, "roles": roles})
            assert status == 400
            assert said in json.loads(told)["refused"]
        assert asking("/roles", {"k": 404, "roles": fits})[0] == 200
        assert asking("/roles", {"k": 2, "roles": fits})[0] == 200


def test_a_policy_says_the_roles():
    policy = anonrisk.Policy(quasi=["zip", "age"], unit="who", k=3, unlisted="ignore")
    with people().anon.explore(policy=policy, serve=True) as served:
        asking = Asking(served)
        assert b"recount" not in asking.page()[1].partition(b"<script")[0]
        status, told, _ = asking("/roles", {"k": 5, "roles": ["quasi"] * 5})
        assert status == 400
        assert "the policy says the roles" in json.loads(told)["refused"]


def test_without_columns_it_begins_with_a_draft():
    drafted = anonrisk.Policy.draft(people()).roles
    with people().anon.explore(serve=True) as served:
        page = Asking(served).page()[1].decode()
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert tuple(column["name"] for column in data["columns"]) == drafted.quasi
    with pytest.raises(anonrisk.errors.AnonRiskError):
        people().anon.explore()


def test_what_is_not_served():
    with pytest.raises(ArgumentError, match="leave out time_limit="):
        people().anon.explore(QID, serve=True, time_limit=3)
    with pytest.raises(ArgumentError, match="go with qids="):
        people().anon.explore(serve=True, unit="who")
    with pytest.raises(NoColumnsError):
        people().anon.explore([], serve=True)


def test_without_the_library_a_page_is_made_and_serving_says_what_to_install():
    # In a process of its own, in which nothing has been loaded before.
    program = """
import sys
sys.modules["tornado"] = None
import pandas as pd
import anonrisk
from anonrisk.cli import main
frame = pd.DataFrame({"a": list("xxyyxxyyzz"), "b": list("mmmmmfffff")})
frame.anon.explore(["a", "b"], k=2)
try:
    frame.anon.explore(["a", "b"], k=2, serve=True)
except anonrisk.errors.MissingLibraryError as error:
    assert "pip install 'anonrisk[serve]'" in str(error), error
else:
    raise AssertionError("it is served")
assert main(["explore", "--help"]) == 0
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


# ---- its end -------------------------------------------------------------------------------------


def test_it_ends_when_it_is_closed():
    threads = threading.active_count()
    served = people().anon.explore(QID, serve=True)
    asking = Asking(served)
    assert served.url in repr(served).replace("\n  ", " ")
    assert asking.page()[0] == 200
    served.close()
    served.close()
    assert repr(served) == "Served explorer, closed."
    with pytest.raises(ConnectionRefusedError):
        asking.page()
    served.wait()
    deadline = time.monotonic() + 10
    while threading.active_count() > threads and time.monotonic() < deadline:
        time.sleep(0.05)
    assert threading.active_count() <= threads


def test_it_listens_to_this_machine_alone(asking):
    assert asking.host.startswith("127.0.0.1:")
    elsewhere = http.client.HTTPConnection("127.0.0.2", int(asking.host.split(":")[1]), 5)
    with pytest.raises(ConnectionRefusedError):
        elsewhere.connect()


EXPLORE = ["explore", "t.csv", "--qids", "zip", "sex", "--serve", "--json"]
# Goes on once its shell is gone: reading a table takes longer than starting.
ORPHAN = f"""
import os, sys, time
from anonrisk.cli import main
shell = os.getppid()
print("started", file=sys.stderr, flush=True)
while os.getppid() == shell:
    time.sleep(0.05)
main({EXPLORE})
"""


def process_of(tmp_path, *command):
    people().to_csv(tmp_path / "t.csv", index=False)
    return subprocess.Popen(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def started(tmp_path, *command):
    process = process_of(tmp_path, *command, sys.executable, "-m", "anonrisk", *EXPLORE)
    url = next(line for line in process.stderr if "http://" in line).split()[-1]
    return process, url


def answers(url):
    try:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=5)
        connection.request("GET", f"/?{urlsplit(url).query}")
        return connection.getresponse().status == 200
    except OSError:
        return False


@pytest.mark.slow
def test_the_command_ends_by_ctrl_c(tmp_path):
    process, url = started(tmp_path)
    assert answers(url)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert json.loads(out)["served"] == "t.csv"
    assert not answers(url)


def test_ctrl_c_ends_the_command_also_before_it_is_waited_for(tmp_path, monkeypatch, capsys):
    ended = []

    def interrupted(served, **_):
        ended.append(served)
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    people().to_csv("t.csv", index=False)
    monkeypatch.setattr(ServedExplorer, "wait", interrupted)
    assert main(EXPLORE) == 0
    assert json.loads(capsys.readouterr().out)["served"] == "t.csv"
    assert ended[0].closed


@pytest.mark.slow
def test_the_command_ends_with_its_shell(tmp_path):
    # The shell waits for the command, and is killed: nobody tells the command.
    process, url = started(tmp_path, "sh", "-c", '"$@"; true', "sh")
    assert answers(url)
    process.kill()
    deadline = time.monotonic() + 60
    while answers(url) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert not answers(url)
    process.communicate(timeout=60)


@pytest.mark.slow
def test_the_command_ends_where_its_shell_is_gone_already(tmp_path):
    shell = ["sh", "-c", '"$@" & read line', "sh"]
    process = process_of(tmp_path, *shell, sys.executable, "-c", ORPHAN)
    assert process.stderr.readline() == "started\n"
    # The shell reads the end of its input, and goes; the command holds the pipes until it ends.
    out, _ = process.communicate(timeout=60)
    assert json.loads(out)["served"] == "t.csv"
