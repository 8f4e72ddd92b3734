"""What people see: pages and pictures of results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from anonrisk.reporting.explorer import Explorer as Explorer
    from anonrisk.reporting.report import Report, html, refused

__all__ = ["Explorer", "Report", "html", "refused"]

# The words that a user types, each with its file here; the other files bring policies along.
WORDS = ("explore", "report")


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Load what is named: every import of the package passes through here."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from anonrisk.reporting import explorer, report

        return getattr(explorer if name == "Explorer" else report, name)
