"""What a pandas table is: its labels and types, and the roles and marks in its `attrs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.column_roles import Roles
from anonrisk.engines.held import ROLES_KEY
from anonrisk.engines.pandas import encode, labels, objects, unused
from anonrisk.engines.pandas.guard import guarded
from anonrisk.errors import RolesLostError
from anonrisk.measures.counts.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    import pandas as pd

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.schema import Stored

_ATTRS_KEY = "anonrisk_perturbed"
COLUMNS_KEY = "anonrisk_perturbed_among"


@guarded
class PandasSchema(Schema):
    """What a pandas table is."""

    @property
    def columns(self) -> Qid:
        """The column labels."""
        return tuple(self.frame.columns.tolist())

    @property
    def index(self) -> tuple[Name | None, ...]:
        """The names of the index; None for labels without one that do not number rows."""
        unnamed = [None] if self.row_labels == "unnamed" else []
        return (*(name for name in self.frame.index.names if name is not None), *unnamed)

    @property
    def row_labels(self) -> str | None:
        """What the index is where it, or a level of it, has no name."""
        return labels.row_labels(self.frame.index)

    @property
    def roles(self) -> Roles | None:
        """The roles in `attrs`."""
        stored = self.frame.attrs.get(ROLES_KEY)
        return None if stored is None else Roles.from_dict(stored)

    @property
    def perturbed(self) -> Mapping[Name, str]:
        """The columns that `attrs` tell were changed.

        Where one is gone, every column that is new may be it under another name.
        """
        frame = self.frame
        marks = _marks(frame)
        columns = list(frame.columns)
        results = {name: step for name, step in marks if name in columns}
        known = frame.attrs.get(COLUMNS_KEY, columns)
        for name, step in marks:
            if name not in columns and name not in frame.index.names:
                new = [column for column in columns if column not in known]
                results |= dict.fromkeys(new, f"{step} of {name!r}, which is gone: renamed?")
        return results

    def check(self, roles: Mapping[Name, str]) -> None:
        """Reject nested types; what an object column holds is only seen when it is encoded."""
        for name, role in roles.items():
            encode.refuse_nested(encode.column_of(self.frame, name).dtype, name, role)

    def nested(self) -> Sequence[str]:
        """List the paths inside Arrow's structs, and inside cells that are mappings."""
        return labels.nested(self.frame)

    def stored(self) -> Stored:
        """Count the categories that no row has, of columns and of the index."""
        return unused.stored(self.frame)

    def has_rows(self) -> bool:
        """Return whether there is any row."""
        return len(self.frame) > 0

    def scale_of(self, column: Name) -> str | None:
        """Look at the type, and where that is `object` at the first value."""
        return objects.scale_of(encode.column_of(self.frame, column))

    def largest_whole(self, column: Name) -> float | None:
        """Look at all values."""
        from anonrisk.engines.pandas import recode

        numbers = recode.as_floats(encode.column_of(self.frame, column), column)
        numbers = numbers[~np.isnan(numbers)]
        # An infinite one less itself is no number, and so not zero.
        with np.errstate(invalid="ignore"):
            whole = numbers - np.floor(numbers) == 0
        return float(np.abs(numbers).max(initial=0)) if whole.all() else None

    def is_whole(self, column: Name) -> bool:
        """Look at all values: pandas makes whole numbers floats where one is missing."""
        from anonrisk.engines.pandas import recode

        return recode.kind_of_all(encode.column_of(self.frame, column)) == "whole"

    def is_text(self, column: Name) -> bool:
        """Look at the first known value."""
        from anonrisk.engines.pandas import recode

        return recode.kind_of(encode.column_of(self.frame, column)) in ("text", None)


def with_roles(frame: pd.DataFrame, roles: Roles) -> pd.DataFrame:
    """Keep the roles in `attrs`, as plain values, which survive a Parquet file."""
    declared = frame.copy(deep=False)
    declared.attrs = {**frame.attrs, ROLES_KEY: roles.to_dict()}
    return declared


def marked(frame: pd.DataFrame, columns: Qid, step: str) -> pd.DataFrame:
    """Keep in `attrs` that equality of these columns' cells means nothing any more."""
    earlier = _marks(frame)
    marks = [*(pair for pair in earlier if pair[0] not in columns), *((c, step) for c in columns)]
    # The columns of the first time, so that a rename is noticed later.
    known = frame.attrs.get(COLUMNS_KEY, list(frame.columns))
    listed = [list(pair) for pair in marks]
    frame.attrs = {**frame.attrs, _ATTRS_KEY: listed, COLUMNS_KEY: known}
    return frame


def _marks(frame: pd.DataFrame) -> list[tuple[Any, str]]:
    """Read pairs of a column and a step; what cannot be read might have been any column."""
    stored = frame.attrs.get(_ATTRS_KEY, ())
    try:
        marks = [(name, step) for name, step in stored]
        listed = isinstance(frame.attrs.get(COLUMNS_KEY, []), list)
        if listed and all(isinstance(step, str) and hash(name) is not None for name, step in marks):
            return marks
    except (TypeError, ValueError):
        pass
    raise RolesLostError(
        "the table says that columns were changed at random, but not which: the mark is damaged"
    )
