"""The identity protector, under the path that users import it by."""

from anonrisk.core.collisions import CollisionChance, collision_chance
from anonrisk.pseudonyms import (
    AuditTrail,
    Erasure,
    Event,
    Expiry,
    IdentityProtector,
    Right,
    Rights,
    Rotation,
    VerifiedStore,
)

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
