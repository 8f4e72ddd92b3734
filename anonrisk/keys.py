"""Keys, under the path that users import them by."""

from anonrisk.pseudonyms.key_parts import KeyPart
from anonrisk.pseudonyms.keys import Key
from anonrisk.pseudonyms.seal import PublicKey, SigningKey

__all__ = ["Key", "KeyPart", "PublicKey", "SigningKey"]
