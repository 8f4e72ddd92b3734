"""Who is asked: anonrisk on each kind of table, and other tools through a function of a case."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any

import anonrisk
from anonrisk._version import __version__
from anonrisk.accessor import ON_CLASSES
from anonrisk.core.frozen import dataclass
from anonrisk.engines.refusals import REFUSED
from anonrisk.errors import ArgumentError, EmptyTableError
from anonrisk.testing.tables import KINDS, lacking

if TYPE_CHECKING:
    from collections.abc import Callable

    from anonrisk.testing.case import Case, SmallTable

_STEP = re.compile(r"(\w+)(\([^)]*\))?")
# Cases that a kind of table refuses, by what it is not asked for (`engines.refused`). A refusal
# that is not listed fails the suite, and so does one that does not happen.
_ASKED = {
    "missing-wildcard*": "missing='wildcard'",
    "at-risk-[lt]": "at_risk(l=), at_risk(t=)",
    "kl-after": "kl_after",
    **{word: word for word in ("compare", "linkability", "suda", "trajectory")},
}
_TITLES = {
    "duckdb": "DuckDB relation",
    "polars-lazy": "Polars, lazy",
    "datafusion": "DataFusion",
    "duckdb-sql": "DuckDB, PostgreSQL",
    "postgresql": "DuckDB, PostgreSQL",
    "scan": "scan",
    "sqlite": "SQLite",
}
REFUSALS = {
    name: {
        pattern: refusal.sentence
        for pattern, asked in _ASKED.items()
        for refusal in REFUSED
        if refusal.asked == asked and title in refusal.tables
    }
    for name, title in _TITLES.items()
}


@dataclass(frozen=True)
class OwnTool:
    """anonrisk, asked about tables of one kind.

    Parameters
    ----------
    name : str
        The kind of table.
    build : function
        Builds a table of that kind.
    refusals : mapping
        The cases that it refuses, by a pattern of their ids, and why.
    """

    name: str
    build: Callable[[SmallTable], Any] = field(repr=False)
    refusals: Mapping[str, str] = field(default_factory=dict, repr=False)
    version: str = f"anonrisk {__version__}"
    _built: dict[str, Any] = field(default_factory=dict, repr=False)

    def __call__(self, case: Case) -> Any:
        """Ask the function that the case names."""
        frame, options = self._table(case.table), dict(case.options)
        if case.population is not None:
            # The second table of a question has a name of its own in some functions.
            word = {"compare": "previous", "utility": "original"}.get(case.measure, "population")
            options[word] = self._table(case.population)
        if case.qids:
            options["qids"] = list(case.qids)
        if case.sensitive is not None:
            options["sensitive"] = case.sensitive
        ask = _OWN.get(case.measure) or getattr(anonrisk, case.measure)
        try:
            result = ask(frame, **options)
        except NotImplementedError:
            # Of a table that cannot be built this is an answer, of a measure it is a fault.
            raise RuntimeError("anonrisk has every measure") from None
        if case.attributes:
            return {name: read(result, name) for name in case.attributes}
        return result

    def _table(self, table: SmallTable) -> Any:
        if table.name not in self._built:
            self._built[table.name] = self.build(table)
        return self._built[table.name]


def read(result: Any, path: str) -> Any:
    """Read an attribute of a result: ``prosecutor.share_above(0.2)``, ``estimates.0.uniques``."""
    for name, call in _STEP.findall(path):
        if name.isdigit():
            result = result[int(name)]
        elif isinstance(result, Mapping) or hasattr(result, "iloc"):
            result = result[name]
        else:
            result = getattr(result, name)
        if call:
            result = result(*map(_argument, filter(None, call[1:-1].split(","))))
    return result.tolist() if hasattr(result, "tolist") else result


def _argument(written: str) -> float | str:
    """Read the argument of a method: a whole number, another number or a word."""
    if written.isdigit():
        return int(written)
    return float(written) if written[0].isdigit() else written


def _sizes(frame: Any, qids: list[str], **options: Any) -> Any:
    """Count the records by the size that `sizes` gives each, whatever holds the table."""
    sized = anonrisk.sizes(frame, qids, **options)
    if getattr(sized, "ndim", 2) == 1:
        sized = frame.assign(class_size=sized)
    counted = anonrisk.summary(sized, [qids], by="class_size")
    return {"size": counted.index.get_level_values(1).tolist(), "records": counted["records"]}


def _at_risk(frame: Any, qids: list[str], **options: Any) -> Any:
    """Count the records that `at_risk` gives."""
    try:
        return anonrisk.classes(anonrisk.at_risk(frame, qids, **options), qids).n_rows
    except EmptyTableError:
        # A table without a row at risk is right; one without any row was refused above.
        return 0


def _of_classes(frame: Any, *, name: str, **options: Any) -> Any:
    return getattr(anonrisk.classes(frame, **options), name)


_OWN: dict[str, Callable[..., Any]] = {
    "sizes": _sizes,
    "at_risk": _at_risk,
    **{name: partial(_of_classes, name=name) for name in ON_CLASSES},
}


def engine(name: str) -> OwnTool:
    """Return anonrisk on one kind of table, to be run.

    Parameters
    ----------
    name : str
        A kind of table: pandas, pandas-nullable, pandas-object, pandas-arrow, arrow, polars,
        polars-lazy, narwhals, duckdb (a relation), duckdb-sql, datafusion, sqlite, scan, spark,
        connect, pandas-on-spark, or postgresql with the address of a database, ``postgresql=URL``.

    Returns
    -------
    OwnTool
        What `anonrisk.testing.run` takes.

    Examples
    --------
    >>> from anonrisk import testing
    >>> case = next(case for case in testing.cases() if case.id == "minus-zero")
    >>> testing.engine("pandas")(case)
    2
    """
    kind, _, address = name.partition("=")
    if kind not in KINDS:
        raise ArgumentError(f"{kind!r} is not a kind of table: give one of {', '.join(KINDS)}")
    absent = lacking(kind)
    if absent:
        raise ArgumentError(f"{kind} needs what is not installed: {', '.join(absent)}")
    if bool(address) != (kind == "postgresql"):
        raise ArgumentError("postgresql, and nothing else, takes an address: postgresql=URL")
    _, build, at_once = KINDS[kind]
    made = build if at_once else build(address) if address else build()
    return OwnTool(kind, made, REFUSALS.get(kind, {}))


def pycanon(case: Case) -> Any:
    """Ask pycanon, as another tool is asked: in a function of a case.

    What it does not have is a NotImplementedError; whatever else it raises is listed as refused.
    """
    from pycanon import anonymity as own

    words = {
        "k": own.k_anonymity,
        "alpha": lambda *value: own.alpha_k_anonymity(*value)[0],
        "ldiv distinct": own.l_diversity,
        "ldiv entropy": own.entropy_l_diversity,
        "ldiv recursive": own.recursive_c_l_diversity,
        "beta_likeness basic": own.basic_beta_likeness,
        "beta_likeness enhanced": own.enhanced_beta_likeness,
        "delta_disclosure": own.delta_disclosure,
        # It takes the ordered distance for numbers, and the equal one for texts.
        "tcloseness ordered": own.t_closeness,
        "tcloseness equal": own.t_closeness,
    }
    column = case.table.columns.get(case.sensitive or "")
    number = column is not None and column.kind in ("integer", "float")
    other = case.measure == "tcloseness" and number is not (case.label == "tcloseness ordered")
    if case.label not in words or {*case.options} - {"variant", "c", "distance"} or other:
        raise NotImplementedError(case.label)
    asked = [] if case.sensitive is None else [[case.sensitive]]
    answer = words[case.label](case.table.to_pandas(), list(case.qids), *asked)
    if case.label == "ldiv recursive":
        c, answer = answer
        if not case.options["c"] >= c:
            raise NotImplementedError("it names one c, and says nothing of smaller ones")
    return answer
