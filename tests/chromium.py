"""A real browser for tests: the machine's own Chromium, asked through a pipe, gone afterwards.

`conftest.py` makes a fixture of it, one browser a session:

    def test_something(browser, tmp_path):
        with browser.page(tmp_path / "page.html", width=390, dark=True) as page:
            assert page.run("document.title") == "…"

It speaks the DevTools protocol (https://chromedevtools.github.io/devtools-protocol/), which
Chromium offers on two file descriptors: JSON, each message ended by a zero byte. That needs no
package, no driver and no port.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 30
# Becomes Chromium, once the ends of the pipes have the numbers that it expects.
START = """import os, sys
os.dup2(int(sys.argv[1]), 3), os.dup2(int(sys.argv[2]), 4), os.execv(sys.argv[3], sys.argv[3:])"""
FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    # It opens only what the tests wrote or serve, and in a container there is often no other.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    # What a page asks for is noticed, and still never leaves the machine.
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
)
HEIGHT = 844


class NoChromiumError(Exception):
    """Why there is none on this machine."""


class BrowserError(Exception):
    """What Chromium or a page's own script said went wrong."""


def find_program() -> str:
    """The Chromium that ANONRISK_CHROMIUM names, or else the one on the PATH."""
    asked = os.environ.get("ANONRISK_CHROMIUM")
    found = shutil.which(asked) if asked else next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        where = f"{asked} does not run" if asked else "none on the PATH"
        raise NoChromiumError(f"{where}: apt-get install chromium, or set ANONRISK_CHROMIUM")
    return found


@contextlib.contextmanager
def running():
    """Start a browser with a profile of its own; both are gone in the end."""
    program = find_program()
    (reads, our_write), (our_read, writes) = os.pipe(), os.pipe()
    ours = (our_write, our_read)
    # Out of the way of the numbers that they get.
    theirs = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (reads, writes))
    with tempfile.TemporaryDirectory(
        prefix="anonrisk-chromium-", ignore_cleanup_errors=True
    ) as profile:
        start = [sys.executable, "-ISc", START, *map(str, theirs), program]
        process = subprocess.Popen(
            [*start, *FLAGS, f"--user-data-dir={profile}"],
            env={**os.environ, "HOME": profile},
            pass_fds=theirs,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (*theirs, reads, writes):
            os.close(end)
        try:
            browser = Browser(*ours)
            try:
                browser.call("Browser.getVersion")
            except BrowserError as error:
                raise NoChromiumError(f"{program} does not start: {error}") from None
            yield browser
            browser.send("Browser.close")
            process.wait(SECONDS)
        finally:
            # A browser whose pipe is closed ends by itself, also where the tests were killed.
            for end in ours:
                os.close(end)
            process.kill()
            process.wait()


class Browser:
    """A running Chromium."""

    def __init__(self, write: int, read: int) -> None:
        self.write, self.read = write, read
        self.buffer = b""
        self.sent = 0
        self.events: list[dict[str, Any]] = []

    def send(self, method: str, session: str | None = None, **parameters: Any) -> int:
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        try:
            while data:
                data = data[os.write(self.write, data) :]
        except BrokenPipeError:
            raise BrowserError(f"{method}: the browser ended") from None
        return self.sent

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Ask for something and wait for the answer; what happens meanwhile is kept."""
        number = self.send(method, session, **parameters)
        while True:
            message = self.receive(method)
            if message.get("id") == number:
                if "error" in message:
                    raise BrowserError(f"{method}: {message['error']['message']}")
                return message["result"]

    def wait(self, method: str, session: str) -> dict[str, Any]:
        """Wait for something to happen, unless it has."""
        seen = 0
        while True:
            for event in self.events[seen:]:
                if event["method"] == method and event.get("sessionId") == session:
                    return event["params"]
            seen = len(self.events)
            self.receive(method)

    def receive(self, what: str) -> dict[str, Any]:
        deadline = time.monotonic() + SECONDS
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read], [], [], max(0, deadline - time.monotonic()))
            data = os.read(self.read, 1 << 20) if ready else b""
            if not data:
                raise BrowserError(f"{what}: {'the browser ended' if ready else 'no answer'}")
            self.buffer += data
        text, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(text)
        if "method" in message:
            self.events.append(message)
        return message

    @contextlib.contextmanager
    def page(
        self,
        path: Path | str,
        *,
        width: int = 1280,
        dark: bool = False,
        media: str = "screen",
        query: str = "",
    ):
        """Open a file, or an address of this machine, as somebody with that screen sees it."""
        self.events.clear()
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        url = path if isinstance(path, str) else path.resolve().as_uri() + query
        page = Page(self, attached["sessionId"], url)
        try:
            for domain in ("Page", "Runtime", "Log", "Network"):
                page.call(f"{domain}.enable")
            page.resize(width)
            page.show(dark=dark, media=media)
            page.call("Page.navigate", url=page.url)
            self.wait("Page.loadEventFired", page.session)
            yield page
        finally:
            self.call("Target.disposeBrowserContext", browserContextId=context)


@dataclass
class Page:
    """An open page, and what somebody can do with it."""

    browser: Browser
    session: str
    url: str

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **parameters)

    def resize(self, width: int) -> None:
        size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1}
        self.call("Emulation.setDeviceMetricsOverride", mobile=width < 600, **size)

    def show(self, *, dark: bool = False, media: str = "screen") -> None:
        # Else a test would look while something is still on its way.
        asked = {
            "prefers-color-scheme": "dark" if dark else "light",
            "prefers-reduced-motion": "reduce",
        }
        features = [{"name": name, "value": value} for name, value in asked.items()]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def run(self, script: str) -> Any:
        """Return what an expression of JavaScript comes to; a promise is waited for."""
        done = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in done:
            raised = done["exceptionDetails"]
            raise BrowserError(raised.get("exception", {}).get("description", raised["text"]))
        return done["result"].get("value")

    def wait_for(self, script: str) -> Any:
        """Return what an expression comes to once that is something; a script may be at work."""
        deadline = time.monotonic() + SECONDS
        while not (found := self.run(script)):
            if time.monotonic() > deadline:
                raise BrowserError(f"{script}: nothing came of it")
            time.sleep(0.05)
        return found

    def press(self, key: str, *, shift: bool = False) -> None:
        codes = {"Tab": 9, "Enter": 13, " ": 32, "ArrowRight": 39, "ArrowLeft": 37}
        shared = {"key": key, "windowsVirtualKeyCode": codes[key], "modifiers": 8 * shift}
        text = {"Enter": "\r", " ": " "}.get(key)
        kind = "keyDown" if text else "rawKeyDown"
        self.call("Input.dispatchKeyEvent", type=kind, **shared, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **shared)

    def click(self, x: float, y: float) -> None:
        """Press the mouse at a place of the screen."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def complaints(self) -> list[str]:
        """What went to the console as an error or a warning, and what a script threw."""
        told = []
        for event in self.events():
            of = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                told.append(of["exceptionDetails"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled" and of["type"] in (
                "error",
                "warning",
                "assert",
            ):
                told.append(str([one.get("value", one.get("description")) for one in of["args"]]))
            elif event["method"] == "Log.entryAdded" and of["entry"]["level"] != "verbose":
                told.append(of["entry"]["text"])
        return told

    def requests(self) -> list[str]:
        """What it asked for beside itself; addresses that are data themselves ask nobody."""
        asked = [
            event["params"]["request"]["url"]
            for event in self.events()
            if event["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in asked if url != self.url and not url.startswith("data:")]

    def frame(self) -> Page:
        """Return the page in a frame whose origin is its own, once it is there."""
        self.call(
            "Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=False, flatten=True
        )
        found = self.browser.wait("Target.attachedToTarget", self.session)
        inside = Page(self.browser, found["sessionId"], found["targetInfo"]["url"])
        for domain in ("Runtime", "Log", "Network"):
            inside.call(f"{domain}.enable")
        return inside

    def events(self) -> list[dict[str, Any]]:
        # What the page did before this is told before the answer to it.
        self.run("0")
        return [one for one in self.browser.events if one.get("sessionId") == self.session]

    def screenshot(self, path: Path) -> None:
        """Write all of the page as a picture, for people to look at."""
        done = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(done["data"]))

    def pdf(self) -> bytes:
        """Print it on A4."""
        done = self.call(
            "Page.printToPDF", preferCSSPageSize=True, paperWidth=8.27, paperHeight=11.7
        )
        return base64.b64decode(done["data"])
