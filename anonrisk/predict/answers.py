"""What a respondent gives away: single answers, and tables of several questions together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from numbers import Integral, Real
from typing import Any

from anonrisk.core.arguments import instance_of, whole_number
from anonrisk.core.columns import nearest
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import joined
from anonrisk.errors import ArgumentError

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
            object.__setattr__(self, "share", _share(self.share, self.question))

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


def _share(value: Any, question: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) <= 1:
        raise ArgumentError(f"the share for {question!r} must be above 0 and at most 1")
    return float(value)
