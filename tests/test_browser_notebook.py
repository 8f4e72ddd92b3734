"""A cell of a notebook shows the explorer alive, and neither page reaches the other."""

from __future__ import annotations

import re

import looks
import pandas as pd
import pytest

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HOSTILE = '</iframe>"><img src=x onerror=alert(1)>'
DOTS = "document.getElementById('dots')"
DRAWN = f"{DOTS}.getContext('2d').getImageData(0, 0, 9999, 999).data.some(part => part > 0)"
HEADLINE = "document.getElementById('headline').textContent"


def cell(tmp_path, result):
    """Write a page that shows a result as a notebook does."""
    path = tmp_path / "notebook.html"
    html = f"<!doctype html><title>Cell</title><body>{result._repr_html_()}</body>"
    path.write_text(html, encoding="utf-8")
    return path


def people(zip_name="zip"):
    return pd.DataFrame({zip_name: ["1011", "1012", "1021", "1022"] * 3})


@pytest.mark.parametrize("zip_name", ["zip", HOSTILE])
def test_a_press_in_a_cell_is_answered(browser, tmp_path, zip_name):
    made = people(zip_name).anon.explore(zip_name)
    with browser.page(cell(tmp_path, made)) as page:
        assert page.run("document.body.children.length") == 1
        inside = page.frame()
        assert inside.wait_for(f"document.readyState === 'complete' && {HEADLINE}")
        before = inside.run(HEADLINE)
        # From one to the other, as often as asked: nothing on the way is refused in a frame.
        for level in (1, 0, 1):
            inside.run(f"document.querySelectorAll('input[name=c0]')[{level}].click()")
            assert (inside.run(HEADLINE) == before) == (level == 0)
        plan = inside.run("document.getElementById('plan').textContent")
        assert '"length": 3' in plan
        inside.run("document.querySelector('[data-saves=plan]').click()")
        assert [*looks.noisy(page), *inside.complaints(), *inside.requests()] == []
        with pytest.raises(Exception, match="cross-origin"):
            inside.run("parent.document.title")


def test_a_cell_that_is_folded_at_first_is_drawn_once_it_is_seen(browser, tmp_path):
    path = cell(tmp_path, people().anon.explore("zip"))
    path.write_text(path.read_text(encoding="utf-8").replace("<body>", "<body hidden>"))
    with browser.page(path) as page:
        inside = page.frame()
        assert inside.wait_for(HEADLINE)
        page.run("document.body.hidden = false")
        assert inside.wait_for(f"{DOTS}.clientWidth > 0 && {DOTS}.width === {DOTS}.clientWidth")
        assert [*looks.noisy(page), *inside.complaints()] == []
        assert inside.run(DRAWN)


def test_a_cell_leads_to_a_served_page(browser, tmp_path):
    with people().anon.explore("zip", serve=True) as served:
        with browser.page(cell(tmp_path, served)) as page:
            link = page.run("[...document.links].map(one => [one.href, one.target, one.rel])")
            assert link == [[served.url, "_blank", "noreferrer"]]
            told = page.run("document.body.textContent")
        # It is still read where the notebook is opened without its kernel.
        assert "end of the kernel: then run the cell again" in told
        assert "notebook that is saved keeps the address" in told
        with browser.page(served.url) as page:
            assert page.wait_for(HEADLINE)
        # A page that frames it all the same gets nothing.
        path = tmp_path / "framing.html"
        path.write_text(f"<!doctype html><iframe src='{served.url}'></iframe>")
        with browser.page(path) as page:
            assert any("frame-ancestors" in one for one in page.complaints())
    assert not re.search("token|href", served._repr_html_())
