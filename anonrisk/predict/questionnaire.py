"""How each answer to a questionnaire shrinks the set of people who could have given it (H7)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import pictures, render
from anonrisk.core.arguments import instance_of, whole_number
from anonrisk.core.columns import nearest
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import joined
from anonrisk.core.results import Document
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes

# Counts that statistics offices publish are often rounded, so that they need not be whole.
Counts = dict[tuple[Any, ...], float]


@dataclass(frozen=True)
class Answer:
    """One answer to one question, and how common it is.

    Parameters
    ----------
    question : str
        What was asked.
    share : float, optional
        The share of the population that gives this answer, above 0 and at most 1. Left out where
        `count` and `total` are given, or a joint table has the question.
    answer : object, optional
        The answer itself; needed where a joint table is to be looked up.
    count, total : int, optional
        Instead of a share: how many gave this answer, of how many.
    largest : bool
        The share is that of the commonest answer, so that the result bounds what anybody has who
        answers otherwise. In a joint table: take the commonest instead of a given `answer`.

    Examples
    --------
    >>> Answer("education", count=3, total=10).share
    0.3
    """

    question: str
    share: float | None = None
    answer: Any = None
    count: int | None = None
    total: int | None = None
    largest: bool = False

    def __post_init__(self) -> None:
        question: Any = self.question
        if not isinstance(question, str) or not question.strip():
            raise ArgumentError("an answer needs the name of its question, as text")
        if (self.count is None) != (self.total is None):
            raise ArgumentError(f"give count and total together, or neither ({self.question!r})")
        if self.count is not None:
            if self.share is not None:
                raise ArgumentError(
                    f"give a share, or count and total, not both ({self.question!r})"
                )
            count = whole_number(self.count, f"the count for {self.question!r}", at_least=1)
            total = whole_number(self.total, f"the total for {self.question!r}", at_least=1)
            object.__setattr__(self, "share", count / total)
        if self.share is not None:
            object.__setattr__(self, "share", _checked_share(self.share, self.question))

    @property
    def label(self) -> str:
        """The answer in words."""
        words = [] if self.answer is None else [str(self.answer)]
        return " ".join([*words, "(commonest)"] if self.largest else words)


@dataclass(frozen=True)
class JointTable:
    """How many people give each combination of answers to several questions.

    Parameters
    ----------
    questions : tuple of str
        The questions, in the order of the answers in `counts`.
    counts : dict
        From a tuple of answers to the number of people who give them all.
    """

    questions: tuple[str, ...]
    # Not printed: they may be cells of somebody's data.
    counts: Counts = field(repr=False)

    def __post_init__(self) -> None:
        name = joined(self.questions)
        if len(set(self.questions)) != len(self.questions) or not self.questions:
            raise ArgumentError("a joint table needs questions, each of them once")
        rows: Mapping[Any, Any] = self.counts
        for answers, count in rows.items():
            if not isinstance(answers, tuple) or len(answers) != len(self.questions):
                raise ArgumentError(
                    f"a row of the joint table of {name} needs {len(self.questions)} answers"
                )
            number = not isinstance(count, bool) and isinstance(count, Real)
            if not number or not 0 <= count < 10**300:
                raise ArgumentError(f"the counts of the joint table of {name} must be from 0 up")
        if not sum(self.counts.values()) > 0:
            raise ArgumentError(f"the joint table of {name} counts nobody")

    def most(self, answered: Mapping[str, Answer]) -> float:
        """Count who is left: those with the given answers, the commonest where none is given."""
        fixed = [
            (place, answered[question].answer)
            for place, question in enumerate(self.questions)
            if question in answered and not answered[question].largest
        ]
        free = [
            place
            for place, question in enumerate(self.questions)
            if question in answered and answered[question].largest
        ]
        left: Counter[tuple[Any, ...]] = Counter()
        for answers, count in self.counts.items():
            if all(answers[place] == wanted for place, wanted in fixed):
                left[tuple(answers[place] for place in free)] += count  # type: ignore[assignment]
        return max(left.values(), default=0)

    def check(self, answer: Answer) -> None:
        """Reject an answer that cannot be looked up here."""
        if answer.share is not None:
            raise ArgumentError(
                f"{answer.question!r} has a share and is in a joint table: leave one of them out"
            )
        if answer.largest:
            return
        place = self.questions.index(answer.question)
        if answer.answer is None:
            raise ArgumentError(f"say which answer to {answer.question!r} to look up: answer=...")
        if not any(answers[place] == answer.answer for answers in self.counts):
            # The table's own answers are not listed: they may be cells of somebody's data.
            raise ArgumentError(f"the joint table knows no such answer to {answer.question!r}")


def read_answers(value: Any) -> tuple[Answer, ...]:
    """Read answers: each an `Answer`, a pair of question and share, or its fields as a mapping."""
    if isinstance(value, (str, Mapping, Answer)) or not hasattr(value, "__iter__"):
        raise ArgumentError("answers must be a list: of Answer, or of pairs (question, share)")
    answers = tuple(map(_answer, value))
    if not answers:
        raise ArgumentError("no answers given: the list is empty")
    twice = [name for name, n in Counter(a.question for a in answers).items() if n > 1]
    if twice:
        raise ArgumentError(f"question {twice[0]!r} is answered twice")
    return answers


def read_joint(value: Any, count: str) -> tuple[JointTable, ...]:
    """Read joint tables: a mapping from questions to counts, or a table with a column of counts."""
    if value is None:
        return ()
    if hasattr(value, "columns"):
        tables: tuple[JointTable, ...] = (_from_table(value, count),)
    elif isinstance(value, Mapping):
        tables = tuple(_from_mapping(questions, counts) for questions, counts in value.items())
    else:
        raise ArgumentError(
            "joint must be a table with a column of counts, or a mapping "
            "{(question, ...): {(answer, ...): count}}"
        )
    seen = [question for table in tables for question in table.questions]
    twice = [name for name, n in Counter(seen).items() if n > 1]
    if twice:
        raise ArgumentError(f"question {twice[0]!r} is in two joint tables")
    return tables


def _answer(value: Any) -> Answer:
    if isinstance(value, Answer):
        return value
    if isinstance(value, Mapping):
        fields = tuple(Answer.__dataclass_fields__)
        for name in value:
            if name not in fields:
                raise ArgumentError(f"an answer has no field {name!r}{nearest(name, fields)}")
        return Answer(**{"question": None, **value})
    if isinstance(value, (tuple, list)) and len(value) == 2:
        return Answer(value[0], value[1])
    raise ArgumentError("an answer must be an Answer or a pair (question, share)")


def _from_mapping(questions: Any, counts: Any) -> JointTable:
    if not isinstance(questions, tuple) or not isinstance(counts, Mapping):
        raise ArgumentError("joint must be a mapping {(question, ...): {(answer, ...): count}}")
    return JointTable(questions, dict(counts))


def _from_table(table: Any, count: str) -> JointTable:
    names = [str(name) for name in table.columns]
    if instance_of(count, str, "count") not in names:
        raise ArgumentError(f"the joint table has no column {count!r}{nearest(count, names)}")
    questions = tuple(name for name in table.columns if name != count)
    columns = [table[name].tolist() for name in questions]
    counts: Counter[tuple[Any, ...]] = Counter()
    for answers, number in zip(zip(*columns, strict=True), table[count].tolist(), strict=True):
        if not isinstance(number, (Integral, float)):
            raise ArgumentError(f"the column {count!r} of the joint table must hold numbers")
        counts[answers] += number  # type: ignore[assignment]
    return JointTable(questions, dict(counts))


def _checked_share(value: Any, question: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) <= 1:
        raise ArgumentError(f"the share for {question!r} must be above 0 and at most 1")
    return float(value)


# Where the bars of a picture begin.
_NOBODY = 0.5


@dataclass(frozen=True, repr=False)
class Step(render.PrintedFields):
    """One answer and what is left after it.

    Attributes
    ----------
    question, answer : str
        What was asked and answered.
    share : float
        The share of those left before who are still left; in a joint table, given the answers to
        its other questions so far.
    size : float
        How many people are expected to have given all answers so far, the respondent included.
    lowest, highest : float
        How many at least and at most, whatever the dependence between the answers.
    """

    question: str
    answer: str
    share: float
    size: float
    lowest: float
    highest: float


@dataclass(frozen=True, repr=False)
class Questionnaire(Document, render.PrintedTable):
    """An anonymity set, step by step; made by `questionnaire`.

    Attributes
    ----------
    population : int
        How many people could have answered.
    steps : tuple of Step
        One for each answer, in the order asked.
    independent : tuple of tuple of str
        The questions that are taken to be independent of each other; those that come from one
        joint table stand together.
    upper_bound : bool
        Whether every answer is the commonest, so that nobody else has a larger set.
    p_unique : float
        The chance that somebody with these answers is the only one in the population.
    """

    population: int
    steps: tuple[Step, ...]
    independent: tuple[tuple[str, ...], ...]
    upper_bound: bool
    p_unique: float
    _document = (
        *("population", "steps", "independent", "upper_bound", "size", "p_unique", "assumption"),
        "conclusion",
    )

    @property
    def size(self) -> float:
        """How many people are expected to have given all the answers."""
        return self.steps[-1].size

    @property
    def assumption(self) -> str:
        """What the sizes take for granted, in words."""
        if len(self.independent) == 1:
            return "No independence is assumed: all shares come from one source."
        parts = ", ".join(" with ".join(map(render.shown, part)) for part in self.independent)
        return (
            f"Assumed independent of each other: {parts}. Where answers go together, more people "
            "may be left; where they exclude each other, fewer. The column 'at most' holds in "
            "any case."
        )

    @property
    def conclusion(self) -> str:
        """What is left, as a sentence."""
        people = "1 person" if 0.995 < self.size < 1.005 else f"{_number(self.size)} people"
        text = f"The answers are expected to fit {people}."
        if self.upper_bound:
            text = f"At best, with the commonest answers, they are expected to fit {people}."
        alone = render.percent(self.p_unique)
        return f"{text} Chance that somebody with these answers is the only one: {alone}."

    def to_frame(self) -> pd.DataFrame:
        """Return the steps as a pandas table, the whole population first."""
        import pandas as pd

        n = float(self.population)
        start = Step("everybody", "", 1.0, n, n, n)
        return pd.DataFrame([vars(step) for step in (start, *self.steps)])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw how the set shrinks, a bar for each answer.

        Needs matplotlib (extra ``report``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out.
        """
        steps = self.steps[: pictures.ROWS]
        ax, colours = pictures.start(ax, len(steps) + 2)
        labels = ["everybody"]
        for step in steps:
            answer = pictures.folded(render.shown(step.answer), lines=1)
            lines = 1 if answer else 2
            question = pictures.folded(f"+ {render.shown(step.question)}", lines=lines)
            labels.append(f"{question}\n{answer}".strip())
        everybody = float(self.population)
        # A logarithmic scale has no zero; half a person stands for nobody.
        sizes = np.maximum([everybody, *(step.size for step in steps)], _NOBODY)
        highest = np.maximum([everybody, *(step.highest for step in steps)], _NOBODY)
        places = np.arange(len(labels))
        ax.barh(places, sizes - _NOBODY, left=_NOBODY, color=colours.blue, label="expected")
        ax.plot(
            *(highest, places),
            linestyle="none",
            marker="|",
            markersize=16,
            markeredgewidth=2.5,
            color=colours.bad,
            label="at most, whatever goes together",
        )
        pictures.beside(ax, 0, everybody, _number(everybody))
        for place, step in enumerate(steps, start=1):
            text, most = _number(step.size), _number(step.highest)
            text = text if text == most else f"{text},\nat most {most}"
            pictures.beside(ax, place, highest[place], text)
        ax.axvline(1, linestyle=":", color=colours.quiet, label="one person")
        ax.set_xscale("log")
        ax.set_xlim(_NOBODY, everybody * max(everybody, 10) ** 0.45)
        pictures.whole_numbers(ax.xaxis, log=True)
        # There are no more people than everybody.
        ax.set_xticks([tick for tick in ax.get_xticks() if 1 <= tick <= everybody])
        pictures.rows(ax, labels, self.conclusion)
        ax.set_xlabel("people who could have given these answers")
        if len(self.independent) > 1:
            pictures.noted(ax, "answers taken as independent of each other")
        pictures.noted(ax, pictures.left_out(len(self.steps), "answers"))
        pictures.explained(ax)
        return ax

    def _lines(self) -> list[str]:
        answers = render.count_of(len(self.steps), "answer")
        return [f"Questionnaire: {answers} from a population of {self.population:,}"]

    def _header(self) -> tuple[str, ...]:
        return "question", "answer", "share", "left", "at most"

    def _notes(self) -> list[str]:
        return [self.conclusion, self.assumption]

    def _rows(self) -> list[list[str]]:
        everybody = ["everybody", "", "", f"{self.population:,}", f"{self.population:,}"]
        return [
            everybody,
            *(
                [
                    step.question,
                    step.answer,
                    _percentage(step.share),
                    _number(step.size),
                    _number(step.highest),
                ]
                for step in self.steps
            ),
        ]


def questionnaire(
    population: int, answers: Sequence[Any], *, joint: Any = None, count: str = "count"
) -> Questionnaire:
    """Show step by step how the set of people behind a set of answers shrinks.

    Parameters
    ----------
    population : int
        How many people could have answered.
    answers : list
        In the order asked, each an `Answer`, a pair ``(question, share)``, or a mapping with the
        fields of `Answer`. With the share of the commonest answer (``largest=True``) throughout,
        the result is an upper bound for every respondent.
    joint : table or mapping, optional
        How many people give each combination of answers to some of the questions: a pandas table
        with a column for each question and one of counts, or
        ``{(question, ...): {(answer, ...): count}}``. These questions then need no share, and no
        independence is assumed among them. Questions that nobody answers are summed over.
    count : str
        The name of the column of counts in `joint`.

    Returns
    -------
    Questionnaire
        The steps, with what they assume; prints as text and HTML, `plot` draws it.

    See Also
    --------
    anonrisk.predict.Answer : one answer, with all that can be said of it
    anonrisk.uniqueness : measured, once there is a table
    anonrisk.predict.uniqueness : the chance that a whole group differs

    Notes
    -----
    H7: n · ∏ shares, the shares of independent questions; within a joint table the share given what
    was answered before. Whatever the dependence between questions, n · min(shares) are left at most
    and n · max(0, 1 − Σ(1 − share)) at least (Fréchet).

    `p_unique` looks at the rarest independent answer: the m = n · share − 1 others who gave it each
    give all the rest with the chance q that the rest's shares have among the others, so that nobody
    does with (1 − q)^m; between two whole numbers m it is interpolated.

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, Appendix B;
    corrected as in docs/formulas.md, ``koot-appendix-b``.

    Examples
    --------
    >>> from anonrisk.predict import questionnaire
    >>> questionnaire(16_000_000, [("education", 0.3), ("postal code", 0.0001)])
    Questionnaire: 2 answers from a population of 16,000,000
       question   answer   share         left      at most
      everybody                    16,000,000   16,000,000
      education              30.0%    4,800,000    4,800,000
    postal code            1 in 10,000    480        1,600
    The answers are expected to fit 480 people. Chance that somebody with these answers is ...
    Assumed independent of each other: education, postal code. Where answers go together, ...
    """
    n = whole_number(population, "the population", at_least=1)
    value = read_answers(answers)
    tables = read_joint(joint, count)
    blocks = _blocks(value, tables)
    steps = []
    shares = dict.fromkeys(blocks, 1.0)
    for place, answer in enumerate(value):
        block = next(name for name in blocks if answer.question in name)
        so_far = {earlier.question: earlier for earlier in value[: place + 1]}
        before, shares[block] = shares[block], _share_of(blocks[block], answer, so_far)
        missing = math.fsum(1 - share for share in shares.values())
        steps.append(
            Step(
                answer.question,
                answer.label,
                shares[block] / before if before else 0.0,
                n * math.prod(shares.values()),
                n * max(0.0, 1 - missing),
                n * min(shares.values()),
            )
        )
    bound = all(answer.largest for answer in value)
    alone = _p_unique(n, list(shares.values()))
    return Questionnaire(n, tuple(steps), tuple(blocks), bound, alone)


def _blocks(
    answers: tuple[Answer, ...], tables: tuple[JointTable, ...]
) -> dict[tuple[str, ...], JointTable | None]:
    """Group the questions: those of one joint table together, every other one alone."""
    blocks: dict[tuple[str, ...], JointTable | None] = {}
    for answer in answers:
        table = next((table for table in tables if answer.question in table.questions), None)
        if table is None:
            blocks[(answer.question,)] = None
            if answer.share is None:
                raise ArgumentError(
                    f"{answer.question!r} has no share: give share=, or count= and total=, "
                    "or a joint table that has the question"
                )
        else:
            table.check(answer)
            together = tuple(a.question for a in answers if a.question in table.questions)
            blocks[together] = table
    return blocks


def _share_of(table: JointTable | None, answer: Answer, answered: dict[str, Answer]) -> float:
    if table is None:
        return float(answer.share or 0.0)
    return table.most(answered) / table.most({})


def _p_unique(n: int, shares: list[float]) -> float:
    """The chance that nobody but the respondent is in every one of these independent cohorts."""
    others = sorted(max(n * share - 1, 0.0) for share in shares)
    rest = math.prod(m / (n - 1) for m in others[1:]) if n > 1 else 0.0
    whole = math.floor(others[0])
    part = others[0] - whole
    return float((1 - rest) ** whole * (1 - part * rest))


def _number(people: float) -> str:
    if people >= 100:
        return f"{people:,.0f}"
    return "0" if people == 0 else f"{people:.2g}" if people >= 0.01 else render.expectation(people)


def _percentage(share: float) -> str:
    """Write a share; what is too small for a percentage as one in so many."""
    return render.percent(share) if share == 0 or share >= 0.001 else f"1 in {1 / share:,.0f}"
