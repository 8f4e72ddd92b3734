"""All expectations. Importing this module registers them with Great Expectations.

Those about classes are made from the budgets of a policy, which say all that they hold. Limits have
no defaults: a stored suite leaves out what equals a default, so that a default that changed would
change every stored suite.
"""

from __future__ import annotations

from textwrap import fill
from typing import TYPE_CHECKING, Any, Literal

from great_expectations.compatibility import pydantic

from anonrisk.gx.base import COMMON, GateExpectation, PrivacyExpectation, SensitiveExpectation
from anonrisk.gx.columns import ExpectColumnsToBePublishable
from anonrisk.gx.fields import Number
from anonrisk.gx.search import ExpectColumnsNotToBeQuasiIdentifiers
from anonrisk.policy.budgets import BUDGETS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonrisk.policy.budgets.base import Budget, Expectation, Field

_KINDS: dict[Any, Any] = {
    "number": Number,
    "share": Number,
    "flag": pydantic.StrictBool,
    "list": list[Any],
    "tree": dict[str, Any] | list[Any],
}
_COMMON = """\
    every_subset_of (int): Check every so many of the columns; the worst subset decides.
    unit (str): The column that says which person a row belongs to.
    missing ("value", "drop", "error", "wildcard"): What a missing quasi-identifier means.
    max_dropped_fraction (float): With missing="drop", the most rows that may be left out.
    dropped_are_removed (bool): Whether those rows are removed before publication.
    unlisted ("quasi"), classified (list of str): Columns of the batch that are not classified
        join the quasi-identifier.
    row_condition: Which rows to look at.
"""
_QIDS = "qids (str or list of str): The columns that together may single somebody out."
_SENSITIVE = "sensitive (str): The column whose value must not be learned."
_MISSING = """\
    missing_sensitive ("value", "drop", "error"): What a missing sensitive value means; left
        out, a batch that misses one cannot be assessed.
"""
_BESIDE = """\
See Also
--------
anonrisk.{function} : what is measured
anonrisk.gx.to_suite : makes it from a policy
anonrisk.gx.run_gate : runs it, and stops a release

Examples
--------
>>> from anonrisk import gx
>>> asked = gx.{name}({example})
>>> asked.qids
['zip']
"""


def _made() -> Iterator[type[PrivacyExpectation]]:
    """Make an expectation for all budgets that share one."""
    shared: dict[Expectation, list[type[Budget]]] = {}
    for budget in BUDGETS.values():
        if budget.expectation is not None:
            shared.setdefault(budget.expectation, []).append(budget)
    for source, budgets in shared.items():
        yield _class(source, tuple(budgets))


def _class(source: Expectation, budgets: tuple[type[Budget], ...]) -> type[PrivacyExpectation]:
    """Make the class; Great Expectations registers it by its name as it is made."""
    own = {name: how for budget in budgets for name, how in budget.expectation_fields.items()}
    sensitive = any(budget.about_values for budget in budgets)
    base = SensitiveExpectation if sensitive else PrivacyExpectation
    keys = (*(("sensitive", "missing_sensitive") if sensitive else ()), *own)
    members = {
        "__module__": __name__,
        "__qualname__": source.name,
        "__doc__": _doc(source, own, sensitive=sensitive),
        "__annotations__": {name: _type(how) for name, how in own.items()},
        **{name: pydantic.Field(... if how.required else None) for name, how in own.items()},
        "source": source,
        "budgets": budgets,
        "own_fields": own,
        "own_keys": keys,
        "shares": (*base.shares, *(name for name, how in own.items() if how.kind == "share")),
        "success_keys": (*COMMON, *keys),
    }
    metaclass: Any = type(base)
    made: type[PrivacyExpectation] = metaclass(source.name, (base,), members)
    return made


def _type(how: Field) -> Any:
    taken = Literal[how.kind] if isinstance(how.kind, tuple) else _KINDS[how.kind]
    return taken if how.required else taken | None


def _doc(source: Expectation, own: dict[str, Field], *, sensitive: bool) -> str:
    said = [f"{name} {how.about}" for name, how in own.items()]
    args = [_QIDS, *([_SENSITIVE] if sensitive else ()), *said]
    wrapped = [fill(arg, 96, initial_indent="    ", subsequent_indent="        ") for arg in args]
    more = f"{_MISSING if sensitive else ''}{_COMMON}"
    other = ("Other Parameters", "----------------", more)
    beside = _BESIDE.format(name=source.name, function=source.function, example=source.example)
    return "\n".join((source.about, "", "Args:", *wrapped, "", *other, beside))


_OF_CLASSES = tuple(_made())
# By the key of a budget, the expectation that asks for it.
OF_BUDGET = {
    budget.key: expectation for expectation in _OF_CLASSES for budget in expectation.budgets
}
EXPECTATIONS: tuple[type[GateExpectation], ...] = (
    *_OF_CLASSES,
    ExpectColumnsToBePublishable,
    ExpectColumnsNotToBeQuasiIdentifiers,
)
# Where whatever copies an expectation looks for its class.
globals().update({expectation.__name__: expectation for expectation in _OF_CLASSES})
