"""The identity protector, under the path that users import it by."""

from anonrisk.pseudonyms.audit import AuditTrail, Event
from anonrisk.pseudonyms.protector import IdentityProtector
from anonrisk.pseudonyms.pseudonym import CollisionChance, collision_chance
from anonrisk.pseudonyms.rights import Right, Rights
from anonrisk.pseudonyms.upkeep import Erasure, Expiry, Rotation, VerifiedStore

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
