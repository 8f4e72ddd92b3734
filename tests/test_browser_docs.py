"""The documentation in a real browser, opened from disk: nothing leaves, everybody can read it."""

from __future__ import annotations

import looks
import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PAGES = ["index", "howto/checkpoint"]
PAGES += [pytest.param(name, marks=pytest.mark.nightly) for name in ("measures/risk", "glossary")]
# The theme names its search field "Search", and shows the keys for it as well.
OF_THE_THEME = {"label-content-name-mismatch"}
# Until every formula is drawn, and can be reached where it must be scrolled.
FORMULAS = "window.MathJax?.startup?.promise?.then(() => 0)"


def all_pages(site):
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_every_screen_and_asks_nobody(browser, site, name):
    with browser.page(site / f"{name}.html") as page:
        for width, dark in looks.SCREENS:
            page.resize(width)
            page.show(dark=dark)
            assert looks.beyond(page, width) == []
        assert looks.noisy(page) == []


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
def test_every_page_is_open_to_everybody(browser, site, dark):
    pages = all_pages(site)
    assert len(pages) > 30
    for path in pages:
        with browser.page(path, width=looks.PHONE if dark else looks.WIDE, dark=dark) as page:
            # axe-core reads style sheets in a way that a page from disk is refused.
            page.run(FORMULAS)
            assert looks.noisy(page) == [], path.name
            assert looks.inaccessible(page, OF_THE_THEME) == [], path.name


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
