"""`report`: one summary, which the page, Markdown and JSON all say, and no cell in any of them."""

from __future__ import annotations

import builtins
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anonrisk
from anonrisk import Policy, reporting
from anonrisk.core.render import markdown_text
from anonrisk.errors import (
    AnonRiskError,
    ArgumentError,
    ColumnNotFoundError,
    EmptyTableError,
    MissingLibraryError,
)
from anonrisk.policy.check import check
from anonrisk.policy.measure import count
from anonrisk.reporting import report as page_module
from anonrisk.reporting import text
from anonrisk.reporting.measured import measured

QID = ["zip", "age", "sex"]
SECRET = "s3cr3t"
VOID = {"meta", "link"}
HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "שם" + chr(0x202E) + "evil",
    "x" * 200,
    "a|b`c*[d](e) @all https://x.nl",
)


class Page(HTMLParser):
    """Reads a page strictly: every element is closed, in order."""

    def __init__(self, page):
        super().__init__()
        self.open, self.tags, self.words, self.links, self.ids = [], [], [], [], []
        self.labels = []
        self.headings = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.links += [found[name] for name in ("src", "href", "srcset") if name in found]
        self.ids += [found["id"]] if "id" in found else []
        self.labels += [found["aria-labelledby"]] if "aria-labelledby" in found else []
        if tag == "th":
            assert found.get("scope") in ("row", "col")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not {"style", "desc"} & set(self.open):
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def read(made):
    """Check what every page must be, and give it."""
    page = made.to_html()
    assert len(page.encode()) < 1_000_000
    found = Page(page)
    assert page.startswith("<!DOCTYPE html>")
    assert not {"script", "link", "img", "iframe", "object", "form"} & set(found.tags)
    assert found.links == []
    assert not re.search(r"url\(|@import", re.search("<style>.*?</style>", page, re.DOTALL)[0])
    assert "default-src 'none'" in page
    assert found.tags.count("svg") == page.count("<desc>")
    assert found.headings[0] == 1
    assert all(b - a <= 1 for a, b in zip(found.headings, found.headings[1:], strict=False))
    assert len(found.ids) == len(set(found.ids))
    assert set(found.labels) <= set(found.ids)
    return found


def texts(value):
    """Every text of a summary that people read, however deep."""
    if isinstance(value, dict):
        quiet = (
            "status",
            "what",
            "tone",
            "role",
            "score",
            "budget",
            "library",
            "basis",
            "word",
            "sign",
        )
        for key, inner in value.items():
            if key not in quiet:
                yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)
    elif isinstance(value, str):
        yield value


def cells(n=400, seed=1):
    rng = np.random.default_rng(seed)
    return {
        "zip": [f"{SECRET}{i}" for i in rng.integers(0, 12, n)],
        "age": [int(i) for i in rng.integers(20, 40, n)],
        "sex": [f"{SECRET}{i}" for i in rng.integers(0, 2, n)],
        "illness": [f"{SECRET}{i}" for i in rng.integers(0, 6, n)],
        "cost": [float(i) for i in rng.integers(0, 900, n)],
    }


def policy(**more):
    return Policy(
        **{
            "name": "release",
            "quasi": QID,
            "sensitive": ["illness"],
            "missing_sensitive": "value",
            "unlisted": "ignore",
            "k": 5,
            "max_unique_fraction": 0.01,
            "ldiv": {"l": 2},
            **more,
        }
    )


# ---- numbers ------------------------------------------------------------------------------------


def test_numbers_are_those_of_the_other_functions(frame):
    table = frame(cells())
    made = table.anon.report(policy=policy())
    told = made.to_dict()
    sizes = anonrisk.classes(table, QID)
    assert made.verdict.to_dict() | {"checked_at": ""} == (
        check(policy(), table).to_dict() | {"checked_at": ""}
    )
    rows = told["classes"]["rows"]
    assert sum(row["people"] for row in rows) == sizes.n_records == 400
    for row in rows:
        inside = (sizes.sizes >= row["low"]) & (sizes.sizes <= row["high"])
        assert row["people"] == sizes.records[inside].sum()
        assert row["too_few"] == (row["high"] < 5)
        assert row["low"] >= 5 or row["high"] < 5
    assert told["classes"]["title"].startswith(f"{sizes.records_below(5):,} of 400 records")
    for row in told["drivers"]["rows"]:
        rest = [name for name in QID if name != row["name"]]
        assert row["share"] == pytest.approx(anonrisk.uniqueness(table, rest))
    assert told["drivers"]["now"] == sizes.uniqueness
    shares = [row["share"] for row in told["drivers"]["rows"]]
    assert shares == sorted(shares)
    prosecutor = told["attackers"]["rows"][0]
    assert prosecutor["highest"]["high"] == sizes.risk().prosecutor.highest
    assert prosecutor["average"]["high"] == sizes.risk().prosecutor.average
    (column,) = told["sensitive"]["columns"]
    found = {row["score"]: row["value"] for row in (*column["rows"], *column["rest"])}
    assert found["distinct"] == anonrisk.ldiv(table, QID, "illness")
    assert found["equal"] == pytest.approx(float(anonrisk.tcloseness(table, QID, "illness")))
    assert found["alpha"] == pytest.approx(anonrisk.alpha(table, QID, "illness"))
    for row in told["groups"]["rows"]:
        assert row["share"] == pytest.approx(sizes.predict_singletons(row["size"]).fraction)
    # The check scores the sensitive column and counts; one pass more leaves each column out.
    (passes,) = (f["text"] for f in told["made"] if f["label"] == "Passes over the table")
    assert passes in ("2", "2, and those to try what would help")


def test_every_text_of_the_summary_is_on_the_page_and_in_markdown():
    made = pd.DataFrame(cells()).anon.report(policy=policy(), population_size=9_000)
    page, said, told = read(made).text, made.to_markdown(), made.to_dict()
    for one in texts(told):
        assert " ".join(one.split()) in page
    assert markdown_text(told["verdict"]["headline"]) in said
    for row in told["budgets"]["rows"]:
        assert markdown_text(row["sentence"]) in said
    for section in ("classes", "drivers", "groups"):
        for row in told[section]["rows"]:
            assert markdown_text(row["share_text"]) in said
    assert json.loads(made.to_json()) == told
    assert SECRET not in made.to_html() + said + made.to_json() + repr(made)


def test_one_number_is_written_in_one_way():
    made = pd.DataFrame(cells()).anon.report(policy=policy())
    alone = made.to_dict()["drivers"]["now_text"]
    exact = made.verdict.findings
    (finding,) = [one for one in exact if one.budget == "max_unique_fraction"]
    assert alone in finding.sentence
    (row,) = [row for row in made.to_dict()["budgets"]["rows"] if row["budget"] == finding.budget]
    assert alone in row["sentence"]
    assert alone in made.to_dict()["verdict"]["headline"]


def test_a_limit_that_is_just_missed_does_not_look_kept():
    table = pd.DataFrame({"zip": [*range(1_001), *["a"] * 98_999]}).astype(str)
    made = table.anon.report(policy=Policy(quasi="zip", max_unique_fraction=0.01))
    (row,) = made.to_dict()["budgets"]["rows"]
    assert row["status"] == "fail"
    assert "1.001%" in row["sentence"]


@pytest.mark.parametrize(
    ("k", "told"),
    [
        (3, "3.33 times what is required"),
        (10, "just what is required"),
        (40, "4 times too little"),
    ],
)
def test_what_is_asked_for_is_told_as_such(k, told):
    table = pd.DataFrame({"zip": ["a"] * 10 + ["b"] * 30})
    (row,) = table.anon.report(policy=Policy(quasi="zip", k=k)).to_dict()["budgets"]["rows"]
    assert row["used_text"] == told
    assert row["used"] == k / 10


@pytest.mark.parametrize(
    ("alone", "told"),
    [(1, "less than 1% of the limit"), (100, "50% of the limit"), (200, "100% of the limit"),
     (201, "just over the limit"), (500, "250% of the limit"), (3_000, "15 times the limit")],
)  # fmt: skip
def test_how_much_of_a_limit_is_used(alone, told):
    table = pd.DataFrame({"zip": [*range(alone), *["a"] * (20_000 - alone)]}).astype(str)
    made = table.anon.report(policy=Policy(quasi="zip", max_unique_fraction=0.01))
    (row,) = made.to_dict()["budgets"]["rows"]
    assert row["used_text"] == told
    assert row["word"] == ("broken" if alone > 200 else "kept")


# ---- verdicts -----------------------------------------------------------------------------------


def test_a_pass_names_the_columns_that_nobody_looked_at():
    made = pd.DataFrame(cells()).anon.report(policy=Policy(quasi=["sex"], k=2, unlisted="ignore"))
    headline = made.to_dict()["verdict"]["headline"]
    assert headline.startswith("Keeps every limit of the policy, for the columns it covers.")
    assert "Not looked at: zip, age, illness, cost" in headline
    (step,) = made.to_dict()["verdict"]["next"]
    assert step.startswith("Say in the policy what the columns are")
    assert "Not looked at (4)" in read(made).text


def test_a_warning_is_said_on_a_pass():
    limits = [{"at_least": 2}, {"at_least": 900, "severity": "warn"}]
    made = pd.DataFrame(cells()).anon.report(
        policy=Policy(quasi=["sex"], k=limits, unlisted="ignore")
    )
    told = made.to_dict()["verdict"]
    assert told["status"] == "pass"
    assert told["headline"].startswith("Keeps every limit that decides of the policy")
    assert told["notes"] == ["1 limit that only warns is broken as well."]


def test_a_failure_says_why_and_what_next():
    made = pd.DataFrame(cells()).anon.report(policy=policy(), name="people.csv")
    told = made.to_dict()["verdict"]
    sizes = pd.DataFrame(cells()).anon.classes(QID)
    alone = f"{sizes.records_at_most(1):,} of 400 records ({sizes.uniqueness:.1%})"
    assert told["headline"] == (
        f"Do not publish this table as it is. {alone} are alone with their zip, age and sex; "
        "the policy allows 1%."
    )
    assert all("is enough, the result passes: " in step for step in told["next"][:-1])
    assert told["next"][-1].startswith("Save the plan: report.explanation.plan.to_json()")
    safe = pd.DataFrame(cells()).anon.apply(made.explanation.plan)
    assert policy().check(safe, n_original=400).passed
    facts = {fact["label"]: fact["text"] for fact in made.to_dict()["masthead"]["facts"]}
    assert facts["Table"] == "people.csv"
    assert facts["Rows"] == "400"
    assert facts["Policy digest"] == policy().digest
    assert facts["Checked"].endswith(" UTC")


@pytest.mark.parametrize(
    ("limit", "few", "allowed"),
    [
        ({"max_fraction_below_k": {"k": 3, "at_most": 0.02}}, 3, "2%"),
        ({"k": 5}, 5, "nobody"),
        ({"k": 5, "max_fraction_below_k": {"k": 3, "at_most": 0.02}}, 3, "2%"),
    ],
)
def test_a_failure_is_told_of_people(limit, few, allowed):
    table = pd.DataFrame(cells())
    told = table.anon.report(policy=Policy(quasi=QID, unlisted="ignore", **limit)).to_dict()[
        "verdict"
    ]
    below = table.anon.classes(QID).records_below(few)
    assert told["headline"] == (
        f"Do not publish this table as it is. {below} of 400 records ({below / 400:.1%}) hide "
        f"among fewer than {few} by their zip, age and sex; the policy allows {allowed}."
    )


def test_every_verdict_says_what_next():
    table = pd.DataFrame(cells())
    seen = table[["zip"]].anon.report(policy=Policy(quasi="zip", k=2)).to_dict()["verdict"]
    assert seen["next"] == [
        "Publish these rows and columns and no others: what changes must be checked again."
    ]
    # Nothing helps a table that has fewer illnesses than are required.
    broken = table.anon.report(
        policy=policy(quasi=["zip"], k=1, max_unique_fraction=1, ldiv={"l": 700})
    )
    nothing, why = broken.to_dict()["verdict"]["next"]
    assert nothing == "Nothing that was tried lets this table pass."
    assert why.startswith("No plan was found: ")
    doubt = table.anon.report(
        policy=Policy(quasi=["zip", "ages"], k=5, unlisted="ignore")
    ).to_dict()
    unjudged = table.anon.report("zip").to_dict()
    for told, begins in ((doubt, "Fix what is listed above"), (unjudged, "Say in a policy")):
        assert told["verdict"]["next"][0].startswith(begins)


def test_limits_beside_the_one_in_the_headline_are_counted():
    table = pd.DataFrame(cells())
    told = table.anon.report(policy=policy(ldiv={"l": 7})).to_dict()["verdict"]
    assert told["notes"] == ["Not looked at: cost.", "2 other limits are broken."]
    told = table.anon.report(policy=policy(sensitive=["illnes"])).to_dict()
    others = [note for note in told["verdict"]["notes"] if "other limit" in note]
    in_doubt = sum(row["status"] == "could_not_assess" for row in told["budgets"]["rows"])
    assert in_doubt
    assert any(
        f"{in_doubt} other limit" in note and "could not be assessed" in note for note in others
    )


def test_what_cannot_be_assessed_is_no_pass():
    made = pd.DataFrame(cells()).anon.report(
        policy=Policy(quasi=["zip", "ages"], k=5, unlisted="ignore")
    )
    assert made.verdict.status == "could_not_assess"
    told = made.to_dict()
    assert told["verdict"]["headline"].startswith("It could not be assessed. This is not a pass: ")
    assert "did you mean 'age'?" in told["verdict"]["headline"]
    assert told["classes"] is None
    read(made)


def test_groups_are_told_apart_from_the_whole_table():
    made = pd.DataFrame(cells()).anon.report(policy=policy(by="sex", quasi=["zip", "age"]))
    told = made.to_dict()
    assert told["budgets"]["note"] == "Checked in each group of sex."
    assert told["classes"]["note"] == "Of the whole table, all groups of sex together."
    assert told["attackers"]["note"].startswith("Of the whole table, all groups of sex together. ")
    whole = pd.DataFrame(cells()).anon.classes(["zip", "age"])
    assert sum(row["people"] for row in told["classes"]["rows"]) == whole.n_records
    assert "but the groups of sex" in read(made).text


def test_without_a_policy_nothing_is_decided(frame):
    made = frame(cells()).anon.report(["zip", "sex"], "illness")
    told = made.to_dict()
    assert made.verdict is None
    assert told["verdict"]["status"] is None
    assert told["budgets"] is None
    assert told["verdict"]["headline"].startswith("No policy was given, so nothing is decided.")
    assert told["sensitive"]["columns"][0]["name"] == "illness"


@pytest.mark.parametrize("missing", ["value", "drop"])
def test_missing_values_and_persons(missing):
    cells = {"a": ["x", "y", "x", None, "x"], "b": [1, 2, 1, 1, 1], "u": [1, 1, 2, 3, 4]}
    made = pd.DataFrame(cells).anon.report(["a", "b"], unit="u", missing=missing)
    sizes = pd.DataFrame(cells).anon.classes(["a", "b"], unit="u", missing=missing)
    told = made.to_dict()
    facts = {fact["label"]: fact["text"] for fact in (*told["masthead"]["facts"], *told["made"])}
    assert facts["Rows"] == "5"
    assert facts["Persons"] == str(sizes.n_records)
    assert facts.get("Rows left out") == ("1" if missing == "drop" else None)
    read(made)


def test_errors_of_somebody_who_asks_for_numbers():
    table = pd.DataFrame(cells())
    with pytest.raises(ColumnNotFoundError, match="did you mean 'zip'"):
        table.anon.report("zipp")
    with pytest.raises(EmptyTableError):
        table.iloc[:0].anon.report("zip")
    with pytest.raises(ArgumentError, match="give a policy or columns, not both"):
        table.anon.report(sensitive="illness", policy=policy())
    with pytest.raises(AnonRiskError):
        table.anon.report("zip", group_size=-1)


# ---- what is never shown ------------------------------------------------------------------------


@pytest.mark.slow
@given(st.lists(st.integers(1, 12), min_size=1, max_size=9), st.sampled_from([2, 3, 5, 11]))
@settings(max_examples=60, deadline=None)
def test_no_small_count_is_told(sizes, k):
    table = pd.DataFrame({"a": np.repeat(np.arange(len(sizes)), sizes).astype(str)})
    told = table.anon.report(policy=Policy(quasi="a", k=k)).to_dict()["classes"]
    counted = table.anon.classes("a")
    for row in told["rows"]:
        inside = (counted.sizes >= row["low"]) & (counted.sizes <= row["high"])
        assert row["people"] == counted.records[inside].sum()
        assert row["people"] >= text.FLOOR or len(told["rows"]) == 1
        assert row["too_few"] == (row["high"] < k)
        assert ("some below" in row["label"]) == (row["low"] < k <= row["high"])
    assert sum(row["people"] for row in told["rows"]) == counted.n_records
    below = counted.records_below(k)
    if 0 < below < text.FLOOR and len(table) > 1:
        few = "Fewer than 5" if len(table) >= text.FLOOR else "Some"
        assert told["title"].startswith(f"{few} of {len(table)} records hide")
    elif below:
        # The title less the rows leaves nothing to be read off.
        assert below == sum(row["people"] for row in told["rows"] if row["too_few"])


def test_not_told_does_not_mean_one():
    one, two = (
        pd.DataFrame({"a": [*"x" * 9, *"y" * 9, *alone]}).anon.report(policy=Policy(quasi="a", k=2))
        for alone in ("v", "vw")
    )
    assert one.to_dict()["classes"]["title"].startswith("Fewer than 5 of 19 records")
    assert two.to_dict()["classes"]["title"].startswith("Fewer than 5 of 20 records")


@pytest.mark.parametrize(
    ("rows", "title", "now"),
    [
        ("x", "1 of 1 record (100.0%) hides among fewer than 2.", "100.0%"),
        ("xyy", "Some of 3 records hide among fewer than 2.", "some records"),
        ("xyz", "Some of 3 records hide among fewer than 2.", "some records"),
        ("wxyy", "Some of 4 records hide among fewer than 2.", "some records"),
        ("xyyyy", "Fewer than 5 of 5 records hide among fewer than 2.", "fewer than 5 records"),
        ("vwxyz", "5 of 5 records (100.0%) hide among fewer than 2.", "100.0%"),
    ],
)
def test_of_a_few_people_fewer_than_five_are_not_told(rows, title, now):
    made = pd.DataFrame({"a": [*rows], "b": 1}).anon.report(policy=Policy(quasi=["a", "b"], k=2))
    told = made.to_dict()
    assert (told["classes"]["title"], told["drivers"]["now_text"]) == (title, now)
    assert f"fewer than 5 of {len(rows)} " not in made.to_markdown().lower() or len(rows) > 4


def test_hostile_names_stay_names():
    n = 300
    rng = np.random.default_rng(3)
    table = pd.DataFrame({name: rng.integers(0, 9, n) for name in HOSTILE})
    made = table.anon.report(
        policy=Policy(
            quasi=list(HOSTILE[:3]), sensitive=[HOSTILE[3]], missing_sensitive="value", k=3
        ),
        title=HOSTILE[0],
        name=HOSTILE[1],
    )
    page = made.to_html()
    assert "<img" not in page
    assert chr(0x202E) not in page + made.to_markdown() + made.to_json() + repr(made)
    assert HOSTILE[0] in read(made).text
    said = made.to_markdown()
    assert "<img" not in said
    assert "@all" not in said
    assert "https://" not in said


@pytest.mark.nightly
def test_a_page_stays_small_whatever_the_table():
    n = 60
    names = [f"{i}{'<&>' * 400}" for i in range(300)]
    table = pd.DataFrame({name: np.arange(n) % (2 + i % 5) for i, name in enumerate(names)})
    made = table.anon.report(
        policy=Policy(
            quasi=names[:90],
            sensitive=names[90:150],
            missing_sensitive="value",
            k=2,
            ldiv={"l": 2},
            unlisted="ignore",
        )
    )
    read(made)
    assert len(made.to_json()) < 1_000_000
    assert made.to_dict()["drivers"]["more"] == 50


# ---- files, shells, notebooks -------------------------------------------------------------------


def test_files_by_their_ending(tmp_path):
    made = pd.DataFrame(cells()).anon.report(policy=policy())
    for ending, begins in (("html", "<!DOCTYPE html>"), ("md", "# "), ("json", "{")):
        path = tmp_path / f"r.{ending}"
        made.save(path)
        assert path.read_text(encoding="utf-8").lstrip().startswith(begins)
    with pytest.raises(ArgumentError, match=r"\.html, \.md or \.json"):
        made.save(tmp_path / "r.pdf")


def test_shell_and_notebook(monkeypatch):
    made = pd.DataFrame(cells()).anon.report(policy=policy())
    assert max(map(len, repr(made).splitlines())) <= 80
    assert "Do not publish" in repr(made)
    assert made._repr_html_().startswith('<iframe title="Report" sandbox=""')
    found = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "jinja2":
            raise ImportError
        return found(name, *args, **kwargs)

    page_module.template.cache_clear()
    monkeypatch.setattr(builtins, "__import__", without)
    assert made._repr_html_() is None
    with pytest.raises(MissingLibraryError, match=r"pip install 'anonrisk\[report\]'"):
        made.to_html()
    assert made.to_markdown()


def test_results_that_are_there_make_a_page():
    table = pd.DataFrame(cells())
    found = table.anon.assess(QID, "illness")
    group = found.sizes.predict_singletons(20)
    page = Page(reporting.html(found, group, verdict=policy().check(table), title="A < B")).text
    assert "A < B" in page
    assert "Do not publish" in page
    assert f"{group.fraction:.1%}" in page
    page = Page(reporting.html(found, table.anon.suda(QID))).text
    assert "No policy was given" in page
    assert "Also measured" in page


@pytest.mark.slow
def test_population_and_weights():
    table = pd.DataFrame(cells())
    people = pd.concat([table] * 3)
    made = table.anon.report(QID, population=people).to_dict()
    assert {"label": "Passes over the table", "text": "3"} in made["made"]
    told = made["attackers"]
    expected = anonrisk.risk(table, QID, people)
    journalist = told["rows"][1]
    assert journalist["known"]
    assert journalist["highest"]["low"] == journalist["highest"]["high"]
    assert journalist["highest"]["high"] == expected.journalist.highest
    assert told["rows"][2]["average"]["high"] == expected.marketer.average
    told = table.anon.report(QID, population_size=9_000).to_dict()
    low, high = table.anon.classes(QID).predict_population(9_000).unique_fraction
    assert (told["population"]["low"], told["population"]["high"]) == (low, high)
    journalist = told["attackers"]["rows"][1]
    assert not journalist["known"]
    sizes = table.anon.classes(QID)
    assert journalist["highest"]["low"] == pytest.approx(1 / (9_000 - 400 + sizes.k))
    assert journalist["highest"]["high"] == 1 / sizes.k


def test_passes_are_counted_once_each(monkeypatch):
    from anonrisk.engines.pandas import PandasEngine

    asked = []
    for verb in ("count", "score", "match"):
        kept = getattr(PandasEngine, verb)
        monkeypatch.setattr(
            PandasEngine,
            verb,
            lambda self, *args, kept=kept, verb=verb: (asked.append(verb), kept(self, *args))[1],
        )
    # Whoever is judged and fails is tried to be helped, which counts beside.
    found = measured(policy(), pd.DataFrame(cells()), judged=False)
    # The last is the one look at what the columns hold.
    assert asked == ["score", "count", "count"]
    # What a check counts outlives it in other places, and holds no table.
    assert count(policy(), pd.DataFrame(cells())).table is None
    kept = count(policy(), pd.DataFrame(cells()), every_score=True)
    assert SECRET not in repr(kept)
    assert found.passes == 2


@pytest.mark.slow
def test_nothing_is_told_of_people_outside_a_table_that_lost_its_rare_ones():
    table = pd.DataFrame({"zip": ["a"] * 60 + ["b"] * 60})
    policy = Policy(quasi="zip", k=2, sampling_fraction=0.1, unsuppressed=True)
    whole = anonrisk.report(table, policy=policy).to_dict()
    assert whole["groups"]["rows"]
    assert "nothing was removed since" in whole["attackers"]["note"]
    cut = anonrisk.report(table, policy=policy, n_original=130)
    told = cut.to_dict()
    assert told["groups"] is None
    assert [row["known"] for row in told["attackers"]["rows"]] == [True, False, False]
    assert "where rare records were removed" in cut.to_markdown()


def test_what_cannot_be_assessed_leads_with_its_cause():
    table = pd.DataFrame({"zip": ["a"] * 4, "age": [1] * 4, "x": [1, 2, 3, 4]})
    asked = Policy(quasi=["zip", "age"], sensitive="x", k=2, ldiv={"l": 2})
    told = table.head(0).anon.report(policy=asked).to_dict()
    assert told["verdict"]["headline"] == (
        "It could not be assessed. This is not a pass: the table has no records; there is nothing "
        "to publish."
    )
    asked = Policy(
        quasi=["zip", "gone"], direct="name", insensitive=["age", "note"], sensitive="x", k=2
    )
    told = table.anon.report(policy=asked).to_dict()
    assert told["verdict"]["headline"] == (
        "It could not be assessed. This is not a pass: quasi-identifier 'gone' is not a column; "
        "did you mean 'age'? The table has 3 columns."
    )
    several = table.anon.report(policy=Policy(quasi=["zip", "gone"], sensitive="lost", k=2))
    assert several.to_dict()["verdict"]["headline"].endswith("does not have: gone and lost.")
    # Names and harmless columns that are gone are no loss.
    first = told["columns"][0]
    assert (first["role"], first["names"], first["looked_at"]) == ("absent", ["gone"], False)
    assert all("gone" not in group["names"] for group in told["columns"][1:])
    assert "absent" not in {g["role"] for g in table.anon.report("zip").to_dict()["columns"]}


def test_what_is_called_exact_is_in_the_report():
    def exact(told):
        return [fact["text"] for fact in told["made"] if fact["label"] == "Exact"]

    table = pd.DataFrame({"zip": ["a"] * 4, "age": [1, 1, 2, 2], "x": [1, 2, 3, 4]})
    counted = "class sizes, columns left out, prosecutor"
    gate = Policy(quasi=["zip", "age"], sensitive="x", k=2, ldiv={"l": 2})
    told = table.anon.report(policy=gate).to_dict()
    assert exact(told) == [f"columns, budgets, {counted}, sensitive columns"]
    # One column cannot be left out, and nothing is judged of it.
    assert exact(table.anon.report("zip").to_dict()) == ["columns, class sizes, prosecutor"]
    lacking = Policy(quasi=["zip", "gone"], sensitive="x", k=2, ldiv={"l": 2})
    told = table.anon.report(policy=lacking).to_dict()
    assert told["classes"] is told["drivers"] is told["attackers"] is told["sensitive"] is None
    assert exact(told) == ["columns"]


def test_many_columns_are_folded_and_few_are_not():
    table = pd.DataFrame({f"c{i}": [0, 0] for i in range(61)})
    made = table.anon.report(policy=Policy(quasi=["c60"], k=2, unlisted="ignore"))
    page = made.to_html()
    assert "<summary>48 more columns</summary>" in page
    assert page.count("<bdi>c") >= 61
    folded = page.partition("<summary>48 more columns</summary>")[2].partition("</details>")[0]
    assert folded.count("<bdi>c") == 48
    assert "more columns</summary>" not in table[["c0"]].anon.report("c0").to_html()


def test_only_words_that_no_column_could_hold_are_broken():
    table = pd.DataFrame({"a" * 24: [1, 2], "b" * 25: [1, 2]})
    page = table.anon.report(list(table)).to_html()
    assert f'<th scope="row"><bdi>{"a" * 24}</bdi>' in page
    assert f'<th scope="row" class="breaking"><bdi>{"b" * 25}</bdi>' in page


def test_a_journalist_of_whom_nothing_is_known_finds_at_most():
    table = pd.DataFrame({"zip": list("aaabbb")})
    limits = {"journalist": {"highest": 0.5, "share_above": {"threshold": 0.2, "at_most": 1.0}}}
    asked = Policy(quasi="zip", k=2, risk={**limits, "prosecutor": {"highest": 0.5}})
    sentences = [
        row["sentence"] for row in table.anon.report(policy=asked).to_dict()["budgets"]["rows"]
    ]
    unknown = "(nothing is known of a population)"
    assert (
        f"The highest risk from a journalist is at most 33.3% {unknown}; at most 50% is allowed."
        in sentences
    )
    assert any(
        text.startswith(
            f"At most 100.0% of the records have a risk above 20% from a journalist {unknown}"
        )
        for text in sentences
    )
    assert "The highest risk from a prosecutor is 33.3%; at most 50% is allowed." in sentences
    people = pd.DataFrame({"zip": list("aaaabbbb")})
    known = asked.check(table, population=people)
    assert any(
        f.sentence.startswith("The highest risk from a journalist is 25.0%;")
        for f in known.findings
    )
    told = repr(table.anon.risk("zip")).splitlines()
    assert told[1].split() == ["prosecutor", "33.3%", "33.3%"]
    assert told[2].split() == ["journalist", "at", "most", "33.3%", "at", "most", "33.3%"]
    assert "at most" not in repr(table.anon.risk("zip", people))
