"""The documentation site: it builds without a warning, and no page loads from a network."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from html.parser import HTMLParser
from os.path import normpath
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "docs" / "site" / "build.py"


def built(folder, *arguments):
    pytest.importorskip("sphinx", reason="needs the extra 'docs'")
    command = [sys.executable, str(BUILD), "--output", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return folder / "html"


class Page(HTMLParser):
    """What a page loads by itself and leads to, its anchors, its title and its description."""

    LOADS = ("script", "link", "img", "iframe", "source", "audio", "video", "object", "embed")

    def __init__(self, text):
        super().__init__()
        self.loads, self.description, self.title, self._in_title = [], "", "", False
        self.links, self.anchors = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.links |= {given["href"]} if given.get("href") else set()
        self.anchors |= {given["id"]} if "id" in given else set()
        if tag in self.LOADS:
            self.loads += [
                given[name] for name in ("src", "href", "data", "srcset") if given.get(name)
            ]
        self._in_title = tag == "title" and not self.title
        if given.get("name") == "description":
            self.description = given["content"]

    def handle_data(self, data):
        if self._in_title:
            self.title, self._in_title = data, False


def foreign(html):
    """Return what pages and style sheets would ask other machines for."""
    found = []
    for path in html.rglob("*.html"):
        loads = Page(path.read_text(encoding="utf-8")).loads
        found += [(path.name, load) for load in loads if re.match(r"(\w+:)?//", load)]
    for path in html.rglob("*.css"):
        asked = re.findall(r"(?:url\(|@import)\s*[\"']?((?:https?:)?//[^)\"']*)", path.read_text())
        found += [(path.name, load) for load in asked]
    return found


def dead(html):
    """Return the links that lead to no file, or to no place of it, and what cannot be loaded."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in html.rglob("*.html")}
    found = []
    for path, page in pages.items():
        for link in {*page.links, *page.loads}:
            asked = urlsplit(link)
            if "_static" in path.parts or asked.scheme or asked.netloc:
                continue
            to = Path(normpath(path.parent / unquote(asked.path))) if asked.path else path
            anchor = unquote(asked.fragment)
            if not to.exists() or (anchor and to in pages and anchor not in pages[to].anchors):
                found.append((path.relative_to(html).as_posix(), link))
    return sorted(found)


def test_a_link_that_leads_nowhere_is_seen(tmp_path):
    (tmp_path / "a.html").write_text(
        '<h1 id="here">a</h1><a href="#here"></a><a href="#there"></a><a href="b/c.html#d"></a>'
        '<a href="b/c.html?q#e"></a><a href="f.html"></a><img src="g.png"><a href="mailto:x@y"></a>'
    )
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.html").write_text('<p id="d"></p><a href="../a.html"></a>')
    assert [link for _, link in dead(tmp_path)] == ["#there", "b/c.html?q#e", "f.html", "g.png"]


@pytest.mark.slow
def test_every_link_leads_somewhere(site):
    assert dead(site) == []


@pytest.mark.slow
@pytest.mark.parametrize("there", ["choosing.html", "howto/gate_spark.html"])
def test_what_a_newcomer_needs_is_one_press_away(site, there):
    assert there in Page((site / "index.html").read_text(encoding="utf-8")).links
    page = f"docs/{there.replace('.html', '.md')}"
    assert f"]({page})" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_what_other_machines_are_asked_for_is_seen(tmp_path):
    (tmp_path / "a.html").write_text(
        '<script src="https://x/a.js"></script><img src="//x/b.png"><a href="https://x/c">c</a>'
        '<script src="_static/d.js"></script>'
    )
    (tmp_path / "a.css").write_text("@font-face{src:url('https://x/e.woff2')} a{background:url(f)}")
    assert [load for _, load in foreign(tmp_path)] == [
        "https://x/a.js",
        "//x/b.png",
        "https://x/e.woff2",
    ]


@pytest.mark.slow
def test_no_page_loads_anything_from_a_network(site):
    assert len(list(site.rglob("*.html"))) > 30
    assert foreign(site) == []


@pytest.mark.slow
def test_every_page_says_what_it_is(site):
    made = {"genindex.html", "search.html"}
    paths = [p for p in site.rglob("*.html") if "_static" not in p.parts and p.name not in made]
    pages = {path.name: Page(path.read_text(encoding="utf-8")) for path in paths}
    assert [name for name, page in pages.items() if not page.title.endswith(" — anonrisk")] == []
    assert [name for name, page in pages.items() if not page.description] == []


@pytest.mark.slow
def test_search_works_from_disk(site):
    """The index is a script, and nothing is fetched, which a browser refuses a page from disk."""
    page = Page((site / "search.html").read_text(encoding="utf-8"))
    assert any("searchindex.js" in load for load in page.loads)
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert index.startswith("Search.setIndex(")
    assert "prosecutor" in index
    told = (site / "_static" / "documentation_options.js").read_text(encoding="utf-8")
    assert "SHOW_SEARCH_SUMMARY: false" in told


@pytest.mark.slow
def test_terms_and_formulas_have_what_they_need(site):
    from sphinx.util.inventory import InventoryFile

    known = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="").data["std:term"]
    headings = re.findall("(?m)^## (.+)$", (ROOT / "docs" / "glossary.md").read_text())
    assert set(known) == set(headings)
    assert "MathJax" in (site / "_static" / "tex-svg-full.js").read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_document_is_on_the_site(site):
    written = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert written <= {path.stem for path in site.glob("*.html")}
    linked = "".join(p.read_text() for p in (ROOT / "docs" / "site").glob("*.md"))
    entries = re.findall(r"(?m)^(?:\w+ <)?(\w+)>?$", linked)
    assert written - set(entries) == set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    [p for p in sorted((ROOT / "docs").glob("*/*.md")) if p.parent.name in {"howto", "site"}],
    ids=lambda path: path.stem,
)
def test_links_of_guides_lead_somewhere(path):
    links = re.findall(r"\]\(([^)#]+)", path.read_text(encoding="utf-8"))
    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.fixture
def build():
    spec = importlib.util.spec_from_file_location("build_site", BUILD)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_links_are_led_to_where_pages_are(build, tmp_path):
    known = build.pages()

    def led(text, source):
        return build.led(text, source, known, tmp_path)

    assert led("[a](policy.md#x)", "docs/predicting.md") == "[a](policy.md#x)"
    assert led("[a](../docs/policy.md)", "expectations/README.md") == "[a](../policy.md)"
    assert led("[a](../expectations/README.md)", "docs/policy.md") == "[a](howto/checkpoint.md)"
    assert led("[a](https://x/y) [b](#c)", "docs/predicting.md") == "[a](https://x/y) [b](#c)"
    assert led("[a](../examples)", "docs/predicting.md") == "a"
    assert led("[a](nowhere.md)", "docs/predicting.md") == "[a](nowhere.md)"
    file = led("[`a`](../anonrisk/errors.py)", "docs/predicting.md")
    assert (tmp_path / file.partition("(")[2].rstrip(")")).resolve() == ROOT / "anonrisk/errors.py"
    block = led("```python\n>>> 1\n1\n\n```\n\nx", "docs/predicting.md")
    assert block == "```python\n>>> 1\n1\n```\n\nx"


def test_every_module_of_the_reference_is_there(build):
    assert [one for one in build.MODULES if not importlib.util.find_spec(f"anonrisk.{one}")] == []


@pytest.mark.nightly
def test_the_whole_site_is_built(whole_site):
    html = whole_site
    from anonrisk.accessor import FUNCTIONS

    pages = {path.stem for path in (html / "api").glob("*.html")}
    assert {f"anonrisk.{function.__name__}" for function in FUNCTIONS} <= pages
    assert "anonrisk.Policy" in pages or "anonrisk.policy.Policy" in pages
    commands = (html / "api" / "commands.html").read_text(encoding="utf-8")
    assert "usage: anonrisk check" in commands
    assert foreign(html) == []
    assert dead(html) == []
