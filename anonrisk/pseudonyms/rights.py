"""Who may do what, and how much of it a day: what replaying the audit gives."""

from __future__ import annotations

import re
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Self

from anonrisk.core.arguments import line_of_text, one_of, whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedTable, count_of, named
from anonrisk.errors import ArgumentError, SecretKeyError
from anonrisk.pseudonyms.audit import FIRST_EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from anonrisk.pseudonyms.audit import Event
    from anonrisk.pseudonyms.keys import Key

# What is done to persons: granted for a recipient, so many persons a day.
ON_PERSONS = ("issue", "reveal", "convert", "erase")
# What is done to the store.
OFFICES = ("grant", "audit", "rotate")
ACTIONS = (*ON_PERSONS, *OFFICES)
# Stands for every recipient.
ANY = "*"
# In microseconds, as are the times of what was used.
DAY = 86_400_000_000

# Person, action, and recipient; an office has none.
RightKey = tuple[str, str, str | None]
# When, and how many persons.
Use = tuple[int, int]


@dataclass(frozen=True)
class StoreSettings:
    """What was settled when a store was made, as it is now.

    Attributes
    ----------
    admin : str
        The first administrator.
    key_parts : int
        Of how many holders' parts the key must be put together; 1 if of none.
    keep_identities, keep_audit : int or None
        After how many days identities and events expire; None: never.
    fold_case : bool
        Whether texts that differ by the case of letters alone are one person when erased.
    """

    admin: str
    key_parts: int = 1
    keep_identities: int | None = None
    keep_audit: int | None = None
    fold_case: bool = False


@dataclass(frozen=True)
class Right:
    """What somebody may do, and how much of it is left.

    Attributes
    ----------
    person, action : str
        Who may do what.
    scope : str or None
        For which recipient, ``"*"`` for all; None for an office.
    per_day, left : int or None
        How many persons in any 24 hours, and how many more now; None for an office.
    """

    person: str
    action: str
    scope: str | None
    per_day: int | None
    left: int | None


@dataclass(frozen=True, repr=False)
class Rights(PrintedTable):
    """Present rights, in the order of persons.

    Attributes
    ----------
    items : tuple of Right
        Each with what is left of it now.
    """

    items: tuple[Right, ...]

    def __iter__(self) -> Iterator[Right]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def _lines(self) -> list[str]:
        return [f"{count_of(len(self.items), 'right')}"]

    def _header(self) -> tuple[str, ...]:
        return "person", "may", "for", "a day", "left"

    def _rows(self) -> list[list[str]]:
        return [
            [
                *(
                    named(item.person),
                    item.action,
                    "-" if item.scope is None else named(item.scope),
                ),
                *("-" if number is None else f"{number:,}" for number in (item.per_day, item.left)),
            ]
            for item in self.items
        ]


@dataclass(frozen=True)
class Keeping:
    """What holds in a store after an event: rights, what was used of them, erasures, settings.

    Attributes
    ----------
    settings : StoreSettings
        What was settled.
    granted : mapping
        How many persons a day, by person, action and recipient; None for an office.
    used : mapping
        When how many persons, by person, action and recipient, and for all recipients together:
        of the last 24 hours at least.
    erased : frozenset of str
        Keyed tags of persons who must not come back.
    epoch : int
        How many keys there were.
    rotating : bool
        Whether a rotation began and did not end.
    at : int
        When the last event was.
    """

    settings: StoreSettings
    granted: Mapping[RightKey, int | None] = field(default_factory=dict)
    used: Mapping[RightKey, tuple[Use, ...]] = field(default_factory=dict)
    erased: frozenset[str] = frozenset()
    epoch: int = FIRST_EPOCH
    rotating: bool = False
    at: int = 0

    def after(self, events: Iterable[Event]) -> Keeping:
        """Return what holds after these events."""
        replay = _Replay(self)
        for event in events:
            replay.take(event)
        return replay.keeping()

    # ---- questions --------------------------------------------------------------------------

    def may(self, person: str, action: str) -> bool:
        """Return whether somebody holds an office."""
        return (person, action, None) in self.granted

    def granters(self) -> set[str]:
        """Return all who may grant."""
        return {person for person, action, _ in self.granted if action == "grant"}

    def left(self, person: str, action: str, scope: str, at: int) -> int | None:
        """Return how many persons somebody may still do this to; None if it was never granted.

        Of several grants that fit, the one with most room counts.
        """
        rooms = [
            self._room((person, action, granted), at)
            for granted in (scope, ANY)
            if (person, action, granted) in self.granted
        ]
        return max(rooms) if rooms else None

    def rights(self, at: int) -> Rights:
        """Return the table of present rights."""
        keys = sorted(self.granted, key=lambda key: (key[0], ACTIONS.index(key[1]), key[2] or ""))
        return Rights(
            tuple(
                Right(*key, self.granted[key], None if key[2] is None else self._room(key, at))
                for key in keys
            )
        )

    def _room(self, key: RightKey, at: int) -> int:
        uses = self.used.get(key, ())
        used = sum(persons for moment, persons in uses if moment > at - DAY)
        return max(0, (self.granted[key] or 0) - used)

    # ---- as an event keeps it ---------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for the event that stands in the place of those before it."""
        return {
            "settings": vars(self.settings),
            "granted": [[*key, per_day] for key, per_day in _sorted(self.granted)],
            "used": [
                [*key, [list(use) for use in uses if use[0] > self.at - DAY]]
                for key, uses in _sorted(self.used)
            ],
            "erased": sorted(self.erased),
            "epoch": self.epoch,
            "rotating": self.rotating,
            "at": self.at,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_dict` gave."""
        return cls(
            StoreSettings(**document["settings"]),
            {(who, what, whom): per_day for who, what, whom, per_day in document["granted"]},
            {
                (who, what, whom): tuple((moment, persons) for moment, persons in uses)
                for who, what, whom, uses in document["used"]
            },
            frozenset(document["erased"]),
            *(document[name] for name in ("epoch", "rotating", "at")),
        )


def _sorted(by: Mapping[RightKey, Any]) -> list[tuple[RightKey, Any]]:
    """Return the pairs in one order, whatever was granted first."""
    return sorted(by.items(), key=lambda pair: (pair[0][0], pair[0][1], pair[0][2] or ""))


class _Replay:
    """Takes one event after the other; copies what it changes once, not once an event."""

    def __init__(self, start: Keeping) -> None:
        self.start = start
        self.granted = dict(start.granted)
        self.used: dict[RightKey, list[Use]] = {}
        self.erased: set[str] = set()
        self.settings, self.epoch, self.rotating = start.settings, start.epoch, start.rotating
        self.before = self.at = start.at

    def take(self, event: Event) -> None:
        self.before, self.at = self.at, event.moment
        if event.outcome != "done":
            return
        if event.action in ON_PERSONS:
            for scope in {event.scope, event.target or event.scope, ANY}:
                self._use((event.by, event.action, scope), event)
        effect = getattr(self, f"_{event.action}", None)
        if effect is not None:
            effect(event)

    def keeping(self) -> Keeping:
        used = {**self.start.used}
        for key, uses in self.used.items():
            used[key] = tuple(use for use in uses if use[0] > self.at - DAY)
        return replace(
            self.start,
            settings=self.settings,
            granted=self.granted,
            used=used,
            erased=self.start.erased | self.erased if self.erased else self.start.erased,
            epoch=self.epoch,
            rotating=self.rotating,
            at=self.at,
        )

    def _use(self, key: RightKey, event: Event) -> None:
        if key not in self.used:
            self.used[key] = list(self.start.used.get(key, ()))
        self.used[key].append((event.moment, event.persons))

    # ---- what each action changes -----------------------------------------------------------

    def _create(self, event: Event) -> None:
        self.settings = StoreSettings(event.person, **event.details["settings"])
        self.granted = {(event.person, office, None): None for office in ("grant", "audit")}

    def _grant(self, event: Event) -> None:
        self.granted[_right_of(event)] = event.per_day

    def _revoke(self, event: Event) -> None:
        self.granted.pop(_right_of(event), None)

    def _erase(self, event: Event) -> None:
        self.erased.update(event.details["tags"])

    def _set_retention(self, event: Event) -> None:
        self.settings = replace(self.settings, **event.details)

    def _accept_clock(self, event: Event) -> None:
        # Else what was used at a time that lies ahead now would count until then.
        for key in {*self.start.used, *self.used}:
            uses = self.used.get(key, list(self.start.used.get(key, ())))
            self.used[key] = [
                (min(moment, event.moment), persons)
                for moment, persons in uses
                if moment > self.before - DAY
            ]

    def _rotate(self, event: Event) -> None:
        self.epoch, self.rotating = event.details["epoch"], True

    def _rotated(self, _event: Event) -> None:
        self.rotating = False


def _right_of(event: Event) -> RightKey:
    return event.person, event.target, event.scope or None


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
