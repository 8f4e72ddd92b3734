"""The identity protector, under the path that users import it by."""

from anonrisk.pseudonyms import Event, IdentityProtector

__all__ = ["Event", "IdentityProtector"]
