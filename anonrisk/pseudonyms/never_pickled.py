"""What holds a key goes into no file, plan or other process."""

from __future__ import annotations

from typing import Any, NoReturn


class NeverPickled:
    """Base of every class that holds a key, or a subkey of one."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Reject to be pickled or copied."""
        name = type(self).__name__
        raise TypeError(f"{name} holds a key and is not pickled; make it where it is needed")
