"""How far from uniform a quasi-identifier is after its values were put together, step by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeAlias

from anonrisk.api.predict_singletons import counted_for
from anonrisk.api.question import in_one_state, question_of
from anonrisk.core import render
from anonrisk.core.columns import require
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.change import Recode
from anonrisk.measures.recode import Recoding

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from anonrisk.core.columns import Name, Names, Qid
    from anonrisk.core.types import Missing
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.question import Question

    # Widths of intervals, and recodings.
    _Way: TypeAlias = tuple[dict[Any, float], dict[Any, Recoding]]


@dataclass(frozen=True, repr=False)
class KlStep(render.PrintedFields):
    """One way of putting values together.

    Attributes
    ----------
    step : str
        What was done, in words.
    n_records : int
        Number of records; with a `unit`, of (person, class) pairs.
    n_classes : int
        Number of different values that are left.
    n_values : int
        Number of values of the uniform law that they are compared with.
    kl : float
        Kullback-Leibler distance from it in nats.
    bias : float
        About how much of that distance comes from counting a sample: 0 for a whole population.
    """

    step: str
    n_records: int
    n_classes: int
    n_values: int
    kl: float
    bias: float


@dataclass(frozen=True, repr=False)
class KlAfter(Document, render.PrintedTable):
    """The distance from uniform before and after each step.

    Attributes
    ----------
    qid : tuple of names
        The quasi-identifier.
    steps : tuple of KlStep
        The table as it is, then every step.
    """

    qid: Qid
    steps: tuple[KlStep, ...]

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table with one row per step."""
        import pandas as pd

        return pd.DataFrame([asdict(step) for step in self.steps])

    def _lines(self) -> list[str]:
        return [f"Distance from uniform of {render.joined(self.qid)}"]

    def _header(self) -> tuple[str, ...]:
        return "step", "records", "classes", "values", "nats", "by chance"

    def _notes(self) -> list[str]:
        return [
            (
                "by chance: about what a sample shows of people who are spread evenly; where that "
                "is no less than the distance, the distance may be chance alone"
            )
        ]

    def _rows(self) -> list[list[str]]:
        return [
            [
                s.step,
                *(f"{n:,}" for n in (s.n_records, s.n_classes, s.n_values)),
                *(f"{nats:.4f}" for nats in (s.kl, s.bias)),
            ]
            for s in self.steps
        ]


@in_one_state
def kl_after(
    frame: Any,
    qids: Names | None = None,
    steps: Sequence[Mapping[Any, float | Recoding]] = (),
    *,
    n_values: Sequence[int] | None = None,
    unit: Name | None = None,
    missing: Missing = "value",
) -> KlAfter:
    r"""Measure the distance from uniform of a quasi-identifier whose values are put together.

    Parameters
    ----------
    frame, qids, unit
        As in `anonrisk.classes`.
    missing
        As in `anonrisk.ldiv`.
    steps : list of mappings of column to width or recoding
        What is done to the table, each step by itself: a number makes intervals of that width,
        which begin at its multiples; anything else is a recoding of `anonrisk.recode`, such as
        ``Prefix(2)`` or, for a level of a hierarchy, ``Level.of(Hierarchy.of(tree), 1)``.
    n_values : list of int, optional
        How many values are possible, in the table as it is and after each step. Left out, those
        that occur.

    Returns
    -------
    KlAfter

    Raises
    ------
    As in `anonrisk.classes`.

    See Also
    --------
    anonrisk.entropy : the entropy in bits
    anonrisk.ClassSizes.kl : of one table, without recoding
    anonrisk.predict.uniqueness : what follows from a distance

    Notes
    -----
    H4, in nats, against the uniform law on N values:

    .. math:: \kappa = \ln N - H

    Each step is a scan of the table.

    When it misleads: values that nobody has raise κ by ln(N'/N), so state how many there are where
    you compare tables. A sample of n records is further from uniform than its population, by about
    (J − 1)/(2n) with J values that occur; coarse steps are less so.

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, chapter 4,
    Figure 4.4; corrected as in docs/formulas.md, ``koot-4.3.2-sum``, ``koot-4.3.2-power``.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"age": [0, 0, 0, 1, 2, 2, 4, 5, 6, 6, 7, 9]})
    >>> anonrisk.kl_after(df, "age", [{"age": 2}, {"age": 5}], n_values=[10, 5, 2])
    Distance from uniform of age
                   step   records   classes   values     nats   by chance
               as it is        12         8       10   0.3234               0.2917
    age: intervals of 2        12         5        5   0.0923               0.1667
    age: intervals of 5        12         2        2   0.0140      0.0417
    by chance: about what a sample shows of people who are spread evenly; ...
    """
    engine, question = question_of(frame, qids, unit=unit, missing=missing)
    known = engine.schema(frame).columns
    ways = [_read(step, question.qid, known) for step in _listed(steps)]
    sizes = [None] * (len(ways) + 1) if n_values is None else _several(n_values)
    if len(sizes) != len(ways) + 1:
        raise ArgumentError(
            f"n_values needs {len(ways) + 1} numbers: for the table as it is and for each step"
        )
    # The table as it is comes last: an engine that cannot recode says so before it counts.
    *coarser, plain = [
        _measured(engine, frame, question, way, domain)
        for way, domain in zip([*ways, ({}, {})], [*sizes[1:], sizes[0]], strict=True)
    ]
    return KlAfter(question.qid, (plain, *coarser))


def _measured(
    engine: Engine, frame: Any, question: Question, way: _Way, domain: int | None
) -> KlStep:
    widths, recodings = way
    table = engine.rewrite(frame, Recode(recodings)) if recodings else frame
    counted = counted_for(table, question.qid, widths, question.unit, question.missing)
    kl = counted.kl(domain)
    n, classes = counted.n_memberships, counted.n_classes
    words, bias = _words(widths, recodings), (classes - 1) / (2 * n)
    return KlStep(words, n, classes, kl.n_values, float(kl), bias)


def _several(n_values: Any) -> list[Any]:
    return list(n_values) if isinstance(n_values, Iterable) else [n_values]


def _listed(steps: Any) -> list[Any]:
    if isinstance(steps, (list, tuple)) and all(isinstance(step, Mapping) for step in steps):
        return list(steps)
    raise ArgumentError("steps must be a list, each step such as {'age': 5} or {'zip': Prefix(2)}")


def _read(step: Mapping[Any, Any], qid: Qid, known: Sequence[Name]) -> _Way:
    """Separate widths of intervals from recodings; reject columns that are no part of it."""
    require(tuple(step), "column of a step", known)
    strange = [name for name in step if name not in qid]
    if strange:
        raise ArgumentError(f"a step names {strange[0]!r}, which is not in the quasi-identifier")
    recodings = {name: how for name, how in step.items() if isinstance(how, Recoding)}
    return {name: how for name, how in step.items() if name not in recodings}, recodings


def _words(widths: Mapping[Any, float], recodings: Mapping[Any, Recoding]) -> str:
    rounded = [f"{render.named(name)}: intervals of {width:g}" for name, width in widths.items()]
    recoded = [f"{render.named(name)}: {how}" for name, how in recodings.items()]
    return "; ".join([*rounded, *recoded]) or "as it is"
