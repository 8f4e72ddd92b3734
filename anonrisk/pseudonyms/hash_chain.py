"""Chains of records, each of which names the one before it: for ledger and audit alike.

A record is stored as canonical JSON with its `number`, from 1, and `previous`, the mark of the one
before. What a mark is, a seal under a key or a plain hash, is up to the chain. A head is the
number of a record, a colon and its mark: who keeps one elsewhere sees that the end was cut off.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from anonrisk.core.documents import canonical
from anonrisk.core.frozen import dataclass
from anonrisk.errors import ArgumentError
from anonrisk.pseudonyms.pseudonym import EPOCH

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from anonrisk.errors import AnonRiskError

# What is written by one machine and read by another is not refused for so little.
CLOCKS_DIFFER = timedelta(minutes=5)


def now() -> datetime:
    """Return the time of this machine, in UTC."""
    return datetime.now(UTC)


def microseconds(moment: datetime) -> int:
    """Return the microseconds since 1970-01-01 UTC, without rounding.

    Examples
    --------
    >>> microseconds(datetime(1970, 1, 2, tzinfo=UTC))
    86400000000
    """
    return (moment - EPOCH) // timedelta(microseconds=1)


def written(at: int) -> str:
    """Write microseconds since 1970-01-01 UTC as a time that people can read.

    Examples
    --------
    >>> written(86_400_000_001)
    '1970-01-02T00:00:00.000001+00:00'
    """
    return (EPOCH + timedelta(microseconds=at)).isoformat(timespec="microseconds")


def linked(head: str, about: Mapping[str, Any]) -> str:
    """Write the record that follows a head, as it is stored.

    Examples
    --------
    >>> linked("7:f00d", {"by": "Ann"})
    '{"by":"Ann","number":8,"previous":"f00d"}'
    """
    number, _, previous = head.partition(":")
    return canonical({**about, "number": int(number) + 1, "previous": previous})


@dataclass(frozen=True)
class ChainWords:
    """Says what is wrong with one kind of chain.

    Attributes
    ----------
    singular, plural : str
        What a record is called: ``"entry"``, ``"entries"``.
    noun : str
        What the chain is called: ``"ledger"``.
    mark : str
        What stands behind the colon of a head: ``"seal"``.
    error : type
        What is raised.
    """

    singular: str
    plural: str
    noun: str
    mark: str
    error: type[AnonRiskError]

    def name(self, number: int) -> str:
        """Name a record."""
        return f"{self.singular} {number:,} of the {self.noun}"

    def changed(self, number: int) -> AnonRiskError:
        """Return an error: a record is not as it was written."""
        return self.error(f"{self.name(number)} was changed, or put in")

    def check_place(self, number: int, result: Any) -> None:
        """Reject a record that has another number than the one that is due."""
        if result != number:
            raise self.error(f"{self.name(number)} is missing: it was taken out")

    def check_link(
        self, stored: Mapping[str, Any], number: int, previous: str, names: Collection[str]
    ) -> None:
        """Reject a record that was written to follow another one, or by another version."""
        if stored.get("number") != number or stored.get("previous") != previous:
            raise self.error(
                f"{self.name(number)} does not follow the one before it: {self.plural} were moved, "
                f"or come from another {self.noun} (it was written as {self.singular} "
                f"{stored.get('number')})"
            )
        if set(stored) != {*names, "number", "previous"}:
            raise self.error(f"{self.name(number)} was written by a newer anonrisk")

    def number_of(self, head: Any) -> int:
        """Read the number of a head that somebody kept elsewhere."""
        number, colon, mark = str(head).partition(":")
        if not (colon and mark and number.isascii() and number.isdecimal() and len(number) < 19):
            raise ArgumentError(
                f"the head of the {self.noun} is a number, a colon and a {self.mark}"
            )
        return int(number)

    def refuse_other(self, head: str, result: str | None, last: int) -> None:
        """Raise unless a head is the one found at its number; `last` is the last number."""
        if head == result:
            return
        number = self.number_of(head)
        if number > last:
            raise self.error(
                f"the {self.noun} had {self.singular} {number:,} and now ends at {self.singular} "
                f"{last:,}: its end was cut off"
            )
        raise self.error(
            f"{self.name(number)} is another one than it was: the end was cut off and written "
            f"anew, or this is another {self.noun}"
        )
