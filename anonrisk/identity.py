"""The identity protector, under the path that users import it by."""

from anonrisk.pseudonyms.audit import AuditTrail, Event
from anonrisk.pseudonyms.collisions import CollisionChance, collision_chance
from anonrisk.pseudonyms.erasure import Erasure
from anonrisk.pseudonyms.protector import IdentityProtector
from anonrisk.pseudonyms.retention import Expiry
from anonrisk.pseudonyms.rights import Right, Rights
from anonrisk.pseudonyms.rotation import Rotation
from anonrisk.pseudonyms.verifying import VerifiedStore

__all__ = [
    "AuditTrail",
    "CollisionChance",
    "Erasure",
    "Event",
    "Expiry",
    "IdentityProtector",
    "Right",
    "Rights",
    "Rotation",
    "VerifiedStore",
    "collision_chance",
]
