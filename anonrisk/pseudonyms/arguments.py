"""Names, reasons, scopes and pseudonyms as callers give them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from anonrisk.core.arguments import line_of_text, one_of, whole_number
from anonrisk.errors import ArgumentError, SecretKeyError
from anonrisk.pseudonyms.rights import ACTIONS, ANY, ON_PERSONS

if TYPE_CHECKING:
    from anonrisk.pseudonyms.keys import Key
    from anonrisk.pseudonyms.rights import StoreSettings

LONGEST_NAME, LONGEST_REASON = 255, 2_000
# What pseudonyms are made of, in any format and length.
_PSEUDONYM = re.compile(r"[A-Za-z0-9_-]{1,64}")


def name_of(value: Any, what: str) -> str:
    """Read the name of somebody."""
    return line_of_text(value, f"{what}= is the name of somebody", LONGEST_NAME)


def reason_of(value: Any) -> str:
    """Read why somebody does something."""
    return line_of_text(value, "reason= says why", LONGEST_REASON)


def recipient_of(value: Any, what: str = "scope") -> str:
    """Read the recipient that pseudonyms are for."""
    scope = line_of_text(value, f"{what}= names a recipient", LONGEST_NAME)
    if scope == ANY:
        raise ArgumentError(f"{what}={ANY!r} stands for every recipient: name one")
    return scope


def pseudonym_of(value: Any) -> str:
    """Read a pseudonym; what cannot be one, such as most names, does not get into the audit."""
    if not isinstance(value, str) or not _PSEUDONYM.fullmatch(value):
        raise ArgumentError("a pseudonym is a text of at most 64 letters, digits, - and _")
    return value


def right_of(action: Any, scope: Any) -> tuple[str, str]:
    """Read an action and the recipient that it is granted for, which an office has none of."""
    word = one_of(action, "action", ACTIONS)
    if word not in ON_PERSONS:
        if scope is not None:
            raise ArgumentError(f"{word!r} is for the whole store: it takes no scope=")
        return word, ""
    if scope is None:
        raise ArgumentError(f"{word!r} is for a recipient: scope=…, or scope={ANY!r} for all")
    return word, ANY if isinstance(scope, str) and scope == ANY else recipient_of(scope)


def volume_of(per_day: Any, action: str) -> int | None:
    """Read how many persons a day are granted, which an office has no limit of."""
    if action not in ON_PERSONS:
        if per_day is not None:
            raise ArgumentError(f"{action!r} is not done to persons: it takes no per_day=")
        return None
    if per_day is None:
        raise ArgumentError(f"{action!r} needs per_day=, how many persons in any 24 hours")
    return whole_number(per_day, "per_day", at_least=1)


def at_least_one(value: Any, what: str) -> int | None:
    """Read a number of days or of holders, if one is given."""
    return None if value is None else whole_number(value, what, at_least=1)


def refuse_parts(key: Key, settings: StoreSettings) -> None:
    """Reject a key that fewer persons hold than the store asks for."""
    if settings.key_parts > max(len(key.holders), 1):
        raise SecretKeyError(
            f"this store takes a key put together from the parts of {settings.key_parts} holders "
            "at least: Key.from_parts"
        )
