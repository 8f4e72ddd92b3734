"""What to do next: commands that exist, with the names that were given."""

from __future__ import annotations

import shlex
from argparse import Namespace
from dataclasses import replace
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING

from anonrisk.cli.options import sample_of
from anonrisk.cli.output import RESULTS
from anonrisk.core.render import WIDTH, folded
from anonrisk.engines.reading.files import without_values
from anonrisk.policy.budgets.credibility import CredibilityBudget
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from anonrisk.cli.source import Source
    from anonrisk.core.columns import Qid
    from anonrisk.planning.plan import Plan
    from anonrisk.policy.trial import PlanTrial, Trials
    from anonrisk.policy.verdict import Verdict
    from anonrisk.releases.release.verdict import ReleaseVerdict

_PAGE = "report.html"
_DRAFT = "draft.yaml"
_PLAN = "plan.json"
_REMARK = "  # "
_PYTHON = "df.anon."
# A plan in a file does not know how it was searched for, nor does the table that it makes.
_JUDGED = f"{_REMARK}judges credibility too, and writes what passes"
_KEEP = f"{_REMARK}--leavers keep --previous RELEASE costs less, with the files of the last release"
_PUT_BACK = "with the value of the partition in place of …"


def next_steps(
    verdict: Verdict,
    args: Namespace,
    source: Source,
    trials: Trials | None = None,
    helps: PlanTrial | None = None,
) -> list[str]:
    """List the commands that help with a verdict, ready for a shell.

    A plan that `trials` finds to be of no help is left out; without, it was not tried. One that
    `helps` and that no other command finds is saved by the check itself.
    """
    status = replace(verdict, fail_on=args.fail_on).status
    if status == COULD_NOT_ASSESS:
        return _ready(_compared(verdict, args, source), args)
    failed: list[str] = []
    if status == FAIL and replace(verdict, fail_on=args.fail_on).fails_as_stored:
        failed = [*_cleaned(args, source)]
    elif status == FAIL:
        plans = [] if args.save_plan else [*_plans(verdict, args, source, trials)]
        failed = [*(plans or _saved(args, source, helps)), *_explained(args, source)]
        if any(finding.status == COULD_NOT_ASSESS for finding in verdict.failures):
            # What no plan settles, as a column without a role.
            failed += _compared(verdict, args, source)
    return _ready([*failed, *_page(args, source)], args)


def to_check(args: Namespace, policy: str) -> list[str]:
    """List the command that checks the table by its policy."""
    return _ready([shlex.join(["anonrisk", "check", *_table(args), "--policy", policy])], args)


def after_plan(args: Namespace, plan: Plan, n_original: int | None) -> list[str]:
    """List the command that stores a plan, applies a stored one, or checks what it has made.

    A policy that is about removed records has to be told `n_original`.
    """
    policy = [] if args.policy is None else ["--policy", args.policy]
    decides = (b.budget for b in plan.budgets if b.severity == "fail")
    to = _coarse(args)
    if CredibilityBudget.key in decides:
        judged = shlex.join(["anonrisk", "plan", *args.words, "--apply", to]) + _JUDGED
        return [] if args.apply is not None else _ready([judged], args)
    if args.output is None and args.apply is None:
        words = ["anonrisk", "plan", *args.words, "--output", plan.file_name]
    elif args.apply is None:
        return applied(args, args.output, to)
    elif policy:
        removed = [] if n_original is None else ["--n-original", str(n_original)]
        words = ["anonrisk", "check", args.apply, *policy, *removed]
    else:
        unit = [] if args.unit is None else [f"--unit={args.unit}"]
        words = ["anonrisk", "measure", args.apply, *_option("--qids", args.qids or ()), *unit]
    return _ready([shlex.join(words)], args)


def _coarse(args: Namespace) -> str:
    """Name the changed table after the one that was read."""
    first = Path(args.table[0])
    # A folder, a pattern or a pipe has no name that another file could be called by.
    stem = first.name.partition(".")[0] if first.suffix and not has_magic(first.name) else ""
    return f"{stem or 'table'}-coarse.csv"


def applied(args: Namespace, plan: str, to: str) -> list[str]:
    """List the command that applies the plan of a file to the table."""
    trees = _option("--hierarchies", [f"{name}={path}" for name, path in args.hierarchies])
    policy = [] if args.policy is None else ["--policy", args.policy]
    words = ["anonrisk", "apply", plan, *_table(args), *trees, *policy, "-o", to]
    return _ready([shlex.join(words)], args)


def after_release(args: Namespace, verdict: ReleaseVerdict) -> list[str]:
    """List what explains a table that fails by itself, and what holds persons back."""
    from anonrisk.releases.release.mend import fails_alone
    from anonrisk.releases.release.parts import from_file, policy_places

    if verdict.status != FAIL:
        return []
    steps, tables, places = [], from_file(args.release)["tables"], policy_places(args.release)
    for name in fails_alone(verdict):
        files = tables[name]
        table = Namespace(**vars(files.text), format=files.format, policy=places[name])
        table.table = [str(files.folder / path) for path in files.paths]
        table.dtypes = files.text.dtypes.items()
        words = ["anonrisk", "check", "--explain", *_table(table), "--policy", places[name]]
        steps += _ready([shlex.join(words)], table)
    changed = any(f.budget == "differencing" and f.status == FAIL for f in verdict.failures)
    if args.ledger is not None and changed:
        said = {name: getattr(args, name) for name in ("ledger", "head", "key_env", "key_file")}
        words = [f"--{name.replace('_', '-')}={value}" for name, value in said.items() if value]
        words += [f"--key-part={part}" for part in args.key_part or ()]
        words += ["--key-shared"] if args.key_shared else []
        start = ["anonrisk", "release", "mend", args.release, "--leavers", "drop"]
        steps += _ready([shlex.join([*start, *words, "-o", "mended"]) + _KEEP], args)
    return steps


def _ready(commands: Iterable[str], args: Namespace) -> list[str]:
    """Make commands ready for a shell.

    One that would hold a control character is left out: it could not be pasted. The values of
    partitions are cells, and are left out of paths.
    """
    return [_without_values(command, args) for command in commands if command.isprintable()]


def _compared(verdict: Verdict, args: Namespace, source: Source) -> Iterator[str]:
    """Compare the policy with the columns, and draft one where columns have no role."""
    for command, start in ((name, source.starts(name)) for name in ("lint", "draft")):
        if start is None:
            continue
        if command == "lint":
            yield shlex.join([*start, args.policy, *_table(args)])
        elif any(finding.budget == "unlisted" for finding in verdict.all_findings):
            yield shlex.join([*start, *_table(args), "-o", _DRAFT])


def _without_values(command: str, args: Namespace) -> str:
    """Leave the values of partitions out of a command, and say so."""
    said, mark, remark = command.partition(_REMARK)
    if said.startswith(_PYTHON):
        return command
    words = shlex.split(said)
    masked = [_masked(word, {*_paths(args)}) for word in words]
    if masked == words:
        return command
    return f"{shlex.join(masked)}{_REMARK}{remark}{mark and '; '}{_PUT_BACK}"


def _masked(word: str, paths: set[str]) -> str:
    option, tie, value = word.partition("=") if word.startswith("-") else ("", "", word)
    return f"{option}{tie}{without_values(value)}" if value in paths else word


def _paths(args: Namespace) -> Iterator[str]:
    """List what the command line says of files; other words may have a = of their own."""
    for name in ("table", "input", "population", "against", "policy", "draft", "apply", *RESULTS):
        value = getattr(args, name, None)
        yield from [value] if isinstance(value, str) else value or ()


def as_text(commands: Iterable[str]) -> str:
    """Return commands as the end of a text; nothing if there are none."""
    lines = [line for command in commands for line in _lines(command)]
    return "\n".join(("", "", "What next:", *lines)) if lines else ""


def _lines(command: str) -> list[str]:
    """Break a command as a shell takes it again, a remark about it first."""
    said, _, remark = command.partition(_REMARK)
    above = folded(f"  # {remark}", indent="  # ") if remark else []
    if len(said) + 2 <= WIDTH:
        return [*above, f"  {said}"]
    if said.startswith(_PYTHON):
        return [*above, *folded(f"  {said}", indent="    ")]
    lines = [" "]
    for word in map(shlex.quote, shlex.split(said)):
        # Room for the sign that the line goes on.
        if len(lines[-1]) + len(word) + 3 > WIDTH:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {word}"
    return [*above, *lines]


def _cleaned(args: Namespace, source: Source) -> Iterator[str]:
    """Write a file anew; of several, the finding says that each is."""
    start, first = source.starts("clean"), Path(args.table[0])
    if start is not None and len(args.table) == 1 and first.suffix and not has_magic(first.name):
        kind = [] if args.format is None else [f"--format={args.format}"]
        # Not beside it: folders may be named after cells.
        yield shlex.join([*start, *args.table, f"{first.stem}-clean{first.suffix}", *kind])


def _plans(
    verdict: Verdict, args: Namespace, source: Source, trials: Trials | None
) -> Iterator[str]:
    """Plan for the policy; where the command line says otherwise, for the k that would do."""
    if not _beyond_policy(args):
        doubt = any(finding.status == COULD_NOT_ASSESS for finding in verdict.all_findings)
        # What nobody can tell of the table may be known of what a plan makes of it.
        if not doubt or trials is not None:
            trial = None if trials is None else trials.of_policy()
            yield from _worth(_for_policy(args, source), trial)
        return
    deciding = (*verdict.failures, *(verdict.warnings if args.fail_on == "warn" else ()))
    sizes: dict[Qid, int] = {}
    for finding in deciding:
        k = finding.enough_k
        # A plan knows no groups.
        if k is not None and finding.status == FAIL and finding.qid and finding.group is None:
            sizes[finding.qid] = max(k, sizes.get(finding.qid, 1))
    for qid, k in sizes.items():
        trial = None if trials is None else trials.of_k(qid, k, verdict.unit)
        start = source.starts("plan")
        if start is None:
            yield from _worth(f"{_PYTHON}plan({list(qid)!r}, k={k}){_REMARK}in Python", trial)
        else:
            unit = [] if verdict.unit is None else [f"--unit={verdict.unit}"]
            words = [*start, *_table(args), *_option("--qids", map(str, qid)), *unit]
            yield from _worth(shlex.join([*words, "--k", str(k), "-o", _PLAN]), trial)


def _worth(command: str, trial: PlanTrial | None) -> Iterator[str]:
    """Yield the command of a plan with its outcome; nothing where the table would still fail."""
    mark = "; " if _REMARK in command else _REMARK
    if trial is None:
        yield f"{command}{mark}not tried: --explain tries it"
    elif trial.passed:
        from anonrisk.policy.trial import passes

        yield f"{command}{mark}{passes(trial.result)}"


def _beyond_policy(args: Namespace) -> bool:
    """Return whether the command line says what a plan for the policy would not know."""
    said = (args.qids, args.sensitive, args.unit, args.missing, args.unlisted)
    return any(item is not None for item in said) or bool(sample_of(args))


def _for_policy(args: Namespace, source: Source) -> str:
    start = source.starts("plan")
    if start is None:
        return f"{_PYTHON}plan(policy={args.policy!r}){_REMARK}in Python"
    return shlex.join([*start, *_table(args), "--policy", args.policy, "-o", _PLAN])


def _explained(args: Namespace, source: Source) -> Iterator[str]:
    start = source.starts("check")
    if start is not None and not args.explain:
        yield shlex.join([*start, "--explain", *args.words])


def _saved(args: Namespace, source: Source, helps: PlanTrial | None) -> Iterator[str]:
    """Save the plan that the check found, or apply the one that it saved."""
    start = source.starts("check" if args.save_plan is None else "apply")
    if helps is None or start is None:
        return
    if args.save_plan is None:
        yield from _worth(shlex.join([*start, *args.words, "--save-plan", _PLAN]), helps)
    else:
        words = [*start, args.save_plan, *_table(args), "-o", _coarse(args)]
        yield from _worth(shlex.join(words), helps)


def _page(args: Namespace, source: Source) -> Iterator[str]:
    start = source.starts("report")
    # A page knows none of these, and would tell something else.
    beyond = any(
        getattr(args, name) is not None for name in ("population", "n_original", "unlisted")
    )
    if start is None or beyond or args.fail_on == "warn":
        return
    yield shlex.join([*start, *_judged(args), "-o", _PAGE])


def explain_command(args: Namespace, source: Source) -> str | None:
    """Return the command that explains what a page says; of a shell that can take it."""
    start = source.starts("check")
    words = [] if start is None else [shlex.join([*start, "--explain", *_judged(args)])]
    # What is not complete is not run as it is.
    return next((item for item in _ready(words, args) if _REMARK not in item), None)


def _judged(args: Namespace) -> list[str]:
    """Return the words for the table, the policy, and the columns that are said in its place."""
    columns = [*_option("--qids", args.qids or ()), *_option("--sensitive", args.sensitive or ())]
    columns += [f"--{name}={value}" for name in ("unit", "missing")
                if (value := getattr(args, name)) is not None]  # fmt: skip
    return [*_table(args), "--policy", args.policy, *columns]


def _table(args: Namespace) -> list[str]:
    """Return the words that name the table, and how it is written."""
    said = {"--format": args.format, "--sep": args.sep, "--encoding": args.encoding}
    written = [f"{option}={value}" for option, value in said.items() if value is not None]
    dtypes = [f"{column}={kind}" for column, kind in args.dtypes]
    return [*args.table, *written, *_option("--na", args.na), *_option("--dtypes", dtypes)]


def _option(option: str, values: Iterable[str]) -> list[str]:
    """Write an option with its values; those that look like options are tied to it."""
    values = list(values)
    plain = [value for value in values if not value.startswith("-")]
    tied = [f"{option}={value}" for value in values if value.startswith("-")]
    return [*([option, *plain] if plain else ()), *tied]
