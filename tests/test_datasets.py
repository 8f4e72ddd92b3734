"""The synthetic tables: reproducible, consistent, and close to what was published."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from anonrisk import datasets
from anonrisk.datasets import figures
from anonrisk.datasets.registry import areas
from anonrisk.errors import ArgumentError


@pytest.fixture(scope="module")
def registry():
    return datasets.citizens(50_000, seed=3)


@pytest.fixture(scope="module")
def admissions():
    return datasets.hospital(seed=3)


def test_the_map_has_the_published_number_of_areas():
    where = areas()
    residents_of_pc4 = np.bincount(where.pc4_of_pc6, where.residents)
    assert len(where.municipalities) == 15
    assert len(where.towns) == len(set(where.towns)) == 67
    assert len(where.pc4s) == len(set(where.pc4s)) == 386
    assert len(where.pc6s) == len(set(where.pc6s)) == figures.PC6_AREAS
    assert where.residents.min() == 1
    assert residents_of_pc4.min() == 2
    assert all(len(code) == 6 for code in where.pc6s)


def test_the_map_has_the_published_residents_of_each_municipality():
    where = areas()
    town_of_pc6 = where.town_of_pc4[where.pc4_of_pc6]
    counted = np.bincount(where.municipality_of_town[town_of_pc6], where.residents)
    assert dict(zip(where.municipalities, counted, strict=True)) == figures.CITIZENS


def test_sizes_of_areas_are_close_to_table_3_2():
    where = areas()
    table = figures.published()
    for qid, sizes in (
        ("pc4", np.bincount(where.pc4_of_pc6, where.residents)),
        ("pc6", where.residents),
    ):
        measured = np.quantile(sizes, [0.25, 0.5, 0.75])
        wanted = table.loc[qid, ["q25", "median", "q75"]].to_numpy(dtype=float)
        np.testing.assert_allclose(measured, wanted, rtol=0.1)
        assert sizes.max() == pytest.approx(table.loc[qid, "max"], rel=0.2)


def test_citizens_are_reproducible_and_differ_by_seed():
    first = datasets.citizens(2_000, seed=5)
    pd.testing.assert_frame_equal(first, datasets.citizens(2_000, seed=5))
    assert not first.equals(datasets.citizens(2_000, seed=6))


def test_citizens_have_plain_columns_without_gaps(registry):
    assert list(registry.columns) == [
        "municipality",
        "town",
        "pc4",
        "pc6",
        "date_of_birth",
        "gender",
    ]
    assert registry.index.equals(pd.RangeIndex(50_000))
    assert registry["date_of_birth"].dtype == "datetime64[us]"
    text = registry.drop(columns="date_of_birth")
    assert (text.dtypes == pd.Series(["text"]).dtype).all()
    assert not registry.isna().any(axis=None)
    assert set(registry["gender"]) == {"female", "male"}


def test_each_area_lies_in_one_area_of_the_next_level(registry):
    assert (registry["pc6"].str[:4] == registry["pc4"]).all()
    for area, larger in (("pc6", "pc4"), ("pc4", "town"), ("town", "municipality")):
        pairs = registry[[area, larger]].drop_duplicates()
        assert pairs[area].is_unique


def test_a_smaller_registry_keeps_the_shares_of_municipalities(registry):
    share = registry["municipality"].value_counts(normalize=True)
    published = pd.Series(figures.CITIZENS) / sum(figures.CITIZENS.values())
    assert set(share.index) == set(published.index)
    assert (share - published).abs().max() < 0.01


def test_ages_have_a_realistic_shape(registry):
    born = registry["date_of_birth"]
    age = 2009 - born.dt.year
    assert age.min() == 0
    assert 95 < age.max() <= 109
    assert 0.15 < (age < 18).mean() < 0.25
    assert 0.08 < (age >= 65).mean() < 0.16
    woman = registry["gender"] == "female"
    assert abs(woman.mean() - 0.505) < 0.02
    assert woman[age >= 85].mean() > 0.55
    first_of_january = (born.dt.month == 1) & (born.dt.day == 1)
    assert 0.012 < first_of_january.mean() < 0.025


@pytest.mark.parametrize("n", [1, 2])
def test_a_registry_may_be_tiny(n):
    assert len(datasets.citizens(n)) == n


@pytest.mark.parametrize("n", [-1, 0, 2_774_488])
def test_an_impossible_number_of_citizens_is_refused(n):
    with pytest.raises(ArgumentError, match="n is"):
        datasets.citizens(n)


def test_admissions_are_reproducible_and_differ_by_seed(admissions):
    pd.testing.assert_frame_equal(admissions, datasets.hospital(seed=3))
    assert not admissions.equals(datasets.hospital(seed=4))


def test_admissions_have_plain_columns_without_gaps(admissions):
    assert list(admissions.columns) == [
        "patient",
        "pc4",
        "date_of_birth",
        "gender",
        "admission_date",
        "diagnosis",
        "cost",
    ]
    assert admissions.shape == (10_000, 7)
    assert not admissions.isna().any(axis=None)
    assert admissions["admission_date"].is_monotonic_increasing
    assert (admissions["admission_date"].dt.year == 2010).all()
    assert (admissions["admission_date"] > admissions["date_of_birth"]).all()
    assert (admissions["cost"] > 0).all()


def test_a_patient_is_one_person_who_may_come_back(admissions):
    person = admissions.groupby("patient")[["pc4", "date_of_birth", "gender"]].nunique()
    assert (person == 1).all(axis=None)
    times = admissions["patient"].value_counts()
    assert 0.1 < (times > 1).mean() < 0.5


def test_diagnosis_depends_on_age_and_gender_and_cost_on_diagnosis(admissions):
    age = 2009 - admissions["date_of_birth"].dt.year
    by_diagnosis = age.groupby(admissions["diagnosis"]).median()
    assert len(by_diagnosis) == 22
    assert by_diagnosis["perinatal"] == 0
    assert by_diagnosis["hip fracture"] > 70
    childbirth = admissions[admissions["diagnosis"] == "pregnancy and childbirth"]
    assert set(childbirth["gender"]) == {"female"}
    cost = admissions.groupby("diagnosis")["cost"].median()
    assert cost["hip fracture"] > 5 * cost["ear"]
    assert admissions["cost"].mean() > admissions["cost"].median()
    assert admissions["diagnosis"].value_counts(normalize=True).max() < 0.25


def test_patients_come_from_the_registry_that_is_given(registry):
    shared = ["pc4", "date_of_birth", "gender"]
    admissions = datasets.hospital(1_000, registry=registry)
    found = admissions.merge(registry[shared].drop_duplicates(), on=shared)
    assert len(found) == 1_000


def test_postal_codes_may_be_missing():
    complete = datasets.hospital(2_000)
    gaps = datasets.hospital(2_000, missing=0.1)
    assert 0.07 < gaps["pc4"].isna().mean() < 0.13
    pd.testing.assert_frame_equal(complete.drop(columns="pc4"), gaps.drop(columns="pc4"))


@pytest.mark.parametrize(("name", "value"), [("n", 0), ("missing", -0.1), ("missing", 1.1)])
def test_an_impossible_hospital_is_refused(name, value):
    with pytest.raises(ArgumentError, match=f"{name} is"):
        datasets.hospital(**{name: value})


def test_published_figures_are_consistent():
    table = figures.published()
    at_most = table[[f"at_most_{k}" for k in figures.AT]].to_numpy()
    assert (np.diff(at_most, axis=1) >= 0).all()
    quantiles = table[["min", "q25", "median", "q75", "max"]].to_numpy()
    assert (np.diff(quantiles, axis=1) >= 0).all()
    # Means are printed as whole numbers of four digits at most.
    exact = table["records"] / table["sets"]
    assert ((exact - table["mean"]).abs() < np.maximum(0.5, 5e-4 * exact)).all()
    assert table.loc["gender + date_of_birth + pc6", "at_most_1"] / figures.TOTAL > 0.994
    assert sum(figures.CITIZENS.values()) - figures.TOTAL == 11


def test_each_erratum_is_corrected_and_can_be_seen_as_printed():
    printed, right = figures.published(corrected=False), figures.published()
    assert printed.ne(right).to_numpy().sum() == len(figures.ERRATA)
    for erratum in figures.ERRATA:
        assert printed.loc[erratum.row, erratum.column] == erratum.printed
        assert right.loc[erratum.row, erratum.column] == erratum.right


@pytest.mark.nightly
@pytest.mark.slow
def test_all_citizens_are_about_as_unique_as_published():
    registry = datasets.citizens()
    born = registry["date_of_birth"].dt
    registry = registry.assign(year_of_birth=born.year, month_of_birth=born.month)
    codes = {name: pd.factorize(registry[name])[0] for name in registry.columns}
    published = figures.published()
    for row in figures.PUBLISHED:
        key = np.zeros(len(registry), dtype=np.int64)
        for name in row.qid:
            key = key * (codes[name].max() + 1) + codes[name]
        sizes = np.unique(key, return_counts=True)[1]
        wanted = published.loc[" + ".join(row.qid), [f"at_most_{k}" for k in figures.AT]]
        measured = [sizes[sizes <= k].sum() for k in figures.AT]
        difference = (measured - wanted.to_numpy(dtype=float)) / figures.TOTAL
        assert abs(difference[0]) < 0.015, row.qid
        assert np.abs(difference).max() < 0.05, row.qid
