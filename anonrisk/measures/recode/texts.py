"""Recodings of texts: to their beginnings, and the rare ones put together."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from anonrisk.core.arguments import instance_of, list_of, whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.errors import ArgumentError, PlanError
from anonrisk.measures.recode import recoding as text
from anonrisk.measures.recode.recoding import Recoding, numbered

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.types import Integers
    from anonrisk.measures.counts.tally import Domain

# ZIP codes in full, and the areas of their first three digits.
ZIP, AREA = re.compile("[0-9]{5}(-[0-9]{4})?"), re.compile("[0-9]{3}")
# More names than this nobody reads: a stored plan has them all.
_LISTED = 40


@dataclass(frozen=True)
class Prefix(Recoding):
    """Keep the first characters of a code, and write a star for each of the others.

    Attributes
    ----------
    length : int
        Number of characters to keep.
    width : int, optional
        Number of characters of a label; left out, that of the value itself.

    Examples
    --------
    >>> Prefix(2).label("1011"), Prefix(2, width=3).label("1011")
    ('10**', '10*')
    """

    length: int
    width: int | None = None
    name: ClassVar[str] = "prefix"
    takes: ClassVar[tuple[str, ...] | None] = ("text", "whole")

    def __post_init__(self) -> None:
        """Reject lengths that make no prefix."""
        whole_number(self.length, "the length of a prefix", at_least=1)
        if self.width is not None:
            whole_number(self.width, "the width of a prefix", at_least=self.length)

    def label(self, value: str) -> str:
        """Write the label of one value."""
        head = value[: self.length]
        return head + text.MARKER * max((self.width or len(value)) - len(head), 0)

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Return values with the same label one group."""
        return numbered([self.label(value) for value in domain.texts()])

    def __str__(self) -> str:
        """Return what is done."""
        return f"first {'character' if self.length == 1 else f'{self.length} characters'}"


@dataclass(frozen=True)
class ZipArea(Recoding):
    """Keep the first three digits of a ZIP code where they may be told, and write 000 elsewhere.

    What is not written as five digits, or as five and four (12345-6789), is 000: a code that has
    lost its leading zero begins with the digits of another area.

    Attributes
    ----------
    known : tuple of str
        The areas that may be told: three digits each.

    Examples
    --------
    >>> area = ZipArea(("100",))
    >>> area.label("10011"), area.label("10011-2345"), area.label("1002"), area.label("03601")
    ('100', '100', '000', '000')
    """

    known: tuple[str, ...]
    name: ClassVar[str] = "zip"
    takes: ClassVar[tuple[str, ...] | None] = ("text",)
    digits: ClassVar[int] = 3
    other: ClassVar[str] = "000"

    def __post_init__(self) -> None:
        """Reject areas that are not three digits."""
        rule = "areas of ZIP codes must be texts of three digits"
        if not all(map(AREA.fullmatch, list_of(self.known, str, rule))):
            raise ArgumentError(rule)

    def label(self, value: str) -> str:
        """Write the label of one value."""
        head = value[: self.digits]
        return head if ZIP.fullmatch(value) and head in self.known else self.other

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Return values with the same label one group."""
        return numbered([self.label(value) for value in domain.texts()])

    def __str__(self) -> str:
        """Return what is done."""
        return f"first 3 digits, small areas and other texts {self.other!r}"


@dataclass(frozen=True)
class MergeRare(Recoding):
    """Leave some values as they are, and put all others together.

    Attributes
    ----------
    kept : tuple of str
        The values that stay, or with `prefix` the beginnings that do, stars included.
    other : str
        What all others become, also those that a later table has for the first time.
    prefix, width : int, optional
        Values are first made coarser as by `Prefix`.

    Examples
    --------
    >>> merge = MergeRare(("nurse", "clerk"))
    >>> merge.label("nurse"), merge.label("astronaut")
    ('nurse', 'other')
    >>> MergeRare(("10**",), prefix=2).label("1011")
    '10**'
    """

    kept: tuple[str, ...]
    other: str = text.OTHER
    prefix: int | None = None
    width: int | None = None
    name: ClassVar[str] = "merge_rare"
    takes: ClassVar[tuple[str, ...] | None] = ("text",)

    def __post_init__(self) -> None:
        """Reject a name for the others that is one of the kept."""
        list_of(self.kept, str, "the values that stay must be texts")
        instance_of(self.other, str, "other")
        if self.other in self.kept:
            raise ArgumentError("the name for all other values must not be one of those that stay")
        if self.width is not None and self.prefix is None:
            raise ArgumentError("width= is that of a prefix, and goes with prefix=")

    @property
    def beginning(self) -> Prefix | None:
        """The recoding that values go through first."""
        return None if self.prefix is None else Prefix(self.prefix, self.width)

    def label(self, value: str) -> str:
        """Write the label of one value."""
        first = self.beginning
        begun = value if first is None else first.label(value)
        return begun if begun in self.kept else self.other

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Return the group of each kept value, and one for all others."""
        first, kept = self.beginning, frozenset(self.kept)
        begun = domain.texts() if first is None else [first.label(v) for v in domain.texts()]
        return numbered([value if value in kept else self.other for value in begun])

    def __str__(self) -> str:
        """Return what is done."""
        first, n = self.beginning, len(self.kept)
        stay = "stays" if n == 1 else "stay"
        what = f"{n:,} {stay}" if first is None else f"{first}, {n:,} of them {stay}"
        listed = f": {', '.join(self.kept)}" if 0 < n <= _LISTED else ""
        return f"{what}, the rest {self.other!r}{listed}"


@dataclass(frozen=True)
class KeepCommon(Recoding):
    """Leave the values of many people as they are: a rule, which names no value.

    A plan with a rule is applied once its values are known, see `anonrisk.Plan.resolve`.

    Attributes
    ----------
    at_least : int
        How many people must have a value, or with `prefix` a beginning, for it to stay.
    other, prefix, width
        As in `MergeRare`.

    Examples
    --------
    >>> print(KeepCommon(20))
    values of at least 20 people stay, the rest 'other'
    >>> KeepCommon(2).resolve({"nurse": 7, "astronaut": 1})
    MergeRare(kept=('nurse',), other='other', prefix=None, width=None)
    """

    at_least: int
    other: str = text.OTHER
    prefix: int | None = None
    width: int | None = None
    name: ClassVar[str] = "keep_common"
    takes: ClassVar[tuple[str, ...] | None] = ("text",)

    def __post_init__(self) -> None:
        """Reject a number that everybody reaches."""
        whole_number(self.at_least, "at_least", at_least=2)
        instance_of(self.other, str, "other")
        if self.width is not None and self.prefix is None:
            raise ArgumentError("width= is that of a prefix, and goes with prefix=")

    @property
    def beginning(self) -> Prefix | None:
        """The recoding that values go through first."""
        return None if self.prefix is None else Prefix(self.prefix, self.width)

    def resolve(self, people: Mapping[str, int]) -> MergeRare:
        """Return which values, or beginnings, stay, by how many people have each."""
        # What is called as the others are is not told apart from them.
        kept = (value for value, n in people.items() if n >= self.at_least and value != self.other)
        return MergeRare(tuple(sorted(kept)), self.other, self.prefix, self.width)

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:  # noqa: ARG002
        """Raise an error: which values stay is not known yet."""
        raise unresolved()

    def __str__(self) -> str:
        """Return what is done."""
        first = self.beginning
        what = "values" if first is None else f"{first}: those"
        return f"{what} of at least {self.at_least:,} people stay, the rest {self.other!r}"


def unresolved() -> PlanError:
    """Return the error of a plan that cannot be applied yet."""
    return PlanError(
        "the plan has a rule, values of at least so many people stay, and does not name them: "
        "plan.resolve(table) makes a plan that does, to keep confidential and to apply every month"
    )
