"""Whatever a parameter is given, an error of the library comes out, or an answer."""

from __future__ import annotations

import inspect
import warnings

import canaries
import every_call
import pandas as pd
import pytest
import test_leaks

import anonrisk
from anonrisk import errors, recode
from anonrisk.accessor import FUNCTIONS

TABLE = pd.DataFrame(every_call.CELLS)
WRONG = {
    "table": TABLE,
    "dicts": [{"a": 1}],
    "object": object(),
    "nan": float("nan"),
    "negative": -1,
    "empty": "",
    "huge": 10**30,
}
RECODINGS = {
    recode.Bins: {"edges": (1, 2)},
    recode.DatePart: {"part": "year"},
    recode.MergeRare: {"kept": ("a",)},
    recode.Prefix: {"length": 2},
    recode.Star: {},
    recode.TopBottom: {"top": 5},
    recode.ZipArea: {"known": ("100",)},
}
# Those of dbt are the command line's own; a product takes its laws by position.
OTHERS = [
    name
    for name in test_leaks.ASKED_BY_NAME
    if not name.startswith("policy.dbt.") and name != "predict.zipf.product"
]


def unclear(function, arguments):
    """Yield every wrong value that ends in an error of Python's own, or is quoted in ours."""
    for name in inspect.signature(function).parameters:
        for kind, value in WRONG.items():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    function(**{**arguments, name: value})
            except anonrisk.AnonRiskError as error:
                if "object at 0x" in str(error):
                    yield f"{name}={kind} is quoted"
            except Exception as error:  # noqa: BLE001
                yield f"{name}={kind}: {error!r:.100}"


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_words(function):
    signature = inspect.signature(function)
    asked = every_call.ASKED.get(function.__name__, lambda ask, frame: ask(frame, every_call.QID))
    arguments = asked(lambda *args, **kwargs: signature.bind(*args, **kwargs).arguments, TABLE)
    assert list(unclear(function, arguments)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_functions_of_other_modules(name):
    function = test_leaks.NAMES[name]
    arguments = canaries.arguments(name, None, function, test_leaks.given("alike"))
    assert list(unclear(function, arguments)) == []


@pytest.mark.parametrize("recoding", RECODINGS, ids=lambda recoding: recoding.name)
def test_recodings(recoding):
    assert list(unclear(recoding, RECODINGS[recoding])) == []


@pytest.mark.slow
def test_options_of_a_plan():
    def plan(**options):
        TABLE.anon.plan(every_call.QID, k=3, options=anonrisk.PlanOptions(**options))

    plan.__signature__ = inspect.signature(anonrisk.PlanOptions)
    assert list(unclear(plan, {})) == []


STORED = anonrisk.Plan({"zip": recode.Star()}).to_dict()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda t: t.anon.k("zip", missing=t), "missing=a DataFrame is not one of 'value'"),
        (lambda t: t.anon.find_qids(["zip"], progress=t), "progress must be True or False, not a"),
        (lambda t: t.anon.generalize("zip", part=t), "part=a DataFrame is not one of 'day'"),
        (lambda t: t.anon.report("zip", title=t), "title must be a text, not a DataFrame"),
        (lambda t: t.anon.report("zip", population_size=t), "population_size must be a whole"),
        (lambda t: t.anon.report("zip", storage="nope"), "storage must be a list of findings, not"),
        (lambda t: t.anon.report("zip", files="a.csv"), "files must be a list of texts, not a str"),
        (lambda t: t.anon.explore(["zip"], floor=10**30), "floor must be a whole number, at most"),
        (
            lambda t: anonrisk.kl_after(t, "hour", [{"hour": 2}], n_values=0),
            "n_values needs 2 numbers",
        ),
        (
            lambda t: t.anon.plan("zip", k=2, options=anonrisk.PlanOptions(loss=lambda _: 0.5)),
            "must take two arguments",
        ),
        (
            lambda t: t.anon.classes("zip").entropy(order=2),
            "^order= is no longer an argument: write alpha=$",
        ),
        (
            lambda t: anonrisk.profiles(t, "zip", "value").ldiv(kind="entropy"),
            "^kind= is no longer an argument: write variant=$",
        ),
        (
            lambda t: anonrisk.profiles(t, "zip", "value").beta_likeness(kind="basic"),
            "^kind= is no longer an argument: write variant=$",
        ),
        (
            lambda t: anonrisk.Plan.from_dict({**STORED, "max_suppression": 0.1}),
            "max_suppression is now called max_suppressed$",
        ),
        (
            lambda t: anonrisk.Plan.from_dict(
                {**STORED, "recodings": [{**STORED["recodings"][0], "label": None}]}, edited=True
            ),
            "^this is not a stored plan: label must be a str, not None$",
        ),
        (
            lambda t: anonrisk.apply(t, anonrisk.Policy(quasi="zip", k=2)),
            r"not a Policy; plan\(policy=…\) makes one by a policy$",
        ),
    ],
)
def test_errors_name_the_argument(call, says):
    with pytest.raises((errors.ArgumentError, errors.PlanError), match=says):
        call(TABLE)


def test_files_of_a_report_may_be_left_out():
    assert TABLE.anon.report("zip", files=None).to_dict() is not None
