"""A policy: what each column is, and what a table must satisfy before it is published."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict

from anonrisk.api.assess import assess as assess_table
from anonrisk.core import render
from anonrisk.core.arguments import renaming
from anonrisk.core.frozen import dataclass
from anonrisk.engines.one_state import one_state
from anonrisk.errors import ArgumentError, MissingLibraryError, PolicyError
from anonrisk.policy import fields, judge
from anonrisk.policy import ready as ready_policies
from anonrisk.policy.budget_arguments import BudgetArguments, SettingArguments
from anonrisk.policy.budgets import of_shares
from anonrisk.policy.evidence import as_given
from anonrisk.policy.measure import CheckedTable, policy_for
from anonrisk.policy.terms import KEYS, PART_OF, Terms, nested, read_terms, refuse_misplaced
from anonrisk.policy.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Unpack

    from anonrisk.api.assess import Assessment
    from anonrisk.core.columns import Name
    from anonrisk.planning.goals import PlanRequest
    from anonrisk.planning.plan import Plan
    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.lint import LintResult


class RoleArguments(TypedDict, total=False):
    """What each column is."""

    quasi: Name | Sequence[Name] | None
    sensitive: Name | Sequence[Name] | None
    direct: Name | Sequence[Name] | None
    insensitive: Name | Sequence[Name] | None
    unit: Name | None
    weight: Name | None


class PolicyArguments(RoleArguments, SettingArguments, BudgetArguments, total=False):
    """The keys of a policy document, and those of its roles and budgets by themselves."""

    version: int
    roles: Mapping[str, Any]
    budgets: Mapping[str, Any]
    qids: Sequence[Mapping[str, Any]]


def gx_suite() -> Any:
    """Return the module that makes suites of policies (needs the extra `gx`)."""
    try:
        return import_module("anonrisk.gx.suite")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "great_expectations":
            raise
        raise MissingLibraryError(
            "a suite needs Great Expectations: pip install 'anonrisk[gx]'"
        ) from None


_BUDGETS = ("quasi-identifier", "budget", "limit", "severity")
_COLUMNS_ALONE = "No budget: it is about direct identifiers and columns without a role alone."
_ROLES = ("column", "role", "reason")
_GUESS = "Every role is a guess: decide, then remove reviewed: false; until then no table passes."


def require_policy(value: Any) -> Policy:
    """Return a policy; reject everything else."""
    if not isinstance(value, Policy):
        raise ArgumentError(
            f"policy is a Policy, not {render.kind_name(value)}: Policy.load reads a file"
        )
    return value


def _blocks(policy: Terms) -> list[str | render.Table]:
    """Return the rules, one line per budget; of a draft first the columns."""
    if policy.drafted is None:
        lines, header, rows = _table(policy)
        table = [render.Table(header, rows)] if rows else []
        return [*lines, *table, *(f"- {note}" for note in _notes(policy))]
    return [
        render.shown(f"{policy.drafted.headline}: {policy.drafted.counts}"),
        render.Table(_ROLES, policy.drafted.rows()),
        f"budgets: {', '.join(_limits(policy))}",
        *(f"- {render.shown(note)}" for note in (*policy.drafted.notes, _GUESS)),
    ]


def _notes(policy: Terms) -> list[str]:
    """Return what is wrong with limits that no table can break."""
    return [render.shown(finding.sentence) for finding in judge.unbroken_limits(policy)]


def _title(policy: Terms) -> str:
    name = render.shown(policy.name or policy.digest[:19])
    return f"Policy {name}, missing values: {policy.missing}"


def _table(policy: Terms) -> tuple[list[str], Sequence[str], list[list[str]]]:
    """Return the budgets; a quasi-identifier that all of them are about is named once."""
    rows = _rows(policy)
    if not rows:
        return [_title(policy), _COLUMNS_ALONE], (), []
    if len({source for source, *_ in rows}) > 1:
        return [_title(policy)], _BUDGETS, rows
    return [_title(policy), f"of {rows[0][0]}"], _BUDGETS[1:], [row[1:] for row in rows]


def _rows(policy: Terms) -> list[list[str]]:
    rows = []
    for rule in policy.rules:
        columns = rule.columns or policy.roles.whole
        about = render.joined(columns) or "as the table declares"
        if rule.every_subset_of:
            about = f"every {rule.every_subset_of} of {about}"
        for budget in rule.budgets:
            sign = "≥" if budget.at_least else "≤"
            rows.append([about, budget.name, f"{sign} {_limit(budget)}", budget.severity])
    return rows


def _limits(policy: Terms) -> list[str]:
    return [f"{name} {limit} ({severity})" for _, name, limit, severity in _rows(policy)]


def _limit(budget: Budget) -> str:
    return as_given(budget.limit) if of_shares(budget.name) else render.exact(budget.limit)


def assess(policy: Terms, frame: Any) -> Assessment:
    """Take every measure that the budgets name, and k and uniqueness in any case."""
    if (
        len(policy.rules) != 1
        or policy.rules[0].every_subset_of is not None
        or policy.by is not None
    ):
        raise PolicyError(
            "assess takes a policy of one quasi-identifier, without by; check takes any"
        )
    with one_state(frame, "assess"):
        return _assessed(policy, frame)


def _assessed(policy: Terms, frame: Any) -> Assessment:
    policy = policy_for(policy, frame)
    table = CheckedTable.of(policy, frame)
    (rule,) = policy.rules
    # Each with whether it is about a sensitive column.
    measures = {"k": False, "uniqueness": False}
    how: dict[str, Any] = {}
    for budget in rule.budgets:
        asked = budget.assessed()
        if "measures" in asked:
            measures[asked.pop("measures")] = budget.about_values
        if any(how.get(key, value) != value for key, value in asked.items()):
            raise PolicyError("assess takes one tcloseness and one c; check takes any number")
        how |= asked
    if any(measures.values()):
        how["sensitive"] = list(table.roles.sensitive) or None
        how["missing_sensitive"] = policy.missing_sensitive or "value"
    return assess_table(
        table.frame,
        list(rule.columns or table.roles.whole) or None,
        measures=list(measures),
        unit=table.roles.unit,
        missing=policy.missing,
        **how,
    )


# Frozen by itself: a subclass of a frozen class takes every new attribute, so that `policy.k = 11`
# would be taken, and change nothing.
@dataclass(frozen=True, init=False, repr=False)
class Policy(Terms, render.Printed):
    """What a table must satisfy before it is published: roles of its columns, and budgets.

    Parameters
    ----------
    **keywords
        The keys of a policy document; those of `roles` and `budgets` may also be given by
        themselves, as in ``Policy(quasi=["zip", "age"], k=5)``. docs/policy.md shows every key.

    Attributes
    ----------
    roles : PolicyRoles
        What each column is. Where it names no quasi-identifier or sensitive column, those that the
        table declares are taken.
    rules : tuple of Rule
        Each quasi-identifier with its budgets.
    reviewed : bool
        Whether somebody has read it; a draft, which nobody has, passes no table.
    advisory : bool
        Whether it is meant that no table can fail it: it reports, and passes none.
    unlisted : {"refuse", "quasi", "ignore"}
        What becomes of columns that no role names: the table cannot be assessed; they join every
        quasi-identifier; or the verdict says that nobody has looked at them.
    missing : {"value", "drop", "error", "wildcard"}
        What a missing quasi-identifier means, as in `anonrisk.classes`.
    missing_sensitive : {"value", "drop", "error"} or None
        What a missing sensitive value means, as in `anonrisk.ldiv`. Where nobody has said it, a
        table that misses one cannot be assessed.
    max_dropped_fraction : float or None
        With ``missing="drop"``: the share of the rows that may be left out. With
        ``missing_sensitive="drop"`` likewise, for each sensitive column; without it no row may be.
    dropped_are_removed : bool
        Whether the rows left out are removed before the table is published.
    by : name or None
        The column whose groups are checked one by one.
    suppressed : str or None
        The text that stands in a suppressed cell.
    sampling_fraction : float or None
        The share of the population that was drawn into the table; see `anonrisk.risk`.
    population_size : int or None
        The number of people in that population.
    unsuppressed : bool
        Whether no record was removed after the draw.
    stable_unit : str or None
        Why the unit's values stay with their persons from release to release, where `differencing`
        finds those who left and those who came alike beyond chance.
    acknowledged : tuple of Acknowledged
        Doubts about contents that a person has answered: column, doubt and reason.
    drafted : Drafted or None
        Of `Policy.draft`: why each column has its role. No part of the policy itself.

    Raises
    ------
    PolicyError
        If a key is misspelt, a value has the wrong type, or a quasi-identifier has no budget.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> policy = anonrisk.Policy(quasi=["zip", "age"], k=2, max_unique_fraction=0.1)
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012"], "age": [34, 34, 51]})
    >>> verdict = policy.check(df)
    >>> verdict.status
    'fail'
    >>> print(verdict.findings[0].sentence)
    The smallest class of zip + age has 1 record; at least 2 are required.
    """

    def __init__(self, **keywords: Unpack[PolicyArguments]) -> None:
        """Read and check the keywords."""
        for name, value in read_terms(nested(dict(keywords))).items():
            object.__setattr__(self, name, value)

    # ---- coming -----------------------------------------------------------------------------

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Self:
        """Read the plain values that `to_dict` gives, or a YAML or JSON file holds.

        Parameters
        ----------
        value : mapping
            Plain values.

        Returns
        -------
        Policy

        See Also
        --------
        anonrisk.Policy.load : reads a file
        anonrisk.Policy.to_dict : writes it

        Examples
        --------
        >>> Policy.from_dict(Policy(quasi="zip", k=5).to_dict()).rules[0].budgets[0].limit
        5
        """
        stated: Any = value
        if isinstance(stated, Mapping):
            refuse_misplaced(stated)
        return cls(**{"version": None, **fields.mapping(stated, "the policy", KEYS, PART_OF)})

    @classmethod
    def from_yaml(cls, source: str | Path) -> Self:
        r"""Read a YAML file, given by its path, or YAML text (needs PyYAML).

        Parameters
        ----------
        source : str or Path
            The text, or where the file is.

        Returns
        -------
        Policy

        See Also
        --------
        anonrisk.Policy.load : reads a file by its ending
        anonrisk.Policy.to_yaml : writes it

        Examples
        --------
        >>> policy = Policy.from_yaml("version: 1\nroles: {quasi: [zip]}\nbudgets: {k: 5}")
        >>> policy.rules[0].budgets[0].limit
        5
        """
        return cls.from_dict(fields.from_yaml(source))

    @classmethod
    def from_json(cls, source: str | Path) -> Self:
        """Read a JSON file, given by its path, or JSON text.

        Parameters
        ----------
        source : str or Path
            The text, or where the file is.

        Returns
        -------
        Policy

        See Also
        --------
        anonrisk.Policy.load : reads a file by its ending
        anonrisk.Policy.to_json : writes it

        Examples
        --------
        >>> Policy.from_json(Policy(quasi="zip", k=5).to_json()) == Policy(quasi="zip", k=5)
        True
        """
        return cls.from_dict(fields.from_json(source))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file, JSON if it ends in .json, else YAML; or take a ready policy by its name.

        Parameters
        ----------
        path : str or Path
            Where the file is. Where there is none, and the text is the name of a ready policy,
            that one: ``anonrisk check t.csv --policy research_k5 --qids zip``.

        Returns
        -------
        Policy

        See Also
        --------
        anonrisk.Policy.save : writes it
        anonrisk.Policy.ready : those that the package has

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     Policy(quasi="zip", k=5).save(Path(folder) / "policy.json")
        ...     Policy.load(Path(folder) / "policy.json").roles.quasi
        ('zip',)
        """
        return cls.from_dict(ready_policies.load(path))

    @classmethod
    def ready(cls, name: str) -> Self:
        """Return a policy that the package has: cms_k11, hipaa_style, open_data or research_k5.

        Parameters
        ----------
        name : str
            One of these.

        Returns
        -------
        Policy

        See Also
        --------
        anonrisk.Policy.with_roles : says which columns of yours it is about
        anonrisk.Policy.draft : proposes the roles of a table

        Examples
        --------
        >>> Policy.ready("research_k5").name
        'research release, k = 5'
        """
        return cls.from_dict(ready_policies.read(name))

    @classmethod
    @renaming(time_budget="time_limit=")
    def draft(
        cls,
        frame: Any,
        *,
        ready: str = "research_k5",
        name: str | None = None,
        time_limit: float = 30,
    ) -> Self:
        """Propose a policy for a table: a role for every column, and why. A person must decide.

        It prints with its
        reasons, `to_yaml` and `save` write them as comments, and it passes no table: it says
        ``reviewed: false``.

        Parameters
        ----------
        frame : DataFrame
            A table of any library that the functions take.
        ready : str
            The ready policy whose budgets are taken.
        name : str, optional
            What the policy is called.
        time_limit : float
            Seconds for the search of columns that single people out.

        Returns
        -------
        Policy

        See Also
        --------
        anonrisk.Policy.ready : the policies that a draft may start from
        anonrisk.find_qids : the search behind it
        anonrisk.declare : roles kept with a table

        Examples
        --------
        >>> import pandas as pd
        >>> df = pd.DataFrame({"zip": list("aabb"), "diagnosis": ["flu", "flu", "flu", "hiv"]})
        >>> Policy.draft(df).roles.sensitive
        ('diagnosis',)
        """
        from anonrisk.engines.one_state import one_state
        from anonrisk.policy.drafting import draft

        with one_state(frame, "draft"):
            written, drafted = draft(frame, ready, name, time_limit)
        policy = cls.from_dict(written)
        object.__setattr__(policy, "drafted", drafted)
        return policy

    def with_roles(self, **roles: Unpack[RoleArguments]) -> Self:
        """Return the same policy with other roles, as in ``with_roles(quasi=["zip", "age"])``.

        Parameters
        ----------
        **roles
            As in `Policy`; what is not named stays.

        Returns
        -------
        Policy

        See Also
        --------
        anonrisk.declare : roles kept with a table instead
        anonrisk.Policy.ready : policies that need roles

        Examples
        --------
        >>> Policy(k=5).with_roles(quasi=["zip", "age"]).roles.quasi
        ('zip', 'age')
        """
        current = self.to_dict()
        return type(self).from_dict({**current, "roles": {**current.get("roles", {}), **roles}})

    # ---- checking ---------------------------------------------------------------------------

    def check(
        self,
        frame: Any,
        *,
        name: str | None = None,
        population: Any = None,
        n_original: int | None = None,
        plan: Plan | None = None,
        original: Any = None,
    ) -> Verdict:
        """Measure a table and compare it with the budgets.

        Parameters
        ----------
        frame : DataFrame
            A pandas, Spark or pandas-on-Spark table; it is never changed.
        name : str, optional
            What the table is called, for whoever reads the verdict.
        population : DataFrame, optional
            As in `anonrisk.risk`: whom the journalist and the marketer look among.
        n_original : int, optional
            Number of rows before records were removed, for ``max_suppressed``.
        plan, original : Plan and DataFrame, optional
            How the table was made, for ``credibility``: the plan, as `anonrisk.plan` returned it,
            and the table that it was made for. `anonrisk.apply` with a policy gives both.

        Returns
        -------
        Verdict
            ``"pass"``, ``"fail"`` or ``"could_not_assess"``, with a finding per budget. What goes
            wrong with the table (a column that is not there, no records, an engine that fails) is a
            finding too, and never a pass.

        See Also
        --------
        anonrisk.report : the verdict as a page
        anonrisk.Verdict.raise_for_status : stops a job
        anonrisk.gx.run_gate : the same in Great Expectations

        Examples
        --------
        >>> import pandas as pd
        >>> import anonrisk
        >>> df = pd.DataFrame({"zip": ["1011", "1011"], "age": [34, 34]})
        >>> anonrisk.Policy(quasi=["zip", "age"], k=2).check(df).passed
        True
        """
        from anonrisk.policy.check import check

        return check(
            self,
            frame,
            name=name,
            population=population,
            n_original=n_original,
            plan=plan,
            original=original,
        )

    def lint(
        self, frame: Any = None, against: Policy | Verdict | str | Path | None = None
    ) -> LintResult:
        """Look for what the policy says and can hardly mean; no row of a table is read.

        Parameters
        ----------
        frame : DataFrame, optional
            A table of any library that the functions take: its columns are compared with the
            names of the policy, as `check` does.
        against : Policy, Verdict or path, optional
            Another policy, or the verdict of the last release: wherever this policy asks for less
            is an error. A path is read as by `load`.

        Returns
        -------
        LintResult
            True if no remark is an error: nothing in the policy decides, a column is not there or
            must not be, or it is weaker than another. Limits that no table can break beside
            others, sensitive columns that no budget judges and names that are no texts are
            warnings.

        See Also
        --------
        anonrisk.Policy.check : measures the table
        anonrisk.Policy.draft : proposes a policy

        Examples
        --------
        >>> found = Policy(quasi="zip", max_unique_fraction=1).lint()
        >>> bool(found), found.warnings[0].sentence
        (False, 'No table can break max_unique_fraction: 1 is everybody; 1% is 0.01.')
        >>> Policy(quasi="zip", k=5).lint()
        Policy: nothing to remark
        """
        from anonrisk.policy.lint import lint

        value: Any = against
        other = type(self).load(value) if isinstance(value, (str, Path)) else value
        if other is not None and not isinstance(other, (Terms, Verdict)):
            raise ArgumentError(
                f"against is a Policy, a Verdict or a path, not {render.kind_name(other)}"
            )
        return lint(self, frame, other)

    def assess(self, frame: Any) -> Assessment:
        """Take the measures that the policy names, without comparing them with its budgets.

        Parameters
        ----------
        frame : DataFrame
            A table of any library that the functions take.

        Returns
        -------
        Assessment

        See Also
        --------
        anonrisk.Policy.check : compares them with the budgets
        anonrisk.assess : measures of one's own choice

        Examples
        --------
        >>> import pandas as pd
        >>> Policy(quasi="zip", k=2).assess(pd.DataFrame({"zip": ["a", "a", "b"]})).sizes.k
        1
        """
        return assess(self, frame)

    def plan_goals(self, frame: Any) -> PlanRequest:
        """Return what a plan for a table must keep to; `anonrisk.plan` asks it.

        Parameters
        ----------
        frame : DataFrame
            A table of any library that the functions take.

        Returns
        -------
        PlanRequest

        Raises
        ------
        PlanError
            If no recoding helps: a column without a role, or a draft that nobody has reviewed.

        See Also
        --------
        anonrisk.plan : finds the plan
        anonrisk.Policy.check : what is asked of the table that a plan makes

        Examples
        --------
        >>> import pandas as pd
        >>> Policy(quasi="zip", k=2).plan_goals(pd.DataFrame({"zip": ["a", "a", "b"]})).k
        2
        """
        from anonrisk.policy.plan_goals import plan_goals

        return plan_goals(self, frame)

    def to_suite(self, name: str | None = None) -> Any:
        """Make a suite of Great Expectations of it (needs the extra `gx`).

        Every budget becomes an expectation, or an error says which
        cannot.

        Parameters
        ----------
        name : str, optional
            Name of the suite; left out, that of the policy.

        Returns
        -------
        ExpectationSuite

        See Also
        --------
        anonrisk.gx.run_gate : runs it
        anonrisk.Policy.check : without Great Expectations

        Examples
        --------
        >>> suite = Policy(quasi="zip", k=5).to_suite()
        >>> [one.expectation_type for one in suite.expectations]
        ['expect_columns_to_be_publishable', 'expect_k_anonymity_to_be_at_least']
        """
        return gx_suite().to_suite(self, name)

    # ---- showing ----------------------------------------------------------------------------

    def _blocks(self) -> list[str | render.Table]:
        return _blocks(self)
