"""The identity protector, under the path that users import it by."""

from anonrisk.pseudonyms import IdentityProtector

__all__ = ["IdentityProtector"]
