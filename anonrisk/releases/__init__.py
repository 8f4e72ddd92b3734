"""Releases: several tables, several times, and what an attacker learns from all of them."""

from __future__ import annotations

# The words that a user types, each with its file here.
WORDS = {"compare": "compare.compare", "sketch": "state.sketch", "state": "state.state"}
