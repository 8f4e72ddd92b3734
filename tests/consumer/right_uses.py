"""What a user of the package writes: a type checker must accept all of it.

Every public function is called, as itself or as a method; results are used as what they are.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

import anonrisk
from anonrisk import Ledger, Manifest, Policy, ReleaseBlocked
from anonrisk.identity import collision_chance
from anonrisk.keys import Key, KeyPart, PublicKey, SigningKey
from anonrisk.recode import Bins

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame as SparkFrame


def databases() -> None:
    people = anonrisk.sql.table("sqlite:///people.sqlite", "people", quasi=["zip", "age"])
    smallest: int = people.anon.k() + anonrisk.k(people, "zip", unit="patient")
    declared = people.anon.declare(sensitive="illness")
    names: tuple[object, ...] = declared.columns
    print(smallest, names, declared.name, Policy(k=5).check(declared).passed)


def measures(df: pd.DataFrame, population: pd.DataFrame) -> None:
    smallest: int = anonrisk.k(df, "zip")
    smallest = anonrisk.k(df, ["zip", "age"], unit="patient", missing="drop")
    smallest = anonrisk.k(df, ["zip", "age"], missing="wildcard")
    smallest = anonrisk.k(anonrisk.table(df, quasi=["zip"], sensitive="ill", unit="patient"))
    smallest = anonrisk.k(df, ("zip", 3)) + anonrisk.k(df, {"zip", "age"}) + anonrisk.k(df)
    smallest = anonrisk.k(df, df.columns) + anonrisk.k(df, list(df.columns)) + anonrisk.k(df, 0)
    smallest += anonrisk.k(df, df.columns[:2]) + anonrisk.k(df, [dt.date(2020, 1, 1), ("a", "b")])
    share: float = anonrisk.uniqueness(df, ["zip"]) + anonrisk.entropy(df, "zip", alpha=0.5)
    share += (
        anonrisk.classes(df, "zip").degree
        + anonrisk.classes(df, "zip").anvc
        + anonrisk.classes(df, "zip").rr
    )
    counted = anonrisk.classes(df, "zip")
    print(counted.plot(k=5).get_title(), counted.predict_singletons(9).plot_by_group_size())
    share = (
        counted.uniqueness + anonrisk.whole_person(df, ["zip", "age"], unit="patient").uniqueness
    )
    print(
        counted.risk().prosecutor.highest, counted.predict_singletons(20, draw="replacement").mean
    )
    again: int = anonrisk.k(df, counted.qid, unit=counted.unit)
    table: pd.DataFrame = anonrisk.summary(df, [["zip"], ["zip", "age"]], by="ward", sizes=[1, 5])
    table = anonrisk.summary(df, "zip")
    table = anonrisk.box_plot(df, "zip", by="ward", whisker=None).to_frame()
    table = anonrisk.kl_after(df, "age", [{"age": 5}, {"age": Bins((30,))}]).to_frame()
    share += anonrisk.ldiv(df, "zip", "illness", "recursive", c=2)
    share += anonrisk.tcloseness(df, "zip", "illness", "ordered", order=["mild", "grave"])
    share += anonrisk.alpha(df, "zip", ["illness"])
    share += anonrisk.delta_disclosure(df, "zip", "illness", strict=True)
    share += anonrisk.beta_likeness(df, "zip", "illness", variant="enhanced")
    share += anonrisk.profiles(df, "zip", "illness").ldiv("entropy")
    wanted = ["k", "ldiv"]
    assessed = anonrisk.assess(df, "zip", "illness", wanted)
    assessed = anonrisk.assess(df, Policy(quasi=["zip"], k=5))
    report = anonrisk.report(df, policy=Policy(quasi=["zip"], k=5), name="people.csv")
    print(report.to_dict(), anonrisk.anon(df).report(["zip"], "illness").to_markdown())
    explorer = anonrisk.explore(df, ["zip"], 5, sensitive="illness", floor=10)
    print(explorer.to_dict(), anonrisk.apply(df, explorer.plan([0], max_suppressed=0.02)))
    share += anonrisk.risk(df, "zip", population).journalist.average
    sampled = anonrisk.risk(df, "zip", sampling_fraction=0.1, unsuppressed=True)
    share += sampled.journalist.average_interval.high + sampled.marketer.average
    share += anonrisk.delta_presence(df, "zip", population).highest
    print(smallest, share, again, table, assessed.sizes.k, anonrisk.kmap(df, "zip", population))


def predictions(df: pd.DataFrame) -> None:
    weights = {"zip": 2.0}
    print(
        anonrisk.predict_singletons(df, "zip", 30, widths={"age": 5}).mean,
        anonrisk.predict_classes(df, "zip", 30, upto=4, method="kl", n_values=90).share,
        anonrisk.predict_population(df, "zip", 10_000, model="pitman").uniques,
        anonrisk.find_qids(df, max_size=2).sets[0].columns,
        anonrisk.find_qids(df, explain=True).sets,
        anonrisk.suda(df, ["zip", "age"], sampling_fraction=0.1),
        anonrisk.explain_risk(df, "zip"),
        anonrisk.probabilistic_k(df, "zip", 1000),
        anonrisk.is_quasi_identifier(df, "zip", population_size=1000, domain_sizes={"zip": 90}),
        anonrisk.plan(
            df, ["zip", "age"], k=5, options=anonrisk.PlanOptions(column_weights=weights)
        ).qids,
        anonrisk.plan(
            df,
            "zip",
            sensitive="ill",
            ldiv=2,
            options=anonrisk.PlanOptions(method="multidimensional"),
        ).regions,
        anonrisk.trajectory(df, ["station", "hour"], unit="card", time="at", points="consecutive"),
        anonrisk.linkability(df, "zip", unit="card", time="day", period=dt.timedelta(days=30)),
        anonrisk.compare(df, ["zip"], previous=df, unit="card", sensitive="ill").exposed(5) + 1,
    )
    held = anonrisk.state(df, ["zip"], unit="card", sensitive="ill", key=Key.from_env("KEY"))
    both = held.merge(anonrisk.State.load("monday.state", key=bytes(32)))
    size: int = both.k + both.classes().n_classes
    worst: float = both.uniqueness + both.ldiv("ill", "entropy") + both.tcloseness()
    print(size, worst, both.key_id, anonrisk.sketch(df, "zip", key=bytes(32)))


def changes(df: pd.DataFrame) -> pd.DataFrame:
    planned = anonrisk.plan(df, "zip", k=5)
    df = anonrisk.apply(df, planned)
    df = anonrisk.generalize(df, "age", bins=[30, 40])
    df = anonrisk.generalize(df, ["born"], part="quarter")
    df = anonrisk.suppress(df, ["zip", "age"], k=5, cells=True, suppressed=None)
    df = anonrisk.suppress(df, "zip", cells=True, missing="wildcard", column_weights={"zip": 2})
    df = anonrisk.microaggregate(df, "income", 5)
    df = anonrisk.perturb(df, "income", 2, seed=1, law="laplace")
    df = anonrisk.permute(df, "income", seed=1, by=["zip"])
    df = anonrisk.pseudonymize(df, "patient", key=Key.from_env("KEY"), period="30D", time="day")
    print(collision_chance(10**9, format="base32", length=20).is_within)
    df = anonrisk.pseudonymize(df, "patient", key=Key.generate(), length=16, people=1000)
    df = anonrisk.declare(df, quasi=["zip", "age"], sensitive="illness", unit="patient")
    roles = anonrisk.roles(df)
    print(anonrisk.k(df, roles.quasi, unit=roles.unit), anonrisk.was_perturbed(df))
    print(anonrisk.utility(df, "age", original=df).loss_metric, anonrisk.sizes(df, "zip", name="n"))
    return anonrisk.at_risk(df, "zip", 5, sensitive="illness", l=2, variant="entropy")


def methods(df: pd.DataFrame, on_spark: SparkFrame) -> SparkFrame:
    anon = anonrisk.anon(df)
    smallest: int = anon.k(["zip", "age"], missing="error")
    coarse: pd.DataFrame = anon.generalize("age", bins=5)
    print(smallest, anonrisk.anon(coarse).classes("age").k, anon.find_qids(explain=True).passes)
    return anonrisk.anon(on_spark).suppress("zip", k=3)


def gates(df: pd.DataFrame) -> bool:
    from anonrisk import gx

    policy = Policy(
        name="ward",
        quasi=["zip", "age"],
        sensitive="illness",
        unit="patient",
        direct=["name"],
        unlisted="ignore",
        missing="drop",
        max_dropped_fraction=0.01,
        k=[{"at_least": 5}, {"at_least": 10, "severity": "warn"}],
        max_unique_fraction=0,
        ldiv=2,
        tcloseness={"t": 0.3, "distance": "equal"},
        risk={"prosecutor": {"highest": 0.2}},
    )
    policy = policy.with_roles(quasi=["zip"])
    policy = Policy(roles={"quasi": ["zip"]}, budgets={"k": 5}, qids=[{"columns": ["zip"]}])
    verdict = policy.check(df, name="ward 3", n_original=100)
    sentences: list[str] = [finding.sentence for finding in verdict.findings]
    status: str = verdict.status
    try:
        gx.run_gate(policy.to_suite(), df, block_on="warning")
    except ReleaseBlocked as blocked:
        print(blocked, status, sentences)
    return verdict.passed


def published(folder: str) -> str:
    key = Key.from_file("ledger.key", shared=True)
    key = Key.from_parts([*key.split("Ann", "Bob")[:1], KeyPart.from_file("bob.part")])
    print(key.holders)
    ledger = Ledger("ledger.db", key=key)
    manifest = Manifest.load("manifest.json")
    found = manifest.verify(folder, public_key=PublicKey.from_file("public.pem"), ledger=ledger)
    sealed = manifest.sealed(SigningKey.from_file("private.pem"))
    names: list[str] = [entry.release for entry in ledger.verify(head=manifest.previous)]
    smallest: int = min(state.k for _, state in ledger.states("patients"))
    print(found.n_files, names, smallest, sealed.verify(["a.csv"], key=key).release)
    return ledger.append(sealed, expected_head=ledger.head).head
