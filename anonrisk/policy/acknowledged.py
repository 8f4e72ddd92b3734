"""The words of doubts about contents, and the acknowledgements by which a person answers them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document
from anonrisk.errors import PolicyError
from anonrisk.policy import fields

if TYPE_CHECKING:
    from anonrisk.core.columns import Name

# Every doubt: whether it blocks until somebody acknowledges it, and what the column looks like.
DOUBTS: dict[str, tuple[bool, str]] = {
    "email_address": (True, "e-mail addresses"),
    "web_address": (True, "web addresses"),
    "ip_address": (True, "IP addresses, version 4 or 6"),
    "mac_address": (True, "addresses of network cards"),
    "hash": (True, "UUIDs or hashes, except in the unit"),
    "telephone_number": (True, "telephone numbers"),
    "coordinates": (True, "coordinates with four or more decimals"),
    "iban": (True, "IBANs whose check digits agree"),
    "card_number": (True, "numbers of credit cards whose check digit agrees"),
    "national_number": (True, "numbers by which a state identifies a person"),
    "names": (True, "names of people, by a detector of yours"),
    "nearly_unique": (True, "insensitive, and nearly every text or key is different"),
    "many_values": (False, "insensitive, and nearly every measurement or date is different"),
    "free_text": (False, "long texts, which may say anything about anybody"),
    "spellings": (False, "values that differ only by case, spaces or accents"),
    "placeholder": (False, "values that people write for unknown ones"),
    "keys": (False, "keys inside cells that are named like direct identifiers"),
    "nested": (False, "insensitive lists, maps or structs, whose contents are not checked"),
    "birth_date": (False, "insensitive dates that may be dates of birth"),
    "counts": (False, "a table of counts, where a row is not a person"),
    "outlier": (False, "a number so far from all others that it singles out its owner"),
}
_KEYS = ("column", "doubt", "reason")


@dataclass(frozen=True)
class Acknowledged(Document):
    """A doubt about a column that a person has answered.

    Attributes
    ----------
    column : name
        The column.
    doubt : str
        The word of the doubt.
    reason : str
        Why the column may be as it is.
    """

    column: Name
    doubt: str
    reason: str


def read_acknowledged(value: Any, what: str = "acknowledged") -> tuple[Acknowledged, ...]:
    """Read the list of a policy; an unknown doubt, or one without a reason, is refused."""
    if isinstance(value, (list, tuple)) and not value:
        return ()
    made: dict[tuple[Name, str], Acknowledged] = {}
    for i, entry in enumerate(fields.listed(value, what)):
        where = f"{what}[{i}]"
        stated = fields.mapping(entry, where, _KEYS, {})
        for key in _KEYS:
            if key not in stated:
                raise PolicyError(f"{where} has no {key}: it needs {', '.join(_KEYS)}")
        read = Acknowledged(
            fields.name(stated["column"], f"{where}.column"),
            fields.word(stated["doubt"], f"{where}.doubt", tuple(DOUBTS)),
            fields.said(stated["reason"], f"{where}.reason"),
        )
        if (read.column, read.doubt) in made:
            raise PolicyError(f"{where} acknowledges {read.doubt} of {read.column!r} twice")
        made[read.column, read.doubt] = read
    return tuple(made.values())
