"""What every page must be, whoever looks at it and however: asked of a real browser.

Each function gives what is wrong, in words, so that a test says `== []`.
"""

from __future__ import annotations

import json

import axe
import pytest

WIDE, PHONE = 1280, 390
# A4 without the margins of the print style, in CSS pixels.
PAPER = 673
SCREENS = [(width, dark) for width in (WIDE, PHONE) for dark in (False, True)]

# What moves, a bar that slides in, is looked at where it comes to rest.
STILL = "document.getAnimations().forEach(moving => moving.finish())"
BEYOND = """(width => {
  const scrolls = one => one && (/auto|scroll/.test(getComputedStyle(one).overflowX)
    || scrolls(one.parentElement))
  const out = [...document.querySelectorAll('body *')].filter(one => {
    const box = one.getBoundingClientRect()
    return box.width > 1 && (box.right > width + 1 || box.left < -1)
      && one.checkVisibility({visibilityProperty: true}) && !scrolls(one.parentElement)
  })
  const far = document.documentElement.scrollWidth
  return [...(far > width ? [`the page is ${far} wide`] : []),
    ...out.map(one => `${one.tagName} ${one.className}: ${one.getBoundingClientRect().right}`)]
})"""
TINY = """[...document.querySelectorAll('svg text')].map(one => [one.textContent,
  one.getBoundingClientRect().height]).filter(([, high]) => high > 0 && high < 11)
  .map(([text, high]) => `${text} is ${high} high`)"""
# Of radio buttons with one name the browser visits one; arrow keys lead to the others.
FOCUSABLE = """(() => {
  const all = [...document.querySelectorAll(
    'a[href], button, summary, input, select, textarea, [tabindex]')]
  window.stops = all.filter(one => one.tabIndex >= 0 && !one.disabled
    && one.checkVisibility({visibilityProperty: true}))
  const named = one => one.type === 'radio' ? 'radio ' + one.name : window.stops.indexOf(one)
  window.stopOf = one => window.stops.includes(one) ? named(one) : null
  return [...new Set(window.stops.map(named))]
})()"""
# A control that is drawn by what stands beside it has its ring there.
FOCUSED = """(() => {
  const one = document.activeElement, box = one.getBoundingClientRect()
  const drawn = style => style.boxShadow !== 'none'
    || (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0)
  const ringed = it => it && drawn(getComputedStyle(it))
    && it.checkVisibility({opacityProperty: true})
  const top = document.elementFromPoint((box.left + box.right) / 2,
    (Math.max(box.top, 0) + Math.min(box.bottom, innerHeight)) / 2)
  const seen = top && (one.contains(top) || one.parentElement.contains(top))
  return [window.stopOf(one), one.outerHTML.slice(0, 80),
    ringed(one) || ringed(one.nextElementSibling), Boolean(seen)]
})()"""
AXE = """axe.run(document, {resultTypes: ['violations']}).then(found => found.violations
  .filter(one => ['serious', 'critical'].includes(one.impact))
  .map(one => `${one.id}: ${one.help}: ${one.nodes.map(node => node.html.slice(0, 120)
    + ' ' + node.any.map(any => any.message).join(' ')).join(' | ')}`))"""


def noisy(page):
    """What the console was told, and what was asked for from beyond this machine."""
    far = [url for url in page.requests() if not url.startswith("file:")]
    return [*page.complaints(), *(f"asked for {url}" for url in far)]


def beyond(page, width):
    """What reaches over the edge of the screen, where it cannot be scrolled on its own."""
    return page.run(f"{STILL}; {BEYOND}({width})")


def tiny(page):
    """Words in pictures that are too small to read."""
    return page.run(TINY)


def out_of_reach(page):
    """What Tab does not come to from the top, comes to unseen, or in another order than read."""
    wanted, found, wrong = page.run(FOCUSABLE), [], []
    for _ in range(len(wanted)):
        page.press("Tab")
        stop, shown, ring, seen = page.run(f"{STILL}; {FOCUSED}")
        found.append(stop)
        if not ring or not seen:
            wrong.append(f"{'covered or off the screen' if ring else 'no ring around'}: {shown}")
    if found != wanted:
        wrong.append(f"Tab came to {json.dumps(found)}, not to {json.dumps(wanted)}")
    return wrong


def unfold(page):
    """Open whatever is folded."""
    page.run("document.querySelectorAll('details').forEach(one => { one.open = true })")


def folded(page):
    """What is folded away, by its summary."""
    return page.run(
        "[...document.querySelectorAll('details')].filter(one => "
        "!one.lastElementChild.checkVisibility()).map(one => one.firstElementChild.textContent)"
    )


def inaccessible(page, but=()):
    """What axe-core calls serious or critical, `but` for rules that others are to blame for."""
    if not axe.SCRIPT.exists():
        pytest.skip("no axe-core: python3 dev.py setup fetches it")
    page.run(axe.SCRIPT.read_text(encoding="utf-8") + "; 0")
    return [one for one in page.run(AXE) if one.partition(":")[0] not in but]
