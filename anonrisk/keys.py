"""Keys, under the path that users import them by."""

from anonrisk.core.key_parts import KeyPart
from anonrisk.core.keys import Key
from anonrisk.releases.seal import PublicKey, SigningKey

__all__ = ["Key", "KeyPart", "PublicKey", "SigningKey"]
