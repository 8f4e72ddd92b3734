"""A page for people who decide: what was measured of a table, as one file of HTML.

The page needs no other file and no network, and no cell of the table is on it.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from anonrisk._version import __version__
from anonrisk.api.assess import MEANINGS
from anonrisk.core import render
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, PASS

if TYPE_CHECKING:
    from anonrisk.api.assessment import Assessment
    from anonrisk.api.class_sizes import ClassSizes
    from anonrisk.policy.verdict import Verdict

_TITLE = "Who can be singled out"
_STATUS = {
    PASS: "Pass: no budget that decides is broken",
    FAIL: "Fail: this table must not be published as it is",
    COULD_NOT_ASSESS: "Could not assess: this is no pass",
}
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem;
  color: #1b1f24; background: #fff }
h1 { font-size: 1.7rem; margin: 0 } h2 { font-size: 1.2rem; margin: 2.2rem 0 .5rem }
.status { padding: .6rem 1rem; border-left: .4rem solid; font-weight: 600 }
.pass { background: #e7f6ec; border-color: #1a7f37 }
.fail { background: #fdeceb; border-color: #b42318 }
.could_not_assess { background: #fff6dd; border-color: #9a6700 }
.wide { overflow-x: auto } table { border-collapse: collapse; font-size: .95rem }
caption { text-align: left; padding: .3rem 0; color: #57606a }
th, td { padding: .25rem .8rem; border-bottom: 1px solid #d0d7de; text-align: right }
th:last-child, td:last-child { text-align: left } td { font-variant-numeric: tabular-nums }
svg { max-width: 100%; height: auto } dt { font-weight: 600 } dd { margin: 0 0 .3rem 1.2rem }
footer { margin-top: 3rem; color: #57606a; font-size: .85rem }
"""


def html(found: Assessment, *more: Any, verdict: Verdict | None = None, title: str = _TITLE) -> str:
    """Write a page about a table from what was measured of it.

    Parameters
    ----------
    found : Assessment
        From `anonrisk.assess`.
    *more : results
        Others of its results to show, as a prediction; each in its own words.
    verdict : Verdict, optional
        What a policy says of the table; it is shown first.
    title : str
        The heading.

    Returns
    -------
    str
        A whole HTML document without scripts, links or pictures from elsewhere.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> from anonrisk import report
    >>> df = pd.DataFrame({"zip": ["a", "a", "b"]})
    >>> page = report.html(df.anon.assess("zip", measures=["k"]), title="Three people")
    >>> "<h1>Three people</h1>" in page
    True
    """
    sizes = found.sizes
    of = render.joined(sizes.qid)
    parts = [f"<p>Classes of {escape(of)}.</p>"]
    if verdict is not None:
        when = f"Checked at {verdict.checked_at} (UTC)."
        parts += [_banner(verdict.status, _STATUS[verdict.status]), f"<p>{escape(when)}</p>"]
        parts.append(_table(verdict))
    parts += ["<h2>How many people share a combination</h2>", _picture(sizes), _table(sizes)]
    names = list(dict.fromkeys(name for name, _ in found.values))
    meanings = [f"<dt>{name}</dt><dd>{MEANINGS[name]}</dd>" for name in names]
    parts += ["<h2>Measures</h2>", _table(found), f"<dl>{''.join(meanings)}</dl>"]
    parts += ["<h2>Risk by attacker</h2>", _table(sizes.risk()), _ATTACKERS]
    if more:
        parts += ["<h2>Predictions</h2>", *map(_table, more)]
    groups = verdict is not None and any(one.group is not None for one in verdict.findings)
    return _document(title, parts, groups=groups)


def refused(message: str, title: str = _TITLE) -> str:
    """Write a page that says why there is nothing to show, in place of an older one."""
    told = _banner(COULD_NOT_ASSESS, _STATUS[COULD_NOT_ASSESS])
    return _document(title, [told, f"<p>{escape(render.shown(message))}</p>"])


_ATTACKERS = (
    "<dl><dt>prosecutor</dt><dd>knows that the person is in the table</dd>"
    "<dt>journalist</dt><dd>looks for anybody, to prove that it can be done</dd>"
    "<dt>marketer</dt><dd>wants as many people as possible: the expected share found</dd></dl>"
)


def _document(title: str, parts: list[str], *, groups: bool = False) -> str:
    body = "\n".join(parts)
    but = " but the groups that the policy asks for" if groups else ""
    page = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(render.shown(title))}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(render.shown(title))}</h1>
{body}
<footer>anonrisk {escape(__version__)}. No cell of the table{but} is on this page.</footer>
</body>
</html>
"""
    return render.escaped(page, but="\n")


def _banner(status: str, text: str) -> str:
    return f'<p class="status {status}">{escape(text)}</p>'


def _table(result: Any) -> str:
    return f'<div class="wide">{result._repr_html_()}</div>'


def _picture(sizes: ClassSizes) -> str:
    """Draw a bar for the people in classes of each band; those who are alone stand out."""
    high, left, width = 28, 220, 260
    who = "record" if sizes.unit is None else "person"
    bars = []
    for i, (name, _, records) in enumerate(sizes.bands()):
        share = records / sizes.n_records
        y = i * high
        colour = "#b42318" if name == "1" else "#4a7ab5"
        alone = "alone" if name == "1" else f"in a class of {name}"
        label = f"{render.percent(share)}, {render.count_of(records, who)}"
        bars.append(
            f'<text x="{left - 8}" y="{y + 19}" text-anchor="end">{alone}</text>'
            f'<rect x="{left}" y="{y + 4}" width="{max(share * width, 1):.1f}" height="{high - 8}" '
            f'fill="{colour}"/>'
            f'<text x="{left + max(share * width, 1) + 8:.1f}" y="{y + 19}">{label}</text>'
        )
    height = high * len(bars)
    return (
        f'<svg viewBox="0 0 680 {height}" width="680" height="{height}" role="img" '
        'aria-label="Share of people by size of class" font-size="14">'
        f"{''.join(bars)}</svg>"
    )
