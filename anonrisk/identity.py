"""The identity protector, under the path that users import it by."""

from anonrisk.core.collisions import CollisionChance, collision_chance
from anonrisk.pseudonyms import (
    AuditTrail,
    Event,
    IdentityProtector,
    Right,
    Rights,
    VerifiedStore,
)

__all__ = [
    "AuditTrail",
    "CollisionChance",
    "Event",
    "IdentityProtector",
    "Right",
    "Rights",
    "VerifiedStore",
    "collision_chance",
]
