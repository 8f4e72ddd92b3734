"""A summary as Markdown, for a ticket or a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.core.render import markdown_table, markdown_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


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
