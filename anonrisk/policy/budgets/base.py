"""What every budget has. A file beside this one is a budget, and says all that there is to say.

How it is written in a policy (`keys`), measured (`value`, or `score` for a sensitive column),
compared (`at_least`), told (`sentence`), and asked of a batch of Great Expectations (`expectation`,
`expectation_fields`). The JSON Schema and the expectation's class are made from that.
"""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from anonrisk.core.columns import skeleton
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import exact
from anonrisk.errors import PolicyError
from anonrisk.measures.counts.question import TOLERANCE
from anonrisk.policy import fields

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anonrisk.api.class_sizes import ClassSizes
    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.question import Score, Sensitive
    from anonrisk.policy.evidence import Context, Evidence, Problem

SEVERITIES = ("fail", "warn")
# How others call a budget, as skeletons: for whoever writes that as a key, inside another budget
# too.
ALSO_CALLED: dict[str, str] = {}


# ---- what a policy holds ------------------------------------------------------------------------


@dataclass(frozen=True)
class BudgetKey:
    """One key of a budget: how its value is read, and its JSON Schema."""

    read: Callable[[Any, str], Any] = field(compare=False)
    schema: Mapping[str, Any]
    required: bool = True


SHARE = BudgetKey(fields.share, {"$ref": "#/$defs/share"})
COLUMNS = BudgetKey(fields.names, {"$ref": "#/$defs/columns"}, required=False)


def whole(at_least: int) -> BudgetKey:
    """Return the key of a whole number."""
    schema = {"type": "integer", "minimum": at_least}
    return BudgetKey(partial(fields.whole, at_least=at_least), schema)


def word(*words: str, required: bool = True) -> BudgetKey:
    """Return the key of one of a few words."""
    return BudgetKey(partial(fields.word, words=words), {"enum": list(words)}, required)


_SEVERITY = word(*SEVERITIES, required=False)


def _required(keys: Mapping[str, BudgetKey]) -> list[str]:
    return [key for key, how in keys.items() if how.required]


def or_list(annotation: str) -> str:
    """Return the type of a budget that may be written once or several times."""
    return f"{annotation} | Sequence[{annotation}]"


def each(value: Any, where: str) -> list[Any]:
    """Read one limit or a list of them: one that blocks and a stricter one that warns."""
    return fields.listed(value, where) if isinstance(value, (list, tuple)) else [value]


# ---- what is measured and said ------------------------------------------------------------------


@dataclass(frozen=True)
class Value:
    """A measured number; of a prediction, the upper end of its interval beside the estimate.

    `note` says what it rests on, where a reader could take it for more.
    """

    number: float
    estimate: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Seen:
    """The classes of one group, with all that is known beside them."""

    sizes: ClassSizes
    evidence: Evidence
    context: Context


@dataclass(frozen=True)
class Subject:
    """What a sentence is about, ready to be shown."""

    columns: str
    # "record" or "person".
    who: str = "record"
    sensitive: str = ""


@dataclass(frozen=True)
class Need:
    """Something that takes a pass of its own over the table; budgets that give one name share it.

    `measure` takes the table, its engine, the quasi-identifier and the context.
    """

    name: str
    measure: Callable[[Any, Engine, Qid, Context], Any]


def within(value: float, limit: float, *, at_least: bool) -> bool:
    """Compare with a limit: whole numbers exactly, others a hair in the table's favour."""
    edge = edge_of(limit, at_least=at_least, whole=isinstance(value, int))
    return value >= edge if at_least else value <= edge


def edge_of(limit: float, *, at_least: bool, whole: bool) -> float:
    """Return the least or the most that a value may be."""
    if whole and isinstance(limit, int):
        return limit
    return limit * (1 - TOLERANCE if at_least else 1 + TOLERANCE)


# ---- what is asked of a batch of Great Expectations ---------------------------------------------


@dataclass(frozen=True)
class Field:
    """One field of an expectation: the key of the budget that it gives, what it takes, and why.

    `kind` is ``"number"``, ``"share"``, ``"flag"``, ``"list"``, ``"tree"`` or a tuple of words.
    Of several fields whose name begins with ``max_`` one is enough.
    """

    key: str
    about: str
    kind: str | tuple[str, ...] = "number"
    required: bool = True


@dataclass(frozen=True)
class Expectation:
    """An expectation, which several budgets may share: each adds its fields.

    `says` is the sentence in Data Docs, with ``$name`` where the value of a field stands; it takes
    the fields that are given. `function` measures what is expected, and `example` is what the
    class may be given, for its documentation.
    """

    name: str
    about: str
    says: Callable[[Mapping[str, Any]], str]
    function: str
    example: str


# ---- a budget -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Budget(ABC):
    """One limit, with all that it takes to measure against it.

    Attributes
    ----------
    limit : int or float
        The least (where `at_least`) or the most that is allowed.
    severity : {"fail", "warn"}
        Whether a broken limit blocks a release or is only said.
    sensitive : tuple of names, optional
        Of `ldiv` and `tcloseness`: the columns it is about; left out, every sensitive one.
    """

    key: ClassVar[str]
    """The key in a policy, and the name of the file."""
    keys: ClassVar[Mapping[str, BudgetKey]]
    """What stands under it: the limit, and the budget's own attributes."""
    also_called: ClassVar[tuple[str, ...]] = ()
    """How other tools, and the literature, call it: for whoever writes that as the key."""
    limit_key: ClassVar[str] = "at_most"
    example: ClassVar[str] = "0.01"
    """What a corrected line has for a share that cannot be read."""
    bare: ClassVar[bool] = False
    """Whether the one key that is required may be written alone, as in ``k: 5``."""
    annotation: ClassVar[str] = or_list("dict[str, Any]")
    """The Python type of the argument of `Policy`."""
    more_schema: ClassVar[Mapping[str, Any]] = {}
    """What the JSON Schema says beyond the single keys."""
    what: ClassVar[str] = ""
    """What could not be assessed, as the beginning of a sentence."""
    at_least: ClassVar[bool] = False
    about_singletons: ClassVar[bool] = False
    """Whether it is about records that are alone in the table: nobody is in a class of two.

    In another group, or in the population, any of two may be alone all the same.
    """
    about_removed: ClassVar[bool] = False
    """Whether it depends on how many records there were before any was removed."""
    about_values: ClassVar[bool] = False
    """Whether it takes a sensitive column to measure."""
    takes_by: ClassVar[bool] = True
    """Whether it can be measured in each group of a table."""
    unsaid: ClassVar[tuple[str, ...]] = ()
    """Document keys that may contain cell values; never printed."""
    expectation: ClassVar[Expectation | None] = None
    expectation_fields: ClassVar[Mapping[str, Field]] = {}

    limit: float
    severity: str = "fail"
    sensitive: Qid | None = field(default=None, kw_only=True)

    def __init_subclass__(cls) -> None:
        """Note what a budget is also called."""
        ALSO_CALLED.update((skeleton(other), cls.key) for other in cls.also_called)

    @property
    def name(self) -> str:
        """The name in a verdict, as ``"k"`` or ``"risk.prosecutor.highest"``."""
        return self.key

    @classmethod
    def owns(cls, name: str) -> bool:
        """Return whether a name in a verdict is of this budget."""
        return name == cls.key

    # ---- reading and writing --------------------------------------------------------------------

    @classmethod
    def read(cls, value: Any, where: str) -> list[Budget]:
        """Read what a policy holds under the key."""
        return [cls.read_one(item, where) for item in each(value, where)]

    @classmethod
    def read_one(cls, value: Any, where: str) -> Self:
        """Read one limit."""
        return cls(**cls.read_keys(value, where, cls.keys))

    @classmethod
    def read_keys(
        cls, argument: Any, where: str, keys: Mapping[str, BudgetKey], *, bare: bool | None = None
    ) -> dict[str, Any]:
        """Read every key by itself, as arguments of the budget."""
        if not isinstance(argument, dict):
            if not (cls.bare if bare is None else bare):
                raise PolicyError(cls._not_alone(argument, where, keys))
            (key,) = _required(keys)
            return {"limit" if key == cls.limit_key else key: keys[key].read(argument, where)}
        known = {**keys, "severity": _SEVERITY}
        # Who names the budget once more inside it means its limit.
        limit = dict.fromkeys(map(skeleton, (cls.key, *cls.also_called)), cls.limit_key)
        document = fields.mapping(argument, where, known, {**ALSO_CALLED, **limit})
        for key, how in keys.items():
            if how.required and key not in document:
                raise PolicyError(
                    f"{where} needs {key}; write {cls.corrected(where, keys, document)}"
                )
        results = {key: known[key].read(value, f"{where}.{key}") for key, value in document.items()}
        if cls.limit_key in results:
            results["limit"] = results.pop(cls.limit_key)
        return results

    @classmethod
    def _not_alone(cls, argument: Any, where: str, keys: Mapping[str, BudgetKey]) -> str:
        """Write what a policy must hold in place of a limit alone."""
        number = not isinstance(argument, bool) and isinstance(argument, (int, float))
        limit = f"{argument:g}" if number and abs(argument) < sys.float_info.max else "…"
        alone = f"{limit} alone does not say all of it" if number else "it is a mapping"
        return f"{where}: {alone}; write {cls.corrected(where, keys, {cls.limit_key: argument})}"

    @classmethod
    def corrected(cls, where: str, keys: Mapping[str, BudgetKey], said: Mapping[str, Any]) -> str:
        """Write every key that is required: as it was said where that can be read."""
        known = {**keys, "severity": _SEVERITY}
        example = {cls.limit_key: cls.example} if keys.get(cls.limit_key) == SHARE else {}
        written, choices = [], ""
        for key in dict.fromkeys((*_required(keys), *(key for key in said if key in known))):
            words = known[key].schema.get("enum", ["…"])
            text = fields.readable(said.get(key), known[key].read, example.get(key, words[0]))
            if len(words) > 1 and key not in said:
                choices += f" ({key}: {', '.join(words)})"
            written.append(f"{key}: {text}")
        return f"{where.rpartition('.')[2]}: {{{', '.join(written)}}}{choices}"

    def to_dict(self) -> dict[str, Any]:
        """Return the mapping that a policy holds under the budget's key."""
        written: dict[str, Any] = {self.limit_key: self.limit, **self._own()}
        if self.severity != "fail":
            written["severity"] = self.severity
        return written

    def parameters(self) -> dict[str, Any]:
        """Return what was measured, without the values of an order or a hierarchy."""
        unsaid = (*self.unsaid, "sensitive")
        return {key: value for key, value in self._own().items() if key not in unsaid}

    @classmethod
    def implies(cls, own: Mapping[str, str], other: Mapping[str, str]) -> bool:
        """Return whether a limit measured so says as much as the same limit measured otherwise."""
        return own == other

    def _own(self) -> dict[str, Any]:
        results: dict[str, Any] = {}
        for key in self.keys:
            value = None if key == self.limit_key else getattr(self, key)
            if value is not None:
                results[key] = list(value) if isinstance(value, tuple) else value
        return results

    @classmethod
    def schema(cls, at: str) -> dict[str, Any]:
        """Return the JSON Schema of what a policy holds under the key, to stand `at` a path."""
        return cls.schema_of(at, cls.keys, bare=cls.bare)

    @classmethod
    def schema_of(cls, at: str, keys: Mapping[str, BudgetKey], *, bare: bool) -> dict[str, Any]:
        """Return the JSON Schema of one limit with these keys, or of a list of such."""
        mapping = {
            "type": "object",
            "additionalProperties": False,
            "required": _required(keys),
            **cls.more_schema,
            "properties": {
                **{key: how.schema for key, how in keys.items()},
                "severity": {"$ref": "#/$defs/severity"},
            },
        }
        item = {"oneOf": [cls.alone(keys), mapping]} if bare else mapping
        items = {"$ref": f"{at}/oneOf/0"}
        return {"oneOf": [item, {"type": "array", "minItems": 1, "items": items}]}

    @classmethod
    def alone(cls, keys: Mapping[str, BudgetKey]) -> Mapping[str, Any]:
        """Return the JSON Schema of the one key that is required, written alone."""
        (key,) = _required(keys)
        return keys[key].schema

    # ---- a limit that says nothing ---------------------------------------------------------------

    @property
    def worst(self) -> float | None:
        """The worst that any table can have; None where that grows with the table."""
        if self.at_least:
            return 1
        return 1.0 if self.keys.get(self.limit_key) == SHARE else None

    @property
    def vacuous(self) -> bool:
        """Whether no table can break the limit."""
        worst = self.worst
        return worst is not None and within(worst, self.limit, at_least=self.at_least)

    @property
    def likely_meaning(self) -> str:
        """What a limit that no table can break says, and what was probably meant."""
        return f"{exact(self.limit)} is everybody; 1% is 0.01"

    # ---- measuring and telling ------------------------------------------------------------------

    def need(self, context: Context) -> Need | None:
        """Return what has to be measured apart; most budgets are arithmetic on what is counted."""
        return None

    @abstractmethod
    def sentence(self, value: Value, subject: Subject) -> str:
        """Return what was measured and what is asked for, without a full stop."""

    @classmethod
    def enough_k(cls, limit: float, parameters: Mapping[str, Any]) -> int | None:
        """Return the size of every class that would keep to the limit; None where none does."""
        return 2 if cls.about_singletons else parameters.get("k")

    def needed_k(self, context: Context) -> int | None:
        """Return the size that every class must have for it; None where less may do.

        Where nobody may be in a small class there is none.
        """
        return self.enough_k(self.limit, self.parameters()) if not self.limit else None

    def assessed(self) -> dict[str, Any]:
        """Return the arguments of `anonrisk.assess` that take what is measured: `measures` one."""
        return {}

    @property
    def needs_numbers(self) -> bool:
        """Whether its sensitive columns are ordered by their values, and so must be numbers."""
        return False

    # ---- as an expectation ----------------------------------------------------------------------

    @classmethod
    def limits(cls, argument: Mapping[str, Any], severity: str) -> dict[str, Any]:
        """Return what the fields of the expectation mean, as a policy has it; none if no limit."""
        stated = {how.key: argument[name] for name, how in cls.expectation_fields.items()}
        stated = {key: value for key, value in stated.items() if value is not None}
        return {cls.key: {**stated, "severity": severity}} if cls.limit_key in stated else {}

    @classmethod
    def counts(cls, value: Mapping[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        """Return budgets that need the same counts, whatever the limit."""
        return {"k": 1}

    def expected(self, context: Context) -> dict[str, Any]:
        """Return the fields of the expectation that asks the same of a batch."""
        own = {**self._own(), self.limit_key: self.limit}
        return {name: own.get(how.key) for name, how in self.expectation_fields.items()}

    def not_expected(self, context: Context) -> str | None:
        """Return why no expectation can ask it of a batch, as what follows the budget's name."""
        return None


@dataclass(frozen=True)
class SizeBudget(Budget):
    """A budget on the sizes of classes, measured in every group."""

    is_whole: ClassVar[bool] = False
    """Whether it is a whole number that is measured."""

    @abstractmethod
    def value(self, seen: Seen) -> Value | Problem:
        """Measure."""

    def in_sql(self) -> str | None:
        """Write what `value` takes as text of Spark's dialect; None where SQL cannot tell.

        It is of a table that has, for each size `n` of a class, the number of `records` in classes
        of that size; with a unit persons, each by the smallest of their classes.
        """
        return None


@dataclass(frozen=True)
class TableBudget(Budget):
    """A budget on the rows of a table, whatever its classes: of no subset and of no group."""

    @abstractmethod
    def value(self, evidence: Evidence, context: Context) -> Value | Problem:
        """Measure."""


@dataclass(frozen=True)
class ReleaseBudget(Budget):
    """A budget on tables together, or after earlier ones: a check of one table cannot tell."""

    takes_by = False
    lacks: ClassVar[str]
    """What a check of one table says, in place of a number."""
    not_planned: ClassVar[str] = "it is about more than this table"
    """Why no plan of one table is made for it."""

    def not_expected(self, context: Context) -> str:
        """Return the sentence that a batch is one table."""
        return ": a batch is one table; Release.check judges several"


@dataclass(frozen=True)
class SensitiveBudget(Budget):
    """A budget on a sensitive column, of which the worst class counts."""

    about_values = True
    shared: ClassVar[tuple[Mapping[str, Any], ...]] = ()
    """Budgets that need no argument of their own, so that one pass scores them all."""

    @property
    def measure(self) -> str:
        """What is measured, whatever the limit: budgets that agree in it share one number."""
        own = {key: value for key, value in self._own().items() if key != "sensitive"}
        return json.dumps([self.name, own], sort_keys=True, default=str)

    @abstractmethod
    def score(self, engine: Engine, frame: Any, about: Sensitive) -> tuple[Sensitive, Score]:
        """Return what the engine scores, and what it has to know of the column for that."""

    @classmethod
    def counts(cls, value: Mapping[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
        """Return all that shares the pass, or the score alone if it takes one of its own."""
        asked = {**cls.limits(value, "fail")[cls.key], cls.limit_key: 1}
        del asked["severity"]
        return shared if asked in cls.shared else {cls.key: asked}


@dataclass(frozen=True)
class MethodBudget(SensitiveBudget):
    """A budget on what is learned of a sensitive column from how a table was made.

    What the table says by itself is scored; `value` adds the rest.
    """

    takes_by = False
    not_planned: ClassVar[str]
    """Why no plan is made for it."""

    @abstractmethod
    def value(
        self, column: Name, scored: float, qid: Qid, evidence: Evidence, context: Context
    ) -> Value | Problem:
        """Measure, beside what was scored."""
