"""Pages of what was measured, under the path that users import them by."""

from anonrisk.reporting.page import html, refused

__all__ = ["html", "refused"]
