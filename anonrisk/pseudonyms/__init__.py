"""A keeper of pseudonyms: issues them, converts them between recipients, and reveals who is meant.

Needs SQLAlchemy and cryptography (``pip install anonrisk[store]``), which are imported when a
keeper is made.
"""

from __future__ import annotations

from anonrisk.pseudonyms.audit import AuditTrail, Event
from anonrisk.pseudonyms.erasure import Erasure
from anonrisk.pseudonyms.protector import IdentityProtector
from anonrisk.pseudonyms.retention import Expiry
from anonrisk.pseudonyms.rights import Right, Rights
from anonrisk.pseudonyms.rotation import Rotation
from anonrisk.pseudonyms.verifying import VerifiedStore

__all__ = [
    "AuditTrail",
    "Erasure",
    "Event",
    "Expiry",
    "IdentityProtector",
    "Right",
    "Rights",
    "Rotation",
    "VerifiedStore",
]
