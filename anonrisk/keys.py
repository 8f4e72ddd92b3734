"""Keys, under the path that users import them by."""

from anonrisk.pseudonyms.keys import Key, KeyPart
from anonrisk.pseudonyms.seal import PublicKey, SigningKey

__all__ = ["Key", "KeyPart", "PublicKey", "SigningKey"]
