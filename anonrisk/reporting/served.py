"""An explorer that counts when it is asked: a page on this machine, for whoever has its address."""

from __future__ import annotations

import asyncio
import os
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self

from anonrisk.core import render
from anonrisk.core.column_roles import Roles
from anonrisk.core.roles_documents import ROLE_NAMES
from anonrisk.errors import ArgumentError, MissingLibraryError
from anonrisk.reporting.explored import t_step
from anonrisk.reporting.explorer import Explorer, packed_counts
from anonrisk.reporting.report import template
from anonrisk.reporting.text import name_of

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from types import TracebackType

    from anonrisk.core.columns import Name
    from anonrisk.reporting.explored import OpenedTable

    Again = Callable[[Roles, int], OpenedTable]

HOST = "127.0.0.1"
KEEP_URL = "Whoever has this address sees the page: keep it to yourself."
# Whoever asks for more combinations at once keeps others waiting.
MOST_NODES = 64
# What a person may say of a column, by the word of a policy.
ROLE_CHOICES = {
    "quasi": "others may know it",
    "sensitive": "nobody should learn it",
    "unit": "it says who the person is",
    "direct": "it names a person: left out",
    "insensitive": "neither: it may stay",
    "": "nobody has looked at it",
}


def require_server() -> None:
    """Reject at once what cannot be served here."""
    try:
        import tornado.web  # noqa: F401
    except ImportError:
        raise MissingLibraryError(
            "a served explorer needs tornado: pip install 'anonrisk[serve]'"
        ) from None
    template("explore.html")


class ServedExplorer(render.PrintedLines):
    """An explorer whose page is served on this machine, and counts what is chosen on it.

    Attributes
    ----------
    url : str
        What to open in a browser of this machine. Whoever has it sees the page: keep it to
        yourself.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1012", "1021", "1022"] * 3})
    >>> with df.anon.explore("zip", serve=True) as served:  # doctest: +SKIP
    ...     served.wait()
    """

    def __init__(self, opened: OpenedTable, again: Again | None) -> None:
        """Serve a table that was counted; `again` counts it with other roles."""
        from tornado.netutil import bind_sockets

        from anonrisk.reporting.server import Guard

        self._page = _ServedPage(opened, again)
        (listening,) = bind_sockets(0, HOST)
        origin = f"http://{HOST}:{listening.getsockname()[1]}"
        self._guard = Guard(origin, secrets.token_urlsafe(32))
        self.url = f"{origin}/?token={self._guard.token}"
        # One at a time: two counts together take longer than one after the other.
        self._worker = ThreadPoolExecutor(1, "anonrisk-count")
        self._started, self._stop = threading.Event(), asyncio.Event()
        # A daemon, so that it ends with Python.
        self._thread = threading.Thread(
            target=asyncio.run, args=(self._run(listening),), name="anonrisk-serve", daemon=True
        )
        self._thread.start()
        self._started.wait()

    async def _run(self, listening: socket.socket) -> None:
        from anonrisk.reporting.server import server_of

        self._loop = asyncio.get_running_loop()
        page = self._page
        answers = {"/count": page.count, "/roles": page.change}
        server = server_of(self._guard, lambda: page.html, answers, self._worker)
        server.add_sockets([listening])
        self._started.set()
        await self._stop.wait()
        server.stop()
        await server.close_all_connections()

    @property
    def closed(self) -> bool:
        """Whether it has ended."""
        return not self._thread.is_alive()

    def close(self) -> None:
        """End it: the page answers no more."""
        if not self.closed:
            self._worker.shutdown(wait=False, cancel_futures=True)
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def wait(self, *, parent: int | None = None) -> None:
        """Wait until it is closed, by Ctrl-C too; or until the shell is gone that started this.

        Parameters
        ----------
        parent : int, optional
            The process that started this one; left out, the one that has now.
        """
        parent = os.getppid() if parent is None else parent
        try:
            while not self.closed and os.getppid() == parent:
                self._thread.join(timeout=0.5)
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def __enter__(self) -> Self:
        """Serve within a block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End it."""
        self.close()

    def _lines(self) -> list[str]:
        if self.closed:
            return ["Served explorer, closed."]
        return [
            f"Explorer on this machine: {self.url}",
            f"{KEEP_URL} close() ends it.",
        ]

    def _repr_html_(self) -> str:
        if self.closed:
            return super()._repr_html_()
        # No frame: nobody's page may hold this one, and a notebook's address is not known.
        link = f'<a href="{self.url}" target="_blank" rel="noreferrer">Open the explorer</a>'
        # What a saved notebook still shows when it is opened again.
        ends = "close() ends it, and so does the end of the kernel: then run the cell again."
        saved = "A notebook that is saved keeps the address."
        return f"<p>{link} on this machine. {KEEP_URL} {saved} {ends}</p>"


class _ServedPage:
    """The table that is shown now, as a page and by combinations; another one has other roles."""

    def __init__(self, opened: OpenedTable, again: Again | None) -> None:
        self._again, self._number = again, 0
        self._show(opened)

    def _show(self, opened: OpenedTable) -> None:
        held = opened.first()
        held["state"] = self._number + 1
        held["roles"] = None
        if self._again is not None:
            held["roles"] = {
                "choices": ROLE_CHOICES,
                "columns": [[name_of(name), _role(opened, name)] for name in opened.columns],
            }
        html = Explorer(held).to_html()
        self._number, self._opened, self.html = held["state"], opened, html

    def count(self, asked: Any) -> dict[str, Any]:
        """Count the combinations that a page asks for."""
        nodes = _part(asked, "nodes", list)
        if not 0 < len(nodes) <= MOST_NODES:
            raise ArgumentError(f"ask for 1 to {MOST_NODES} combinations")
        if _part(asked, "state", int) != self._number:
            raise ArgumentError("the roles were changed on another page: load this one again")
        floor, n = self._opened.options.floor, self._opened.people_told
        counts = self._opened.counts_of(nodes)
        return {"nodes": nodes, **packed_counts(counts, floor, t_step(n, floor))}

    def change(self, asked: Any) -> dict[str, Any]:
        """Count the table anew, with other roles: an array in the order of its columns."""
        if self._again is None:
            raise ArgumentError("the policy says the roles")
        columns, words = self._opened.columns, _part(asked, "roles", list)
        if len(words) != len(columns) or not all(
            isinstance(role, str) and role in ROLE_CHOICES for role in words
        ):
            raise ArgumentError(f"roles: one of each column, in order, of {[*ROLE_CHOICES]}")
        by_role = {
            role: tuple(name for name, word in zip(columns, words, strict=True) if word == role)
            for role in ROLE_CHOICES
        }
        if len(by_role["unit"]) > 1:
            raise ArgumentError("one column at most says who the person is")
        unit = next(iter(by_role["unit"]), None)
        chosen = Roles(**{role: by_role[role] for role in ROLE_NAMES}, unit=unit)
        k = _part(asked, "k", int)
        if k != self._opened.asked.k and not self._opened.may_be_k(k):
            least = self._opened.options.floor
            raise ArgumentError(
                f"k is 2, or at least {least}: between them, it would tell the size of a smallest "
                "class that is not shown"
            )
        self._show(self._again(chosen, k))
        return {}


def _part(asked: Any, name: str, kind: type) -> Any:
    """Return a part of what was asked; reject what is not of its kind."""
    value = asked.get(name) if isinstance(asked, dict) else None
    if type(value) is not kind:
        raise ArgumentError(f"{name} is not what it should be")
    return value


def _role(opened: OpenedTable, column: Name) -> str:
    """Return the role that a column has on the page."""
    asked = opened.asked
    named = {
        "quasi": asked.qid,
        "sensitive": asked.distances,
        "unit": (asked.unit,),
        "direct": asked.leave_out,
        "": asked.not_looked_at,
    }
    return next((role for role, names in named.items() if column in names), "insensitive")
