"""How a report writes names, numbers and people, and a summary as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import (
    count_of,
    escaped,
    markdown_table,
    markdown_text,
    named,
    percent,
    shown,
    visible,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from anonrisk.api.class_sizes import ClassSizes
    from anonrisk.core.columns import Name
    from anonrisk.reporting.measured import Measured

# A count of fewer people may point at them.
FLOOR = 5
# However long names are, a page stays small.
_LONGEST_NAME, _LONGEST = 200, 2_000
_MOST_LINES = 60
# Names of a quasi-identifier that a sentence lists.
_MOST_LISTED = 8


def cut(text: object, longest: int = _LONGEST, *, lines: bool = False) -> str:
    """Escape a text, and shorten it where it is too long to be read; `lines` keeps its lines."""
    rows = str(text).splitlines()[:_MOST_LINES]
    summary = escaped("\n".join(rows), but="\n") if lines else shown(text)
    return summary if len(summary) <= longest else f"{summary[: longest - 1]}…"


def name_of(name: Name) -> str:
    """Write the name of a column."""
    return cut(visible(name), _LONGEST_NAME)


def and_more(names: Sequence[str], most: int) -> str:
    """List the first names, and say how many there are beside."""
    more = len(names) - most
    lines = list(names[:most]) + ([f"{more:,} more"] if more > 0 else [])
    return lines[0] if len(lines) == 1 else f"{', '.join(lines[:-1])} and {lines[-1]}"


def listed(names: Iterable[Name]) -> str:
    """Write a quasi-identifier as a list in a sentence.

    Examples
    --------
    >>> listed(["pc4", "year_of_birth", "gender"])
    'pc4, year_of_birth and gender'
    """
    return and_more([named(name) for name in names], _MOST_LISTED)


def one_in(risk: float) -> str:
    """Write a chance as people say it.

    Examples
    --------
    >>> one_in(1.0), one_in(0.4), one_in(1 / 1234), one_in(0.0)
    ('1 in 1', '1 in 2.5', '1 in 1,234', 'none')
    """
    if risk <= 0:
        return "none"
    n = 1 / risk
    return f"1 in {n:.3g}" if n < 10 else f"1 in {n:,.0f}"


def number(value: float) -> str:
    """Write a score: whole numbers as such, others with three digits after the point at most.

    Examples
    --------
    >>> number(3), number(3.0), number(0.12345), number(5e-11), number(float("inf"))
    ('3', '3', '0.123', 'less than 0.001', 'without bound')
    """
    if value == float("inf"):
        return "without bound"
    if 0 < value < 0.001:
        return "less than 0.001"
    return f"{value:,.3f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class People:
    """Who a report counts, and what it calls them."""

    sizes: ClassSizes | None
    noun: str
    # The k that the policy asks for, of several the largest; where F comes from, of the risks.
    k: int | None
    basis: str

    @classmethod
    def of(cls, measured: Measured) -> People:
        """Take the words from the unit, and k from the limits."""
        noun = "record" if measured.verdict.unit is None else "person"
        of_k = [finding.limit for finding in measured.verdict.findings if finding.budget == "k"]
        of_k += [finding.parameters.get("k") for finding in measured.verdict.findings]
        stated = [int(k) for k in of_k if k is not None] if measured.judged else []
        basis = "release" if measured.risk is None else measured.risk.basis
        return cls(measured.sizes, noun, max(stated, default=None), basis)

    @property
    def plural(self) -> str:
        """What several of them are called."""
        return f"{self.noun}s"

    @property
    def size(self) -> str | None:
        """How many there are."""
        return None if self.sizes is None else f"{self.sizes.n_records:,}"

    def count(self, number: int) -> str:
        """Write a number of them."""
        return count_of(number, self.noun)

    def below(self, sizes: ClassSizes, k: int) -> tuple[int | None, float | None]:
        """Count those in classes smaller than k, and their share.

        None where they are fewer than the floor, in however many classes: were it only in one,
        not to be told would mean to be the only one who is alone. Whoever is the whole table is
        told of.
        """
        people = sizes.records_below(k)
        if 0 < people < FLOOR and sizes.n_records > 1:
            return None, None
        return people, people / sizes.n_records

    @staticmethod
    def few(sizes: ClassSizes) -> str:
        """Return what stands for a number that is not told: of three, fewer than five are all."""
        return "some" if sizes.n_records < FLOOR else f"fewer than {FLOOR}"

    def share_text(self, people: int | None, sizes: ClassSizes) -> str:
        """Write how many of all that is."""
        whole = self.count(sizes.n_records)
        if people is None:
            return f"{self.few(sizes).capitalize()} of {whole}"
        return f"{people:,} of {whole} ({percent(people / sizes.n_records)})"

    def alone_sentence(self) -> str:
        """Return how many are alone with their combination."""
        if self.sizes is None:
            return "Nothing could be counted."
        people, _ = self.below(self.sizes, 2)
        who = "Nobody" if people == 0 else self.share_text(people, self.sizes)
        be = "is" if people in (0, 1) else "are"
        return f"{who} {be} alone with their {listed(self.sizes.qid)}."

    def hidden_sentence(self, sizes: ClassSizes, k: int) -> str:
        """Return how many are in classes smaller than k."""
        few, _ = self.below(sizes, k)
        who = "Nobody" if few == 0 else self.share_text(few, sizes)
        return f"{who} {'hides' if few in (0, 1) else 'hide'} among fewer than {k:,}."


def markdown(summary: dict[str, Any]) -> str:
    """Write what a summary says; names cannot leave their place."""
    return "\n".join(_blocks(summary)).rstrip() + "\n"


def _blocks(summary: dict[str, Any]) -> Iterator[str]:
    verdict = summary["verdict"]
    yield f"# {markdown_text(summary['masthead']['title'])}\n"
    yield from _facts(summary["masthead"]["facts"])
    yield f"\n## {verdict['sign']} {verdict['word']}\n"
    yield f"**{markdown_text(verdict['headline'])}**\n"
    yield from (f"{markdown_text(text)}\n" for text in verdict["notes"])
    if verdict["next"]:
        yield "What next:\n"
        yield from (f"- {markdown_text(text)}" for text in verdict["next"])
    if "release" in summary:
        yield from _release(summary["release"])
    if "behind" not in summary:
        return
    yield from _columns(summary["covers"], summary["columns"])
    yield from _budgets(summary["budgets"])
    yield from _classes(summary["classes"])
    yield from _drivers(summary["drivers"])
    yield from _attackers(summary["attackers"])
    yield from _sensitive(summary["sensitive"])
    yield from _population(summary["population"])
    yield from _groups(summary["groups"])
    for text in summary["more"]:
        yield "\n" + "\n".join(f"    {line}" for line in text.splitlines())
    yield "\n## How this was made\n"
    yield from _facts(summary["made"])
    yield f"\n{markdown_text(summary['never_shown'])}"


def _release(document: dict[str, Any]) -> Iterator[str]:
    if document["findings"]:
        yield from _heading("All tables together")
        yield from map(_limit, document["findings"])
    for item in document["tables"]:
        yield from _heading(f"{item['name']}: {item['sign']} {item['word']}")
        yield from _facts(item["facts"])
        yield ""
        yield from map(_limit, item["rows"])
        yield from _more(item["more"], "limits")
        yield from (f"- {markdown_text(line)}" for line in item["covers"])
    yield from _more(document["more"], "tables")
    if document["waivers"]:
        yield from _heading("Waivers")
        keys = ("budget", "table", "reason", "owner", "expires", "needed")
        yield markdown_table(keys, [[item[key] for key in keys] for item in document["waivers"]])
    if document["approvals"]["asked"]:
        value = document["approvals"]["given"]
        yield from _heading(f"{len(value)} of {document['approvals']['asked']} approvals")
        yield from (
            f"- {markdown_text(item['by'])}, {markdown_text(item['key'])}" for item in value
        )
    if not document["chain"]:
        yield from _heading("What was published before", document["no_chain"])
    else:
        earlier = ", ".join(map(markdown_text, document["chain"]["earlier"])) or "none"
        yield from _heading("What was published before")
        yield f"- Compared: {earlier}"
        if document["chain"]["separate"]:
            separate = map(markdown_text, document["chain"]["separate"])
            yield f"- Declared separate: {', '.join(separate)}"
        yield f"- End of the chain: {markdown_text(document['chain']['head'])}"


def _limit(row: dict[str, Any]) -> str:
    used = f" ({row['used_text']})" if row["used_text"] else ""
    return f"- {row['sign']} {row['word']}: {markdown_text(row['sentence'])}{markdown_text(used)}"


def _facts(facts: Sequence[dict[str, str]]) -> Iterator[str]:
    yield from (
        f"- {markdown_text(fact['label'])}: {markdown_text(fact['text'])}" for fact in facts
    )


def _columns(lines: Sequence[str], groups: Sequence[dict[str, Any]]) -> Iterator[str]:
    if lines or groups:
        yield "\n## What this covers\n"
    yield from (f"- {markdown_text(line)}" for line in lines)
    for group in groups:
        more = f" and {group['more']:,} more" if group["more"] else ""
        mark = "" if group["looked_at"] else "⚠ "
        seen_by = f" ({markdown_text(group['seen_by'])})" if group["seen_by"] else ""
        names = f"{', '.join(map(markdown_text, group['names']))}{more}"
        yield f"- {mark}{markdown_text(group['label'])}: {names}{seen_by}"


def _heading(title: str, note: str | None = None) -> Iterator[str]:
    yield f"\n## {markdown_text(title)}\n"
    if note:
        yield f"{markdown_text(note)}\n"


def _more(number: int, what: str) -> Iterator[str]:
    if number:
        yield f"\nAnd {number:,} more {what}, not shown."


def _budgets(document: dict[str, Any] | None) -> Iterator[str]:
    if document:
        yield from _heading(document["title"], document["note"])
        yield from map(_limit, document["rows"])
        yield from _more(document["more"], "limits")


def _classes(document: dict[str, Any] | None) -> Iterator[str]:
    if document:
        yield from _heading(document["title"], document["note"])
        rows = [
            (row["label"], row["people_text"], row["share_text"], "yes" if row["too_few"] else "")
            for row in document["rows"]
        ]
        yield markdown_table(
            ("Class of", document["people"].capitalize(), "Share", "Too small"), rows
        )


def _drivers(document: dict[str, Any] | None) -> Iterator[str]:
    if document:
        yield from _heading(document["title"], document["note"])
        yield f"Now {markdown_text(document['now_text'])}.\n"
        rows = [(row["name"], row["share_text"]) for row in document["rows"]]
        yield markdown_table(("Left out", "Then"), rows)
        yield from _more(document["more"], "columns")


def _attackers(document: dict[str, Any] | None) -> Iterator[str]:
    if document:
        yield from _heading("What an attacker can do")
        for row in document["rows"]:
            yield f"- {row['title']}: {markdown_text(row['sentence'])}"
        if document["note"]:
            yield f"\n{markdown_text(document['note'])}"


def _sensitive(document: dict[str, Any] | None) -> Iterator[str]:
    if document:
        yield from _heading("Sensitive columns", document["note"])
        rows = [
            (column["name"], row["name"], row["text"])
            for column in document["columns"]
            for row in (*column["rows"], *column["rest"])
        ]
        yield markdown_table(("Column", "Measure", "Of the worst class"), rows)
        yield from _more(document["more"], "sensitive columns")


def _population(document: dict[str, Any] | None) -> Iterator[str]:
    if document:
        yield from _heading("The population behind the table", document["sentence"])
        models = document.get("models") or []
        if models:
            rows = [(model["name"], model["share_text"], model["note"]) for model in models]
            yield markdown_table(("Model", "Unique", "Note"), rows)


def _groups(document: dict[str, Any] | None) -> Iterator[str]:
    if document:
        yield from _heading("Smaller groups", document["sentence"])
        rows = [
            (row["size_text"], row["share_text"], row["range_text"]) for row in document["rows"]
        ]
        yield markdown_table(("Group of", "Alone", "95% between"), rows)
