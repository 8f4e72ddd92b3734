"""A keeper of pseudonyms: issues them, converts them between recipients, and reveals who is meant.

Needs SQLAlchemy (``pip install anonrisk[store]``), which is imported when a keeper is made.
"""

from __future__ import annotations

from anonrisk.pseudonyms.protector import Event, IdentityProtector

__all__ = ["Event", "IdentityProtector"]
