"""A keeper of pseudonyms: issues them, converts them between recipients, and reveals who is meant.

Needs SQLAlchemy (``pip install anonrisk[store]``), which is imported when a keeper is made.
"""

from __future__ import annotations

from anonrisk.pseudonyms.audit import AuditTrail, Event
from anonrisk.pseudonyms.protector import IdentityProtector
from anonrisk.pseudonyms.rights import Right, Rights
from anonrisk.pseudonyms.verifying import VerifiedStore

__all__ = ["AuditTrail", "Event", "IdentityProtector", "Right", "Rights", "VerifiedStore"]
