"""Reports in a real browser: what people see, read, reach and print is what was measured."""

from __future__ import annotations

import re

import browser_pages
import looks
import pytest
from test_report import texts

pytestmark = [pytest.mark.browser, pytest.mark.slow]

WORDS = "document.body.innerText.replace(/\\s+/g, ' ')"
ROWS = """[...document.querySelectorAll('[aria-labelledby={section}] > table > tbody > tr')]
  .map(row => [...row.cells].map(cell => cell.innerText.trim()))"""
BARS = """[...document.querySelectorAll('[aria-labelledby={section}] .bar svg')].map(svg => {{
  const bar = [...svg.querySelectorAll('rect')].at(-1)
  return bar.getBoundingClientRect().width / svg.getBoundingClientRect().width}})"""


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """Each report and its file, made when it is first asked for."""
    folder, made = tmp_path_factory.mktemp("reports"), {}

    def report(name):
        if name not in made:
            path = folder / f"{name}.html"
            made[name] = (browser_pages.write(name, path), path)
        return made[name]

    return report


each_report = pytest.mark.parametrize("name", browser_pages.NAMES)


def by_night(name, day):
    return name if name in day else pytest.param(name, marks=pytest.mark.nightly)


@pytest.mark.parametrize(
    "name", [by_night(name, ("small", "hostile")) for name in browser_pages.NAMES]
)
def test_a_report_fits_every_screen_and_asks_nobody(browser, reports, name):
    with browser.page(reports(name)[1]) as page:
        for width, dark in looks.SCREENS:
            page.resize(width)
            page.show(dark=dark)
            assert looks.beyond(page, width) == []
            paper = page.run("getComputedStyle(document.body).backgroundColor")
            assert (paper == "rgb(255, 255, 255)") == (not dark)
        looks.unfold(page)
        assert looks.beyond(page, looks.PHONE) == []
        assert looks.tiny(page) == []
        assert looks.noisy(page) == []
        assert page.requests() == []


@pytest.mark.parametrize(
    ("name", "width", "dark"),
    [
        ("small", looks.WIDE, False),
        ("small", looks.PHONE, True),
        ("hostile", looks.PHONE, False),
    ],
)
def test_a_report_is_open_to_everybody(browser, reports, name, width, dark):
    with browser.page(reports(name)[1], width=width, dark=dark) as page:
        looks.unfold(page)
        assert looks.inaccessible(page) == []


@pytest.mark.nightly
@each_report
@pytest.mark.parametrize(("width", "dark"), looks.SCREENS)
def test_every_report_is_open_to_everybody_on_every_screen(browser, reports, name, width, dark):
    with browser.page(reports(name)[1], width=width, dark=dark) as page:
        assert looks.inaccessible(page) == []
        looks.unfold(page)
        assert looks.inaccessible(page) == []


@pytest.mark.parametrize("name", ["small", "hostile"])
def test_a_report_needs_no_mouse(browser, reports, name):
    with browser.page(reports(name)[1]) as page:
        assert looks.out_of_reach(page) == []
        folded = looks.folded(page)
        assert len(folded) >= 8
        for number in range(len(folded)):
            this = f"document.querySelectorAll('details')[{number}]"
            page.run(f"{this}.querySelector('summary').focus()")
            assert not page.run(f"{this}.lastElementChild.checkVisibility()")
            page.press("Enter")
            assert page.run(f"{this}.lastElementChild.checkVisibility()")


@each_report
def test_the_words_and_numbers_shown_are_those_of_the_dict(browser, reports, name):
    made, path = reports(name)
    told = made.to_dict()
    with browser.page(path, width=looks.PHONE) as page:
        looks.unfold(page)
        words = page.run(WORDS)
        for text in texts(told):
            assert " ".join(text.split()) in words
        if told["classes"]:
            rows = [row for row in page.run(ROWS.format(section="classes")) if len(row) > 1]
            assert [row[:3] for row in rows] == [
                [row["label"], row["people_text"], row["share_text"]]
                for row in told["classes"]["rows"]
            ]
            shown = page.run(BARS.format(section="classes"))
            wanted = [max(row["width"], 1 / 200) for row in told["classes"]["rows"]]
            assert shown == pytest.approx(wanted, abs=0.01)
        if told["budgets"]:
            rows = page.run(ROWS.format(section="limits"))
            assert [row[0] for row in rows] == [
                " ".join(row["sentence"].split()) for row in told["budgets"]["rows"]
            ]


@pytest.mark.parametrize("name", ["small", by_night("large", ()), "hostile"])
def test_a_printed_report_shows_what_the_screen_folds(browser, reports, name):
    _, path = reports(name)
    with browser.page(path, width=looks.PAPER, dark=True, media="print") as page:
        assert looks.beyond(page, looks.PAPER) == []
        assert page.run("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        assert looks.folded(page) == []
        sheets = len(re.findall(rb"/Type\s*/Page\b", page.pdf()))
    assert 2 <= sheets <= 8


def test_verdict_reason_and_next_step_are_on_the_first_screen_of_a_phone(browser, reports):
    for name in ("small", "large", "kept", "doubtful", "unjudged", "in_groups"):
        with browser.page(reports(name)[1], width=looks.PHONE) as page:
            for what in ("h2", ".headline", ".next li"):
                bottom = page.run(
                    f"document.querySelector('.verdict {what}').getBoundingClientRect().bottom"
                )
                assert bottom <= page.run("innerHeight"), (name, what)


def test_what_is_wrong_with_a_page_is_found(browser, tmp_path):
    path = tmp_path / "wrong.html"
    path.write_text(
        "<html><meta name=viewport content=width=device-width>"
        "<style>a:focus { outline: none }</style>"
        "<script>console.error('said'); setTimeout(() => { throw new Error('thrown') })</script>"
        "<img src=https://example.org/x.png width=9><div style='width: 700px'>wide</div>"
        "<a href='#x'></a><a href='#y'>y</a><button tabindex=5>first</button>"
        "<svg viewBox='0 0 999 99' width=99><text y=9>tiny</text></svg>"
        "<p style='color: #ccc; background: white'>pale</p></html>",
        encoding="utf-8",
    )
    with browser.page(path, width=looks.PHONE) as page:
        told = " ".join(looks.noisy(page))
        assert "said" in told
        assert "Uncaught" in told
        assert "asked for https://example.org/x.png" in told
        assert any(one.startswith("DIV") for one in looks.beyond(page, looks.PHONE))
        assert "tiny" in looks.tiny(page)[0]
        reach = " ".join(looks.out_of_reach(page))
        assert "no ring around" in reach
        assert "Tab came to" in reach
        found = " ".join(looks.inaccessible(page))
        for rule in ("color-contrast", "image-alt", "link-name", "document-title"):
            assert rule in found
