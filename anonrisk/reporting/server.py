"""What a served explorer answers, and to whom: whoever knows the token, from its own page.

Nothing is read from a disk, so that no path leads anywhere, and nothing is logged: an address
holds the token.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from typing import TYPE_CHECKING, Any

from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import shown
from anonrisk.errors import AnonRiskError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from concurrent.futures import Executor

    Answer = Callable[[Any], dict[str, Any]]

# A role for each of thousands of columns fits.
_MOST_BYTES = 1 << 18
_MOST_HEADERS = 1 << 14
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True)
class Guard:
    """Who is let in.

    Attributes
    ----------
    origin : str
        The address of the page, without a path.
    token : str
    """

    origin: str
    token: str

    def lets_read(self, host: str | None, origin: str | None, token: str) -> bool:
        """Return whether the page may be given: a link from elsewhere tells no origin."""
        return origin in (None, self.origin) and self._knows(host, token)

    def lets_ask(self, host: str | None, origin: str | None, site: str | None, token: str) -> bool:
        """Return whether the page itself asks."""
        own = origin == self.origin and site in (None, "same-origin")
        return own and self._knows(host, token)

    def _knows(self, host: str | None, token: str) -> bool:
        # Another name for this machine may be one that somebody else has given it.
        return f"http://{host}" == self.origin and secrets.compare_digest(
            token.encode(), self.token.encode()
        )


class _Guarded(RequestHandler):
    """Whoever is not let in gets nothing but a refusal, whatever was asked for."""

    def initialize(self, guard: Guard, **more: Any) -> None:
        """Take what the address was set up with."""
        self.guard = guard
        self.more = more

    def set_default_headers(self) -> None:
        """Keep the page out of caches, frames and other pages."""
        self.clear_header("Server")
        for name, value in _HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        """Reject a request before anything is read."""
        headers = self.request.headers
        about = headers.get("Host"), headers.get("Origin")
        if self.request.method in {"GET", "HEAD"}:
            lets = self.guard.lets_read(*about, self.get_query_argument("token", ""))
        else:
            token = headers.get("Authorization", "").removeprefix("Bearer ")
            lets = self.guard.lets_ask(*about, headers.get("Sec-Fetch-Site"), token)
        if not lets:
            self.send_error(403)

    def write_error(self, status_code: int, **_: Any) -> None:
        """State no more than a number."""
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish("Refused." if status_code == 403 else f"Not done ({status_code}).")

    def log_exception(self, *_: Any) -> None:
        """Log nothing: an error may hold anything."""


class _Nothing(_Guarded):
    def prepare(self) -> None:
        """Answer nothing, also to whoever is let in."""
        super().prepare()
        if not self._finished:
            self.send_error(404)


class _Page(_Guarded):
    def get(self) -> None:
        """Return the page."""
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.finish(self.more["page"]())


class _AnswersPage(_Guarded):
    async def post(self) -> None:
        """Answer what the page asks."""
        try:
            asked = json.loads(self.request.body)
        except (ValueError, RecursionError):
            asked = None
        loop = asyncio.get_running_loop()
        try:
            result = await loop.run_in_executor(self.more["worker"], self.more["answer"], asked)
        except AnonRiskError as error:
            self.set_status(400)
            result = {"refused": shown(error)}
        self.set_header("Content-Type", "application/json")
        self.finish(json.dumps(result))


def server_of(
    guard: Guard, page: Callable[[], str], answers: Mapping[str, Answer], worker: Executor
) -> HTTPServer:
    """Return what answers: a page, and by their paths what it asks, counted by a worker."""
    asked = [
        (path, _AnswersPage, {"guard": guard, "answer": answer, "worker": worker})
        for path, answer in answers.items()
    ]
    application = Application(
        [("/", _Page, {"guard": guard, "page": page}), *asked],
        default_handler_class=_Nothing,
        default_handler_args={"guard": guard},
        log_function=lambda _: None,
    )
    return HTTPServer(application, max_body_size=_MOST_BYTES, max_header_size=_MOST_HEADERS)
