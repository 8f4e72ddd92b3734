"""Many measures in as few passes as possible, and what they say together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.class_sizes import ClassSizes
from anonrisk.api.question import in_one_state, question_of
from anonrisk.api.sensitive import question_about, refuse_closeness, with_distance
from anonrisk.core import render
from anonrisk.core.arguments import one_of, positive
from anonrisk.core.columns import nearest
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Closeness, plain
from anonrisk.core.types import AssessesTables
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.question import Score
from anonrisk.measures.scores import FORMULAS, MEASURES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pandas as pd

    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Distance, Missing, MissingOrWildcard
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.question import Question, Sensitive

    Values = dict[tuple[str, Any], Any]

# Shares of the records, and chances that are averages over them.
_SHARES = ("uniqueness", "highest_risk", "average_risk")


@dataclass(frozen=True, eq=False, repr=False)
class Assessment(render.PrintedTable):
    """What one pass over a table has to say.

    Attributes
    ----------
    sizes : ClassSizes
        The classes of the quasi-identifier; answers for k, uniqueness, risk and more.
    values : dict of (measure, sensitive column) to number
        Each measure of each sensitive column; the column is None where a measure has none.
    """

    sizes: ClassSizes
    values: dict[tuple[str, Name | None], Any]

    def __getitem__(self, measure: str) -> Any:
        """Return a measure; of several sensitive columns, the worst."""
        results = [value for (name, _), value in self.values.items() if name == measure]
        if not results:
            known = list(dict.fromkeys(name for name, _ in self.values))
            raise ArgumentError(
                f"{measure!r} was not measured{nearest(measure, known) or '; '}"
                f" There are {', '.join(known)}"
            )
        # A measure of class sizes is one number.
        return MEASURES[measure].worst_of(results) if measure in MEASURES else results[0]

    def of(self, measure: str, sensitive: Name | None) -> Any:
        """Return a measure of one sensitive column."""
        try:
            return self.values[measure, sensitive]
        except KeyError:
            raise ArgumentError(f"{measure!r} of {sensitive!r} was not measured") from None

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table: measure, sensitive column, value."""
        import pandas as pd

        rows = [(name, column, float(value)) for (name, column), value in self.values.items()]
        return pd.DataFrame(rows, columns=["measure", "sensitive", "value"])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; no cell of the table is among them."""
        values = [
            {
                "measure": name,
                "sensitive": plain(column),
                "value": value if isinstance(value, int) else plain(float(value)),
                **({"distance": value.distance} if hasattr(value, "distance") else {}),
            }
            for (name, column), value in self.values.items()
        ]
        return {"sizes": self.sizes.to_dict(), "measures": values}

    def _rows(self) -> list[list[str]]:
        rows = []
        for (name, column), value in self.values.items():
            shown = f"{value:,}" if isinstance(value, int) else f"{float(value):.4g}"
            if name in _SHARES:
                shown = render.percent(value)
            distance = getattr(value, "distance", "")
            rows.append([name, "" if column is None else render.named(column), shown, distance])
        return rows

    def _lines(self) -> list[str]:
        who = "record" if self.sizes.unit is None else "person"
        people = render.count_of(self.sizes.n_records, who)
        return [f"{people}, classes of {render.joined(self.sizes.qid)}"]

    def _header(self) -> tuple[str, ...]:
        return "measure", "sensitive", "value", "distance"


# What each says of a table, and how it follows from the classes.
_OF_SIZES: dict[str, tuple[str, Callable[[ClassSizes], Any]]] = {
    "k": (
        "size of the smallest class: at least that many people share every combination",
        lambda sizes: sizes.k,
    ),
    "uniqueness": (
        "share of the people who are alone with their combination",
        lambda sizes: sizes.uniqueness,
    ),
    "highest_risk": (
        "chance of finding the person who is easiest to find",
        lambda sizes: sizes.risk().prosecutor.highest,
    ),
    "average_risk": (
        "chance of finding a person, on average",
        lambda sizes: sizes.risk().prosecutor.average,
    ),
}
MEANINGS = {
    **{name: meaning for name, (meaning, _) in _OF_SIZES.items()},
    **{name: formula.meaning for name, formula in MEASURES.items()},
}


@in_one_state
def assess(
    frame: Any,
    qids: Names | AssessesTables | None = None,
    sensitive: Names | None = None,
    measures: str | Sequence[str] | None = None,
    *,
    c: float | None = None,
    distance: Distance = "auto",
    order: Iterable[Any] | None = None,
    hierarchies: Any = None,
    unit: Name | None = None,
    missing: MissingOrWildcard = "value",
    missing_sensitive: Missing = "value",
) -> Assessment:
    """Take many measures of a table in as few passes as possible: one per sensitive column.

    Parameters
    ----------
    frame, qids
        As in `anonrisk.classes`. In place of columns, and alone, an `anonrisk.Policy`: the measures
        that its budgets name are taken.
    unit, missing
        As in `anonrisk.classes`. ``missing="wildcard"`` goes with measures of sizes only.
    sensitive, missing_sensitive
        As in `anonrisk.ldiv`; with a measure of sensitive values only.
    measures : list of str, optional
        ``"k"``, ``"uniqueness"``, ``"highest_risk"``, ``"average_risk"`` (the prosecutor's), and
        of sensitive values the names of the functions, as ``"ldiv"`` or ``"tcloseness"``; a variant
        stands before, as in ``"entropy_ldiv"``, ``"recursive_ldiv"`` (with `c`) or
        ``"enhanced_beta_likeness"``. A wrong name is answered with all of them. Left out, all.
    c
        As in `anonrisk.ldiv`. With ``"recursive_ldiv"`` only.
    distance, order, hierarchies
        As in `anonrisk.tcloseness`. With ``"tcloseness"`` only.

    Returns
    -------
    Assessment
        Each measure of each sensitive column, and the sizes of the classes.

    Raises
    ------
    As in `anonrisk.tcloseness`.

    See Also
    --------
    anonrisk.report : the same for people who decide
    anonrisk.classes : class sizes alone
    anonrisk.Policy.check : compares measures with limits

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "illness": ["flu", "cold", "flu", "flu"]})
    >>> df.anon.assess("zip", "illness", ["k", "ldiv", "tcloseness"])
    4 records, classes of zip
    measure      sensitive   value   distance
    k                            2
    ldiv         illness         1
    tcloseness   illness      0.25   equal
    """
    if isinstance(qids, AssessesTables):
        others = (sensitive, measures, c, order, hierarchies, unit)
        words = (distance, missing, missing_sensitive)
        if any(x is not None for x in others) or words != ("auto", "value", "value"):
            raise ArgumentError("a policy states everything itself: give it alone")
        assessed: Assessment = qids.assess(frame)
        return assessed
    names = _measures(measures, c)
    of_values = [name for name in names if name in MEASURES]
    if "tcloseness" not in of_values:
        refuse_closeness(distance, order, hierarchies, "the measure 'tcloseness'")
    if not of_values:
        if sensitive is not None or missing_sensitive != "value":
            raise ArgumentError(
                "sensitive= and missing_sensitive= have no effect without a measure of its values"
            )
        engine, question = question_of(frame, qids, unit=unit, missing=missing, wildcard=True)
        alone_sizes = ClassSizes.of(engine.count(frame, question)[0])
        return Assessment(alone_sizes, _of_sizes(names, alone_sizes))
    engine, question, columns = question_about(
        frame, qids, sensitive, unit=unit, missing=missing, missing_sensitive=missing_sensitive
    )
    result: Values = {}
    dropped = missing_sensitive == "drop"
    sizes = ClassSizes.of(engine.count(frame, question)[0]) if dropped else None
    for column in columns:
        about, settled = column, "equal"
        if "tcloseness" in of_values:
            about, settled = with_distance(
                engine, frame, column, distance, order=order, hierarchies=hierarchies
            )
        counted, values = _score(engine, frame, question, about, settled, of_values, c)
        # Where records are left out for their sensitive value, class sizes are still those of all.
        sizes = counted if sizes is None else sizes
        result |= {(name, column.column): value for name, value in values.items()}
    assert sizes is not None  # noqa: S101
    return Assessment(sizes, {**_of_sizes(names, sizes), **result})


def _of_sizes(names: Sequence[str], sizes: ClassSizes) -> Values:
    return {(name, None): _OF_SIZES[name][1](sizes) for name in names if name in _OF_SIZES}


def _measures(value: Sequence[str] | None, c: float | None) -> list[str]:
    with_c = [name for name, formula in MEASURES.items() if formula.takes_c]
    if value is None:
        return [name for name in MEANINGS if name not in with_c or c is not None]
    if not isinstance(value, (str, list, tuple, set)):
        raise ArgumentError("measures= must be a list of names")
    names = [
        one_of(name, "measure", list(MEANINGS))
        for name in ([value] if isinstance(value, str) else value)
    ]
    if not names:
        raise ArgumentError("no measure given: the list is empty")
    if any(name in with_c for name in names):
        positive(c, "c")
    elif c is not None:
        raise ArgumentError(f"c= belongs to the measure {' or '.join(map(repr, with_c))}")
    return list(dict.fromkeys(names))


def _score(  # noqa: PLR0917
    engine: Engine,
    frame: Any,
    question: Question,
    about: Sensitive,
    distance: str,
    names: Sequence[str],
    c: float | None,
) -> tuple[ClassSizes, dict[str, Any]]:
    """Score one sensitive column: one pass, and one more for a hierarchical distance."""
    scores = {}
    for name in names:
        formula = FORMULAS[distance] if name == "tcloseness" else MEASURES[name]
        scores[name] = Score(formula.name, positive(c, "c") if formula.takes_c else None)
    apart = [score for score in scores.values() if score.name == "hierarchical"]
    together = [score for score in scores.values() if score.name != "hierarchical"]
    worst: dict[Score, float] = {}
    sizes = None
    for asked in (together, apart):
        if asked:
            scored = engine.score(frame, question, about, asked)
            sizes, worst = scored.sizes, worst | scored.worst
    assert sizes is not None  # noqa: S101
    values = {name: worst[score] for name, score in scores.items()}
    if "tcloseness" in values:
        values["tcloseness"] = Closeness(values["tcloseness"], distance)
    return ClassSizes.of(sizes), values
