"""Every result prints in lines of 80 characters, and in a notebook of any theme.

A class that prints itself, or that a public function gives, has a place in `RESULTS`.
"""

from __future__ import annotations

import html
import importlib
import inspect
import pkgutil
import re
import tempfile
import warnings
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from keys import KEY, approvers

import anonrisk
from anonrisk import AnonRiskError, PlanOptions, Policy, predict, testing
from anonrisk.accessor import FUNCTIONS
from anonrisk.core import render
from anonrisk.core.results import Interval
from anonrisk.engines.held import ROLES_KEY, HeldTable
from anonrisk.identity import Erasure, Expiry, IdentityProtector, Rotation, collision_chance
from anonrisk.measures.counts.class_profiles import ValueCounts
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.planning.class_rules import PlannedBudget
from anonrisk.policy.against import UniqueChange, check_against
from anonrisk.predict.population import Pitman, Sample, bounds, good_toulmin
from anonrisk.predict.zipf import Zipf
from anonrisk.priors import Repository
from anonrisk.pseudonyms.keys import Key
from anonrisk.pseudonyms.seal import SigningKey
from anonrisk.recode import Prefix
from anonrisk.releases.ledger.chain import Chain
from anonrisk.releases.ledger.ledger import Ledger
from anonrisk.releases.ledger.manifest import Manifest
from anonrisk.releases.links import Link, linked
from anonrisk.releases.release.approvals import Approval, Waiver
from anonrisk.releases.release.published_files import PublishedFile, PublishedTable
from anonrisk.releases.release.release import Release
from anonrisk.releases.release.verdict import MendTrial

NAMES = ("zip", "year of birth", "sex", "illness", "who", "when")
LONG = (
    *("zip_" * 50, "שנת הלידה " * 20, "<b onload='x'>" * 15, "the illness of " * 14),
    *("::error::who" * 17, "a\u202e\x1b[31m" + "when" * 50),
)
# Characters that take two places of a terminal, and one that takes none.
WIDE = ("郵便番号" * 50, "生年月日 " * 20, "性別" * 9, "診断", "e\u0301" * 70, "日付" * 8)


def table(names=NAMES, n=60):
    random = np.random.default_rng(7)
    cells = (
        random.integers(1000, 1012, n).astype(str),
        random.integers(1950, 1990, n),
        random.choice(["f", "m"], n),
        random.choice(["flu", "cold", "none"], n),
        random.integers(0, n // 2, n),
        pd.date_range("2024-01-01", periods=n, freq="D"),
    )
    df = pd.DataFrame(dict(zip(names, cells, strict=True)))
    zip_, born, sex, ill, who, when = names
    policy = Policy(
        name=f"release of {zip_}",
        quasi=[zip_, born, sex],
        sensitive=[ill],
        k=5,
        ldiv={"l": 2},
        max_unique_fraction=0.01,
        risk={"prosecutor": {"highest": 0.2}},
        predicted_singletons={"group_size": 20, "at_most_fraction": 0.01},
        unlisted="ignore",
    )
    return SimpleNamespace(
        df=df,
        anon=df.anon,
        q=[zip_, born, sex],
        zip=zip_,
        born=born,
        sex=sex,
        ill=ill,
        who=who,
        when=when,
        policy=policy,
        sizes=df.anon.classes([zip_, born, sex]),
    )


TABLES = {
    "usual": table(),
    "tiny": table(n=3),
    "long names": table(LONG),
    "wide letters": table(WIDE),
}


POPULATION = "Members of 2021, all of them and their families, wherever they live"
AGES = pd.DataFrame({"age": [20 + i % 50 for i in range(5_000)]})


def served_of(t):
    """Serve a page, and end that: what it prints then is not about this machine."""
    with t.anon.explore(t.q, serve=True) as served:
        return served


def published(t):
    """Publish for two holders who disagree, one of a long name."""
    repository = Repository("sqlite://")
    for by, ages in (("The Club of the Friends of " * 4, AGES), ("Others", AGES[AGES < 50])):
        name = "the age in years of whoever answered"
        renamed = ages.dropna().rename(columns={"age": name})
        repository.publish(renamed, name, population=POPULATION, by=by)
    return repository


def forecast(t):
    prior = published(t).query()[0]
    return published(t).predict(prior.qid, POPULATION, 1_000, by="Others")


def bounded(t):
    return t.sizes.risk(sampling_fraction=0.1, population_size=10 * len(t.df)).journalist


def held(t):
    roles = t.anon.declare(quasi=t.q, sensitive=t.ill, unit=t.who).anon.roles()
    return HeldTable(t.df, {ROLES_KEY: roles.to_dict()})


def identities_of(t):
    """A store of identities whose officer, clerk and recipient have long names."""
    officer, clerk, recipient, why = map(one_line, (t.sex, t.who, t.zip, (t.born * 20)[:2_000]))
    keeper = IdentityProtector(Key.generate(), "sqlite://", admin=officer)
    for i in range(20):
        rights = {"scope": recipient, "per_day": 9**i, "by": officer, "reason": why}
        keeper.grant(clerk, "issue", **rights)
    keeper.issue_all(["Ann", "Bob"], scope=recipient, by=clerk, reason=why)
    return keeper


def one_line(text):
    """Leave out what names and reasons must not have."""
    return "".join(character for character in text if character.isprintable())


def ledger_of(t):
    """A ledger in which a release with long names is."""
    ledger = Ledger(Path(tempfile.mkdtemp()) / "ledger.db", key=KEY, new=True)
    manifest = Manifest(
        release=f"release of {t.zip}",
        audience=t.born,
        by=t.sex,
        policy_digest=t.policy.digest,
        files=(),
        tables=(),
        verdict={"status": "pass"},
        waivers=(Waiver("k", t.zip, t.ill, t.who, "9999-12-31").to_dict(),),
        previous=ledger.head,
    )
    ledger.append(manifest.sealed(ledger.key), {t.zip: b"state"})
    return ledger


def manifest_of(t):
    (entry,) = ledger_of(t).entries()
    verdict = t.policy.check(t.df, name=t.zip).to_dict()
    return Manifest(
        *(entry.release, entry.audience, entry.by, entry.policy_digest),
        files=(PublishedFile("a" * 90, 10**9, "0" * 64, t.zip),),
        tables=(PublishedTable(t.zip, verdict),),
        verdict=verdict,
    )


def release_of(t):
    about = {"name": t.zip, "audience": t.born, "separate": [t.sex], "approvals": 1}
    about["approvers"] = approvers(one_line(t.who))
    return Release({t.zip: t.df}, t.policy, waivers=[waiver_of(t)], **about)


def comparisons_of(t):
    """The table beside a part of it that was published before."""
    ledger = Ledger(Path(tempfile.mkdtemp()) / "ledger.db", key=KEY, new=True)
    about = {
        "policy": Policy(quasi=t.q, k=1, unlisted="ignore", differencing={"k": 2, "net": True})
    }
    release, later = (
        Release({t.zip: df}, **about, name=f"{name} of {t.born}", audience=t.sex)
        for name, df in (("first", t.df.head(50)), ("second", t.df))
    )
    release.publish(ledger, by="A. Officer")
    return later.compare(ledger)


def mended_of(t, how="mend"):
    """The table after a part of it, with one person too few to come."""
    ledger = Ledger(Path(tempfile.mkdtemp()) / "ledger.db", key=KEY, new=True)
    policy = Policy(quasi=t.q, unit=t.who, k=1, unlisted="ignore", differencing={"k": 2})
    first, later = (
        Release({t.zip: df}, policy, name=name, audience=t.sex)
        for name, df in (("first", t.df.head(50)), ("second", t.df))
    )
    first.publish(ledger, by="A. Officer")
    if how == "explain":
        return later.check(ledger).explain()
    return later.mend(ledger, leavers="drop")


def waiver_of(t):
    return Waiver("k", t.zip, t.ill, t.sex, "9999-12-31")


def verified(t):
    ledger = ledger_of(t)
    manifest = ledger.manifest(f"release of {t.zip}")
    return manifest.verify([], key=ledger.key, ledger=ledger)


def linked_sizes(t):
    tables, link = {t.zip: t.df, t.sex: t.df.head(20)}, Link([t.zip, t.sex], on=t.who)
    return linked(tables, link, {t.zip: [t.zip, t.born], t.sex: [t.sex]})


# By class: what gives one, of a table.
RESULTS = {
    "AgainstBase": lambda t: check_against(t.policy, t.df, t.df.head(20))[1],
    "AnonAccessor": lambda t: t.anon.declare(quasi=t.q, sensitive=t.ill, unit=t.who).anon,
    "Assessment": lambda t: t.anon.assess(t.q, [t.ill]),
    "Attacker": lambda t: t.sizes.risk().prosecutor,
    "BoundedAttacker": bounded,
    "Bounds": lambda t: bounds(Sample.of(t.sizes, 10 * len(t.df))),
    "Box": lambda t: anonrisk.box_plot(t.df, t.q, by=one_line(t.sex)).overall,
    "BoxPlot": lambda t: anonrisk.box_plot(t.df, t.q, by=t.zip),
    "Change": lambda t: t.anon.explain_risk(t.q).best,
    "ClassCounts": lambda t: ClassCounts([1, 3], [2, 10**9], qid=t.q, unit=t.who, n_dropped=4),
    "ClassProfiles": lambda t: anonrisk.profiles(t.df, t.q, t.ill),
    "ClassSizes": lambda t: t.anon.classes(t.q, unit=t.who),
    "Closeness": lambda t: t.anon.tcloseness(t.q, t.ill),
    "Comparison": lambda t: t.anon.compare(
        t.q, previous=t.df.head(50), unit=t.who, sensitive=t.ill
    ),
    "Comparisons": comparisons_of,
    "MendPrice": lambda t: mended_of(t).price,
    "MendTrial": lambda t: MendTrial("drop", mended_of(t).price, "pass"),
    "ReleaseExplanation": lambda t: mended_of(t, "explain"),
    "Mended": mended_of,
    "DegreeOfAnonymity": lambda _: predict.degree([0.1, 0.2, 0.7]),
    "Disagreement": lambda t: published(t).disagreements()[0],
    "Disagreements": lambda t: published(t).disagreements(),
    "Distribution": lambda t: predict.Distribution.from_class_sizes(t.sizes),
    "Divergence": lambda t: t.sizes.kl(),
    "Explanation": lambda t: t.policy.check(t.df).explain(),
    "Finding": lambda t: t.policy.check(t.df).findings[0],
    "Fit": lambda _: predict.fit_zipf([5, 3, 2, 1]),
    "Forecast": forecast,
    "FoundQid": lambda t: t.anon.find_qids(alpha=0.01, qids=t.q).sets[0],
    "GoodToulmin": lambda _: good_toulmin({1: 400, 2: 100, 3: 20}, 1.5),
    "GroupDesign": lambda _: predict.best_group_size((95, 0.0), 10),
    "HeldTable": held,
    "IdentityProtector": identities_of,
    "IdentityStore": lambda t: identities_of(t)._session.store,
    "AuditChain": lambda t: identities_of(t)._session.keys.chain,
    "AuditTrail": lambda t: identities_of(t).audit(by=one_line(t.sex)),
    "Erasure": lambda _: Erasure(2),
    "Expiry": lambda _: Expiry(10**6, 3),
    "Rotation": lambda _: Rotation(2, 10**6, 0),
    "Event": lambda t: identities_of(t).audit(by=one_line(t.sex))[-2],
    "Rights": lambda t: identities_of(t).rights(by=one_line(t.sex)),
    "VerifiedStore": lambda t: identities_of(t).verify(by=one_line(t.sex)),
    "LintResult": lambda t: t.policy.lint(t.df),
    "ConformanceReport": lambda _: testing.run(testing.engine("pandas"), cases=testing.cases()[:3]),
    "Interval": lambda _: Interval(1e-9, 123456789.123456789, level=0.95),
    "CollisionChance": lambda t: collision_chance(10 ** len(t.df), length=16),
    "Key": lambda _: Key.generate(),
    "KeyPart": lambda t: KEY.split(one_line(t.zip), one_line(t.sex))[0],
    "KlAfter": lambda t: anonrisk.kl_after(
        t.df, t.q, [{t.born: 5}, {t.zip: Prefix(2), t.born: 10}]
    ),
    "KlStep": lambda t: anonrisk.kl_after(t.df, t.q, [{t.born: 5}]).steps[1],
    "KnownByKl": lambda _: predict.Distribution.from_kl(n_values=95, kl=0.03),
    "Approval": lambda t: Approval(t.zip, "sha256:" + "0" * 64, "SHA256:" + "a" * 43, "A" * 88),
    "Chain": lambda _: Chain.of(KEY, "0" * 32, states=KEY),
    "Ledger": ledger_of,
    "LedgerEntries": lambda t: ledger_of(t).entries(),
    "LedgerEntry": lambda t: ledger_of(t).entries()[0],
    "Linkability": lambda t: anonrisk.linkability(
        t.df, [t.zip], unit=t.who, time=t.when, period="7D"
    ),
    "LinkedSizes": linked_sizes,
    "LookAlike": lambda t: t.df.assign(n=range(len(t.df))).anon.find_qids().direct[0],
    "LowerBound": lambda t: t.anon.classes(t.q).rr,
    "Manifest": manifest_of,
    "MatchedTable": lambda t: linked_sizes(t).matched[0],
    "ModelEstimate": lambda t: t.sizes.predict_population(10 * len(t.df))["pitman"],
    "Moved": lambda t: RESULTS["Utility"](t).moved[0],
    "Pitman": lambda _: Pitman(theta=20, alpha=0.4),
    "Plan": lambda t: t.anon.plan(t.q, 2, max_suppressed=1.0),
    "PlanPrices": lambda t: t.anon.plan(t.q, 3, max_suppressed=0.5).prices(t.df),
    "PlanAttack": lambda t: t.anon.plan(t.q, 2, max_suppressed=1.0).attack(t.df, sensitive=t.ill),
    "PlanGap": lambda t: t.anon.plan(
        t.q, 2, max_suppressed=0, options=PlanOptions(method="multidimensional")
    ).gap(t.df),
    "PlanDiff": lambda t: RESULTS["Plan"](t).diff(t.anon.plan(t.q, 3, max_suppressed=0.5)),
    "PlanOutcome": lambda t: t.anon.plan(t.q, 2, max_suppressed=1.0).before,
    "PlanStep": lambda t: t.anon.plan(t.q, 2, max_suppressed=1.0).steps[0],
    "PlannedBudget": lambda t: PlannedBudget(
        "k", "missed", "fail", 5, 3, tuple(t.q), why="the table is too small"
    ),
    "Policy": lambda t: t.policy,
    "PopulationEstimate": lambda t: t.sizes.predict_population(12 * len(t.df)),
    "PredictedClasses": lambda t: t.sizes.predict_classes(len(t.df)),
    "PredictedRecords": lambda _: predict.records_below(predict.Distribution.uniform(9), 20, 3),
    "Prediction": lambda t: t.sizes.predict_singletons(len(t.df)),
    "Presence": lambda t: t.anon.delta_presence(t.q, pd.concat([t.df, t.df])),
    "Prior": lambda t: published(t).query()[0],
    "ProbabilisticK": lambda t: t.anon.probabilistic_k(t.q, 10**10, 0.5),
    "Probability": lambda t: t.sizes.predict_singletons(2).p_none,
    "PublicKey": lambda _: SigningKey.generate().public,
    "QidAnswer": lambda t: anonrisk.is_quasi_identifier(t.df, t.q, 0.2, 10**9),
    "QidReport": lambda t: t.anon.find_qids(alpha=0.01, qids=t.q, population_size=10**9),
    "Release": release_of,
    "ReleaseVerdict": lambda t: release_of(t).check(),
    "Report": lambda t: t.anon.report(policy=t.policy),
    "EarlierComparison": lambda t: comparisons_of(t)[0],
    "Estimated": lambda t: anonrisk.sketch(t.df, t.q, key=KEY).uniqueness,
    "Explorer": lambda t: t.anon.explore(t.q),
    "Repository": published,
    "Risk": lambda t: t.anon.risk(t.q),
    "RiskExplanation": lambda t: t.anon.explain_risk(t.q),
    "Roles": lambda t: t.anon.declare(quasi=t.q, sensitive=t.ill, unit=t.who).anon.roles(),
    "SampledRisk": lambda t: t.sizes.risk(sampling_fraction=0.1, population_size=10 * len(t.df)),
    "SearchPlan": lambda t: t.anon.find_qids(explain=True),
    "SigningKey": lambda _: SigningKey.generate(),
    "Sketch": lambda t: anonrisk.sketch(t.df, t.q, key=KEY),
    "SigmaEstimate": lambda _: predict.sigma_from_singletons(8, group_size=10, width=0.5),
    "State": lambda t: t.anon.state(t.q, sensitive=t.ill, unit=t.who, key=KEY),
    "ServedExplorer": served_of,
    "Step": lambda t: RESULTS["Questionnaire"](t).steps[0],
    "Submissions": lambda t: published(t).query(),
    "Suda": lambda t: t.anon.suda(t.q, sampling_fraction=0.1),
    "SuggestedWidth": lambda _: predict.suggest_width([0.01] * 100, 200, 0.05),
    "Trajectory": lambda t: t.anon.trajectory([t.zip], unit=t.who, length=2),
    "TrajectoryStep": lambda t: t.anon.trajectory([t.zip], unit=t.who, length=2).at(1),
    "Tried": lambda t: RESULTS["SuggestedWidth"](t).tried[0],
    "UniqueChange": lambda t: UniqueChange(tuple(t.q), 12, 10**9, "person", t.zip),
    "Utility": lambda t: anonrisk.utility(
        t.anon.generalize([t.born], bins=[1960]), t.q, original=t.df
    ),
    "ValueCounts": lambda t: ValueCounts(**vars(anonrisk.profiles(t.df, t.q, t.ill))),
    "Verdict": lambda t: t.policy.check(t.df),
    "Verified": verified,
    "Waiver": waiver_of,
    "PlanTrial": lambda t: t.policy.check(t.df).explain().trials[0],
    "Without": lambda t: t.policy.check(t.df).explain().columns[0],
    "WithoutSeveral": lambda t: t.policy.check(t.df).explain().together[0],
    "Questionnaire": lambda t: predict.questionnaire(
        16_000_000, [(f"{t.zip} of", 0.3), ("postal code", 1e-4), (t.born, 1e-9)]
    ),
    "ZipfStep": lambda _: Zipf(2_497, 0.632, 42_598_300).table(3).steps[0],
    "ZipfTable": lambda _: Zipf(2_497, 0.632, 42_598_300).table(3),
}


def classes_of_the_package():
    found = {}
    for module in pkgutil.walk_packages(anonrisk.__path__, "anonrisk."):
        if not re.search(
            r"spark|__main__|integrations\.|\.gx|engines|\.sql|\.scanned", module.name
        ):
            for value in vars(importlib.import_module(module.name)).values():
                if inspect.isclass(value) and value.__module__.startswith("anonrisk."):
                    found[value.__name__] = value
    return found


def prints_itself(kind):
    """Return whether somebody wrote how it prints: what `dataclass` makes is of no file."""
    code = getattr(kind.__repr__, "__code__", None)
    return code is not None and "anonrisk" in code.co_filename


def given_by_public_functions():
    public = [*FUNCTIONS, *(getattr(predict, name) for name in predict.__all__)]
    return {
        word
        for function in public
        if inspect.isfunction(function)
        for word in re.findall(r"\w+", str(function.__annotations__.get("return")))
    }


def test_every_result_has_a_place_here():
    known = classes_of_the_package()
    own = {
        name
        for name, kind in known.items()
        if not (name.startswith("_") or inspect.isabstract(kind) or issubclass(kind, Exception))
        and kind.__module__ != render.__name__
        and (prints_itself(kind) or name in given_by_public_functions())
    }
    assert own == {*RESULTS}


class Balanced(HTMLParser):
    """Reads HTML; every tag that opens is closed, in order, and no style sets a colour."""

    def __init__(self, text):
        super().__init__()
        self.open, self.texts = [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        for name, value in attributes:
            assert name in {"style", "srcdoc", "title", "sandbox"}
            if name == "style":
                assert not re.search(r"(^|;)\s*(color|background)", value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def prints_well(result):
    for text in (repr(result), str(result)):
        assert max(map(render.width_of, text.split("\n"))) <= render.WIDTH
        assert all(character.isprintable() or character == "\n" for character in text)
        assert "\u2420" not in text
        assert not re.search(r"\b[A-Z]\d{1,2}\b", text), "the id of a formula"
    printed = isinstance(result, render.PrintedTable | render.PrintedLines)
    if printed and not isinstance(result, render.PrintedFields):
        assert not re.search(r"\de[-+]\d", repr(result)), "digits that nobody reads"
    if isinstance(result, render.PrintedTable):
        header = result._header()
        assert len({*header}) == len(header)
    html = getattr(result, "_repr_html_", lambda: None)()
    if html is not None:
        Balanced(html)


# Whoever changes how one prints sees it on the usual table.
OTHERS = [pytest.param(which, marks=pytest.mark.slow) for which in TABLES if which != "usual"]


@pytest.mark.slow
@pytest.mark.parametrize("which", ["usual", *OTHERS])
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_prints_well(name, which):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = RESULTS[name](TABLES[which])
        except (AnonRiskError, IndexError):
            # Of three records not everything can be told.
            assert which == "tiny"
            return
    assert type(result).__name__ == name
    prints_well(result)


def test_wide_letters_stand_in_columns():
    printed = render.text_table(("column", "n"), [("郵便番号", "1"), ("zip", "2"), ("é", "3")])
    assert printed.split("\n") == ["column     n", "郵便番号   1", "zip        2", "é          3"]
    assert render.short("郵便番号" * 3, 8) == "郵便…号"
    assert render.short("a" + "郵" * 9, 8) == "a郵…郵"


def test_no_name_takes_long_to_tell_from_a_number():
    name = "-" * 200 + "x"
    assert render.text_table(("n", "m"), [(name, "1")]).count("…") == 1


def test_a_blank_name_is_seen():
    df = pd.DataFrame({"": ["a", "b"], "  ": [1, 2], "x": [1, 1]})
    policy = anonrisk.Policy(quasi=["x"], sensitive=["  "], k=2, ldiv=3, unlisted="ignore")
    verdict = policy.check(df)
    assert "'': not looked at" in repr(verdict)
    assert "in '  '" in repr(verdict)
    assert "Classes of '' + x:" in repr(df.anon.classes(["", "x"]))
    assert "\n'' " in repr(df.anon.declare(quasi=[""]).anon.roles())
    assert "\n'' " in repr(df.anon.find_qids(max_size=1))
    assert df.anon.summary([["", "x"]]).index.tolist() == ["'' + x"]
    # A group of `by` without a letter, too.
    by = anonrisk.Policy(quasi=["x"], k=2, by="g", unlisted="ignore").check(df.assign(g=["", "b"]))
    assert "In '': " in repr(by)
    page = df.anon.report(policy=policy)
    for written in (html.unescape(page.to_html()), page.to_markdown()):
        assert "''" in written
        assert "'  '" in written
