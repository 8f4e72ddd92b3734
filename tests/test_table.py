"""One door for every table: each word on each kind, and tables held together with their roles."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest
from keys import KEY
from tables import to_rows

import anonrisk
from anonrisk import Policy, errors
from anonrisk.accessor import FUNCTIONS
from anonrisk.engines.held import HeldTable
from anonrisk.recode import Prefix

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
nw = pytest.importorskip("narwhals")

CELLS = {
    "zip": list("aaaabbbbccdd"),
    "age": [31, 31, 31, 31, 42, 42, 42, 57, 57, 57, None, 60],
    "ill": list("xyxxyyxyxxyx"),
    "who": list(range(12)),
    "hour": list(range(12)),
}
QID = ["zip", "age"]
KINDS = {
    "polars": pl.DataFrame,
    "lazy": pl.LazyFrame,
    "pyarrow": pa.table,
    "duckdb": lambda cells: duckdb.from_arrow(pa.table(cells)),
    "own connection": lambda cells: duckdb.connect().from_arrow(pa.table(cells)),
    "narwhals": lambda cells: nw.from_native(pl.DataFrame(cells)),
    "narwhals of lazy": lambda cells: nw.from_native(pl.LazyFrame(cells)),
    "narwhals of duckdb": lambda cells: nw.from_native(KINDS["duckdb"](cells)),
    "narwhals of pandas": lambda cells: nw.from_native(pd.DataFrame(cells)),
    "held": lambda cells: anonrisk.table(pl.DataFrame(cells)),
    "held lazy": lambda cells: anonrisk.table(pl.LazyFrame(cells)),
    "held duckdb": lambda cells: anonrisk.table(KINDS["duckdb"](cells)),
    "held pyarrow": lambda cells: anonrisk.table(pa.table(cells)),
    "held narwhals": lambda cells: anonrisk.table(KINDS["narwhals"](cells)),
}
# The kinds that differ most by day, every one of them by night.
BY_DAY = {"lazy", "narwhals of duckdb", "held"}
EVERY = [
    pytest.param(kind, marks=() if kind in BY_DAY else pytest.mark.nightly, id=kind)
    for kind in KINDS
]
NO_ROLES = {kind for kind in KINDS if "held" not in kind} - {"pyarrow", "narwhals of pandas"}
NO_ORDER = {kind for kind in KINDS if "lazy" in kind or "duckdb" in kind} | {"own connection"}
REFUSED = {
    "declare": (NO_ROLES, "cannot carry roles"),
    "perturb": (NO_ROLES, "cannot carry roles"),
    "permute": (NO_ROLES, "cannot carry roles"),
    "suda": (NO_ORDER, "gives a number to each row"),
}
SENSITIVE = {
    *("alpha", "assess", "beta_likeness", "delta_disclosure", "ldiv", "profiles", "tcloseness")
}
PLAN = pd.DataFrame(CELLS).anon.plan(QID, k=2, max_suppressed=0.5)


def asked(word, again):
    """How each word is asked; one that is not here, about a quasi-identifier alone."""
    if word in SENSITIVE:
        return (QID, "ill"), {}
    return {
        "apply": ((PLAN,), {}),
        "at_risk": ((QID,), {"k": 2}),
        "box_plot": ((QID,), {"by": "ill"}),
        "compare": ((QID,), {"previous": again}),
        "declare": ((QID, "ill"), {}),
        "delta_presence": (("zip",), {"population": again}),
        "find_qids": (([*QID, "ill"],), {}),
        "generalize": (("zip",), {"prefix": 1}),
        "kl_after": ((QID,), {"steps": [{"zip": Prefix(1)}]}),
        "kmap": (("zip",), {"population": again}),
        "linkability": (("zip",), {"unit": "ill", "time": "hour", "at": 6}),
        "microaggregate": (("hour",), {"k": 3}),
        "permute": (("ill",), {"seed": 1}),
        "perturb": (("hour",), {"scale": 1.0, "seed": 1}),
        "plan": ((QID,), {"k": 2, "max_suppressed": 0.5}),
        "predict_classes": ((QID,), {"group_size": 4}),
        "predict_population": ((QID,), {"population_size": 100}),
        "predict_singletons": ((QID,), {"group_size": 4}),
        "probabilistic_k": ((QID,), {"population_size": 100}),
        "is_quasi_identifier": ((QID,), {"population_size": 100}),
        "pseudonymize": (("who",), {"key": KEY}),
        "roles": ((), {}),
        "sketch": ((QID,), {"key": KEY}),
        "state": ((QID,), {"key": KEY}),
        "suppress": ((QID,), {"k": 2}),
        "trajectory": (("zip",), {"unit": "ill", "length": 2, "seed": 1}),
        "utility": ((QID,), {"original": again}),
        "was_perturbed": ((), {}),
        "whole_person": ((QID,), {"unit": "who"}),
    }.get(word, ((QID,), {}))


def answer(word, made):
    """What a word says, in a form that is the same for every kind of table."""
    args, how = asked(word, made(CELLS))
    table = made(CELLS)
    found = getattr(anonrisk, word)(table, *args, **how)
    parts = found if isinstance(found, tuple) else (found,)
    return [told(word, part, type(table)) for part in parts]


def told(word, part, kind):
    if word in ("report", "explore"):
        return type(part)  # a page names the engine
    if isinstance(part, (kind, pd.DataFrame)) or "Series" in type(part).__name__:
        return column_or_rows(part)
    return repr(part)


def column_or_rows(part):
    """Cells as text, numbers as such: a missing one makes floats of a whole column in pandas."""
    if "Series" in type(part).__name__:
        return [{"class_size": float(cell)} for cell in part.to_list()]
    part = part.to_native() if isinstance(part, nw.DataFrame) else part
    rows = [{k: plain(v) for k, v in row.items()} for row in to_rows(part)]
    return [{"class_size": r["class_size"]} for r in rows] if "class_size" in rows[0] else rows


def plain(cell):
    return float(cell) if isinstance(cell, int) else cell


@pytest.mark.parametrize("kind", EVERY)
def test_every_word_answers_like_pandas_or_refuses_by_name(kind):
    for function in FUNCTIONS:
        word = function.__name__
        refused, why = REFUSED.get(word, ((), ""))
        if kind in refused:
            with pytest.raises(errors.UnsupportedFrameError, match=why):
                answer(word, KINDS[kind])
            continue
        assert answer(word, KINDS[kind]) == answer(word, pd.DataFrame), word


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_judges_each_kind_and_reads_its_roles(kind):
    held = anonrisk.table(KINDS[kind](CELLS), quasi="zip", sensitive="ill", direct="who")
    assert anonrisk.roles(held).quasi == ("zip",)
    assert Policy(k=2, unlisted="ignore").check(held).status == "fail", "who names a person"
    held = anonrisk.table(KINDS[kind](CELLS), quasi="zip", sensitive="ill")
    assert Policy(k=2, unlisted="ignore").check(held).passed
    assert Policy(k=3, unlisted="ignore").check(held).status == "fail"
    assert Policy(quasi="zip", k=2, unlisted="ignore").check(KINDS[kind](CELLS)).passed


@pytest.mark.parametrize("kind", sorted(NO_ROLES))
def test_a_held_table_keeps_roles_and_marks_and_its_kind(kind):
    table = KINDS[kind](CELLS)
    held = anonrisk.table(table, quasi=QID, sensitive="ill")
    assert isinstance(held, HeldTable)
    assert held.frame is table
    assert (held.anon.k(), held.anon.ldiv()) == (1, 1)
    assert held.anon.k("zip") == 2, "a name that is given wins"
    noisy = held.anon.perturb("hour", scale=1.0, seed=1)
    for made in (
        noisy,
        noisy.anon.suppress(k=2),
        noisy.anon.sizes(),
        noisy.anon.at_risk(k=2),
        noisy.anon.generalize("zip", prefix=1),
        anonrisk.table(noisy),
        anonrisk.table(noisy, quasi=QID, sensitive="ill"),
    ):
        assert type(made.frame) is type(table)
        assert anonrisk.roles(made).quasi == ("zip", "age")
        assert anonrisk.was_perturbed(made) == {"hour": "perturb"}
    verdict = Policy(quasi=["zip", "hour"], k=2, unlisted="ignore").check(noisy)
    assert verdict.status == "could_not_assess"
    assert anonrisk.roles(anonrisk.table(table)) == anonrisk.Roles(columns=tuple(CELLS))


def test_a_pyarrow_table_says_what_was_changed_outside_of_what_held_it_too():
    noisy = anonrisk.table(pa.table(CELLS), quasi="zip").anon.permute("ill", seed=1)
    assert list(anonrisk.was_perturbed(noisy.frame)) == ["ill"]
    assert list(anonrisk.was_perturbed(anonrisk.table(noisy.frame))) == ["ill"]


def test_tables_that_carry_roles_are_declared():
    plain = pd.DataFrame(CELLS)
    for table in (plain, nw.from_native(plain)):
        declared = anonrisk.table(table, quasi="zip")
        assert isinstance(declared, pd.DataFrame)
        assert declared.anon.k() == 2
    assert anonrisk.table(plain) is plain
    assert anonrisk.roles(plain).quasi == ()
    with pytest.raises(errors.ColumnNotFoundError, match="'zpi'"):
        anonrisk.table(plain, quasi="zpi")


def test_narwhals_gives_its_own_series_and_version_back():
    stable = pytest.importorskip("narwhals.stable.v1")
    table = stable.from_native(pl.DataFrame(CELLS))
    assert type(anonrisk.suppress(table, "zip", k=2)) is type(table)
    sized = anonrisk.sizes(nw.from_native(pd.DataFrame(CELLS)), "zip")
    assert isinstance(sized, nw.Series)
    assert sized.to_list() == [4] * 8 + [2] * 4
    assert anonrisk.k(table, "zip") == 2


def test_a_relation_comes_back_on_its_own_connection():
    own = duckdb.connect()
    few = anonrisk.suppress(own.from_arrow(pa.table(CELLS)), "zip", k=3)  # noqa: F841
    assert own.sql("SELECT count(*) FROM few").fetchall() == [(8,)]


def test_what_is_held_prints_its_kind_and_its_roles():
    held = anonrisk.table(pl.LazyFrame(CELLS), quasi="zip", unit="who")
    assert str(held).splitlines() == [
        "polars LazyFrame, held with the roles of its columns",
        "column   role",
        "zip      quasi-identifier",
        "age      -",
        "ill      -",
        "who      unit",
        "hour     -",
        ".anon asks it, .frame is the table itself",
    ]
    assert "held without roles" in str(anonrisk.table(pl.LazyFrame(CELLS)))
    assert str(held.anon).startswith(".anon of a polars LazyFrame with 5 columns")


def test_help_of_the_command_line_reads_no_table():
    program = """
import sys
from anonrisk.cli import main
assert main(["--help"]) == main(["--version"]) == 0 and main(["chek"]) == main([]) == 2
assert not {"numpy", "pandas", "yaml"} & {*sys.modules}
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
