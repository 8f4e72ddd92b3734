"""How the cells of each column look, on pandas: each different one is looked at once."""

from __future__ import annotations

import datetime as dt
import os
import re
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from functools import cache
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.engines.pandas import encode
from anonrisk.engines.pandas.encode import column_of, remembered
from anonrisk.measures.counts import contents as rules
from anonrisk.measures.counts.contents import (
    BITS,
    CellContents,
    ColumnContents,
    Looks,
    Numbers,
    SomeTexts,
)
from anonrisk.measures.counts.shapes import (
    CHECKED,
    DATES,
    DEGREES,
    ENOUGH,
    FORMATS,
    FRACTION,
    LONGEST,
    NATIONAL_NUMBERS,
    SEPARATORS,
    SHAPES,
    UNCHECKED,
    WHOLE,
    WHOLE_LENGTHS,
    Numerals,
    Shape,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.numpy.table import Codes

    Values = NDArray[Any]
    from anonrisk.core.types import Integers

_ANY_SHAPE = "|".join(f"(?:{pattern})" for pattern in SHAPES.values())


def shape_of(column: pd.Series[Any], codes: NDArray[Any], n_codes: int, n_known: int) -> Shape:
    """Count the rows whose cell has the shape of a direct identifier.

    `codes` has a number for every row, equal where the cells are.
    """
    if not n_known:
        return Shape(0)
    values = first_of_each(column, codes, n_codes)
    known = values.notna().to_numpy()
    weights = np.bincount(codes, minlength=n_codes)
    if is_whole(values, known):
        numbers = values.where(known, 0).astype("float64").to_numpy()
        inside = [(numbers >= low) & (numbers < high) for low, high in NATIONAL_NUMBERS]
        return Shape(n_known, {"national id": int(weights[np.logical_or.reduce(inside)].sum())})
    if not is_text(values, known):
        return Shape(n_known)
    texts = pd.Series(values[known].astype(object).to_numpy(), dtype="str")
    weights = weights[known]
    looks = _matches(texts, _ANY_SHAPE)
    # Nearly always no value looks like anything, and one expression was enough to know.
    texts, weights = texts[looks], weights[looks]
    dates = _matches(texts, DATES)
    matches = {}
    for kind, pattern in SHAPES.items():
        has = _matches(texts, pattern)
        matches[kind] = int(weights[has & ~dates if kind == "telephone number" else has].sum())
    return Shape(n_known, matches)


def numerals_of(column: pd.Series[Any], codes: NDArray[Any], n_codes: int) -> Numerals:
    """Count the rows whose cell is a number or a date, as such or as text."""
    values = first_of_each(column, codes, n_codes)
    known = values.notna().to_numpy()
    weights = np.bincount(codes, minlength=n_codes)[known]
    n_known = int(weights.sum())
    if is_whole(values, known):
        return Numerals(n_whole=n_known)
    if is_text(values, known):
        texts = pd.Series(values[known].astype(object).to_numpy(), dtype="str")
        counts = (int(weights[_matches(texts, p)].sum()) for p in (WHOLE, FRACTION, DATES))
        return Numerals(*counts)
    if is_date(values, known):
        return Numerals(n_dates=n_known)
    if not _has_fractions(values, known):
        return Numerals()
    numbers = values[known].astype("float64").to_numpy()
    fractions = np.isfinite(numbers) & (np.floor(numbers) != numbers)
    n_fractions = int(weights[fractions].sum())
    return Numerals(n_known - n_fractions, n_fractions)


def first_of_each(column: pd.Series[Any], codes: NDArray[Any], n_codes: int) -> pd.Series[Any]:
    """Return the cell of each code, in order."""
    # Where each code occurs first: assigned backwards, so that the first is what remains.
    first = np.zeros(n_codes, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    values = column.iloc[first].reset_index(drop=True)
    if isinstance(values.dtype, pd.CategoricalDtype):
        return values.astype(values.cat.categories.dtype)
    return values


def is_text(values: pd.Series[Any], known: NDArray[np.bool_]) -> bool:
    """Return whether a column holds text."""
    if values.dtype == object:
        return isinstance(next(iter(values[known]), None), str)
    return pd.api.types.is_string_dtype(values.dtype)


def is_whole(values: pd.Series[Any], known: NDArray[np.bool_]) -> bool:
    """Return whether a column holds whole numbers."""
    if values.dtype == object:
        first = next(iter(values[known]), None)
        return isinstance(first, (int, np.integer)) and not isinstance(first, bool)
    return pd.api.types.is_integer_dtype(values.dtype)


def is_date(values: pd.Series[Any], known: NDArray[np.bool_]) -> bool:
    """Return whether a column holds dates or instants."""
    if values.dtype == object:
        return isinstance(next(iter(values[known]), None), dt.date)
    dtype = values.dtype
    if isinstance(dtype, pd.ArrowDtype) and dtype.type is dt.date:
        return True
    return pd.api.types.is_datetime64_any_dtype(dtype)


def _has_fractions(values: pd.Series[Any], known: NDArray[np.bool_]) -> bool:
    """Return whether a column is of a type for numbers with a fraction."""
    if values.dtype == object:
        return isinstance(next(iter(values[known]), None), (float, np.floating, Decimal))
    if isinstance(values.dtype, pd.ArrowDtype) and values.dtype.type is Decimal:
        return True
    return pd.api.types.is_float_dtype(values.dtype)


def _matches(texts: pd.Series[Any], pattern: str) -> NDArray[np.bool_]:
    if len(texts) < _WORTH_AN_ARRAY:
        matches = _expression(pattern).fullmatch
        return np.array([matches(text) is not None for text in texts], dtype=bool)
    return texts.str.fullmatch(pattern).to_numpy(dtype=bool)


# Below this many rows a thread costs more than it saves.
_WORTH_A_THREAD = 200_000
# So many times as many rows as values are looked through first.
_FEW = 20
# Below this many texts arrays cost more than a loop.
_WORTH_AN_ARRAY = 1000
_ANY = "|".join(f"(?:{p})" for p in (*UNCHECKED.values(), *FORMATS.values()))
_UNEVEN_SPACE = f"[{rules.SPACES}]|^ | $"
_WITHOUT_SEPARATORS = str.maketrans("", "", SEPARATORS)


def contents(frame: pd.DataFrame, asked: CellContents) -> dict[Name, ColumnContents]:
    """Look at each column, side by side where the table is large."""
    known = remembered(frame)

    def look(name: Name) -> ColumnContents:
        return _look(column_of(frame, name), known.get(name), asked)

    if len(frame) < _WORTH_A_THREAD:
        return {name: look(name) for name in asked.columns}
    with ThreadPoolExecutor(min(len(asked.columns) or 1, os.cpu_count() or 1)) as pool:
        return dict(zip(asked.columns, pool.map(look, asked.columns), strict=True))


def some_texts(frame: pd.DataFrame, asked: SomeTexts) -> dict[Name, list[str]]:
    """Return some different texts of each column."""
    made = {}
    for name in asked.columns:
        column = column_of(frame, name)
        if (written := _as_texts(column)) is not None:
            column = written
        texts = set(_different(column, None)[0].astype(object))
        made[name] = nsmallest(asked.at_most, texts, key=rules.place)
    return made


def folded(frame: pd.DataFrame, columns: Qid) -> pd.DataFrame:
    """Return the table with some texts without case, spaces and accents."""
    changed = frame.copy(deep=False)
    for name in columns:
        known = column_of(frame, name).astype(object)
        texts = [rules.folded(text) if isinstance(text, str) else None for text in known]
        cells: Any = pd.Series(texts, frame.index, dtype="str")
        changed.isetitem([*map(repr, frame.columns)].index(repr(name)), cells)
    return changed


def _look(column: pd.Series[Any], codes: Codes | None, asked: CellContents) -> ColumnContents:
    n_rows, keys = len(column), asked.keys
    identifiers = asked.identifiers and n_rows >= ENOUGH
    numbered = _numbers(column, codes)
    if numbered is not None:
        values, counts = numbered
        looks = _looks_of_numbers(values, counts, identifiers=identifiers)
        return ColumnContents.of(rules.NUMBER, n_rows, looks)
    if (written := _as_texts(column)) is not None:
        column, codes = written, None
    if _is_nested(column):
        return _nested(column, keys)
    cells, counts = _different(column, codes)
    known = np.ones(len(cells), dtype=bool)
    if is_text(cells, known):
        texts = pd.Series(cells.astype(object).to_numpy(), dtype="str")
        bits = _bits_of_texts(texts, keys, identifiers=identifiers)
        n_folded = rules.count_folded(list(texts)) if len(texts) <= rules.FOLDABLE else len(texts)
        looks = _grouped(bits, counts)
        return ColumnContents.of(rules.TEXT, n_rows, looks, n_folded)
    if is_date(cells, known):
        years = cells.map(lambda day: day.year).to_numpy(dtype=np.int64)
        last = (years >= 1900) & (years <= 1999)
        bits = BITS["date"] + np.where(last, BITS["last century"], 0)
        return ColumnContents.of(rules.DATE, n_rows, _grouped(bits, counts))
    bits = np.zeros(len(cells), dtype=np.int64)
    return ColumnContents.of(rules.OTHER, n_rows, _grouped(bits, counts))


# ---- the different cells ------------------------------------------------------------------------


def _numbers(column: pd.Series[Any], codes: Codes | None) -> tuple[Values, Integers] | None:
    """Return the different numbers in order, and how often each occurs; None of other cells."""
    if codes is not None and isinstance(column.dtype, np.dtype) and column.dtype.kind in "iuf":
        cells, counts = _different(column, codes)
        order = np.argsort(values := cells.to_numpy())
        return values[order], counts[order]
    numbers = _as_numbers(column)
    return None if numbers is None else _sorted(numbers)


def _as_numbers(column: pd.Series[Any]) -> Values | None:
    """Return the known numbers of a column; None where it holds something else."""
    dtype: Any = column.dtype
    if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
        return None
    if _is_objects(dtype):
        return _objects_as_numbers(column)
    if isinstance(dtype, pd.ArrowDtype) and dtype.kind not in "iuf":
        return column.dropna().to_numpy(dtype=float) if _is_decimal(dtype) else None
    if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_complex_dtype(dtype):
        return None
    values = column.to_numpy() if isinstance(dtype, np.dtype) else column.dropna().to_numpy()
    return values[~np.isnan(values)] if values.dtype.kind == "f" else values


def _as_texts(column: pd.Series[Any]) -> pd.Series[Any] | None:
    """Return cells of several types, or of one that is written as a text, as texts."""
    dtype: Any = column.dtype
    levels = column.cat.categories if isinstance(dtype, pd.CategoricalDtype) else None
    if not _is_objects(dtype if levels is None else levels.dtype):
        return None
    known = column.notna()
    kinds = set(map(type, column[known] if levels is None else levels))
    if all(issubclass(k, dt.date) for k in kinds) or all(map(_made_of_others, kinds)):
        return None
    written = {k.__module__.partition(".")[0] for k in kinds} & {"uuid", "ipaddress", "pathlib"}
    if len(kinds) == 1 and not written:
        return None
    texts = [
        cell.decode(errors="replace") if isinstance(cell, bytes) else str(cell)
        for cell in column[known]
    ]
    made: pd.Series[Any] = pd.Series(None, index=range(len(column)), dtype=object)
    made[known.to_numpy()] = texts
    return made


def _made_of_others(kind: type) -> bool:
    return issubclass(kind, Iterable) and not issubclass(kind, (str, bytes))


def _is_objects(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and dtype.kind == "O"


def _is_decimal(dtype: Any) -> bool:
    return "decimal" in str(dtype)


def _objects_as_numbers(column: pd.Series[Any]) -> Values | None:
    from decimal import Decimal

    known = column[column.notna()]
    kinds = set(map(type, known))
    if not kinds or not all(issubclass(k, (int, float, np.number, Decimal)) for k in kinds):
        return None
    return None if any(issubclass(k, bool) for k in kinds) else known.to_numpy(dtype=float)


def _sorted(numbers: Values) -> tuple[Values, Integers]:
    """Return the different numbers in order, and how often each occurs."""
    ordered = np.sort(numbers)
    if not len(ordered):
        return ordered, np.zeros(0, dtype=np.int64)
    first = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    return ordered[first], np.diff(np.r_[first, len(ordered)])


def _different(column: pd.Series[Any], codes: Codes | None) -> tuple[pd.Series[Any], Integers]:
    """Return the different known cells of a column, and how often each occurs."""
    dtype: Any = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        levels: Any = column.cat.codes.to_numpy()
        counts: Any = np.bincount(levels[levels >= 0], minlength=len(column.cat.categories))
        used: Any = counts > 0
        return pd.Series(column.cat.categories[used]), counts[used]
    column = encode.without_views(column)
    if codes is not None and codes.cardinality <= len(column):
        counts = np.bincount(codes.values, minlength=codes.cardinality)
        used = np.flatnonzero(counts[: codes.cardinality - bool(codes.n_missing)])
        return column.iloc[_a_row_of(codes, used)].reset_index(drop=True), counts[used]
    counted = column.value_counts(sort=False, dropna=True)
    rows: Any = counted.to_numpy(dtype=np.int64)
    return pd.Series(counted.index), rows


def _a_row_of(codes: Codes, used: Integers) -> Integers:
    """Return a row that has each code; nearly always the first rows have all of them."""
    rows = np.full(codes.cardinality, -1, dtype=np.int64)
    for part in (codes.values[: _FEW * len(used)], codes.values):
        rows[part] = np.arange(len(part))
        if (rows[used] >= 0).all():
            break
    return rows[used]


def _is_nested(column: pd.Series[Any]) -> bool:
    """Return whether cells are made of other cells, as lists and maps are."""
    dtype: Any = column.dtype
    if isinstance(dtype, pd.ArrowDtype):
        return encode.arrow_nested(dtype.pyarrow_dtype)
    if not _is_objects(dtype):
        return False
    kinds = set(map(type, column[column.notna()]))
    return any(map(_made_of_others, kinds))


# ---- what they look like ------------------------------------------------------------------------


def _grouped(bits: Integers, counts: Integers, numbers: Values | None = None) -> list[Looks]:
    """Count the cells and rows of each number of bits."""
    masks, looks = pd.unique(bits), []
    for mask in masks:
        mine: Any = slice(None) if len(masks) == 1 else bits == mask
        n = counts[mine]
        part = Numbers() if numbers is None else _sums(numbers[mine], n)
        looks.append(Looks(int(mask), len(n), int(n.sum()), part))
    return looks


def _sums(numbers: Values, counts: Integers) -> Numbers:
    """Sum numbers in order, without those whose squares are none."""
    usual = slice(
        np.searchsorted(numbers, -rules.LARGEST, "right"), np.searchsorted(numbers, rules.LARGEST)
    )
    numbers, counts = numbers[usual].astype(np.float64), counts[usual]
    if not len(numbers):
        return Numbers()
    alone = np.flatnonzero(counts == 1)
    totals = numbers * counts
    return Numbers(
        int(counts.sum()),
        float(totals.sum()),
        float(totals @ numbers),
        float(numbers[0]),
        float(numbers[-1]),
        float(numbers[alone[0]]) if len(alone) else None,
        float(numbers[alone[-1]]) if len(alone) else None,
    )


def _looks_of_numbers(values: Values, counts: Integers, *, identifiers: bool) -> Iterable[Looks]:
    """Look at different numbers, which are in order."""
    floats = values.dtype.kind == "f"
    bits = np.full(len(values), BITS["whole"], dtype=np.int64)
    if floats:
        bits[np.floor(values) != values] = BITS["fraction"]
        within = _between(values, -rules.HALF_CIRCLE, rules.HALF_CIRCLE)
        parts = values[within] * rules.STREET
        broken = np.abs(parts - np.floor(parts + 0.5)) > rules.HAIR
        bits[within][broken] |= BITS["degrees"]
    for far in (
        slice(0, int(np.searchsorted(values, -rules.EXACT, "right"))),
        slice(int(np.searchsorted(values, rules.EXACT)), None),
    ):
        bits[far] = BITS["fraction"]
    for number in rules.numeric_placeholders():
        bits[_between(values, number, number)] |= BITS["placeholder"]
    for length, name in WHOLE_LENGTHS.items() if identifiers else ():
        inside = _between(values, 10 ** (length - 1), 10**length - 1)
        whole = np.flatnonzero(bits[inside] & BITS["whole"]) + inside.start
        if len(whole):
            bits[whole] |= _of_whole(values[whole].astype(np.int64), length, name)
    return _grouped(bits, counts, values)


def _between(ordered: Values, low: float, high: float) -> slice:
    """Return the place of numbers in order from one to another."""
    ends = np.searchsorted(ordered, low, "left"), np.searchsorted(ordered, high, "right")
    return slice(*map(int, ends))


def _of_whole(numbers: Integers, length: int, name: str) -> Integers:
    def code(i: int) -> Integers:
        if i >= length:
            return np.zeros(len(numbers), dtype=np.int64)
        digits: Integers = numbers // 10 ** (length - 1 - i) % 10 + 48
        return digits

    return _checked(name, code, len(numbers))


def _bits_of_texts(texts: pd.Series[Any], keys: tuple[str, ...], *, identifiers: bool) -> Integers:
    bits = np.zeros(len(texts), dtype=np.int64)
    uneven = _contains(texts, _UNEVEN_SPACE)
    if uneven.any():
        texts = pd.Series([rules.plain(text) for text in texts], dtype="str")
    lengths = texts.str.len().to_numpy(dtype=np.int64)
    short = np.flatnonzero(lengths <= max(map(len, rules.PLACEHOLDERS)))
    empty = texts.iloc[short].str.lower().isin(rules.PLACEHOLDERS).to_numpy(dtype=bool)
    bits[short[empty]] |= BITS["placeholder"]
    long = np.flatnonzero(lengths >= rules.LONG)
    wordy = texts.iloc[long].str.count(" ").to_numpy(dtype=np.int64) >= rules.WORDS - 1
    bits[long[wordy]] |= BITS["long text"]
    if keys:
        _mark_keys(texts, keys, bits)
    may = np.flatnonzero(_contains(texts, rules.MAY_IDENTIFY))
    if not len(may):
        return bits
    texts = texts.iloc[may]
    for name, pattern in (*rules.NUMERALS.items(), ("degrees", DEGREES)):
        bits[may[_matches(texts, pattern)]] |= BITS[name]
    if identifiers:
        _mark_identifiers(texts, may, bits)
    return bits


def _mark_keys(texts: pd.Series[Any], keys: tuple[str, ...], bits: Integers) -> None:
    json = np.flatnonzero(texts.str.startswith(("{", "[")).to_numpy(dtype=bool))
    if len(json):
        plain = texts.iloc[json].str.lower().str.replace("[_. -]", "", regex=True)
        bits[json[_contains(plain, rules.key_pattern(keys))]] |= BITS["keys"]


def _mark_identifiers(texts: pd.Series[Any], may: Integers, bits: Integers) -> None:
    """Mark shapes of identifiers; `may` are the places of the texts among the bits."""
    # Nearly always no value looks like anything, and one expression is enough to know.
    looks = np.flatnonzero(_matches(texts, _ANY))
    texts, may = texts.iloc[looks], may[looks]
    if not len(may):
        return
    for name, pattern in UNCHECKED.items():
        has = _matches(texts, pattern)
        if name == rules.PHONE:
            has = has & ~_matches(texts, DATES) & ~_matches(texts, FRACTION)
        bits[may[has]] |= BITS[name]
    for name, pattern in FORMATS.items():
        places = np.flatnonzero(_matches(texts, pattern))
        if len(places):
            bits[may[places]] |= _of_texts(texts.iloc[places], name)


def _of_texts(texts: pd.Series[Any], name: str) -> Integers:
    compact = [text.translate(_WITHOUT_SEPARATORS).upper() for text in texts]
    signs = np.array(compact, dtype=f"S{LONGEST}").view(np.uint8).reshape(-1, LONGEST)
    return _checked(name, lambda i: signs[:, i].astype(np.int64), len(texts))


def _checked(name: str, code: Any, n: int) -> Integers:
    """Return the bits of a format, and of each number of that format whose digits agree."""
    bits = np.full(n, BITS[name], dtype=np.int64)
    for i, number in enumerate(CHECKED):
        if number.candidates == name:
            bits[np.asarray(number.agrees(code), dtype=bool)] |= BITS[f"checked {i}"]
    return bits


def _contains(texts: pd.Series[Any], pattern: str) -> NDArray[np.bool_]:
    if len(texts) < _WORTH_AN_ARRAY:
        search = _expression(pattern).search
        return np.array([search(text) is not None for text in texts], dtype=bool)
    return texts.str.contains(pattern, regex=True).to_numpy(dtype=bool)


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.ASCII)


# ---- cells made of other cells ------------------------------------------------------------------


def _nested(column: pd.Series[Any], keys: tuple[str, ...]) -> ColumnContents:
    """Count the rows of maps that have one of some keys."""
    known = column[column.notna()]
    wanted = re.compile("|".join(keys)) if keys else None
    n_with = 0
    for cell in known if wanted is not None and _may_be_maps(column) else ():
        n_with += any(wanted.fullmatch(_plain_key(key)) for key in _keys(cell))  # type: ignore[union-attr]
    looks = [Looks(BITS["keys"], n_with, n_with)] if n_with else []
    if len(known) > n_with:
        looks.append(Looks(0, len(known) - n_with, len(known) - n_with))
    return ColumnContents.of(rules.NESTED, len(column), looks)


def _may_be_maps(column: pd.Series[Any]) -> bool:
    dtype: Any = column.dtype
    return _is_objects(dtype) or (isinstance(dtype, pd.ArrowDtype) and "map" in str(dtype))


def _keys(cell: Any) -> Iterable[Any]:
    """List the keys of a map; of Arrow's it is a list of pairs."""
    if isinstance(cell, dict):
        return cell
    pairs = isinstance(cell, list) and all(isinstance(p, tuple) and len(p) == 2 for p in cell)
    return [pair[0] for pair in cell] if pairs else ()


def _plain_key(key: Any) -> str:
    return re.sub("[_. -]", "", str(key).lower())
