"""Results as plain values, and numbers that are not read alone: they print what belongs to them."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any, Self, get_args, get_origin

from anonrisk.core.frozen import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator


class Document:
    """A result that is written as plain values: the fields and properties that it names, or all."""

    _document: tuple[str, ...] = ()
    # Fields that a document lacks where there is none, and the classes that fields consist of.
    _where_some: tuple[str, ...] = ()
    _parts: tuple[type, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; no cell but groups that `by` asked for."""
        names = self._document or [field.name for field in fields(self)]  # type: ignore[arg-type]
        held = {name: getattr(self, name) for name in names}
        return {
            name: plain(value)
            for name, value in held.items()
            if name not in self._where_some or value not in (None, ())
        }


def plain(value: Any) -> Any:  # noqa: PLR0911
    """Return a value as JSON has it, which knows no infinity and no days: those become texts.

    Examples
    --------
    >>> from datetime import date
    >>> plain({"qid": ("zip", 7), "range": Interval(1, 2), "when": date(2026, 1, 2)})
    {'qid': ['zip', 7], 'range': {'low': 1, 'high': 2}, 'when': '2026-01-02'}
    """
    if isinstance(value, float) and not math.isfinite(value):
        return str(float(value))
    if isinstance(value, str):
        # A text of NumPy is one, and YAML does not take it.
        return str(value)
    if value is None or isinstance(value, int | float):
        return value
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, Interval):
        return {"low": value.low, "high": value.high}
    if hasattr(value, "_asdict"):
        value = value._asdict()
    elif is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, tuple | list):
        return [plain(part) for part in value]
    # Arrays and numbers of NumPy know their Python kind.
    return plain(value.tolist()) if hasattr(value, "tolist") else str(value)


class _Name:
    """The name of a column among the types of fields."""


# What the types of fields are called.
_TYPES = {"Name": _Name, "Qid": tuple[_Name, ...], "Mapping": Mapping, "Any": Any}


def restore(kind: Any, stored: Any) -> Any:
    """Return what `plain` wrote as the type that it had: a document by the types of its fields.

    Raises a `TypeError` or a `KeyError` where it cannot be that. What a document has beside its
    fields is left alone.

    Examples
    --------
    >>> restore(tuple[float, ...] | None, [1, "inf"])
    (1, inf)
    """
    args = get_args(kind)
    if NoneType in args:
        (kind,) = (item for item in args if item is not NoneType)
        return None if stored is None else restore(kind, stored)
    if get_origin(kind) is tuple and isinstance(stored, list):
        return tuple(restore(args[0], item) for item in stored)
    if isinstance(kind, type) and is_dataclass(kind) and isinstance(stored, Mapping):
        return kind(**restore_fields(kind, stored))
    if kind is _Name and isinstance(stored, list):
        # JSON has no tuples, and a label of pandas may be one.
        return tuple(restore(_Name, part) for part in stored)
    if kind is float and stored in ("inf", "-inf", "nan"):
        return float(stored)
    accepted: Any = _ACCEPTED.get(kind, get_origin(kind) or kind)
    if not isinstance(stored, accepted) or (isinstance(stored, bool) and kind in (int, float)):
        raise TypeError(f"not of type {kind}")
    if kind is float and abs(stored) > sys.float_info.max:
        raise TypeError("no float is so large")
    return stored


_ACCEPTED = {float: int | float, _Name: str | int | float | None, Any: object}


def restore_name(stored: Any) -> Any:
    """Return the name of a column as it was before it was written."""
    return restore(_Name, stored)


def restore_fields(kind: Any, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that the document of a class holds, each by its type."""
    named, some = getattr(kind, "_document", ()), getattr(kind, "_where_some", ())
    own = [
        field.name for field in fields(kind) if field.init and (not named or field.name in named)
    ]
    there = [name for name in own if name in stored or name not in some]
    return {name: restore(_type_of(kind, name), stored[name]) for name in there}


@cache
def _type_of(kind: Any, name: str) -> Any:
    (text,) = (field.type for field in fields(kind) if field.name == name)
    parts = {part.__name__: part for part in getattr(kind, "_parts", ())}
    # The text of an annotation of ours.
    return eval(str(text), {}, _TYPES | parts)  # noqa: S307


@dataclass(frozen=True, repr=False)
class Interval:
    """From a low to a high end, with the probability that the truth lies between, if it is known.

    Examples
    --------
    >>> low, high = Interval(2, 9, level=0.95)
    >>> low, high
    (2, 9)
    >>> 3 in Interval(1, 4), Interval(1, 4) / 2
    (True, Interval(low=0.5, high=2.0))
    """

    low: float
    high: float
    level: float | None = None

    def __iter__(self) -> Iterator[float]:
        """Unpack as low, high."""
        return iter((self.low, self.high))

    def __contains__(self, number: float) -> bool:
        """Return whether a number lies between the ends, the ends included."""
        return self.low <= number <= self.high

    def __truediv__(self, number: float) -> Interval:
        """Divide both ends, as a number of people becomes a share of them."""
        return Interval(self.low / number, self.high / number, self.level)

    def __repr__(self) -> str:
        """Show the ends, and the level where there is one."""
        level = "" if self.level is None else f", level={self.level!r}"
        return f"Interval(low={self.low!r}, high={self.high!r}{level})"


class _Annotated(float):
    """A float in every calculation that keeps what stands beside it, also in copies and pickles."""

    def __reduce__(self) -> tuple[object, ...]:
        """Carry along what stands beside the number."""
        return _restored, (type(self), float(self), vars(self))

    def __str__(self) -> str:
        """Return the same as `repr`."""
        return repr(self)


def _restored(kind: type[_Annotated], value: float, beside: dict[str, Any]) -> _Annotated:
    number = float.__new__(kind, value)
    vars(number).update(beside)
    return number


class Probability(_Annotated):
    """A chance that prints how it was computed.

    Attributes
    ----------
    log : float
        Its natural logarithm, also where the chance itself is too small for a float.
    complement : float
        One minus the chance, without the loss of digits.
    method : str
        ``"exact"``, ``"certain"``, ``"saddlepoint"``, ``"kl"`` or, estimated from a table,
        ``"approximate"``.
    """

    log: float
    complement: float
    method: str

    def __new__(cls, log: float, method: str, complement: float | None = None) -> Self:
        """Make the number from its logarithm."""
        number = super().__new__(cls, math.exp(log))
        number.log, number.method = log, method
        number.complement = -math.expm1(log) if complement is None else complement
        return number

    def __repr__(self) -> str:
        """Show the number and the method."""
        return f"{float(self)!r} ({self.method})"


class LowerBound(_Annotated):
    """Fischer-Hübner's average risk, a lower bound, beside classes / records, which it bounds.

    Attributes
    ----------
    classes_per_record : float
        The number of classes divided by the number of records: the average risk that this
        figure can only understate.
    """

    classes_per_record: float

    def __new__(cls, value: float, classes_per_record: float) -> Self:
        """Make the number and keep what it is a lower bound of."""
        number = super().__new__(cls, value)
        number.classes_per_record = classes_per_record
        return number

    def __repr__(self) -> str:
        """Show both numbers."""
        return f"{float(self)!r} (a lower bound; classes/records {self.classes_per_record!r})"


class Divergence(_Annotated):
    """A Kullback-Leibler distance in nats from the uniform law, with the law it was taken from.

    Attributes
    ----------
    n_values : int
        Number of values of the uniform law.
    domain_given : bool
        Whether the caller gave that number; if not, it is the number of classes that occur.
    """

    n_values: int
    domain_given: bool

    def __new__(cls, value: float, n_values: int, *, domain_given: bool) -> Self:
        """Make the number and keep the law it refers to."""
        number = super().__new__(cls, value)
        number.n_values, number.domain_given = n_values, domain_given
        return number

    def __repr__(self) -> str:
        """Show the number and the law."""
        which = "values given" if self.domain_given else "classes that occur"
        return f"{float(self)!r} (nats, from the uniform law on the {self.n_values:,} {which})"


class Closeness(_Annotated):
    """A distance between a class and its table, with the kind of distance that was taken.

    Attributes
    ----------
    distance : str
        ``"equal"``, ``"ordered"`` or ``"hierarchical"``.
    """

    distance: str

    def __new__(cls, value: float, distance: str) -> Self:
        """Make the number and keep the kind of distance."""
        number = super().__new__(cls, value)
        number.distance = distance
        return number

    def __repr__(self) -> str:
        """Show the number and the kind of distance."""
        return f"{float(self)!r} ({self.distance} distance)"


class Estimated(_Annotated):
    """A number that was estimated from a part, with the interval that holds the truth.

    Attributes
    ----------
    interval : Interval
        Both ends; the number itself twice where nothing had to be estimated.

    Examples
    --------
    >>> Estimated(0.25, Interval(0.24, 0.26, level=0.95))
    0.25 (95%: 0.24 to 0.26)
    >>> Estimated(0.25, Interval(0.25, 0.25))
    0.25 (exact)
    """

    interval: Interval

    def __new__(cls, value: float, interval: Interval) -> Self:
        """Make the number and keep its interval."""
        number = super().__new__(cls, value)
        number.interval = interval
        return number

    def __repr__(self) -> str:
        """Show the number and its interval."""
        if self.interval.level is None:
            return f"{float(self):g} (exact)"
        low, high = self.interval
        return f"{float(self):g} ({self.interval.level:.0%}: {low:g} to {high:g})"
