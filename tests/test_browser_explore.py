"""The explorer in a real browser: what is chosen on the page is what the table then holds."""

from __future__ import annotations

import json
import math
import sqlite3
from functools import cache

import browser_pages
import looks
import numpy as np
import pandas as pd
import pytest

import anonrisk
from anonrisk import Plan, Policy
from anonrisk.core.render import percent
from anonrisk.reporting.explored import detail_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]

QID = ["zip", "age", "sex"]
K, FLOOR = 5, 5
MAY_GO = 0.02
SHOWN = """({
  headline: document.getElementById('headline').textContent,
  figures: ['smallest', 'alone', 'risk', 'detail'].map(
    id => document.getElementById(id).textContent),
  sizes: [...document.querySelectorAll('tr.size')].map(
    row => [...row.cells].slice(0, 3).map(cell => cell.innerText.trim())),
  sensitive: [...document.querySelectorAll('tr.sensitive td')].map(cell => cell.innerText.trim()),
  levels: [...document.querySelectorAll('input[type=radio]:checked')].map(one => Number(one.value)),
  plan: document.getElementById('plan').textContent,
})"""


@cache
def table(n=600):
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "zip": [str(one) for one in 1000 + rng.integers(0, 6, n) * 10 + rng.integers(0, 4, n)],
            "age": rng.integers(18, 90, n),
            "sex": rng.choice(["f", "m", "x"], n, p=[0.5, 0.45, 0.05]),
            "illness": rng.choice(["flu", "cold", "gout", "pox"], n),
        }
    )


@cache
def explorer():
    return table().anon.explore(QID, K, sensitive="illness", floor=FLOOR, name="people.csv")


def hostile():
    rng = np.random.default_rng(3)
    names = browser_pages.HOSTILE
    made = pd.DataFrame({name: rng.integers(0, 40, 300) for name in names})
    return made.anon.explore(list(names[:4]), 3, sensitive=names[4], name=names[0], title=names[5])


def large(n=1_000_000):
    rng = np.random.default_rng(15)
    made = pd.DataFrame(
        {
            "municipality": rng.zipf(1.3, n).clip(max=342).astype(np.int16),
            "born": rng.integers(1930, 2020, n, dtype=np.int16),
            "household": rng.poisson(1.4, n).astype(np.int8),
            "income": rng.integers(0, 12, n, dtype=np.int8),
        }
    )
    return made.anon.explore(["municipality", "born", "household"], 10, sensitive="income")


@cache
def of_policy():
    made = table().drop(columns="zip").assign(who=np.arange(600) // 2, name="n", note="x")
    made["illness"] = made["illness"].where(made["sex"] != "x", "flu")
    policy = Policy(
        name="admissions",
        quasi=["age", "sex"],
        sensitive="illness",
        unit="who",
        direct="name",
        unlisted="ignore",
        missing_sensitive="error",
        k=K,
        ldiv={"l": 3},
        differencing={"k": 5},
    )
    return made.anon.explore(policy=policy)


def in_vain():
    # What mails hold is examined, whatever becomes of the ages.
    made = table()[["age"]].assign(mail=[f"p{i}@mail.example" for i in range(600)])
    return made.anon.explore(policy=Policy(quasi="age", insensitive="mail", k=K))


MADE = {
    "small": explorer,
    "hostile": hostile,
    "large": large,
    "policy": of_policy,
    "in vain": in_vain,
}


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explorers")

    @cache
    def page(name):
        path = folder / f"{name}.html"
        MADE[name]().save(path)
        return path

    return page


def choose(page, levels):
    for column, level in enumerate(levels):
        page.run(f"document.querySelectorAll('input[name=c{column}]')[{level}].click()")


def rounded_up(count):
    return -(-int(count) // FLOOR) * FLOOR


def share_text(below):
    people = rounded_up(len(table()))
    return f"{rounded_up(below)} records ({share_of(below, people)})"


def share_of(count, people):
    return percent(min(rounded_up(count) / people, 1))


def told_of(levels):
    """What the page must show, counted anew in a table that the plan was applied to."""
    coarse = table().anon.apply(explorer().plan(levels).resolve(table()))
    sizes = coarse.anon.classes(QID)
    people, alone = rounded_up(sizes.n_records), sizes.records_at_most(1)
    left = coarse[coarse.anon.sizes(QID) >= K]
    step = max(0.01, FLOOR / people)
    l_and_t = ["nobody is left", "-", "none"]
    if len(left):
        t = math.ceil(float(left.anon.tcloseness(QID, "illness")) / step - 1e-9) * step
        l_and_t = [str(left.anon.ldiv(QID, "illness")), f"{t:.2f}", "none"]
    risk = min(rounded_up(sizes.n_classes) / people, 1)
    if 0 < rounded_up(sizes.records_below(K)) <= MAY_GO * (people - FLOOR + 1):
        # The headline speaks of the table without them, and so do the figures.
        return [f"{K} or more", "nobody", f"at most {percent(min(risk, 1 / K))}"], l_and_t, sizes
    figures = [
        f"{sizes.k:,}" if sizes.k >= FLOOR else f"fewer than {FLOOR}",
        share_of(alone, people) if alone else "nobody",
        percent(risk),
    ]
    return figures, l_and_t, sizes


def test_a_click_shows_what_a_fresh_count_finds(browser, pages):
    rng = np.random.default_rng(15)
    shape = [len(column["levels"]) for column in explorer().to_dict()["columns"]]
    with browser.page(pages("small")) as page:
        for _ in range(8):
            levels = [int(rng.integers(0, n)) for n in shape]
            choose(page, levels)
            shown, (figures, l_and_t, sizes) = page.run(SHOWN), told_of(levels)
            assert shown["levels"] == levels
            assert shown["figures"][:3] == figures
            assert shown["sensitive"] == l_and_t
            people = rounded_up(sizes.n_records)
            ends = [0, 1, 4, 9, 10, 19, 49, sizes.n_records]
            labels = ["1", "2 to 4", "5 to 9", "10", "11 to 19", "20 to 49", "50 or more"]
            counts = np.diff([rounded_up(sizes.records_at_most(end)) for end in ends])
            assert shown["sizes"] == [
                [label, f"{count:,}", share_of(count, people)]
                for label, count in zip(labels, counts.tolist(), strict=True)
            ]
        assert looks.noisy(page) == []


@pytest.mark.parametrize(("share", "some"), [("0.0", False), ("0.1", True)])
def test_the_plan_on_the_page_does_what_the_page_says(browser, pages, share, some):
    with browser.page(pages("small")) as page:
        page.run(f"document.getElementById('share').value = '{share}'")
        page.run("document.getElementById('share').dispatchEvent(new Event('change'))")
        page.run("document.getElementById('gentlest').click()")
        shown = page.run(SHOWN)
    plan = Plan.from_json(shown["plan"])
    assert plan == explorer().plan(shown["levels"], max_suppressed=float(share))
    coarse = table().anon.apply(plan.resolve(table()))
    below = told_of(shown["levels"])[2].records_below(K)
    assert bool(below) == some
    assert below <= float(share) * len(table())
    assert len(coarse) == len(table()) - below
    assert coarse.anon.k(QID) >= K
    assert (f"up to {rounded_up(below)} records" in shown["headline"]) == some


def test_buttons_find_the_gentlest(browser, pages):
    counts = explorer().to_dict()["counts"]["below"]
    with browser.page(pages("small")) as page:
        first = page.run(SHOWN)
        assert first["levels"] == [0, 0, 0]
        page.run("document.getElementById('nobody').click()")
        assert page.run(SHOWN)["headline"].startswith("? Every record hides")
        assert told_of(page.run(SHOWN)["levels"])[2].k >= K
        page.run("document.getElementById('finest').click()")
        assert page.run(SHOWN) == first
    assert min(counts) == 0


def test_a_dot_is_chosen_where_it_is_clicked(browser, pages):
    with browser.page(pages("small")) as page:
        page.run("document.getElementById('dots').scrollIntoView({block: 'center'})")
        left, top, wide, high = page.run(
            "(box => [box.left, box.top, box.width, box.height])"
            "(document.getElementById('dots').getBoundingClientRect())"
        )
        before = page.run(SHOWN)
        page.click(left + wide * 0.9, top + high * 0.1)
        upper = page.run(SHOWN)
        page.click(left + wide * 0.3, top + high * 0.8)
        lower = page.run(SHOWN)
        assert before["levels"] != lower["levels"] != upper["levels"]
        assert lower["figures"][1] == "nobody"


@pytest.mark.parametrize(
    "name", ["small", "hostile", pytest.param("large", marks=pytest.mark.nightly)]
)
def test_an_explorer_fits_every_screen_and_asks_nobody(browser, pages, name):
    with browser.page(pages(name)) as page:
        for width, dark in looks.SCREENS:
            page.resize(width)
            page.show(dark=dark)
            assert looks.beyond(page, width) == []
        looks.unfold(page)
        assert looks.beyond(page, looks.PHONE) == []
        assert looks.noisy(page) == []
        assert page.requests() == []


@pytest.mark.parametrize(
    ("name", "width", "dark"),
    [
        ("small", looks.WIDE, False),
        ("small", looks.PHONE, True),
        pytest.param("hostile", looks.PHONE, False, marks=pytest.mark.nightly),
        pytest.param("hostile", looks.WIDE, True, marks=pytest.mark.nightly),
    ],
)
def test_an_explorer_is_open_to_everybody(browser, pages, name, width, dark):
    with browser.page(pages(name), width=width, dark=dark) as page:
        looks.unfold(page)
        assert looks.inaccessible(page) == []


def test_what_is_wrong_and_what_to_press_are_on_the_first_screen_of_a_phone(browser, pages):
    with browser.page(pages("small"), width=looks.PHONE) as page:
        for what in ("#headline", "#advised"):
            bottom = page.run(f"document.querySelector('{what}').getBoundingClientRect().bottom")
            assert bottom <= page.run("innerHeight"), what


def test_an_explorer_needs_no_mouse(browser, pages):
    with browser.page(pages("small")) as page:
        assert looks.out_of_reach(page) == []
        page.run("document.querySelector('input[name=c0]').focus()")
        page.press("ArrowRight")
        assert page.run(SHOWN)["levels"] == [1, 0, 0]
        # Past the lock of the first column.
        page.press("Tab")
        page.press("Tab")
        page.press("ArrowRight")
        assert page.run(SHOWN)["levels"] == [1, 1, 0]
        page.run("document.getElementById('finest').focus()")
        page.press("Enter")
        assert page.run(SHOWN)["levels"] == [0, 0, 0]


def test_a_printed_explorer_shows_what_the_screen_folds(browser, pages):
    with browser.page(pages("small"), width=looks.PAPER, media="print") as page:
        assert looks.beyond(page, looks.PAPER) == []
        assert looks.folded(page) == []
        assert len(json.loads(page.run(SHOWN)["plan"])["recodings"]) == len(QID)


VERDICT = """({
  tone: document.getElementById('verdict').className,
  headline: document.getElementById('headline').textContent,
  notes: [...document.querySelectorAll('#notes li')].map(item => item.textContent),
})"""


def test_a_page_is_green_only_about_what_somebody_looked_at(browser, pages):
    with browser.page(pages("policy")) as page:
        page.run("document.getElementById('gentlest').click()")
        shown = page.run(VERDICT)
        assert shown["tone"].endswith("doubt"), "differencing is not judged"
        assert "? Everybody" in shown["headline"]
        assert "differencing of the policy is not judged here" in shown["notes"][0]
        page.run("document.getElementById('rest').click()")
        notes = page.run(VERDICT)["notes"]
        assert "Nobody has looked at these columns" in notes[0]
        assert notes[1] == "note"
        assert json.loads(page.run("document.getElementById('plan').textContent"))["leave_out"] == [
            "name"
        ]
        page.run("document.getElementById('rest').click()")
        plan = json.loads(page.run("document.getElementById('plan').textContent"))
        assert plan["leave_out"] == ["name", "note"]
        assert plan["unit"] == "who"
        page.run("document.getElementById('finest').click()")
        assert page.run(VERDICT)["tone"].endswith("bad")
        assert looks.noisy(page) == []


def test_a_page_is_not_green_where_nothing_that_was_tried_passes(browser, pages):
    with browser.page(pages("in vain")) as page:
        page.run("document.getElementById('nobody').click()")
        shown = page.run(VERDICT)
        assert shown["tone"].endswith("doubt")
        assert "The policy did not pass for what looks as good" in shown["notes"][0]
        assert "Nothing that was tried" in page.run("document.getElementById('next').textContent")


def test_lines_to_paste_say_how_many_records_there_were(browser, tmp_path):
    made, policy = of_roles(direct="contact", max_suppressed=0.02)
    made.anon.explore(policy=policy).save(tmp_path / "explore.html")
    lines = "[...document.querySelectorAll('#shell, #python')].map(one => one.textContent)"
    with browser.page(tmp_path / "explore.html") as page:
        shell, python = page.run(lines)
        plan = Plan.from_json(page.run("document.getElementById('plan').textContent"))
    assert shell.endswith("--policy policy.json --n-original 600")
    assert python.endswith(".check(coarse, n_original=600).raise_for_status()")
    assert plan.max_suppressed == 0.02


def of_roles(**terms):
    made = table()[["zip", "sex", "illness"]].assign(
        sort="a", contact=[f"p{i}@mail.example" for i in range(600)]
    )
    roles = {"quasi": ["zip", "sex"], "sensitive": "illness", "insensitive": "sort"}
    return made, Policy(**{**roles, "k": K, "ldiv": 2, **terms})


def test_what_was_not_tried_against_a_policy_is_not_green(browser, tmp_path):
    made, policy = of_roles(direct="contact")
    made.anon.explore(policy=policy).save(tmp_path / "explore.html")
    with browser.page(tmp_path / "explore.html") as page:
        page.run("document.getElementById('advised').click()")
        assert page.run(VERDICT)["tone"].endswith("good")
        assert page.run(VERDICT)["notes"] == []
        choose(page, [page.run("document.querySelectorAll('input[name=c0]').length") - 1, 1])
        shown = page.run(VERDICT)
        assert shown["tone"].endswith("doubt")
        assert "? Every record hides" in shown["headline"]
        (note,) = shown["notes"]
        assert note.startswith("Not tried against the policy: anonrisk check says whether")
        keep(page, "")
        assert page.run(CANDIDATES)[0][0] == "? not all is judged"


ADVISORY = {"k": 1, "ldiv": {"l": 2, "severity": "warn"}, "advisory": True}


@pytest.mark.parametrize(
    "terms", [{"insensitive": ["contact", "sort"]}, {"direct": "contact", **ADVISORY}]
)
def test_a_served_page_of_a_policy_is_not_green_for_what_it_does_not_ask(browser, terms):
    pytest.importorskip("tornado")
    made, policy = of_roles(**terms)
    with (
        made.anon.explore(policy=policy, serve=True) as served,
        browser.page(served.url) as page,
    ):
        search(page, "nobody")
        shown = page.run(VERDICT)
        assert shown["tone"].endswith("doubt")
        assert "Not tried against the policy" in shown["notes"][0]


def test_a_table_of_a_database_is_not_tried_and_not_green(browser, tmp_path):
    made, policy = of_roles(insensitive=["contact", "sort"])
    with sqlite3.connect(tmp_path / "made.db") as database:
        made.to_sql("made", database, index=False)
        explored = anonrisk.explore(anonrisk.sql.table(database, "made"), policy=policy)
    explored.save(tmp_path / "explore.html")
    with browser.page(tmp_path / "explore.html") as page:
        page.run("document.getElementById('nobody').click()")
        assert page.run(VERDICT)["tone"].endswith("doubt")


def test_without_a_policy_what_k_alone_decides_is_green_and_what_columns_hold_is_not(browser):
    pytest.importorskip("tornado")
    made, _ = of_roles()
    with (
        made.anon.explore(["zip", "sex"], K, serve=True) as served,
        browser.page(served.url) as page,
    ):
        search(page, "nobody")
        assert page.run(VERDICT)["tone"].endswith("good"), "the other columns are left out"
        page.run(
            "document.querySelectorAll('select.role').forEach((one, i) => {"
            " one.value = ['quasi', 'quasi', 'direct', 'direct', 'insensitive'][i]; })"
        )
        page.run("document.getElementById('recount').click()")
        page.wait_for("document.getElementById('policy')?.textContent.includes('insensitive')")
        search(page, "nobody")
        assert page.run(VERDICT)["tone"].endswith("doubt")


def test_a_limit_of_l_decides_too(browser, pages):
    levels = of_policy().summary
    page_of = [len(column["levels"]) for column in levels["columns"]]
    about = levels["sensitive"][0]
    broken = next(
        node
        for node, (below, diversity) in enumerate(
            zip(levels["counts"]["below"], about["ldiv"], strict=True)
        )
        if below == 0 and diversity < 3
    )
    with browser.page(pages("policy")) as page:
        choose(page, [int(level) for level in np.unravel_index(broken, page_of)])
        shown = page.run(VERDICT)
        assert shown["tone"].endswith("bad")
        assert "illness: the limit of l is 3." in shown["notes"]
        page.run("document.getElementById('nobody').click()")
        assert not page.run(VERDICT)["tone"].endswith("bad")


# ---- what is pressed, undone, linked to ----------------------------------------------------------


def test_a_locked_level_stays_and_a_press_is_undone(browser, pages):
    held = explorer().summary
    shape = [len(column["levels"]) for column in held["columns"]]
    detail, below = detail_of(held["columns"]), np.array(held["counts"]["below"])
    without_sex = np.unravel_index(np.arange(len(below)), shape)[2] == 1
    with browser.page(pages("small")) as page:
        choose(page, [0, 0, 1])
        page.run("document.getElementById('lock2').click()")
        page.run("document.getElementById('nobody').click()")
        found = np.ravel_multi_index(page.run(SHOWN)["levels"], shape)
        assert without_sex[found]
        assert detail[found] == max(detail[without_sex & (below == 0)])
        assert detail[found] < max(detail[below == 0]), "without the lock another one is found"
        page.run("document.getElementById('undo').click()")
        assert page.run(SHOWN)["levels"] == [0, 0, 1]
        assert page.run("document.getElementById('lock2').checked")
        page.run("document.getElementById('undo').click()")
        page.run("document.getElementById('undo').click()")
        assert page.run(SHOWN)["levels"] == [0, 0, 0]
        assert not page.run("document.getElementById('lock2').checked")
        assert page.run("document.getElementById('undo').disabled")


def put(page, name, value):
    """Choose an option as a person does."""
    page.run(f"document.getElementById('{name}').value = '{value}'")
    page.run(f"document.getElementById('{name}').dispatchEvent(new Event('change'))")


def test_undo_leads_through_what_was_shown(browser, pages):
    with browser.page(pages("small")) as page:
        seen = [page.run(SHOWN)]
        for change in (
            lambda: choose(page, [2]),
            lambda: put(page, "of_k", 10),
            lambda: put(page, "share", 0.1),
            lambda: page.run("document.getElementById('leave').click()"),
            lambda: page.run("document.getElementById('advised').click()"),
        ):
            change()
            seen.append(page.run(SHOWN))
        for before in reversed(seen[:-1]):
            page.run("document.getElementById('undo').click()")
            assert page.run(SHOWN) == before
        assert page.run("document.getElementById('undo').disabled")


def test_a_link_leads_to_what_was_shown(browser, pages):
    with browser.page(pages("small")) as page:
        choose(page, [2, 1, 0])
        shown, link = page.run(SHOWN), page.run("location.hash")
    with browser.page(pages("small"), query=link) as page:
        assert page.run(SHOWN) == shown
    wrong_parts = ("#0.0.0&share=0.3", "#0.0.0&share=x&leave=&rest=&k=4", "#0.0.0&share=")
    for wrong in ("#2.1", "#2.1.99", "#a.b.c", "#-1.0.0", "#0.5.0.0", *wrong_parts):
        with browser.page(pages("small"), query=wrong) as page:
            assert page.run(SHOWN)["levels"] == [0, 0, 0], wrong
            assert page.run("document.getElementById('leave').checked")
            assert float(page.run("document.getElementById('share').value")) == MAY_GO
            assert looks.noisy(page) == []


def test_a_link_holds_what_the_verdict_rests_on(browser, pages):
    links = {}
    with browser.page(pages("policy")) as page:
        page.run("document.getElementById('gentlest').click()")
        for name, change in (
            ("rest", lambda: page.run("document.getElementById('rest').click()")),
            ("share", lambda: put(page, "share", 0.0)),
            ("leave", lambda: page.run("document.getElementById('leave').click()")),
        ):
            change()
            links[name] = page.run("location.hash"), page.run(VERDICT), page.run(SHOWN)
    for link, verdict, shown in links.values():
        with browser.page(pages("policy"), query=link) as page:
            assert (page.run(VERDICT), page.run(SHOWN)) == (verdict, shown)
            page.run("location.hash = '#0.0'")
            page.wait_for("document.getElementById('rest').checked")
            assert page.run("document.getElementById('leave').checked")


@pytest.mark.parametrize("k", [2, 10, 20])
def test_another_k_is_chosen_on_the_page(browser, pages, tmp_path, k):
    given = {
        column["name"]: [
            Plan.from_json(explorer().plan([i if c == at else 0 for at in range(3)]).to_json())
            .resolve(table())
            .recodings[column["name"]]
            for i in range(len(column["levels"]))
        ]
        for c, column in enumerate(explorer().summary["columns"])
    }
    own = table().anon.explore(QID, k, sensitive="illness", hierarchies=given)
    own.save(tmp_path / "own.html")
    every = "[...document.querySelectorAll('#best tr')].map(row => row.innerText)"
    with (
        browser.page(pages("small")) as page,
        browser.page(tmp_path / "own.html") as other,
    ):
        page.run(f"document.getElementById('of_k').value = '{k}'")
        page.run("document.getElementById('of_k').dispatchEvent(new Event('change'))")
        for button in ("finest", "gentlest", "nobody", "advised"):
            for one in (page, other):
                one.run(f"document.getElementById('{button}').click()")
            shown, wanted = page.run(SHOWN), other.run(SHOWN)
            for part in ("headline", "figures", "sensitive", "levels"):
                assert shown[part] == wanted[part], (button, part)
            for text in ("next", "policy"):
                asked = f"document.getElementById('{text}').textContent"
                assert page.run(asked) == other.run(asked)
            assert json.loads(shown["plan"])["k"] == k
        assert len(page.run(every)) == len(other.run(every))
        line = (
            "[...document.querySelectorAll('tr.kline, tr.size')].map(row => "
            "row.className === 'kline' ? 'k' : row.cells[0].textContent)"
        )
        rows = page.run(line)
        assert rows[rows.index("k") + 1].split()[0] == str(k)
        bars = "[...document.querySelectorAll('rect')].map(bar => bar.className.baseVal)"
        n_red = rows.index("k")
        assert page.run(bars) == ["fill-bad"] * n_red + ["fill-blue"] * (len(rows) - 1 - n_red)
        link = page.run("location.hash")
        last = page.run(SHOWN)
        assert looks.noisy(page) == []
    with browser.page(pages("small"), query=link) as page:
        assert page.run(SHOWN) == last
    with browser.page(pages("small"), query=link.partition("&")[0] + "&k=7") as page:
        assert page.run("document.getElementById('of_k').value") == str(K)


CANDIDATES = """[...document.querySelectorAll('#kept_states tr')].map(
  row => [...row.cells].slice(0, 5).map(cell => cell.innerText.trim()))"""


def keep(page, note):
    page.run(f"document.getElementById('note').value = {json.dumps(note)}")
    page.run("document.getElementById('keep').click()")


def test_candidates_are_kept_with_notes_compared_and_gone_back_to(browser, pages):
    secret = "as <b>it</b> is & ~ 100%; ask #7 \u05e9"
    press = "document.querySelectorAll('#kept_states button')[{}].click()"
    with browser.page(pages("small")) as page:
        assert page.run("document.getElementById('listed').hidden")
        keep(page, secret)
        first = page.run(SHOWN)
        page.run("document.getElementById('nobody').click()")
        keep(page, "")
        page.run("document.getElementById('of_k').value = '10'")
        page.run("document.getElementById('of_k').dispatchEvent(new Event('change'))")
        page.run("document.getElementById('advised').click()")
        tried = page.run(SHOWN)
        keep(page, "for ten")
        keep(page, "for ten, with another note")
        rows = page.run(CANDIDATES)
        assert [row[0] for row in rows] == [
            "✗ do not publish",
            "? not all is judged",
            "? not all is judged, tried",
        ]
        assert [row[1] for row in rows] == [
            f"{first['figures'][3]} kept", f"{rows[1][1]}", f"{tried['figures'][3]} kept"
        ]  # fmt: skip
        below = told_of(first["levels"])[2].records_below(K)
        assert rows[0][2] == f"up to {share_text(below)} among fewer than 5"
        assert rows[1][2] == "nobody among fewer than 5"
        assert "among fewer than 10" in rows[2][2]
        assert [row[4] for row in rows] == [secret, "", "for ten, with another note"]
        labels = [c["levels"][i]["label"] for c, i in
                  zip(explorer().summary["columns"], tried["levels"], strict=True)]  # fmt: skip
        assert rows[2][3] == ", ".join(
            f"{name}: {label}" for name, label in zip(QID, labels, strict=True)
        )
        page.resize(looks.PHONE)
        assert looks.beyond(page, looks.PHONE) == []
        assert looks.inaccessible(page) == []
        page.run(press.format(0))
        assert page.run(SHOWN) == first
        page.run(press.format(3))
        assert [row[4] for row in page.run(CANDIDATES)] == [secret, rows[2][4]]
        link = page.run("location.hash")
        assert page.requests() == []
        assert looks.noisy(page) == []
    with browser.page(pages("small"), query=link) as page:
        assert page.run(CANDIDATES) == [rows[0], rows[2]]
        page.run(press.format(2))
        assert page.run(SHOWN) == tried
        page.run(press.format(1))
        page.run(press.format(1))
        assert page.run("document.getElementById('listed').hidden")
        assert "keep" not in page.run("location.hash")


def test_a_link_with_candidates_of_another_page_keeps_none(browser, pages):
    wrong = ("9.9.9~5~1~0.02~1~n", "0.0~5~1~0.02~1~n", "0.0.0~7~1~0.02~1~n", "0.0.0~5~1~0.3~1~n",
             "~~~~", "", "0.0.0", "1e0.0.0.0~5~1~0.02~1~x")  # fmt: skip
    query = "#0.0.0" + "".join(f"&keep={one}" for one in wrong)
    with browser.page(pages("small"), query=query) as page:
        assert page.run(CANDIDATES) == []
        assert page.run(SHOWN)["levels"] == [0, 0, 0]
        assert looks.noisy(page) == []
    many = "#0.0.0" + "&keep=0.0.0~5~1~0.02~1~" + "&keep=0.1.0~5~1~0.02~1~n".join([""] * 40)
    with browser.page(pages("small"), query=many) as page:
        assert len(page.run(CANDIDATES)) == 20


# ---- served --------------------------------------------------------------------------------------

IS_COUNTED = "!document.getElementById('alone').textContent.startsWith('…')"


def search(page, button):
    """Press a button that counts as it looks, and wait for its end."""
    page.run(f"document.getElementById('{button}').click()")
    page.wait_for("!/^(Looking|Counting)/.test(document.getElementById('headline').textContent)")


def test_a_served_page_says_what_the_static_one_says(browser, pages):
    pytest.importorskip("tornado")
    rng = np.random.default_rng(5)
    shape = [len(column["levels"]) for column in explorer().to_dict()["columns"]]
    picks = [[int(rng.integers(0, n)) for n in shape] for _ in range(4)]
    asked = {"sensitive": "illness", "floor": FLOOR, "name": "people.csv"}
    with (
        table().anon.explore(QID, K, serve=True, **asked) as served,
        browser.page(pages("small")) as static,
        browser.page(served.url) as page,
    ):
        for levels in picks:
            choose(static, levels)
            choose(page, levels)
            page.wait_for(IS_COUNTED)
            assert page.run(SHOWN) == static.run(SHOWN)
        page.run("document.getElementById('more').click()")
        page.wait_for("!document.querySelector('main').textContent.includes('not counted yet')")
        steps = "[...document.querySelectorAll('fieldset p')].map(one => one.textContent)"
        assert page.run(steps) == static.run(steps)
        for button in ("gentlest", "nobody"):
            search(page, button)
            static.run(f"document.getElementById('{button}').click()")
            assert page.run(SHOWN) == static.run(SHOWN)
        counted = sum(url.endswith("/count") for url in page.requests())
        assert 0 < counted < np.prod(shape) / 2, "the search leaves out what it can"
        assert page.complaints() == []
        assert {url.rpartition("/")[0] for url in page.requests()} == {
            served.url.partition("/?")[0]
        }
        looks.unfold(page)
        page.resize(looks.PHONE)
        assert looks.beyond(page, looks.PHONE) == []
        served.close()
        page.run("document.getElementById('finest').click()")
        choose(page, [shape[0] - 1, 0, 1])
        page.wait_for("/served no more/.test(document.getElementById('headline').textContent)")
        assert looks.inaccessible(page) == []


def test_roles_and_k_are_changed_on_a_served_page(browser):
    pytest.importorskip("tornado")
    with (
        table().anon.explore(["zip", "age"], K, serve=True) as served,
        browser.page(served.url) as page,
    ):
        page.run(
            "document.querySelectorAll('select.role').forEach((one, i) => {"
            " one.value = ['insensitive', 'quasi', 'quasi', 'sensitive'][i]; })"
        )
        page.run("document.getElementById('k').value = '7'")
        page.run("document.getElementById('recount').click()")
        page.wait_for("!!document.querySelector('tr.sensitive')")
        policy = json.loads(page.run("document.getElementById('policy').textContent"))
        assert policy["roles"] == {
            "quasi": ["age", "sex"],
            "sensitive": ["illness"],
            "insensitive": ["zip"],
        }
        below = table().anon.classes(["age", "sex"]).records_below(7)
        assert f"p to {rounded_up(below)} records" in page.run(SHOWN)["headline"]
        page.run("document.getElementById('k').value = '1'")
        page.run("document.getElementById('recount').click()")
        page.wait_for("/at least 2/.test(document.getElementById('norecount').textContent)")
        assert page.complaints() == [
            "Failed to load resource: the server responded with a status of 400 (Bad Request)"
        ]
