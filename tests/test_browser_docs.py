"""The documentation in a real browser, opened from disk: nothing leaves, everybody can read it."""

from __future__ import annotations

from itertools import pairwise

import looks
import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAGES = ["index", "howto/checkpoint"]
PAGES += [pytest.param(name, marks=pytest.mark.nightly) for name in ("measures/risk", "glossary")]
# The theme names its search field "Search", and shows the keys for it as well.
OF_THE_THEME = {"label-content-name-mismatch"}
# Until every formula is drawn, and can be reached where it must be scrolled.
FORMULAS = "window.MathJax?.startup?.promise?.then(() => 0)"
# Code, tables and formulas are scrolled by themselves, the path above a title ends in dots, and
# what is read to people is not seen. Nothing else may be wider than its place.
CUT = """[...document.querySelectorAll('main, main *')].filter(one => one.clientWidth > 2
    && one.scrollWidth > one.clientWidth + 2 && one.checkVisibility()
    && getComputedStyle(one).overflowX !== 'visible' && !one.matches('pre, .output, .ellipsis, '
      + '.pst-scrollable-table-container, mjx-container, mjx-assistive-mml'))
  .map(one => `${one.tagName} ${one.className} is ${one.scrollWidth} wide`)"""
BROKEN = """[...document.images].filter(one => !one.complete || !one.naturalWidth)
  .map(one => `no picture: ${one.src}`)"""
HEADINGS = "[...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].map(one => +one.tagName[1])"
# Light boxes on a dark page: what cells of a notebook show has the page's own background.
BOXES = """[...document.querySelectorAll('.cell_output .output')].filter(one =>
  one.checkVisibility() && getComputedStyle(one).backgroundColor !== 'rgba(0, 0, 0, 0)')
  .map(one => `a box around ${one.textContent.slice(0, 60)}`)"""


def unfit(page, width):
    """What is cut off, beyond the screen, missing or out of order."""
    levels = page.run(HEADINGS)
    jumps = [pair for pair in pairwise([0, *levels]) if pair[1] > pair[0] + 1]
    told = [f"a heading of level {to} after {of}" for of, to in jumps]
    told += [] if levels.count(1) == 1 else [f"{levels.count(1)} titles"]
    return [*looks.beyond(page, width), *page.run(CUT), *page.run(BROKEN), *told]


def all_pages(site):
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_every_screen_and_asks_nobody(browser, site, name):
    with browser.page(site / f"{name}.html") as page:
        for width, dark in looks.SCREENS:
            page.resize(width)
            page.show(dark=dark)
            assert unfit(page, width) == []
        assert looks.noisy(page) == []


FAULTS = {
    "none": ("<h1>a</h1><p>b</p>", []),
    "code": ("<h1>a</h1><pre><b>b</b></pre>", []),
    "scrolled": ("<h1>a</h1><div><b>b</b></div>", ["DIV  is 900 wide"]),
    "order": ("<h1>a</h1><h3>b</h3>", ["a heading of level 3 after 1"]),
    "titles": ("<h1>a</h1><h1>b</h1>", ["2 titles"]),
    "picture": ("<h1>a</h1><img src='data:,'>", ["no picture: data:,"]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_does_not_fit_is_seen(browser, tmp_path, fault):
    body, wrong = FAULTS[fault]
    head = """<!doctype html><meta name="viewport" content="width=device-width">
        <style>b { display: block; width: 900px } pre, div { overflow: auto }</style>"""
    (tmp_path / "page.html").write_text(f"{head}<main>{body}</main>")
    with browser.page(tmp_path / "page.html", width=looks.PHONE) as page:
        assert unfit(page, looks.PHONE) == wrong


@pytest.mark.parametrize(
    ("name", "width", "dark"),
    [("index", looks.WIDE, False), ("measures/tcloseness", looks.PHONE, True)],
)
def test_a_page_is_open_to_everybody(browser, site, name, width, dark):
    with browser.page(site / f"{name}.html", width=width, dark=dark) as page:
        page.run(FORMULAS)
        assert looks.inaccessible(page, OF_THE_THEME) == []


@pytest.mark.nightly
@pytest.mark.parametrize("dark", [False, True])
def test_every_page_is_open_to_everybody(browser, whole_site, dark):
    pages = all_pages(whole_site)
    assert len(pages) > 250
    width = looks.PHONE if dark else looks.WIDE
    for number, path in enumerate(pages):
        with browser.page(path, width=width, dark=dark) as page:
            # axe-core reads style sheets in a way that a page from disk is refused.
            page.run(FORMULAS)
            assert [*unfit(page, width), *looks.noisy(page)] == [], path.name
            assert not dark or page.run(BOXES) == [], path.name
            # Pages of functions are made alike: of those, some.
            if path.parent.name != "api" or number % 10 == 0:
                assert looks.inaccessible(page, OF_THE_THEME) == [], path.name


@pytest.mark.nightly
def test_a_tutorial_shows_the_explorer_alive(browser, whole_site):
    with browser.page(whole_site / "tutorials" / "find_and_fix.html") as page:
        # A report is shown too, and has no script.
        page.run("document.querySelector('iframe[title=Report]').remove()")
        inside = page.frame()
        assert inside.wait_for("document.getElementById('headline')?.textContent")


def test_a_page_needs_no_mouse(browser, site):
    with browser.page(site / "index.html") as page:
        assert looks.out_of_reach(page) == []


def test_search_finds_without_a_network(browser, site):
    with browser.page(site / "search.html", query="?q=prosecutor") as page:
        links = "[...document.querySelectorAll('#search-results li a')].map(one => one.pathname)"
        assert page.wait_for(f"{links}.some(path => path.endsWith('/risk.html'))")
        assert looks.noisy(page) == []


def test_formulas_are_drawn_without_a_network(browser, site):
    with browser.page(site / "measures" / "tcloseness.html") as page:
        page.run(FORMULAS)
        drawn = page.run("document.querySelectorAll('.math mjx-container svg path').length")
        assert drawn > 3
        assert looks.noisy(page) == []
