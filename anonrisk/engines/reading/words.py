"""What known metadata may say: versions, zones, types, and the names of the columns of the file.

A text that looks like none of them may be anybody's, whatever it is called.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_VERSION = re.compile(
    r"v?\d{1,4}(\.\d{1,4}){0,7}([.-]?(a|b|rc|dev|post|preview|amzn|cdh|SNAPSHOT)[.-]?\d{0,4}){0,2}"
)
_OFFSET = re.compile(r"(UTC|GMT|UT|Z)?([+-]\d{1,2}(:?\d\d){0,2})?")
_UNITS = frozenset(("s", "ms", "us", "ns"))
_CLOSED = frozenset(("left", "right", "both", "neither"))
_FREQUENCY = re.compile(
    r"\d{0,3}((A|Y|Q|BQ|BY|BA)([SE]?-[A-Z]{3})?|W(-[A-Z]{3})?|[ABCDHLMNQSTUY]|h|min|s|ms|us|ns)"
)
_BREAKS = re.compile(r"[\s<>\[\](),:;=]+")
# Words of the types of numpy, pandas, Arrow and Spark.
_TYPES = frozenset(
    _BREAKS.split("""
    bool boolean Boolean int int8 int16 int32 int64 Int8 Int16 Int32 Int64 integer byte short long
    uint uint8 uint16 uint32 uint64 UInt8 UInt16 UInt32 UInt64 float float16 float32 float64 Float32
    Float64 floating halffloat double decimal decimal32 decimal64 decimal128 decimal256 complex
    complex64 complex128 object str string String python pyarrow pyarrow_numpy large_string
    string_view unicode bytes binary large_binary binary_view fixed_size_binary char varchar collate
    UTF8_BINARY UTF8_LCASE UNICODE UNICODE_CI date date32 date64 day days time time32 time64
    datetime datetimetz datetime64 timestamp timestamp_ntz timestamp_ltz tz timedelta timedelta64
    duration period interval month_day_nano_interval calendarinterval year month hour minute second
    to category categorical dictionary values indices ordered Sparse nan list large_list
    fixed_size_list item element array map key value entries struct null not void empty variant
    mixed mixed-integer mixed-integer-float extension
    """)
)
_NUMBER = re.compile(r"-?\d{1,4}")


@dataclass(frozen=True)
class FileColumns:
    """The names of a file: of its columns, and of these and whatever is inside of them."""

    top: frozenset[str] = frozenset()
    every: frozenset[str] = frozenset()
    _words: frozenset[str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        words = {word for name in self.every for word in _BREAKS.split(name)}
        object.__setattr__(self, "_words", frozenset(words))

    @classmethod
    def of(cls, names: Iterable[str], inside: Iterable[str]) -> FileColumns:
        """Give the names of columns, and of what is inside of them."""
        top = frozenset(names)
        return cls(top, top | frozenset(inside))

    def is_type(self, told: Any) -> bool:
        """Tell whether a text is a type: known words, small numbers, zones, names of the file.

        Examples
        --------
        >>> FileColumns().is_type("datetime64[ns, Europe/Paris]"), FileColumns().is_type("Ann")
        (True, False)
        """
        return isinstance(told, str) and all(map(self._is_word, _BREAKS.split(told)))

    def _is_word(self, word: str) -> bool:
        return (
            word in _TYPES
            or word in _UNITS
            or word in _CLOSED
            or word in self._words
            or _NUMBER.fullmatch(word) is not None
            or is_frequency(word)
            or is_zone(word)
        )


def is_version(told: Any) -> bool:
    """Tell whether a text is a version.

    Examples
    --------
    >>> [is_version(one) for one in ("4.1.0-SNAPSHOT", "3.0.0rc1", "Ann", "0612345678")]
    [True, True, False, False]
    """
    return isinstance(told, str) and _VERSION.fullmatch(told) is not None


def is_zone(told: Any) -> bool:
    """Tell whether a text is a zone of time, or a distance from one."""
    return isinstance(told, str) and (bool(_OFFSET.fullmatch(told)) or told in _zones())


def is_frequency(told: Any) -> bool:
    """Tell whether a text is a frequency of pandas."""
    return isinstance(told, str) and _FREQUENCY.fullmatch(told) is not None


def is_number(told: Any) -> bool:
    """Tell whether something is a whole number, or a yes or no."""
    return isinstance(told, int)


def fits(stored: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what is known of a document by its key, and says what it may; nothing is always known.

    Examples
    --------
    >>> fits({"version": "1.0", "by": "Ann"}, {"version": is_version})
    {'version': '1.0'}
    """
    return {
        key: value
        for key, value in stored.items()
        if key in known and (value is None or known[key](value))
    }


@cache
def _zones() -> frozenset[str]:
    from zoneinfo import available_timezones

    return frozenset(available_timezones())


# What pandas notes of the cells of a column.
OF_CELLS = {
    "encoding": lambda told: told == "UTF-8",
    "num_categories": is_number,
    "ordered": is_number,
    "precision": is_number,
    "scale": is_number,
    "timezone": is_zone,
    "unit": _UNITS.__contains__,
}
_NUMBERS = {
    key: lambda told: all(one is None or is_number(one) for one in told)
    for key in ("shape", "uniform_shape", "permutation")
}
# Types that Arrow, pandas and others define, and what belongs to each: a unit or a shape.
EXTENSIONS: dict[str, dict[str, Any]] = {
    **{f"arrow.{one}": {} for one in ("json", "uuid", "bool8", "parquet.variant")},
    **{f"arrow.{one}_shape_tensor": _NUMBERS for one in ("fixed", "variable")},
    **{f"geoarrow.{one}": {} for one in ("wkb", "wkt", "point", "linestring", "polygon")},
    **{f"geoarrow.multi{one}": {} for one in ("point", "linestring", "polygon")},
    "pandas.period": {"freq": is_frequency},
    "pandas.interval": {"subtype": FileColumns().is_type, "closed": _CLOSED.__contains__},
}
