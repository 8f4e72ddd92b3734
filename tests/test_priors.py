"""The repository: on SQLite and, where there is one, on a real PostgreSQL."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonrisk import ClassSizes
from anonrisk.core import database
from anonrisk.errors import (
    AnonRiskError,
    ArgumentError,
    InvalidPriorError,
    MissingLibraryError,
    NoColumnsError,
    PopulationTooSmallError,
    RepeatedColumnError,
    StoreError,
)
from anonrisk.priors import Prior, Repository, repository
from anonrisk.priors import prior as checks

sqlalchemy = pytest.importorskip("sqlalchemy", reason="needs the extra 'store'")

FIELDS = {
    "qid": ["zip", "age"],
    "population": "Amsterdam 2021",
    "kl": 0.123,
    "s2": 0.0013,
    "s3": 2e-6,
    "n_values": 900,
    "n_records": 873_000,
    "by": "City of Amsterdam",
    "when": "2021-06-01",
}
ABOUT = {"population": "Town 2021", "by": "Registry", "when": date(2021, 6, 1)}


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    if request.param == "postgres":
        return request.getfixturevalue("postgres")
    return str(tmp_path / "priors.sqlite")


@pytest.fixture
def file(tmp_path):
    return str(tmp_path / "priors.sqlite")


def prior(**changes):
    return Prior(**(FIELDS | changes))


def people(n=5_000, seed=1, values=40):
    rng = np.random.default_rng(seed)
    weights = rng.gamma(3, size=values)
    ages = rng.choice(values, n, p=weights / weights.sum())
    return pd.DataFrame({"age": ages, "sex": rng.choice(["f", "m"], n)})


def counted(counts):
    sizes, classes = np.unique(np.asarray(counts), return_counts=True)
    return ClassSizes(sizes, classes, qid=["age"])


# ---- numbers -------------------------------------------------------------------------------


def by_hand(counts, n_values=None):
    """KL, s2 and s3 by their definitions, over every pair and triple of people."""
    n, values = sum(counts), n_values or len(counts)
    kl = sum(c / n * math.log(c / n * values) for c in counts)
    s2 = sum(math.comb(c, 2) for c in counts) / math.comb(n, 2)
    s3 = sum(math.comb(c, 3) for c in counts) / math.comb(n, 3)
    return kl, s2, s3


@given(st.lists(st.integers(1, 60), min_size=2, max_size=30).filter(lambda c: sum(c) >= 3))
def test_numbers_are_those_of_the_definition_rounded(counts):
    made = Prior.of(counted(counts), population="X", by="Y")
    wanted = by_hand(counts)
    assert (made.kl, made.s2, made.s3) == pytest.approx(wanted, rel=0.00501, abs=1e-12)
    declared = Prior.of(counted(counts), population="X", by="Y", n_values=1_000)
    assert declared.kl == pytest.approx(by_hand(counts, 1_000)[0], rel=0.00501)
    assert (made.domain, declared.domain) == ("observed", "declared")
    # What was rounded once is accepted, and rounded, again.
    assert Prior.from_dict(made.to_dict()) == made


@given(st.floats(1e-12, 1e12))
def test_three_digits_are_kept_within_half_a_unit(number):
    rounded = checks.rounded(number)
    assert abs(rounded - number) <= checks.ROUNDING * number * (1 + 1e-9)
    assert checks.rounded(rounded) == rounded
    assert len(f"{rounded:.12e}".split("e")[0].rstrip("0").replace(".", "")) <= 3


def test_one_person_more_or_less_changes_nothing():
    sizes = np.random.default_rng(5).integers(200, 900, 60)
    before = Prior.of(counted(sizes), **ABOUT)
    sizes[7] += 1
    assert Prior.of(counted(sizes), **ABOUT) == before


def test_large_classes_do_not_overflow():
    made = Prior.of(counted([3 * 10**9, 2 * 10**9]), **ABOUT)
    assert (made.s2, made.s3) == (0.52, 0.28)
    assert made.n_records == 5_000_000_000


def test_bias_is_corrected_only_where_theory_holds():
    assert prior().kl_corrected == pytest.approx(0.123 - 899 / (2 * 873_000))
    assert prior(kl=1e-4, s2=1 / 900, s3=1 / 900**2).kl_corrected == 0
    few = prior(n_records=4_000, kl=0.2, s2=1.3e-3)
    assert few.kl_corrected is None
    assert prior().entropy == pytest.approx(math.log(900) - 0.123)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kl": -0.1}, "kl must be a number from 0 up"),
        ({"kl": 6.9}, r"between 0 and ln\(900\)"),
        ({"kl": math.nan}, "kl must be"),
        ({"kl": math.inf}, "kl must be"),
        ({"kl": 10**400}, "kl must be"),
        ({"kl": "0.1"}, "kl must be"),
        ({"kl": True}, "kl must be"),
        ({"kl": 0.5}, "contradict each other: s2 too small"),
        ({"kl": 0.0001, "s2": 0.1, "s3": 0.02}, "s2 too large"),
        ({"s2": 0.001}, "s2 is 0.001"),
        ({"s2": 1.1}, "s2 must be a number from 0 to 1"),
        ({"s3": 0.002}, "cannot be the larger"),
        ({"s3": 1e-4}, r"at most s2\^\(3/2\)"),
        ({"s3": 1e-6}, "at least s2²"),
        ({"s3": math.nan}, "s3 must be"),
        ({"n_values": 0}, "n_values must be a whole number"),
        ({"n_values": 900.0}, "n_values must be a whole number"),
        ({"n_values": 900_000}, "more observed values than records"),
        ({"n_values": 10**7, "domain": "declared"}, "cannot fill"),
        ({"n_records": 2}, "at least 3"),
        ({"n_records": 10**16}, "n_records must be"),
        ({"domain": "guessed"}, "domain='guessed' is not one of"),
    ],
)
def test_numbers_that_no_population_has_are_refused(changes, message):
    with pytest.raises(ArgumentError, match=message):
        prior(**changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"population": ""}, "population must be printable text"),
        ({"population": "a\x1b[31mb"}, "population must be printable"),
        ({"population": "x" * 201}, "population must be printable"),
        ({"population": 3}, "population must be text, not an int"),
        ({"population": {}}, "population is empty"),
        ({"by": None}, "by must be text"),
        ({"qid": 3}, "qid must be a name"),
        ({"qid": ["a", 3]}, "a column of qid must be text"),
        ({"when": "yesterday"}, "when must be a date"),
        ({"when": 3}, "when must be a date"),
        ({"when": "20210601"}, "when must be a date"),
    ],
)
def test_words_that_are_no_names_are_refused(changes, message):
    with pytest.raises(ArgumentError, match=message):
        prior(**changes)


def test_a_quasi_identifier_is_a_set_of_names():
    assert prior(qid=["age", "zip"]) == prior(qid={"zip", "age"}) == prior(qid=("zip", " age"))
    assert prior(qid="zip").qid == ("zip",)
    # One accent, two ways to write it.
    assert (
        prior(population="Kopenhagen é").population == prior(population="Kopenhagen é").population
    )
    assert prior(population={"b": 2, "a": 1}).population == "a=1, b=2"
    with pytest.raises(NoColumnsError):
        prior(qid=[])
    with pytest.raises(RepeatedColumnError):
        prior(qid=["a", "a "])


def test_a_summary_says_what_it_lacks():
    with pytest.raises(InvalidPriorError, match="needs kl, by"):
        Prior.from_dict({**FIELDS, "kl": None, "by": None})
    with pytest.raises(InvalidPriorError, match="no field 'K_L'"):
        Prior.from_dict({**FIELDS, "K_L": 3})
    with pytest.raises(InvalidPriorError, match="mapping"):
        Prior.from_dict([1])
    assert json.loads(json.dumps(prior().to_dict()))["qid"] == ["age", "zip"]


# ---- publish and query ---------------------------------------------------------------------


@pytest.mark.slow
def test_the_loop_from_a_table_to_an_answer(url):
    repository = Repository(url)
    table = people()
    stored = repository.publish(table, ["sex", "age"], **ABOUT)
    assert stored.number == 1
    again = Repository(url)
    (found,) = again.query(["age", "sex"], "Town 2021")
    assert found == stored
    assert found.when == date(2021, 6, 1)
    counts = table.groupby(["age", "sex"]).size()
    assert (found.kl, found.s2, found.s3) == pytest.approx(by_hand(list(counts)), rel=0.00501)
    assert (found.n_records, found.n_values) == (5_000, len(counts))
    assert again.query("age").items == ()
    assert again.query(by=" Registry ")[0] == found
    assert again.query(by="somebody else").items == ()


@pytest.mark.slow
def test_every_submission_is_kept(url):
    repository = Repository(url)
    numbers = [repository.publish(prior(kl=kl, s2=0.0014)).number for kl in (0.12, 0.13, 0.12)]
    assert numbers == [1, 2, 3]
    assert [found.kl for found in repository.query()] == [0.12, 0.13, 0.12]


def test_summaries_of_others_are_checked_and_completed(url):
    repository = Repository(url)
    fields = {name: value for name, value in FIELDS.items() if name not in ("by", "population")}
    stored = repository.publish(fields, population="P", by="B", qid=["zip", "age"])
    assert (stored.population, stored.by) == ("P", "B")
    with pytest.raises(ArgumentError, match="qid differs"):
        repository.publish(FIELDS, qid="zip")
    with pytest.raises(InvalidPriorError, match="kl is 7"):
        repository.publish({**FIELDS, "kl": 7.0})
    with pytest.raises(InvalidPriorError, match="needs by"):
        repository.publish({**FIELDS, "by": None})
    with pytest.raises(ArgumentError, match="say by="):
        repository.publish(people(), "age", population="P")
    with pytest.raises(ArgumentError, match="not of sex"):
        repository.publish(people().anon.classes("age"), "sex", **ABOUT)
    assert len(repository.query()) == 1


def test_few_people_are_refused_and_the_reason_is_given(url):
    repository = Repository(url)
    small = people(999)
    with pytest.raises(PopulationTooSmallError, match=r"999 records .* floor of 1,000.* single"):
        repository.publish(small, "age", **ABOUT)
    with pytest.raises(PopulationTooSmallError):
        repository.publish(small.anon.classes("age"), **ABOUT)
    with pytest.raises(PopulationTooSmallError):
        repository.publish({**FIELDS, "n_records": 950, "kl": 0.3})
    assert len(repository.query()) == 0
    repository.publish(people(1_000), "age", **ABOUT)


@pytest.mark.slow
def test_the_floor_stays_with_the_repository(url):
    Repository(url, floor=2_000)
    assert Repository(url).floor == 2_000
    with pytest.raises(PopulationTooSmallError):
        Repository(url).publish(people(1_999), "age", **ABOUT)
    with pytest.raises(ArgumentError, match="not with a lower"):
        Repository(url, floor=1_000)
    assert Repository(url, floor=9_000).floor == 9_000
    assert Repository(url).floor == 2_000
    with pytest.raises(ArgumentError, match="floor must be"):
        Repository(url, floor=0)


def test_a_floor_that_rounds_down_lets_its_own_number_in(file):
    repository = Repository(file, floor=1_004)
    with pytest.raises(PopulationTooSmallError):
        repository.publish(people(1_003), "age", **ABOUT)
    stored = repository.publish(people(1_004), "age", **ABOUT)
    assert stored.n_records == 1_000
    assert repository.query()[0] == stored


def test_persons_are_counted_where_rows_are_visits(file):
    repository = Repository(file)
    table = people(2_000).assign(person=range(2_000))
    visits = pd.concat([table, table.iloc[:500]])
    assert repository.publish(visits, "age", unit="person", **ABOUT) == repository.publish(
        table, "age", **ABOUT
    )
    moved = table.iloc[:1].assign(age=table["age"].iloc[0] + 1)
    with pytest.raises(ArgumentError, match="more than one value"):
        repository.publish(pd.concat([table, moved]), "age", unit="person", **ABOUT)


def test_tables_of_every_engine_give_the_same(frame, file):
    cells = {"age": people(1_200)["age"].tolist(), "zip.code": ["a", "b", None] * 400}
    stored = Repository(file).publish(frame(cells), ["zip.code", "age"], **ABOUT)
    keys = pd.Series(list(zip(cells["age"], cells["zip.code"], strict=True)))
    wanted = by_hand(list(keys.value_counts()))
    assert (stored.kl, stored.s2, stored.s3) == pytest.approx(wanted, rel=0.00501)
    assert stored.qid == ("age", "zip.code")


def test_no_cell_is_stored(file):
    table = people(1_500).assign(name=[f"cellvalue{i % 50}" for i in range(1_500)])
    Repository(file).publish(table, ["name", "sex"], **ABOUT)
    assert b"cellvalue" not in Path(file).read_bytes()


def test_lists_print_as_text_html_and_tables(file):
    repository = Repository(file)
    assert len(repository.query().to_frame()) == 0
    assert "0 submissions" in repr(repository.query())
    repository.publish(prior(population="<b>"))
    found = repository.query()
    assert "0.123" in repr(found)
    assert "873,000" in repr(found)
    assert "&lt;b&gt;" in found._repr_html_()
    assert found.to_frame().loc[0, "s2"] == 0.0013
    assert json.loads(json.dumps(found.to_dict()))["items"][0]["number"] == 1
    assert "by City of Amsterdam" in repr(found[0])
    assert pickle.loads(pickle.dumps(found)) == found


# ---- holders who differ --------------------------------------------------------------------


@pytest.mark.slow
def test_holders_who_agree_within_rounding_and_chance(url):
    repository = Repository(url)
    for seed in range(1, 6):
        table = people(20_000, seed=7)  # one law, five samples of it
        table["age"] = np.random.default_rng(seed).permutation(table["age"])[:20_000]
        half = table.sample(10_000, random_state=seed)
        repository.publish(half, "age", **(ABOUT | {"by": f"Holder {seed}"}))
    assert len(repository.disagreements()) == 0
    assert "no disagreement" in repr(repository.disagreements())


def test_samples_of_one_law_seldom_disagree_and_of_two_laws_do():
    laws = np.random.default_rng(3)
    false_alarms = missed = 0
    for _ in range(60):
        p = laws.dirichlet(np.full(50, 2.0))
        q = laws.dirichlet(np.full(50, 6.0))
        priors = []
        for name, law, n in (("A", p, 4_000), ("B", p, 9_000), ("C", q, 9_000)):
            counts = laws.multinomial(n, law)
            made = Prior.of(counted(counts[counts > 0]), **(ABOUT | {"by": name}))
            priors.append(made)
        found = {(d.first.by, d.second.by) for d in repository.disagreements_of(priors)}
        false_alarms += ("A", "B") in found
        missed += ("B", "C") not in found
    assert false_alarms <= 2
    assert missed == 0


@pytest.mark.slow
def test_holders_who_differ_are_reported_and_both_kept(url):
    repository = Repository(url)
    repository.publish(prior())
    repository.publish(prior(by="Other", kl=0.3, s2=0.0017, s3=4e-6))
    found = repository.disagreements(["age", "zip"], "Amsterdam 2021")
    assert {d.what for d in found} == {"s2", "s3", "entropy"}
    two = next(d for d in found if d.what == "s2")
    assert two.values == (0.0013, 0.0017)
    assert two.difference > two.allowed > 0.005 * 0.003
    assert "Other" in repr(found)
    assert "Other" in found._repr_html_()
    assert found.to_frame()["by"].tolist()[0] == ["City of Amsterdam", "Other"]
    assert len(repository.query()) == 2
    assert len(repository.disagreements("zip")) == 0


def test_only_the_latest_of_each_holder_counts(file):
    repository = Repository(file)
    repository.publish(prior(kl=0.3, s2=0.0017, s3=4e-6))
    repository.publish(prior(by="Other"))
    assert len(repository.disagreements()) > 0
    repository.publish(prior(when="2020-01-01"))  # an old one, sent late
    assert len(repository.disagreements()) > 0
    repository.publish(prior())
    assert len(repository.disagreements()) == 0


def test_rounding_alone_is_no_disagreement():
    first, second = prior(s2=0.0013), prior(s2=0.00131, by="Other")
    big = {"n_records": 10**9}
    assert list(repository.disagreements_of([replace(first, **big), replace(second, **big)])) == []
    third = prior(s2=0.00133, by="Other")
    found = list(repository.disagreements_of([replace(first, **big), replace(third, **big)]))
    assert [d.what for d in found] == ["s2"]


def test_domains_are_compared_only_where_declared():
    first = prior(domain="declared")
    wider = {"kl": 0.123 + math.log(2), "n_values": 1_800, "by": "Other"}
    assert list(repository.disagreements_of([first, prior(**wider)])) == []
    found = list(repository.disagreements_of([first, prior(**wider, domain="declared")]))
    assert [d.what for d in found] == ["n_values"]


# ---- the database --------------------------------------------------------------------------

WRITER = """
import sys
from anonrisk.priors import Prior, Repository
url, name, times = sys.argv[1], sys.argv[2], int(sys.argv[3])
for i in range(times):
    Repository(url).publish(Prior(["age"], "P", kl=0.1, s2=0.0121, s3=2e-4, n_values=100,
                                  n_records=1000 + i, by=name, when="2021-01-01"))
"""


@pytest.mark.nightly
def test_many_writers_lose_nothing(url):
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, url, f"Holder {i}", "12"],
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(3)
    ]
    for writer in writers:
        _, errors = writer.communicate(timeout=120)
        assert writer.returncode == 0, errors
    found = Repository(url).query()
    assert [p.number for p in found] == sorted({p.number for p in found})
    assert sorted((p.by, p.n_records) for p in found) == sorted(
        (f"Holder {i}", round(checks.rounded(1_000 + j))) for i in range(3) for j in range(12)
    )


def change(url, statement):
    engine = sqlalchemy.create_engine(url if "://" in url else f"sqlite:///{url}")
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text(statement))
    engine.dispose()


def test_another_version_of_the_tables_is_refused(url):
    Repository(url)
    change(url, "UPDATE anonrisk_priors_about SET value = '99' WHERE name = 'version'")
    with pytest.raises(StoreError, match=r"holds version 99 .* reads version 1"):
        Repository(url)
    change(url, "DROP TABLE anonrisk_priors_about")
    with pytest.raises(StoreError, match="holds version unknown"):
        Repository(url)


@pytest.mark.slow
def test_what_was_written_past_the_library_is_put_aside(url):
    repository = Repository(url)
    repository.publish(prior())
    for number, column, value in ((2, "kl", "99"), (3, "qid", "'[]'"), (4, "n_records", "500")):
        repository.publish(prior(by="Other", kl=0.3, s2=0.0017, s3=4e-6))
        change(url, f'UPDATE anonrisk_priors SET "{column}" = {value} WHERE number = {number}')
    change(url, "UPDATE anonrisk_priors SET n_values = 400, kl = 0.2 WHERE number = 4")
    found = repository.query()
    assert [p.number for p in found] == [1]
    assert [reason.partition(":")[0] for reason in found.refused] == [
        f"submission {n}" for n in (2, 3, 4)
    ]
    assert "not used: submission 2: kl is 99" in repr(found)
    assert len(repository.disagreements()) == 0


def test_no_password_is_shown(postgres_server):
    url = postgres_server.new_database()
    assert postgres_server.password in url
    repository = Repository(url)
    assert postgres_server.password not in repr(repository)
    assert "127.0.0.1" in repr(repository)
    wrong = url.replace(postgres_server.password, "hunter2")
    for bad in (wrong, wrong + "?password=hunter2&sslmode=nonsense"):
        with pytest.raises(StoreError) as caught:
            Repository(bad)
        shown = f"{caught.value!r} {caught.value.__cause__!r}"
        assert "hunter2" not in shown
        assert "anonrisk:" not in shown
        assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense://user:hunter2@host/db", "SQLite file or a PostgreSQL"),
        ("mysql://user:hunter2@host/db", "SQLite file or a PostgreSQL"),
        ("://hunter2", "not the URL"),
        ("postgresql+nodriver://user:hunter2@host/db", "needs the driver"),
        (3, "the url of a repository is a path"),
    ],
)
def test_bad_urls_are_refused_without_quoting_them(url, message):
    with pytest.raises(AnonRiskError, match=message) as caught:
        Repository(url)
    assert "hunter2" not in str(caught.value)


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("private notes, long enough to be looked at as a database file\n" * 20)
    with pytest.raises(StoreError, match=r"notes\.txt cannot be used \(DatabaseError\)") as caught:
        Repository(path)
    assert "private" not in str(caught.value)
    with pytest.raises(StoreError, match="cannot be used"):
        Repository(tmp_path / "no such folder" / "priors.sqlite")


def test_the_default_is_a_file_in_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Repository().publish(prior())
    assert [path.name for path in tmp_path.iterdir()] == ["anonrisk_priors.sqlite"]
    assert "anonrisk_priors.sqlite" in repr(Repository())


def test_without_sqlalchemy_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setattr(database, "find_spec", lambda name: None)
    with pytest.raises(MissingLibraryError, match=r"pip install 'anonrisk\[store\]'"):
        Repository("x.sqlite")
