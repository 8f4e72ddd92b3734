"""The identity protector, under the path that users import it by."""

from anonrisk.pseudonyms import (
    AuditTrail,
    Event,
    IdentityProtector,
    Right,
    Rights,
    VerifiedStore,
)

__all__ = ["AuditTrail", "Event", "IdentityProtector", "Right", "Rights", "VerifiedStore"]
