"""A policy as generic tests of dbt: SQL, and the Jinja that dbt writes it with.

A test that fails gives one row of numbers. Whatever is in doubt (a column that is not there, of a
type whose equality is not known, a database that nobody has compared with) is an error of the
compiler or a row, never a pass.
"""
# ruff: noqa: S608

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk._version import __version__
from anonrisk.core.documents import to_yaml
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import joined
from anonrisk.engines.sql import rows
from anonrisk.errors import PolicyError
from anonrisk.measures.counts.question import Sensitive
from anonrisk.measures.scores import FORMULAS
from anonrisk.policy import coverage
from anonrisk.policy.budgets.base import SensitiveBudget, SizeBudget, edge_of
from anonrisk.policy.dbt.model import MARK, refuse_no_gate, slug_of
from anonrisk.policy.release_rules import Published

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.question import Score
    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.policy import Policy
    from anonrisk.policy.terms import Rule, Terms


# Each is a query of its own in the text of one test.
MOST_SETS = 100


@dataclass(frozen=True)
class _AskedTest:
    """One budget of one rule, about one sensitive column or none: one test."""

    budget: Budget
    qids: tuple[Qid, ...]
    sensitive: Name | None = None
    score: Score | None = None
    measure: str = ""

    @property
    def edge(self) -> float:
        """The least or the most that may be measured."""
        whole = isinstance(self.budget, SizeBudget) and self.budget.is_whole
        if self.score is not None:
            whole = FORMULAS[self.score.name].whole
        return edge_of(self.budget.limit, at_least=self.budget.at_least, whole=whole)

    def query(self, n_columns: int, dialect: str, *, persons: bool) -> str:
        """Ask for what is measured; the records are to be named before."""
        if self.score is not None:
            return rows.of_scores(n_columns, self.score, dialect, persons=persons)
        return rows.of_sizes(n_columns, self.measure, dialect, persons=persons)


def _asked_of(policy: Terms) -> list[_AskedTest]:
    """List the tests that a policy takes; refuse one that they would not tell all of."""
    refused = [*_asked_settings(policy)]
    results: list[_AskedTest] = []
    for rule in policy.rules:
        qids = tuple(rule.qids(policy.roles.whole))
        if len(qids) > MOST_SETS:
            refused.append(f"every_subset_of with {len(qids):,} sets (at most {MOST_SETS})")
        for budget in rule.budgets:
            lines = [*_of_budget(budget, qids, policy)]
            if not lines:
                refused.append(_said(budget, rule))
            results += lines
    if refused:
        raise PolicyError(
            f"tests in SQL cannot decide: {'; '.join(dict.fromkeys(refused))}. A model in Python "
            "asks Policy.check itself, which can: anonrisk dbt --python"
        )
    return results


def _asked_settings(policy: Terms) -> Iterator[str]:
    """Return which settings need more than a test knows."""
    refuse_no_gate(policy)
    if not policy.roles.whole:
        raise PolicyError(
            "the policy names no quasi-identifier: add roles, or read them with --manifest"
        )
    odd = [name for name in policy.listed if not isinstance(name, str)]
    if odd:
        raise PolicyError(f"column {odd[0]!r} is not named by a text, as a database requires")
    if policy.missing not in {"value", "error"}:
        yield f"missing: {policy.missing}"
    if policy.missing_sensitive == "drop":
        yield "missing_sensitive: drop"
    if policy.by is not None:
        yield "by"
    if policy.unlisted != "refuse":
        yield f"unlisted: {policy.unlisted}"


def _of_budget(budget: Budget, qids: tuple[Qid, ...], policy: Terms) -> Iterator[_AskedTest]:
    if isinstance(budget, SizeBudget):
        measure = budget.in_sql()
        if measure is not None:
            yield _AskedTest(budget, qids, measure=measure)
    elif isinstance(budget, SensitiveBudget):
        columns = budget.sensitive or policy.roles.sensitive
        if not columns:
            raise PolicyError(f"{budget.name} needs a sensitive column, and the policy names none")
        # An order or a tree holds values, which no file of a project should.
        if getattr(budget, "distance", "equal") != "equal":
            return
        nobody: Any = None
        for column in columns:
            _, score = budget.score(nobody, nobody, Sensitive(column))
            if score.name in {"distinct", "entropy", "recursive", "equal"}:
                yield _AskedTest(budget, qids, column, score)


def _said(budget: Budget, rule: Rule) -> str:
    how = "".join(f" ({value})" for value in budget.parameters().values() if isinstance(value, str))
    return f"{budget.name}{how}" + (f" of {joined(rule.columns)}" if rule.columns else "")


# Names of columns enter as literals of Jinja, and the macros quote them.


# What dbt calls the databases of `rows.DIALECTS`.
ADAPTERS = {"duckdb": "duckdb", "postgresql": "postgres"}
# A count of what breaks a limit; below zero where nobody can tell.
_CALC = "coalesce(min(failures), 0)"
_ERROR_IF = {"fail": "!= 0", "warn": "< 0"}


def sql_tests(policy: Policy, model: str, name: str) -> dict[str, str]:
    """Return the files that a dbt project needs to hold a model to a policy, by their paths."""
    asked = _asked_of(policy)
    # One policy may hold several models, each by roles of its own: none takes another's files.
    prefix = f"anonrisk_{slug_of(name)}__{model}"
    tests = {
        f"{prefix}_columns": _columns_test(policy),
        f"{prefix}_rows": _rows_test(policy, asked),
    }
    for i, item in enumerate(asked, 1):
        tests[f"{prefix}_{i}_{slug_of(item.budget.name)}"] = _budget_test(item, policy)
    mark = f"{MARK} {__version__}"
    head = f"{{# {mark} from the policy {policy.digest}: run anonrisk dbt again to change it. #}}\n"
    texts = (
        f"\n{{% test {test}(model) %}}\n{text}{{% endtest %}}\n" for test, text in tests.items()
    )
    # Every column has a role, or its test fails: what is covered is known before there is a table.
    listed = tuple(name for name in policy.listed if name not in policy.roles.direct)
    covered = coverage.of_table(policy, Published(tuple(sorted(listed, key=str))))
    covers = "".join(f"# {line}\n" for line in covered.column_lines())
    properties = {"version": 2, "models": [{"name": model, "data_tests": list(tests)}]}
    listed_tests = to_yaml(properties, default_flow_style=False)
    return {
        "macros/anonrisk.sql": f"{{# {mark}: what its tests share. #}}\n{_macros()}",
        f"tests/generic/{prefix}.sql": head + "".join(texts),
        f"models/{prefix}.yml": f"# {mark}\n{covers}{listed_tests}",
    }


# ---- tests --------------------------------------------------------------------------------------


def _columns_test(policy: Policy) -> str:
    """Count the columns that should not be there: direct identifiers, and those without a role."""
    listed = [name for name in policy.listed if name not in policy.roles.direct]
    return f"""{_config("fail")}
{{%- if execute %}}
{{%- set found = anonrisk_columns(model, {_literal(_settings("fail"))}) %}}
{{%- set wrong = anonrisk_wrong(found, {_literal(sorted(map(str, listed)))}) %}}
select 'columns' as budget, {{{{ wrong }}}} as failures
from (select 1 as one) as o where {{{{ wrong }}}} > 0
{{%- endif %}}
"""


def _rows_test(policy: Policy, asked: Sequence[_AskedTest]) -> str:
    """Count the rows of which nobody can tell what they mean; a table without any is in doubt."""
    roles = policy.roles
    needed: list[Name] = [] if roles.unit is None else [roles.unit]
    if policy.missing == "error":
        needed += [name for item in asked for qid in item.qids for name in qid]
    if policy.missing_sensitive != "value":
        needed += [item.sensitive for item in asked if item.sensitive is not None]
    gaps = [f"{_cell(name)} is null" for name in dict.fromkeys(needed)]
    return f"""{_config("fail")}
{{%- if execute %}}
{{%- set found = anonrisk_columns(model, {_literal(_settings("fail"))}) %}}
select 'rows' as budget, case when n_rows = 0 then -1 else n_lost end as failures
from (
    select count(*) as n_rows,
        sum(case when {" or ".join(gaps) or "1 = 0"} then 1 else 0 end) as n_lost
    from {{{{ model }}}}
) as counted where n_rows = 0 or n_lost > 0
{{%- endif %}}
"""


def _budget_test(asked: _AskedTest, policy: Policy) -> str:
    """Compare what is measured with the limit; of several sets, count those that break it."""
    severity, budget = asked.budget.severity, asked.budget
    kept = ">=" if budget.at_least else "<="
    worst = "min" if budget.at_least else "max"
    doubt = "measured is null or measured = cast('NaN' as double precision)"
    branches = "".join(
        f"{{%- {word} adapter.type() == {_literal(ADAPTERS[dialect])} %}}\n"
        f"{_union(asked, policy, dialect)}\n"
        for word, dialect in zip(("if", "elif"), rows.DIALECTS, strict=True)
    )
    return f"""{_config(severity)}
{{%- if execute %}}
{{%- set found = anonrisk_columns(model, {_literal(_settings(severity))}) %}}
select '{budget.name}' as budget, {worst}(measured) as measured, {budget.limit!r} as asked,
    case when max(case when {doubt} then 1 else 0 end) = 1 then -1 else count(*) end as failures
from (
{branches}{{%- endif %}}
) as sets
where {doubt} or not (measured {kept} cast({asked.edge!r} as double precision))
having count(*) > 0
{{%- endif %}}
"""


def _union(asked: _AskedTest, policy: Policy, dialect: str) -> str:
    unit = policy.roles.unit
    queries = []
    for i, qid in enumerate(asked.qids):
        query = asked.query(len(qid), dialect, persons=unit is not None)
        records = _records(qid, asked.sensitive, unit)
        with_records = query.replace("with ", f"with {rows.RECORDS} as ({records}), ", 1)
        queries.append(f"select measured from ({with_records}) as m{i}")
    return "\nunion all\n".join(queries)


def _records(qid: Qid, sensitive: Name | None, unit: Name | None) -> str:
    named = {f"q{i}": name for i, name in enumerate(qid)}
    more = {"s": sensitive, "u": unit}
    named |= {label: name for label, name in more.items() if name is not None}
    cells = ", ".join(f"{_cell(name)} as {label}" for label, name in named.items())
    return f"select {cells} from {{{{ model }}}}"


def _cell(name: Name) -> str:
    return f"{{{{ anonrisk_cell(found, {_literal(name)}) }}}}"


def _settings(severity: str) -> dict[str, Any]:
    """What a test must be run with: another limit, or a part of the rows, would be another gate."""
    how = {"severity": "error", "fail_calc": _CALC, "error_if": _ERROR_IF[severity]}
    return {**how, "warn_if": "!= 0", "where": None, "limit": None}


def _config(severity: str) -> str:
    fields = {key: value for key, value in _settings(severity).items() if value is not None}
    listed = ", ".join(f"{key}={_literal(value)}" for key, value in fields.items())
    return f"{{{{ config({listed}) }}}}"


# ---- Jinja --------------------------------------------------------------------------------------


def _literal(value: Any) -> str:
    r"""Write a value as Jinja reads it, such that nothing in it can end the literal or a tag.

    Examples
    --------
    >>> _literal(["zip", 'a"}}']), _literal({"where": None})
    ('["zip", "a\\x22\\x7d\\x7d"]', '{"where": none}')
    """
    if value is None:
        return "none"
    if isinstance(value, str):
        return '"' + "".join(map(_escaped, value)) + '"'
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_literal(k)}: {_literal(v)}' for k, v in value.items())}}}"
    return f"[{', '.join(map(_literal, value))}]"


def _escaped(letter: str) -> str:
    plain = letter.isascii() and letter.isprintable() and letter not in "\"'\\{}%#"
    code = ord(letter)
    return letter if plain else f"\\x{code:02x}" if code < 256 else f"\\U{code:08x}"


def _macros() -> str:
    types = {ADAPTERS[dialect]: rows.Types.of(dialect) for dialect in rows.DIALECTS}

    def listed(what: str) -> str:
        return _literal({adapter: list(getattr(source, what)) for adapter, source in types.items()})

    return _replaced(
        _MACROS,
        {
            "ADAPTERS": _literal(list(types)),
            "TEXTS": listed("texts"),
            "FLOATS": listed("floats"),
            "OTHERS": listed("others"),
        },
    )


def _replaced(text: str, words: Mapping[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


_MACROS = """
{# The columns of a table with their types, once it is clear that the whole of it is looked at. #}
{% macro anonrisk_columns(model, settings) %}
{%- if adapter.type() not in @ADAPTERS@ %}
{{ exceptions.raise_compiler_error("anonrisk: what " ~ adapter.type() ~ " considers equal has not \
been compared with anonrisk's rules. Use DuckDB or PostgreSQL, or the model in Python that \
anonrisk dbt --python writes.") }}
{%- endif %}
{%- for key, value in settings.items() %}
{%- if config.get(key) != value %}
{{ exceptions.raise_compiler_error("anonrisk: a gate takes no other " ~ key ~ " than its own (" ~ \
value ~ "): take it out of the configuration of tests.") }}
{%- endif %}
{%- endfor %}
{%- if model is string %}
{{ exceptions.raise_compiler_error("anonrisk: a gate looks at a whole table, not at a query") }}
{%- endif %}
{%- set found = {} %}
{%- for column in adapter.get_columns_in_relation(model) %}
{%- do found.update({column.name: column.dtype}) %}
{%- endfor %}
{%- if not found %}
{{ exceptions.raise_compiler_error("anonrisk: " ~ model ~ " has no columns that can be seen") }}
{%- endif %}
{%- do return(found) %}
{% endmacro %}

{# The kind of cells that a column has: texts, floats, others, or nothing that is known. #}
{% macro anonrisk_kind(dtype) %}
{%- set plain = dtype.split("(")[0] %}
{%- if dtype.endswith("]") %}{% do return("") %}{% endif %}
{%- if plain in @TEXTS@[adapter.type()] %}{% do return("texts") %}{% endif %}
{%- if plain in @FLOATS@[adapter.type()] %}{% do return("floats") %}{% endif %}
{%- if plain in @OTHERS@[adapter.type()] %}{% do return("others") %}{% endif %}
{%- do return("") %}
{% endmacro %}

{# A column such that missing is NULL and equal cells are equal, byte by byte. #}
{% macro anonrisk_cell(found, name) %}
{%- if name not in found %}
{{ exceptions.raise_compiler_error("anonrisk: there is no column " ~ name) }}
{%- endif %}
{%- set kind = anonrisk_kind(found[name]) %}
{%- set quoted = '"' ~ name.replace('"', '""') ~ '"' %}
{%- if kind == "texts" %}{% do return("(" ~ quoted ~ ' collate "C")') %}{% endif %}
{%- if kind == "floats" %}
{%- do return("nullif(" ~ quoted ~ ", cast('NaN' as " ~ found[name].split("(")[0] ~ "))") %}
{%- endif %}
{%- if kind == "others" %}{% do return(quoted) %}{% endif %}
{{ exceptions.raise_compiler_error("anonrisk: column " ~ name ~ " is of type " ~ \
found[name].split("(")[0] ~ ", which SQL does not compare as anonrisk does") }}
{% endmacro %}

{# How many columns no role names, are direct identifiers, or may hold others inside. #}
{% macro anonrisk_wrong(found, listed) %}
{%- set wrong = [] %}
{%- for name, dtype in found.items() %}
{%- if name not in listed or anonrisk_kind(dtype) == "" %}{% do wrong.append(name) %}{% endif %}
{%- endfor %}
{%- if wrong %}
{%- do log("anonrisk: direct identifiers, or columns without a role: " ~ wrong, info=true) %}
{%- endif %}
{%- do return(wrong | length) %}
{% endmacro %}
"""
