"""Small tables, questions about them, and the answers: what a conformance suite is made of."""

from __future__ import annotations

import datetime as dt
import json
import math
from dataclasses import field
from decimal import Decimal
from functools import cache
from importlib.resources import files
from numbers import Real
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pandas as pd

from anonrisk.core.frozen import dataclass
from anonrisk.errors import AnonRiskError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# From here on floats leave out integers.
_EXACT = 2**53
_READ: dict[str, Callable[[Any], Any]] = {
    "float": float,
    "date": dt.date.fromisoformat,
    "instant": dt.datetime.fromisoformat,
    "zoned": dt.datetime.fromisoformat,
    "decimal": Decimal,
    "bytes": bytes.fromhex,
}
_KINDS = {str: "text", bool: "boolean", int: "integer", float: "float"}


@dataclass(frozen=True)
class SmallColumn:
    """The cells of a column as Python has them, None where one is missing.

    Parameters
    ----------
    kind : str
        text, integer, float, boolean, date, instant (without a zone), zoned, decimal, bytes or
        category.
    cells : tuple
        The cells.
    levels : tuple of str
        The categories of a category, those among them that no cell has.
    zone : str, optional
        The zone in which instants with a zone are kept.
    """

    kind: str
    cells: tuple[Any, ...]
    levels: tuple[str, ...] = ()
    zone: str | None = None

    @classmethod
    def read(cls, written: Any) -> SmallColumn:
        """Read a column from JSON: a list, or a dict from its kind to one."""
        if isinstance(written, list):
            known = [type(cell) for cell in written if cell is not None]
            return cls(_KINDS[known[0]] if known else "text", tuple(written))
        (kind, cells), *_ = written.items()
        if kind == "sizes":
            return cls("integer", tuple(i for i, size in enumerate(cells) for _ in range(size)))
        read = _READ.get(kind, lambda cell: cell)
        values = [None if cell is None else read(cell) for cell in cells]
        zone = written.get("zone", "UTC") if kind == "zoned" else None
        if zone:
            values = [cell and cell.astimezone(ZoneInfo(zone)) for cell in values]
        return cls(kind, tuple(values), tuple(written.get("levels", ())), zone)


@dataclass(frozen=True)
class SmallTable:
    """A small table, by its name, its columns, and the labels of its rows where there are any."""

    name: str
    columns: Mapping[str, SmallColumn] = field(hash=False)
    labels: tuple[int, ...] = ()

    @classmethod
    def read(cls, name: str, written: dict[str, Any]) -> SmallTable:
        """Read a table from JSON."""
        labels = tuple(written.pop("row labels", ()))
        columns = {column: SmallColumn.read(cells) for column, cells in written.items()}
        return cls(name, columns, labels)

    def to_pandas(self) -> pd.DataFrame:
        """Build it as a pandas table, with the types that pandas itself would take."""
        frame = pd.DataFrame({name: _series(column) for name, column in self.columns.items()})
        return frame.set_axis(list(self.labels), axis=0) if self.labels else frame

    def rows(self) -> list[dict[str, Any]]:
        """Return it row by row."""
        cells = zip(*(column.cells for column in self.columns.values()), strict=True)
        return [dict(zip(self.columns, row, strict=True)) for row in cells]


def _series(column: SmallColumn) -> pd.Series[Any]:
    cells = list(column.cells)
    if column.kind == "category":
        return pd.Series(pd.Categorical(cells, categories=list(column.levels)))
    if column.kind == "zoned":
        instants = pd.to_datetime(pd.Series(cells, dtype=object), utc=True)
        return instants.dt.tz_convert(column.zone)
    if column.kind == "instant":
        return pd.to_datetime(pd.Series(cells, dtype=object))
    large = column.kind == "integer" and None in cells
    if large and max(abs(cell or 0) for cell in cells) >= _EXACT:
        return pd.Series(cells, dtype="Int64")
    return pd.Series(cells, dtype="float64") if column.kind == "float" else pd.Series(cells)


# Integers are compared exactly; of floats this much is forgiven, relative, absolute below 1.
TOLERANCE = 1e-12
# The source of the answers that ARX gave.
ARX = "ARX 3.9"
# Whose largest value is the safest; of every other measure the smallest is.
AT_LEAST = ("k", "ldiv", "kmap", "lowest")
# The argument that says which of several measures is meant, and what it is where it is not given.
_KIND_OF = {
    "ldiv": ("variant", "distinct"),
    "tcloseness": ("distance", "auto"),
    "beta_likeness": ("variant", "basic"),
    "predict_population": ("model", "auto"),
    "predict_singletons": ("draw", "auto"),
}


@dataclass(frozen=True)
class Case:
    """A question about a small table, and the answer.

    Parameters
    ----------
    id : str
        Its name, by which a report lists it.
    measure : str
        The function of `anonrisk` that answers it.
    table : SmallTable
        The table that is asked about.
    qids : tuple of str
        The quasi-identifier.
    sensitive : str, optional
        The sensitive column, where the measure takes one.
    options : mapping
        The other arguments of the function, as JSON has them.
    population : SmallTable, optional
        The larger table that this one was drawn from, or the earlier one of a comparison.
    answer : number, bool or mapping
        The right answer: a number; attributes of the result by their names; whether `limit` holds.
    limit : number or mapping, optional
        The limit that is asked about, where the answer is yes or no; of attributes of the result
        by their names.
    error : str, optional
        The error that is the right answer, by the name of its class.
    tolerance : float
        How far a float may be off, relative, absolute below 1.
    source : str
        Where the answer is from.
    why : str
        How it is counted by hand, or what it is about.
    """

    id: str
    measure: str
    table: SmallTable
    qids: tuple[str, ...] = ()
    sensitive: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    population: SmallTable | None = None
    answer: Any = field(default=None, hash=False)
    limit: Any = field(default=None, hash=False)
    error: str | None = None
    tolerance: float = TOLERANCE
    source: str = "by hand"
    why: str = ""

    @property
    def label(self) -> str:
        """The measure and its variant: ``ldiv recursive``."""
        word, default = _KIND_OF.get(self.measure, ("", ""))
        return f"{self.measure} {self.options.get(word, default)}".strip()

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of the result that are asked for; none where the result is a number."""
        asked = self.answer if self.limit is None else self.limit
        return tuple(asked) if isinstance(asked, dict) else ()

    @property
    def question(self) -> str:
        """All that is asked, as one text: who has answered it need not be asked again."""
        about = [self.table.name, self.population and self.population.name, self.sensitive]
        return json.dumps([self.measure, about, self.qids, self.options, self.attributes])

    def is_right(self, answer: Any) -> bool:
        """Check an answer: the number, or the value that is compared with the limit."""
        if self.error is not None:
            return False
        if self.limit is None:
            return _equal(answer, self.answer, self.tolerance)
        limits = self.limit if self.attributes else {self.measure: self.limit}
        values = answer if self.attributes else {self.measure: answer}
        # A number that is none fails every comparison, and would be right wherever a limit fails.
        if any(values[name] != values[name] for name in limits):
            return False
        holds = (
            values[name] >= limit if name in AT_LEAST else values[name] <= limit
            for name, limit in limits.items()
        )
        return all(holds) is self.answer

    def is_right_error(self, error: BaseException) -> bool:
        """Check an error: ours by its class, another tool's by being one at all."""
        if self.error is None or isinstance(error, NotImplementedError):
            return False
        return not isinstance(error, AnonRiskError) or type(error).__name__ == self.error


def _equal(answer: Any, right: Any, tolerance: float) -> bool:
    if isinstance(right, dict):
        return all(_equal(answer[name], value, tolerance) for name, value in right.items())
    if isinstance(right, list):
        pairs = zip(answer, right, strict=False)
        return len(answer) == len(right) and all(_equal(a, b, tolerance) for a, b in pairs)
    if isinstance(right, float):
        if not isinstance(answer, Real):
            return False
        # Equal first: infinities are not near each other.
        near = tolerance * max(1.0, abs(right))
        return answer == right or abs(float(answer) - right) <= near < math.inf
    return bool(answer == right)


@cache
def cases() -> tuple[Case, ...]:
    """Return every case of the suite: counted by hand, from the literature, and ARX's answers.

    Returns
    -------
    tuple of Case
        In the order of the files, each with an id of its own.

    Examples
    --------
    >>> from anonrisk import testing
    >>> case = next(case for case in testing.cases() if case.id == "minus-zero")
    >>> case.measure, case.qids, case.answer
    ('k', ('x',), 2)
    >>> len({case.id for case in testing.cases()}) == len(testing.cases())
    True
    """
    return (*_by_hand(), *_by_arx())


def _document(name: str) -> Any:
    path = files("anonrisk.testing").joinpath("data", name)
    return json.loads(path.read_text(encoding="utf-8"))


def _by_hand() -> Iterator[Case]:
    document = _document("cases.json")
    tables = {name: SmallTable.read(name, table) for name, table in document["tables"].items()}
    for written in document["cases"]:
        about = {**written, "table": tables[written["table"]], "qids": tuple(written["qids"])}
        if "population" in about:
            about["population"] = tables[about["population"]]
        yield Case(**about)


# How ARX's questions are called here, in what arguments, and which attribute is compared.
_ARX: dict[str, tuple[str, dict[str, Any], str | None]] = {
    "k": ("k", {}, None),
    "ldiv distinct": ("ldiv", {"variant": "distinct"}, None),
    "ldiv entropy": ("ldiv", {"variant": "entropy"}, None),
    "ldiv recursive": ("ldiv", {"variant": "recursive"}, None),
    "tcloseness equal": ("tcloseness", {"distance": "equal"}, None),
    "tcloseness ordered": ("tcloseness", {"distance": "ordered"}, None),
    "tcloseness hierarchical": ("tcloseness", {"distance": "hierarchical"}, None),
    "beta basic": ("beta_likeness", {"variant": "basic"}, None),
    "beta enhanced": ("beta_likeness", {"variant": "enhanced"}, None),
    "delta disclosure, bits": ("delta_disclosure", {}, None),
    "prosecutor average at most": ("risk", {}, "prosecutor.average"),
    "unique share at most": ("uniqueness", {}, None),
    "kmap": ("kmap", {}, None),
}
_ARX_TOLERANCE = 1e-9


def _by_arx() -> Iterator[Case]:
    for number, written in enumerate(_document("arx.json")["tables"], start=1):
        columns = {
            name: SmallColumn("text", tuple(levels[int(code, 36)] for code in codes))
            for name, (levels, codes) in written["columns"].items()
        }
        table = SmallTable(f"arx-{number}", columns)
        kept = {
            name: SmallColumn("text", tuple(column.cells[i] for i in written["subset"]))
            for name, column in columns.items()
        }
        subset = SmallTable(f"arx-{number}-subset", kept)
        for ask, answers in written["answers"].items():
            for place, answer in enumerate(answers, start=1):
                key = f"arx-{number}-{ask.partition(',')[0].replace(' ', '-')}-{place}"
                yield from _arx_cases(key, ask, answer, (table, subset), written["hierarchy"])


def _arx_cases(
    key: str,
    ask: str,
    answer: list[Any],
    tables: tuple[SmallTable, SmallTable],
    hierarchy: list[list[str]],
) -> Iterator[Case]:
    table, subset = tables
    about: dict[str, Any] = {"qids": tuple(table.columns)[:-1], "source": ARX}
    if ask == "numbers":
        yield from _arx_numbers(key, answer, table, about)
        return
    if ask == "delta presence":
        about |= {
            "population": table,
            "limit": dict(zip(("lowest", "highest"), answer, strict=False)),
        }
        yield Case(key, "delta_presence", subset, answer=answer[-1], **about)
        return
    measure, options, attribute = _ARX[ask]
    if measure in ("ldiv", "tcloseness", "beta_likeness", "delta_disclosure"):
        about["sensitive"] = "s"
    if measure == "kmap":
        table, about["population"] = subset, table
    *more, limit, holds = answer
    if ask == "ldiv recursive":
        options = {**options, "c": more[0]}
    elif ask == "tcloseness ordered":
        options = {**options, "order": [row[0] for row in hierarchy]}
    elif ask == "tcloseness hierarchical":
        options = {**options, "hierarchies": hierarchy}
    elif measure == "delta_disclosure":
        # ARX takes logarithms to the base of 2.
        limit *= math.log(2)
    limit = {attribute: limit} if attribute else limit
    yield Case(key, measure, table, options=options, answer=holds, limit=limit, **about)


def _arx_numbers(
    key: str, answer: list[float], table: SmallTable, about: dict[str, Any]
) -> Iterator[Case]:
    fraction, highest, average, above, unique, classes, zayatz = answer
    n_records = len(table.rows())
    risks = {
        "prosecutor.highest": highest,
        "prosecutor.average": average,
        "prosecutor.share_above(0.2)": above,
    }
    about |= {"tolerance": _ARX_TOLERANCE}
    yield Case(f"{key}-risk", "risk", table, answer=risks, **about)
    yield Case(f"{key}-unique", "uniqueness", table, answer=unique, **about)
    yield Case(f"{key}-classes", "classes", table, answer={"n_classes": int(classes)}, **about)
    size = round(n_records / fraction)
    options = {"population_size": size, "model": "zayatz"}
    # No singleton in a sample is no proof that there is none: there is no estimate then, while ARX
    # says 0.
    uniques = {"estimates.0.uniques": zayatz * size if zayatz else None}
    yield Case(
        f"{key}-zayatz", "predict_population", table, options=options, answer=uniques, **about
    )
