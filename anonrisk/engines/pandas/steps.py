"""Microaggregation, noise and permutation on pandas."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk.engines import limits, refusals
from anonrisk.engines.microaggregate import means, means_of_several, too_large
from anonrisk.engines.numpy.tally import coded_rows, tally
from anonrisk.engines.pandas.encode import column_of, encode
from anonrisk.engines.pandas.numbers import in_type, moved_whole, type_decides, without_categories
from anonrisk.engines.pandas.recode import as_floats, kind_of, replaced
from anonrisk.engines.pandas.schema import marked
from anonrisk.engines.pandas.table import PandasTable, is_arrow_date
from anonrisk.engines.renumber import closed_up
from anonrisk.measures.counts.tally import DATES, MICROSECONDS, NUMBERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.change import Noise
    from anonrisk.measures.counts.tally import Domain


def microaggregate(frame: pd.DataFrame, columns: Qid, k: int) -> pd.DataFrame:
    """Replace numbers by the mean of their group; a missing value stays missing."""
    if not len(frame):
        return frame.copy(deep=False)
    if len(columns) == 1:
        name = columns[0]
        counted = tally(PandasTable(frame), {name: "column"})
        domain, codes = coded_rows(PandasTable(frame), name)
        column = without_categories(column_of(frame, name))
        domain = _by_type(domain, column, name)
        new = means(domain, counted.margin(name)[:-1], k, name)
        return replaced(frame, {name: _typed(column, domain.kind, new, codes)})
    counted = tally(PandasTable(frame), dict.fromkeys(columns, "column"))
    cells = {name: without_categories(column_of(frame, name)) for name in columns}
    typed = {n: _by_type(domain, cells[n], n) for n, domain in counted.domains.items()}
    counted = replace(counted, domains=typed)
    moved = means_of_several(counted, k)
    coded = {name: coded_rows(PandasTable(frame), name) for name in columns}
    keys = np.zeros(len(frame), dtype=np.int64)
    of_class = np.zeros(counted.n_classes, dtype=np.int64)
    for name, (domain, codes) in coded.items():
        # The digits of a class, closed up together so that both are numbered alike.
        both = np.concatenate((keys, of_class)) * (len(domain) + 1)
        both += np.concatenate((codes, counted.codes[name]))
        both, _ = closed_up(both)
        keys, of_class = both[: len(keys)], both[len(keys) :]
    row_of = np.empty(int(of_class.max()) + 1, dtype=np.int64)
    row_of[of_class] = np.arange(len(of_class))
    place = row_of[keys]
    return replaced(
        frame,
        {name: _typed(cells[name], typed[name].kind, moved[name], place) for name in columns},
    )


def _by_type(domain: Domain, column: pd.Series[Any], name: Name) -> Domain:
    """Take numbers for what the column's type says: floats may be whole by chance."""
    if domain.kind not in NUMBERS:
        return domain
    if type_decides(column) == "whole":
        if domain.kind != "whole":
            raise too_large(name)
        return domain
    return replace(domain, kind="number", values=domain.values.astype(np.float64))


def _typed(column: pd.Series[Any], kind: str, new: NDArray[Any], place: NDArray[np.int64]) -> Any:
    """Write new numbers in a column's own type."""
    missing = column.isna().to_numpy()
    if kind in DATES:
        unit = MICROSECONDS if kind == "date" else 1
        instants = (np.append(new, 0)[np.minimum(place, len(new))] * unit).astype("datetime64[us]")
        return _dates(column, instants, missing)
    return in_type(column, np.append(new, 0)[np.minimum(place, len(new))])


def _dates(column: pd.Series[Any], instants: NDArray[Any], missing: NDArray[np.bool_]) -> Any:
    made = pd.Series(instants, index=column.index).mask(missing)
    if is_arrow_date(column.dtype):
        days: Any = made.dt.date.mask(missing, None)
        return pd.Series(days.tolist(), index=column.index, dtype=column.dtype).array
    zone = getattr(getattr(column, "dt", None), "tz", None)
    if zone is not None:
        made = made.dt.tz_localize("UTC").dt.tz_convert(zone)
    if pd.api.types.is_object_dtype(column.dtype):
        first = column[column.notna()].iloc[0]
        cells = made.astype(object) if hasattr(first, "hour") else made.dt.date
        return cells.mask(missing, None).array
    return made.astype(column.dtype).array


def perturb(frame: pd.DataFrame, noise: Noise) -> pd.DataFrame:
    """Add noise; whole numbers are rounded, dates move by whole days, the missing stay."""
    changed: dict[Name, Any] = {}
    for number, (name, scale) in enumerate(noise.scales.items()):
        random = np.random.default_rng([noise.seed, number])
        column = without_categories(column_of(frame, name))
        drawn = _drawn(random, noise.law, scale, len(frame))
        kind = kind_of(column)
        if kind in DATES:
            limits.check_noise(name, noise.law, scale)
            domain, codes = coded_rows(PandasTable(frame), name)
            days = np.rint(drawn).astype(np.int64)
            unit = 1 if domain.kind == "date" else MICROSECONDS
            moved = np.append(domain.values, 0)[codes] + days * unit
            changed[name] = _typed(column, domain.kind, moved, np.arange(len(frame)))
            continue
        if kind is not None and kind not in NUMBERS:
            raise refusals.not_noisy(name, kind)
        if type_decides(column) == "whole":
            limits.check_noise(name, noise.law, scale)
            changed[name] = in_type(column, moved_whole(column, drawn))
        else:
            changed[name] = in_type(column, as_floats(column, name) + drawn)
    return marked(replaced(frame, changed), tuple(changed), "perturb")


def _drawn(random: np.random.Generator, law: str, scale: float, size: int) -> NDArray[np.float64]:
    if law == "laplace":
        return random.laplace(0.0, scale, size)
    if law == "uniform":
        return random.uniform(-scale, scale, size)
    return random.normal(0.0, scale, size)


def permute(frame: pd.DataFrame, columns: Qid, by: Qid, seed: int) -> pd.DataFrame:
    """Move to each record the cells of the next one in a random order of its group."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(frame))
    groups = np.zeros(len(frame), dtype=np.int64)
    for coded in encode(frame, dict.fromkeys(by, "grouping column")).values() if by else ():
        groups, _ = closed_up(groups * coded.cardinality + coded.values)
    order = order[np.argsort(groups[order], kind="stable")]
    ends = (
        np.flatnonzero(np.append(groups[order][1:] != groups[order][:-1], True))
        if len(order)
        else np.zeros(0, dtype=np.int64)
    )
    starts = np.concatenate(([0], ends[:-1] + 1)) if len(ends) else ends
    following = np.roll(order, -1)
    following[ends] = order[starts]
    source = np.empty(len(frame), dtype=np.int64)
    source[order] = following
    changed = {name: column_of(frame, name).array.take(source) for name in columns}
    return marked(replaced(frame, changed), columns, "permute")
