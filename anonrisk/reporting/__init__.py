"""What people see: pages and pictures of results."""

from __future__ import annotations

from anonrisk.reporting.explorer import Explorer
from anonrisk.reporting.page import Report, html, refused

__all__ = ["Explorer", "Report", "html", "refused"]

# The words that a user types, each with its file here; the other files bring policies along.
WORDS = ("explore", "report")
