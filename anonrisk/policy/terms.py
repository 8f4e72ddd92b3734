"""What a policy says, read and checked; what can be done with it is in `policy.py`.

A setting is declared once, in `Terms`: its type, its reader, its part of the JSON Schema and what
it is where nobody says. Documents, `schema.json` and the keywords of `Policy` follow from that.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import Field, field
from dataclasses import fields as dataclass_fields
from functools import partial
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import MISSING, MISSING_OR_WILDCARD, nearest
from anonrisk.core.documents import another_kind, canonical
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.core.results import Document
from anonrisk.engines.reading.files import Wanted
from anonrisk.errors import ArgumentError, PolicyError
from anonrisk.policy import budgets, fields
from anonrisk.policy.budgets import ALSO_CALLED, BUDGETS
from anonrisk.policy.budgets.base import MethodBudget, ReleaseBudget, TableBudget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Missing, MissingOrWildcard, Unlisted
    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.drafting.propose import Drafted

# More subsets than this are a search, not a gate; on Spark each repeats the table once.
MAX_SUBSETS = 1_000
LISTS = ("quasi", "sensitive", "direct", "insensitive")
SINGLE = ("unit", "weight")


@dataclass(frozen=True)
class PolicyRoles:
    """What each column is, as a policy says it; see `anonrisk.declare`.

    Attributes
    ----------
    quasi, sensitive, direct, insensitive : tuple of names
        The columns of each role.
    unit : name or None
        The column that says which person a row belongs to.
    weight : name or None
        A sampling weight, which is a quasi-identifier too if it is published.
    """

    quasi: Qid = ()
    sensitive: Qid = ()
    direct: Qid = ()
    insensitive: Qid = ()
    unit: Name | None = None
    weight: Name | None = None

    @property
    def whole(self) -> Qid:
        """The whole quasi-identifier: a published weight belongs to it."""
        return self.quasi if self.weight is None else (*self.quasi, self.weight)

    @property
    def classified(self) -> set[Name]:
        """All columns that have a role."""
        single = (self.unit, self.weight)
        return {
            *(name for role in LISTS for name in getattr(self, role)),
            *(name for name in single if name is not None),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; roles that no column has are left out."""
        lists = {role: list(getattr(self, role)) for role in LISTS if getattr(self, role)}
        single = {role: getattr(self, role) for role in SINGLE if getattr(self, role) is not None}
        return {**lists, **single}


@dataclass(frozen=True)
class Rule:
    """A quasi-identifier, or every subset of one, and its budgets.

    Attributes
    ----------
    columns : tuple of names or None
        The columns; None for the whole quasi-identifier, as the roles have it.
    every_subset_of : int or None
        Check every so many of the columns instead of all together.
    budgets : tuple of Budget
        What each must satisfy.
    """

    columns: Qid | None
    every_subset_of: int | None
    budgets: tuple[Budget, ...]

    def qids(self, whole: Qid) -> Iterator[Qid]:
        """List the quasi-identifiers to check; `whole` is what the roles say."""
        columns = whole if self.columns is None else self.columns
        if self.every_subset_of is None:
            yield columns
        else:
            yield from combinations(columns, self.every_subset_of)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as an entry of `qids`."""
        columns = {} if self.columns is None else {"columns": list(self.columns)}
        subsets = {"every_subset_of": self.every_subset_of} if self.every_subset_of else {}
        return {**columns, **subsets, "budgets": budgets.written(self.budgets)}


def read_roles(argument: Any) -> PolicyRoles:
    """Read the roles of the columns; none has two of them."""
    if argument is None:
        return PolicyRoles()
    for name, role in argument.items() if isinstance(argument, dict) else ():
        if name not in (*LISTS, *SINGLE) and isinstance(role, str) and role in LISTS:
            raise PolicyError(
                f"roles has no key {name!r}: a role names its columns; write {role}: [{name}]"
            )
    stated = fields.mapping(argument, "roles", (*LISTS, *SINGLE))
    results: dict[str, Any] = {}
    for role, value in stated.items():
        # An empty role is what a template has before somebody fills it in.
        if value is None or (isinstance(value, (list, tuple)) and not value and role != "quasi"):
            continue
        read = fields.names if role in LISTS else fields.name
        results[role] = read(value, f"roles.{role}")
    roles = PolicyRoles(**results)
    seen: dict[Any, str] = {}
    for role in (*LISTS, *SINGLE):
        value = getattr(roles, role)
        for column in value if role in LISTS else () if value is None else (value,):
            if (seen.get(column), role) == ("direct", "unit"):
                raise PolicyError(
                    f"column {column!r} is both direct and unit in roles: a direct identifier must "
                    "be gone and a unit must be there; replace it by a pseudonym"
                )
            if column in seen:
                raise PolicyError(f"column {column!r} is both {seen[column]} and {role} in roles")
            seen[column] = role
    return roles


def read_rules(value: dict[str, Any], roles: PolicyRoles) -> tuple[Rule, ...]:
    """Read the budgets of all quasi-identifiers together, and those of each entry of qids."""
    rules = []
    if value.get("budgets") is not None:
        rules.append(Rule(None, None, budgets.read(value["budgets"], "budgets")))
    entries = value.get("qids")
    for i, entry in enumerate([] if entries is None else fields.listed(entries, "qids")):
        rules.append(_rule(entry, f"qids[{i}]", roles))
    if not rules:
        _check_without_budgets(value, roles)
    return tuple(rules)


def _check_without_budgets(value: dict[str, Any], roles: PolicyRoles) -> None:
    """Reject a policy without a budget, unless there is no quasi-identifier to measure.

    Direct identifiers, and columns that nobody has named, need no number to fail.
    """
    there = f"add {fields.WRITTEN['budgets']}; there are {', '.join(budgets.BUDGETS)}"
    if roles.whole:
        raise PolicyError(
            f"quasi-identifier {roles.whole[0]!r} has no budget, as the policy holds no budget; "
            f"{there}"
        )
    refuses = value.get("unlisted", "refuse") == "refuse"
    if not (roles.direct or (refuses and roles.classified)) or value.get("unlisted") == "quasi":
        raise PolicyError(f"the policy holds no budget; {there}")
    if value.get("by") is not None:
        raise PolicyError(f"by: groups are measured by budgets, and the policy holds none; {there}")


def _rule(value: Any, where: str, roles: PolicyRoles) -> Rule:
    entry = fields.mapping(value, where, ("columns", "every_subset_of", "budgets"))
    if entry.get("budgets") is None:
        raise PolicyError(f"{where} has no budget: add budgets, as in budgets: {{k: 5}}")
    columns = fields.names(entry["columns"], f"{where}.columns") if "columns" in entry else None
    size = None
    if entry.get("every_subset_of") is not None:
        size = fields.whole(entry["every_subset_of"], f"{where}.every_subset_of", at_least=1)
    if columns is None and size is None:
        raise PolicyError(f"{where} needs columns, or every_subset_of")
    if roles.whole and columns is not None:
        for column in columns:
            if column not in roles.whole:
                raise PolicyError(
                    f"{where}.columns: {column!r} is not among the quasi-identifiers of roles"
                    f"{nearest(column, roles.whole)}"
                )
    rule = Rule(columns, size, budgets.read(entry["budgets"], f"{where}.budgets"))
    if columns is not None or roles.whole:
        check_subsets(rule, roles.whole, where)
    for budget in rule.budgets:
        whole = isinstance(budget, (MethodBudget, ReleaseBudget, TableBudget))
        if size is not None and whole:
            raise PolicyError(f"{where}: {budget.name} applies to all columns, not to every subset")
    return rule


def check_subsets(rule: Rule, whole: Qid, where: str) -> None:
    """Reject subsets that do not exist, or are too many."""
    n_columns = len(whole if rule.columns is None else rule.columns)
    size = rule.every_subset_of or n_columns
    if size > n_columns:
        raise PolicyError(
            f"{where}.every_subset_of is {size}, but there are only {count_of(n_columns, 'column')}"
        )
    if comb(n_columns, size) > MAX_SUBSETS:
        raise PolicyError(
            f"{where}: {comb(n_columns, size):,} subsets are more than a gate checks "
            f"({MAX_SUBSETS:,})"
        )


# Every doubt: whether it blocks until somebody acknowledges it, and what the column looks like.
DOUBTS: dict[str, tuple[bool, str]] = {
    "email_address": (True, "e-mail addresses"),
    "web_address": (True, "web addresses"),
    "ip_address": (True, "IP addresses, version 4 or 6"),
    "mac_address": (True, "addresses of network cards"),
    "hash": (True, "UUIDs or hashes, except in the unit"),
    "telephone_number": (True, "telephone numbers"),
    "coordinates": (True, "coordinates with four or more decimals"),
    "iban": (True, "IBANs whose check digits agree"),
    "card_number": (True, "numbers of credit cards whose check digit agrees"),
    "national_number": (True, "numbers by which a state identifies a person"),
    "names": (True, "names of people, by a detector of yours"),
    "nearly_unique": (True, "insensitive, and nearly every text or key is different"),
    "many_values": (False, "insensitive, and nearly every measurement or date is different"),
    "free_text": (False, "long texts, which may say anything about anybody"),
    "spellings": (False, "values that differ only by case, spaces or accents"),
    "placeholder": (False, "values that people write for unknown ones"),
    "keys": (False, "keys inside cells that are named like direct identifiers"),
    "nested": (False, "insensitive lists, maps or structs, whose contents are not checked"),
    "birth_date": (False, "insensitive dates that may be dates of birth"),
    "counts": (False, "a table of counts, where a row is not a person"),
    "outlier": (False, "a number so far from all others that it singles out its owner"),
}
_KEYS = ("column", "doubt", "reason")


@dataclass(frozen=True)
class Acknowledged(Document):
    """A doubt about a column that a person has answered.

    Attributes
    ----------
    column : name
        The column.
    doubt : str
        The word of the doubt.
    reason : str
        Why the column may be as it is.
    """

    column: Name
    doubt: str
    reason: str


def read_acknowledged(value: Any, what: str = "acknowledged") -> tuple[Acknowledged, ...]:
    """Read the list of a policy; an unknown doubt, or one without a reason, is refused."""
    if isinstance(value, (list, tuple)) and not value:
        return ()
    made: dict[tuple[Name, str], Acknowledged] = {}
    for i, entry in enumerate(fields.listed(value, what)):
        where = f"{what}[{i}]"
        stated = fields.mapping(entry, where, _KEYS, {})
        for key in _KEYS:
            if key not in stated:
                raise PolicyError(f"{where} has no {key}: it needs {', '.join(_KEYS)}")
        read = Acknowledged(
            fields.name(stated["column"], f"{where}.column"),
            fields.word(stated["doubt"], f"{where}.doubt", tuple(DOUBTS)),
            fields.said(stated["reason"], f"{where}.reason"),
        )
        if (read.column, read.doubt) in made:
            raise PolicyError(f"{where} acknowledges {read.doubt} of {read.column!r} twice")
        made[read.column, read.doubt] = read
    return tuple(made.values())


def wanted_by(policy: Terms) -> Wanted:
    """Return what a policy needs: all columns, since each is examined, and some as numbers."""
    roles = policy.roles
    budgets = [budget for rule in policy.rules for budget in rule.budgets]
    ordered = [budget for budget in budgets if budget.needs_numbers]
    numbers = {name for budget in ordered for name in budget.sensitive or roles.sensitive}
    numbers |= set() if roles.weight is None else {roles.weight}
    return Wanted(None, frozenset(map(str, numbers)), missing=policy.missing)


VERSION = 1
# What becomes of columns that no role names.
UNLISTED = ("refuse", "quasi", "ignore")
_OPTIONAL_COLUMN = {"$ref": "#/$defs/optional_column"}
_TEXT = {"$ref": "#/$defs/text"}
_SHARE = {"$ref": "#/$defs/share"}
_ANSWERS = {"type": "array", "items": {"$ref": "#/$defs/acknowledged"}}
# What stands by itself among keywords, and inside a part in a document.
_PARTS = {"roles": (*LISTS, *SINGLE), "budgets": (*BUDGETS, "rr")}
PART_OF = {key: part for part, keys in _PARTS.items() for key in keys}


def _setting(
    read: Callable[[Any, str], Any], schema: Mapping[str, Any], default: Any = None
) -> Any:
    """Declare a setting: its reader, its JSON Schema, and what it is where nobody says."""
    return field(default=default, metadata={"read": read, "schema": schema})


def _flag(*, default: bool = False) -> Any:
    return _setting(fields.flag, {"type": "boolean"}, default)


def _word(words: Sequence[str], default: str | None = None) -> Any:
    """Declare one of a few words; without a default it may be left out."""
    every = [*words, *([None] if default is None else [])]
    return _setting(partial(fields.word, words=words), {"enum": every}, default)


def _number(read: Callable[[Any, str], Any], schema: Mapping[str, Any]) -> Any:
    return _setting(read, {"oneOf": [schema, {"type": "null"}]})


@dataclass(frozen=True, init=False, repr=False)
class Terms:
    """The roles of columns, the rules and the settings of a `Policy`, which describes them."""

    roles: PolicyRoles
    rules: tuple[Rule, ...]
    name: str | None = _setting(fields.text, _TEXT)
    description: str | None = _setting(fields.text, _TEXT)
    reviewed: bool = _flag(default=True)
    advisory: bool = _flag()
    unlisted: Unlisted = _word(UNLISTED, "refuse")
    missing: MissingOrWildcard = _word(MISSING_OR_WILDCARD, "value")
    missing_sensitive: Missing | None = _word(MISSING)
    max_dropped_fraction: float | None = _number(fields.share, _SHARE)
    dropped_are_removed: bool = _flag()
    by: Name | None = _setting(fields.name, _OPTIONAL_COLUMN)
    suppressed: str | None = _setting(fields.text, _TEXT)
    sampling_fraction: float | None = _number(
        partial(fields.above_zero, at_most=1),
        {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    )
    population_size: int | None = _number(
        partial(fields.whole, at_least=1), {"type": "integer", "minimum": 1}
    )
    unsuppressed: bool = _flag()
    stable_unit: str | None = _setting(fields.said, _TEXT)
    acknowledged: tuple[Acknowledged, ...] = _setting(
        read_acknowledged,
        {
            "description": "Doubts about contents that a person has answered.",
            "oneOf": [_ANSWERS, {"type": "null"}],
        },
        (),
    )
    version: int = VERSION
    drafted: Drafted | None = field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: every setting, whether written or not, in one form.

        Returns
        -------
        dict

        See Also
        --------
        anonrisk.Policy.from_dict : reads it
        anonrisk.Policy.to_json : the same as text

        Examples
        --------
        >>> import anonrisk
        >>> anonrisk.Policy(quasi="zip", k=5).to_dict()["budgets"]
        {'k': {'at_least': 5}}
        """
        whole = [rule for rule in self.rules if rule.columns is None and not rule.every_subset_of]
        others = [rule for rule in self.rules if rule not in whole]
        roles = self.roles.to_dict()
        written: dict[str, Any] = {
            "version": self.version,
            **{setting.name: self._written(setting) for setting in SETTINGS},
            "roles": roles or None,
            "budgets": budgets.written(whole[0].budgets) if whole else None,
            "qids": [rule.to_dict() for rule in others] or None,
        }
        return {key: written[key] for key in KEYS if written[key] is not None}

    def _written(self, setting: Field[Any]) -> Any:
        """Return a setting as a document has it; None where it is left out."""
        value = getattr(self, setting.name)
        # What a flag is by itself goes without saying.
        usual = value == setting.default and not isinstance(value, str)
        if usual:
            return None
        return value if setting.name != "acknowledged" else [each.to_dict() for each in value]

    def to_json(self) -> str:
        """Write it as JSON.

        Returns
        -------
        str

        See Also
        --------
        anonrisk.Policy.from_json : reads it
        anonrisk.Policy.save : writes a file

        Examples
        --------
        >>> import anonrisk
        >>> '"at_least": 5' in anonrisk.Policy(quasi="zip", k=5).to_json()
        True
        """
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def to_yaml(self) -> str:
        """Write it as YAML (needs PyYAML); a draft with its reasons as comments.

        Returns
        -------
        str

        See Also
        --------
        anonrisk.Policy.from_yaml : reads it
        anonrisk.Policy.save : writes a file

        Examples
        --------
        >>> import anonrisk
        >>> "at_least: 5" in anonrisk.Policy(quasi="zip", k=5).to_yaml()
        True
        """
        written = self.to_dict()
        return fields.to_yaml(written) if self.drafted is None else self.drafted.to_yaml(written)

    def save(self, path: str | Path) -> None:
        """Write a file that `load` reads: JSON if it ends in .json, else YAML.

        Parameters
        ----------
        path : str or Path
            Where to write.

        See Also
        --------
        anonrisk.Policy.load : reads it
        anonrisk.Policy.to_yaml : the text alone

        Examples
        --------
        >>> import anonrisk
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     anonrisk.Policy(quasi="zip", k=5).save(Path(folder) / "policy.json")
        ...     [path.name for path in Path(folder).iterdir()]
        ['policy.json']
        """
        fields.to_file(path, self.to_json, self.to_yaml)

    @property
    def digest(self) -> str:
        """SHA-256 of the policy in its one form, by which a verdict names it.

        Examples
        --------
        >>> import anonrisk
        >>> yaml = "{version: 1, budgets: {k: 5}}"
        >>> anonrisk.Policy(k=5).digest == anonrisk.Policy.from_yaml(yaml).digest
        True
        """
        text = canonical(self.to_dict())
        return "sha256:" + hashlib.sha256(text.encode("ascii")).hexdigest()

    @property
    def about_removed(self) -> bool:
        """Whether a check has to be told how many records there were before any was removed."""
        return any(budget.about_removed for rule in self.rules for budget in rule.budgets)

    @property
    def listed(self) -> set[Name]:
        """Every column that the policy names, in whatever place."""
        named = {column for rule in self.rules for column in rule.columns or ()}
        named |= {c for rule in self.rules for b in rule.budgets for c in b.sensitive or ()}
        return {*self.roles.classified, *named, *(() if self.by is None else (self.by,))}


SETTINGS = tuple(setting for setting in dataclass_fields(Terms) if setting.metadata)
_NAMES = [setting.name for setting in SETTINGS]
# Roles stand behind what a policy says of itself.
_ROLES = _NAMES.index("unlisted")
KEYS = ("version", *_NAMES[:_ROLES], "roles", *_NAMES[_ROLES:], "budgets", "qids")


# What stands somewhere else, and where.
_ELSEWHERE = {
    "waivers": "waivers stand in the file of a release",
    "tables": "tables stand in the file of a release, which names its policy",
    "links": "links stand in the file of a release",
    "hierarchies": "hierarchies are given to plan: plan(policy=…, hierarchies={'zip': …})",
    "strict": "say with unlisted what becomes of columns without a role: 'refuse' (the default), "
    "'quasi' or 'ignore'",
}


def refuse_misplaced(document: Mapping[str, Any]) -> None:
    """Reject keys of a document that belong into one of its parts, or elsewhere."""
    mistaken = another_kind(document, "policy")
    if mistaken:
        raise PolicyError(mistaken)
    for key in document.keys() & _ELSEWHERE.keys():
        raise PolicyError(f"the policy has no key {key!r}: {_ELSEWHERE[key]}")
    places: dict[str, str] = {}
    for key in document.keys() - set(KEYS):
        word = key if key in PART_OF else fields.ours(key, ALSO_CALLED)
        if word in PART_OF:
            places[key] = word
    if places:
        first, *_ = (key for key in document if key in places)
        ours = [places[key] for key in document if key in places]
        where = ", ".join(f"{word} under {PART_OF[word]}" for word in ours)
        parts = dict.fromkeys(PART_OF[word] for word in ours)
        raise PolicyError(
            f"the policy has no key {first!r}: write {where}, as in "
            f"{', '.join(fields.WRITTEN[part] for part in parts)}"
        )
    limits = document.get("budgets")
    budgets.refuse_others(
        (key for key in document if key not in KEYS),
        limits if isinstance(limits, dict) else {},
        "the policy",
    )


def nested(keywords: dict[str, Any]) -> dict[str, Any]:
    """Put keywords of roles and budgets where a document has them."""
    results = {key: value for key, value in keywords.items() if key in KEYS}
    for part, keys in _PARTS.items():
        loose = {key: keywords[key] for key in keys if key in keywords}
        if loose:
            argument = results.get(part, {})
            twice = [key for key in loose if isinstance(argument, dict) and key in argument]
            if twice:
                raise PolicyError(f"{twice[0]} is given twice, by itself and in {part}")
            results[part] = {**argument, **loose} if isinstance(argument, dict) else argument
    for key in keywords.keys() & _ELSEWHERE.keys():
        raise PolicyError(f"a policy has no key {key!r}: {_ELSEWHERE[key]}")
    known = (*KEYS, *PART_OF)
    budgets.refuse_others((key for key in keywords if key not in known), keywords, "a policy")
    for key in keywords:
        if key not in known:
            raise PolicyError(f"a policy has no key {key!r}{fields.meant(key, known, ALSO_CALLED)}")
    results.setdefault("version", VERSION)
    return results


def read_terms(value: dict[str, Any]) -> dict[str, Any]:
    """Check a whole document before any data is read."""
    _check_version(value["version"])
    roles = read_roles(value.get("roles"))
    settings = {setting.name: _read(setting, value) for setting in SETTINGS}
    _check_dropping(settings)
    rules = read_rules(value, roles)
    _check_together(settings, roles, rules)
    return {"version": VERSION, "roles": roles, "rules": rules, **settings}


def _read(setting: Field[Any], argument: dict[str, Any]) -> Any:
    """Read a setting; one that may be left out may also be nothing."""
    value = argument.get(setting.name)
    if value is None and (setting.name not in argument or setting.default in (None, ())):
        return setting.default
    return setting.metadata["read"](value, setting.name)


def _check_version(value: Any) -> None:
    if value is None:
        raise PolicyError(f"the policy needs version: {VERSION}: write that as its first line")
    if isinstance(value, bool) or value != VERSION:
        raise PolicyError(
            f"version must be {VERSION}, the only version that this library reads: write "
            f"version: {VERSION}"
        )


def _check_dropping(settings: dict[str, Any]) -> None:
    limited = settings["max_dropped_fraction"] is not None
    drops = settings["missing"] == "drop"
    if drops and not limited:
        raise PolicyError(
            "missing: drop needs max_dropped_fraction, the share of the rows that may be left out"
        )
    if limited and not drops and settings["missing_sensitive"] != "drop":
        raise PolicyError(
            "max_dropped_fraction belongs to missing: drop or missing_sensitive: drop"
        )
    if settings["dropped_are_removed"] and not drops:
        raise PolicyError("dropped_are_removed belongs to missing: drop")


def _check_together(settings: dict[str, Any], roles: PolicyRoles, rules: tuple[Rule, ...]) -> None:
    """Reject what is right by itself and wrong together."""
    covered = {column for rule in rules for column in (rule.columns or roles.whole)}
    loose = [column for column in roles.whole if column not in covered]
    if loose:
        raise PolicyError(
            f"quasi-identifier {loose[0]!r} has no budget: it is in no entry of qids; "
            "name it there, or add budgets for all quasi-identifiers together"
        )
    if settings["advisory"]:
        _check_advisory(rules)
    _check_by(settings["by"], roles, rules)
    every = [budget.key for rule in rules for budget in rule.budgets]
    if settings["stable_unit"] is not None and "differencing" not in every:
        raise PolicyError("stable_unit belongs to the budget differencing")
    _check_sampling(settings, roles)
    others = (*roles.sensitive, *roles.direct, *roles.insensitive, roles.unit)
    for rule in rules:
        for column in rule.columns or ():
            if column in others:
                raise PolicyError(f"column {column!r} of qids has another role in roles")
        for budget in rule.budgets:
            _check_sensitive(budget, roles)


def _check_advisory(rules: tuple[Rule, ...]) -> None:
    every = [budget for rule in rules for budget in rule.budgets]
    decisive = next((b for b in every if b.severity == "fail" and not b.vacuous), None)
    if decisive is not None:
        raise PolicyError(
            f"advisory: true says that no limit decides, and {decisive.name} does: give it "
            "severity: warn, or leave advisory out"
        )
    if not every:
        raise PolicyError(
            "advisory: true says that no limit decides, and there is none: leave it out"
        )


def _check_sampling(settings: dict[str, Any], roles: PolicyRoles) -> None:
    said = [settings[name] for name in ("sampling_fraction", "population_size", "unsuppressed")]
    if not any(said):
        return
    # Few policies are about samples, and predictions take long to load.
    from anonrisk.predict.sample_risk import Sampling

    try:
        sampling = Sampling(*said)
    except ArgumentError as error:
        raise PolicyError(str(error)) from None
    if sampling.known and roles.weight is not None:
        raise PolicyError("give a sampling_fraction or a weight, not both")
    if settings["by"] is not None and sampling.known and sampling.fraction is None:
        raise PolicyError(
            "by needs a sampling_fraction: population_size is not the number of people in a group"
        )


def _check_by(by: Name | None, roles: PolicyRoles, rules: tuple[Rule, ...]) -> None:
    if by is None:
        return
    if by in (roles.unit, roles.weight):
        raise PolicyError(f"by: {by!r} is a unit or weight, not a group")
    for budget in (budget for rule in rules for budget in rule.budgets):
        if not budget.takes_by:
            raise PolicyError(f"{budget.name} applies to a whole table and takes no by")


def _check_sensitive(budget: Budget, roles: PolicyRoles) -> None:
    for column in budget.sensitive or ():
        if roles.sensitive and column not in roles.sensitive:
            raise PolicyError(
                f"{budget.name}.sensitive: {column!r} is not among the sensitive columns of roles"
                f"{nearest(column, roles.sensitive)}"
            )
