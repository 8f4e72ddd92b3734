"""A table with a canary in every cell, and everything that an answer says of itself.

Which words, methods and attributes there are is read from the package: a new one is asked by
itself, or fails for want of arguments.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import inspect
import pickle
import re
import traceback
from collections.abc import Iterator

import every_call
import numpy as np
import pandas as pd
from keys import KEY

import anonrisk
from anonrisk import Policy

TEXT, NUMBER = "c4n4ry", 77_000_111_000
# A text of ours, or eleven digits that begin as the numbers do.
CANARY = re.compile(r"c4n4ry|7700011[12]\d{3}(?!\d)", re.IGNORECASE)
N = every_call.N
NUMBERS = {"hour": NUMBER, "income": NUMBER + 1000.0}


def cells(**together) -> dict:
    """Return a canary in every cell, the same one in as many rows as are named for the column."""
    lists = {name: [i // together.get(name, 1) for i in range(N)] for name in every_call.CELLS}
    return {
        name: [NUMBERS[name] + i if name in NUMBERS else f"{TEXT} {name} {i}" for i in numbers]
        for name, numbers in lists.items()
    }


# A plan may name a value that k records have: here two have it.
TABLES = {"alone": cells(), "alike": cells(person=4, zip=2, sex=2, value=2, income=2)}
# Two groups, whose names are no canaries: who names a column in `by=` asks for its cells.
GROUP = "gr0up"
GROUPED = TABLES["alike"] | {"sex": [f"{GROUP} {i % 2}" for i in range(N)]}
# Everything that may say a cell, or is not asked, each with its reason.
GIVES_CELLS = {
    "apply": "gives the table back, recoded",
    "at_risk": "gives the rows at risk",
    "declare": "gives the table back",
    "generalize": "gives the table back, one column coarser",
    "microaggregate": "gives the table back, with means",
    "permute": "gives the table back, one column shuffled",
    "perturb": "gives the table back, with noise",
    "pseudonymize": "gives the table back, without the persons",
    "sizes": "gives the rows back, each with the size of its class",
    "suppress": "gives the rows back that may stay",
}
NOT_ASKED = {
    "Suda.scores": "the rows, each with its score, are asked for",
    "Suda.records": "as Suda.scores",
    "PlanAttack.by_person": "who is at risk is asked for",
    "plot": "a picture of numbers that are asked beside it",
    "Release.tables": "the tables that it was given",
    "Mended.tables": "the tables that can go out",
    "ClassProfiles.merged": "makes another from what it is given",
    "ClassProfiles.sum": "makes another from what it is given",
    "Ledger.append": "writes what it is given",
    "Ledger.rotate": "the others that are asked have the old key",
    "Ledger.withdraw": "the others that are asked are about this release",
    "JointTable.counts": "what it was given",
    "JointTable.most": "takes answers; questionnaire asks it",
    "JointTable.check": "takes answers; questionnaire asks it",
}
HOLDS_CELLS = {
    "Release": "a copy holds the tables that it was given",
    "Mended": "as Release: the tables that can go out",
    "Suda": "a copy holds rows, with a column more",
    "JointTable": "a copy holds the counts that it was given",
}
NOTHING_TO_SAY = {
    "AnonRiskError": "errors are read wherever a call raises one",
    "ReleaseBlocked": "asked where a verdict raises it",
    "__version__": "a text",
    "anon": "gives the words",
    "scan": "gives a table",
    "table": "gives a table",
    "policy.set_name_detector": "asked below with detectors of every kind",
    "PlanOptions": "what the caller sets of a plan, which has seen no table",
    "policy.Budget": "a limit of a policy, which has seen no table",
    "policy.PolicyRoles": "names of columns, in a policy",
    "policy.Rule": "a part of a policy, which has seen no table",
    "policy.Finding": "in a verdict, which is asked",
    "policy.LintResult": "Policy.lint is asked as a member",
    "policy.Remark": "in a LintResult",
    "predict.Answer": "what a user says that a person answered",
    "predict.KnownByKl": "two numbers",
    "predict.Step": "in a Questionnaire",
    "predict.population.Bounds": "in a PopulationEstimate",
    "predict.population.Interval": "two numbers",
    "predict.population.Pitman": "two numbers",
    "predict.zipf.Zipf": "four numbers",
    "predict.zipf.ZipfStep": "numbers of a Zipf",
    "priors.Disagreement": "in Disagreements",
    "priors.Disagreements": "Repository.disagreements is asked as a member",
    "priors.Submissions": "Repository.query is asked as a member",
}
# Modules whose public names are not asked here.
OTHER_MODULES = {
    "datasets": "makes tables of its own",
    "gx": "test_gx_docs.py and the Data Docs below",
    "hierarchy": "holds the values that it was given",
    "identity": "keeps identities, which test_identity*.py asks",
    "integrations": "hand a table to a policy",
    "keys": "has seen no table",
    "pandas_on_spark": "gives the words",
    "pseudonyms": "as identity",
    "recode": "parts of a plan, which hold the values that a plan may name",
    "reporting": "pages of answers, which are asked through their report",
    "spark": "hands batches to a policy",
    "sql": "gives tables",
    "testing": "compares tools on tables of its own",
}
# What methods are asked, by the names of their parameters.
ARGUMENTS = {
    "leavers": "drop",
    "k": 2,
    "q": 0.5,
    "size": 2,
    "length": 1,
    "group_size": 20,
    "population_size": 1000,
    "n_records": N,
    "distance": "equal",
    "column": "zip",
    "measure": "ldiv",
    "model": "m",
    "sensitive": "value",
    "doing": "merged",
    "table": "t",
    "qid": every_call.QID,
    "by": "me",
    "reason": "asked",
    "person": TABLES["alone"]["person"][0],
    "before": dt.date(2999, 1, 1),
    "release": "first",
    "levels": [0] * len(every_call.QID),
    "key": KEY,
    "files": [],
    "contents": {},
}
# They are given cells even where they may be left out.
TAKE_CELLS = {"items", "joint", "zips", "zip_population"}


def table(which="alone") -> pd.DataFrame:
    return pd.DataFrame(TABLES[which])


def has_canary(text) -> bool:
    return CANARY.search(text if isinstance(text, str) else repr(text)) is not None


def is_ours(thing) -> bool:
    return type(thing).__module__.startswith("anonrisk")


def said(thing, more, depth=0):
    """Yield everything that an answer says: printed, as a document, by every method it has.

    `more` are arguments by their names, beside those above.
    """
    if isinstance(thing, pd.DataFrame | pd.Series | pd.Index):
        yield pd.DataFrame(thing).to_csv()
    elif isinstance(thing, np.ndarray):
        yield repr(thing.tolist())
    elif isinstance(thing, dict):
        yield from said([*thing, *thing.values()], more, depth)
    elif isinstance(thing, list | tuple | set | frozenset | Iterator):
        for one in thing:
            yield from said(one, more, depth)
    elif is_ours(thing) and not isinstance(thing, type) and depth < 3:
        yield f"{thing!r} {thing}"
        yield from said_by_members(thing, more, depth)
        if type(thing).__name__ not in HOLDS_CELLS:
            yield pickled(thing)
    elif not callable(thing):
        yield f"{thing!r} {thing}"


def pickled(thing) -> str:
    """Return what a stored copy holds, where there can be one."""
    try:
        return pickle.dumps(thing, 0).decode("latin-1")
    except (AttributeError, TypeError, pickle.PicklingError):
        return ""


def said_by_members(thing, more, depth):
    """Yield what fields, properties and methods say; of a part of an answer, fields alone."""
    kind = type(thing)
    # A private one may be the table, for later calls; a copy is asked below whether it holds it.
    names = {field.name for field in dataclasses.fields(thing)} if is_record(thing) else set()
    names = {name for name in names if not name.startswith("_")}
    if depth == 0:
        ours = [one for one in kind.__mro__ if one.__module__.startswith("anonrisk")]
        names |= {name for one in ours for name in vars(one) if not name.startswith("_")}
        names |= {"_repr_html_"} & {*dir(kind)}
    for name in sorted(names):
        made = isinstance(inspect.getattr_static(kind, name, None), classmethod | staticmethod)
        # One that makes another thing says nothing of this one.
        if made or {name, f"{kind.__name__}.{name}"} & {*NOT_ASKED}:
            continue
        try:
            member = getattr(thing, name)
            if callable(member) and not is_ours(member):
                member = member(**arguments(f"{kind.__name__}.{name}", thing, member, more))
            yield from said(member, more, depth + 1)
        except anonrisk.AnonRiskError as error:
            yield "".join(traceback.format_exception(error))


def is_record(thing) -> bool:
    return dataclasses.is_dataclass(thing) and not isinstance(thing, type)


def arguments(name, thing, method, more):
    """Return what a method is asked: every parameter without a default, by its name."""
    parameters = inspect.signature(method).parameters.values()
    needed = {
        one.name for one in parameters if one.default is one.empty and one.kind < one.VAR_POSITIONAL
    }
    needed |= {
        one.name for one in parameters if one.default is one.empty and one.kind is one.KEYWORD_ONLY
    }
    known = {**ARGUMENTS, "other": thing, "previous": thing, "frame": table(), **more}
    assert needed <= {*known}, f"{name}: say in ARGUMENTS what {needed - {*known}} is"
    needed |= {one.name for one in parameters} & TAKE_CELLS
    return {one: known[one] for one in needed}


POLICY = Policy(
    quasi=every_call.QID,
    sensitive="value",
    k=5,
    ldiv={"l": 2},
    tcloseness={"t": 0.1, "distance": "equal"},
    max_unique_fraction=0.1,
    risk={"prosecutor": {"highest": 0.2}},
    missing_sensitive="value",
    direct="income",
)
