"""What to do after a gate has failed: commands that exist, with the names that were given."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from anonrisk.cli.options import sample_of
from anonrisk.cli.output_paths import RESULTS
from anonrisk.core.render import WIDTH, folded
from anonrisk.engines.reading.files import without_values
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from anonrisk.cli.source import Source
    from anonrisk.core.columns import Qid
    from anonrisk.policy.verdict import Verdict

_PAGE = "report.html"
_REMARK = "  # "
_PYTHON = "df.anon."
_PUT_BACK = "with the value of the partition in place of …"


def next_steps(verdict: Verdict, given: argparse.Namespace, source: Source) -> list[str]:
    """List the commands that help with what failed, ready for a shell.

    A command that would hold a control character is left out: it could not be pasted. The values
    of partitions are cells, and are left out of paths.
    """
    made = [*_plans(verdict, given, source), *_explained(given, source), *_page(given, source)]
    return [_without_values(command, given) for command in made if command.isprintable()]


def _without_values(command: str, given: argparse.Namespace) -> str:
    """Leave the values of partitions out of a command, and say so."""
    said, mark, remark = command.partition(_REMARK)
    if said.startswith(_PYTHON):
        return command
    words = shlex.split(said)
    masked = [_masked(word, {*_paths(given)}) for word in words]
    if masked == words:
        return command
    return f"{shlex.join(masked)}{_REMARK}{remark}{mark and '; '}{_PUT_BACK}"


def _masked(word: str, paths: set[str]) -> str:
    option, tie, value = word.partition("=") if word.startswith("-") else ("", "", word)
    return f"{option}{tie}{without_values(value)}" if value in paths else word


def _paths(given: argparse.Namespace) -> Iterator[str]:
    """List what the command line says of files; other words may have a = of their own."""
    for name in ("table", "input", "population", "against", "policy", *RESULTS):
        value = getattr(given, name, None)
        yield from [value] if isinstance(value, str) else value or ()


def as_text(commands: Iterable[str]) -> str:
    """Return commands as the end of a text; nothing if there are none."""
    lines = [line for command in commands for line in _lines(command)]
    return "\n".join(("", "", "What next:", *lines)) if lines else ""


def _lines(command: str) -> list[str]:
    """Break a command as a shell takes it again, a remark about it first."""
    said, _, remark = command.partition(_REMARK)
    above = [f"  # {remark}"] if remark else []
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


def _plans(verdict: Verdict, given: argparse.Namespace, source: Source) -> Iterator[str]:
    """Plan for the policy; where the command line says otherwise, for the k that would do."""
    if not _beyond_policy(given):
        if not any(finding.status == COULD_NOT_ASSESS for finding in verdict.all_findings):
            yield _for_policy(given, source)
        return
    deciding = (*verdict.failures, *(verdict.warnings if given.fail_on == "warn" else ()))
    sizes: dict[Qid, int] = {}
    for finding in deciding:
        k = finding.enough_k
        # A plan knows no groups.
        if k is not None and finding.status == FAIL and finding.qid and finding.group is None:
            sizes[finding.qid] = max(k, sizes.get(finding.qid, 1))
    for qid, k in sizes.items():
        start = source.starts("plan")
        if start is None:
            yield f"{_PYTHON}plan({list(qid)!r}, k={k}){_REMARK}in Python"
        else:
            unit = [] if verdict.unit is None else [f"--unit={verdict.unit}"]
            words = [*start, *_table(given), *_option("--qids", map(str, qid)), *unit]
            yield shlex.join([*words, "--k", str(k)])


def _beyond_policy(given: argparse.Namespace) -> bool:
    """Return whether the command line says what a plan for the policy would not know."""
    said = (given.qids, given.sensitive, given.unit, given.missing, given.unlisted)
    return any(one is not None for one in said) or bool(sample_of(given))


def _for_policy(given: argparse.Namespace, source: Source) -> str:
    start = source.starts("plan")
    if start is None:
        return f"{_PYTHON}plan(policy={given.policy!r}){_REMARK}in Python"
    return shlex.join([*start, *_table(given), "--policy", given.policy])


def _explained(given: argparse.Namespace, source: Source) -> Iterator[str]:
    start = source.starts("check")
    if start is not None and not given.explain:
        yield shlex.join([*start, "--explain", *given.words])


def _page(given: argparse.Namespace, source: Source) -> Iterator[str]:
    start = source.starts("report")
    # A page knows none of these, and would tell something else.
    beyond = any(
        getattr(given, name) is not None for name in ("population", "n_original", "unlisted")
    )
    if start is None or beyond or given.fail_on == "warn":
        return
    columns = [*_option("--qids", given.qids or ()), *_option("--sensitive", given.sensitive or ())]
    columns += [f"--{name}={value}" for name in ("unit", "missing")
                if (value := getattr(given, name)) is not None]  # fmt: skip
    words = [*_table(given), "--policy", given.policy, *columns, "--html", _PAGE]
    yield shlex.join([*start, *words])


def _table(given: argparse.Namespace) -> list[str]:
    """Return the words that name the table, and how it is written."""
    said = {"--format": given.format, "--sep": given.sep, "--encoding": given.encoding}
    written = [f"{option}={value}" for option, value in said.items() if value is not None]
    dtypes = [f"{column}={kind}" for column, kind in given.dtypes]
    return [*given.table, *written, *_option("--na", given.na), *_option("--dtypes", dtypes)]


def _option(option: str, values: Iterable[str]) -> list[str]:
    """Write an option with its values; those that look like options are tied to it."""
    values = list(values)
    plain = [value for value in values if not value.startswith("-")]
    tied = [f"{option}={value}" for value in values if value.startswith("-")]
    return [*([option, *plain] if plain else ()), *tied]
