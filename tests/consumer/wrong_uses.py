"""What a user gets wrong: a type checker must find each, and name what the comment says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anonrisk
from anonrisk import Ledger, Manifest, Policy

if TYPE_CHECKING:
    import pandas as pd


def functions(df: pd.DataFrame) -> None:
    anonrisk.k(df, 3.5)  # wrong: "float"
    anonrisk.k(df, ["zip", 3.5])  # wrong: "float"
    anonrisk.k(df, df["zip"])  # wrong: "Series
    anonrisk.k(df, ["zip"], mising="drop")  # wrong: "mising"
    anonrisk.k(df, "zip", missing="dorp")  # wrong: 'dorp'
    anonrisk.k(df, "zip", unit=["patient"])  # wrong: "list[str]"
    anonrisk.ldiv(df, "zip", "illness", variant="recursiv")  # wrong: 'recursiv'
    anonrisk.ldiv(df, "zip", "illness", missing="wildcard")  # wrong: 'wildcard'
    anonrisk.tcloseness(df, "zip", "illness", distance="ordred")  # wrong: 'ordred'
    anonrisk.predict_singletons(df, "zip", 30, draw="without")  # wrong: 'without'
    anonrisk.predict_classes(df, "zip", 30, method="exakt")  # wrong: 'exakt'
    anonrisk.predict_population(df, "zip", 1000, model="pitmann")  # wrong: 'pitmann'
    anonrisk.perturb(df, "income", 2, seed=1, law="gauss")  # wrong: 'gauss'
    anonrisk.perturb(df, "income", 2)  # wrong: "seed"
    anonrisk.generalize(df, "born", part="weak")  # wrong: 'weak'
    anonrisk.trajectory(df, "station", unit="card", points="some")  # wrong: 'some'
    anonrisk.pseudonymize(df, "patient", key="secret")  # wrong: "key"
    anonrisk.suppress(df, "zip", k="5")  # wrong: "k"
    anonrisk.compare(df, "zip", previous=df, missing="wildcard")  # wrong: 'wildcard'
    anonrisk.state(df, "zip", key="secret")  # wrong: "key"
    anonrisk.state(df, "zip", key=bytes(32)).tcloseness("ill", "ordered")  # wrong: 'ordered'
    anonrisk.kk(df, "zip")  # wrong: "kk"
    anonrisk.sql.table("sqlite://", "people", quasy="zip")  # wrong: "quasy"


def methods(df: pd.DataFrame) -> None:
    anon = anonrisk.anon(df)
    anon.k(3.5)  # wrong: "float"
    anon.k("zip", missing="dorp")  # wrong: 'dorp'
    anon.ldif("zip", "illness")  # wrong: "ldif"
    coarse: int = anon.suppress("zip")  # wrong: "DataFrame"
    print(coarse)


def policies(df: pd.DataFrame) -> None:
    Policy(kk=5)  # wrong: "kk"
    Policy(quasi=["zip"], k="5")  # wrong: "k"
    Policy(quasi=[3.5], k=5)  # wrong: "float"
    Policy(quasi=["zip"], k=5, missing="dorp")  # wrong: 'dorp'
    Policy(quasi=["zip"], k=5, unlisted="allow")  # wrong: 'allow'
    Policy(quasi=["zip"], max_unique_fraction="1%")  # wrong: "max_unique_fraction"
    Policy(k=5).with_roles(quasy=["zip"])  # wrong: "quasy"
    Policy(k=5).check(df, nam="ward")  # wrong: "nam"


def published(manifest: Manifest, ledger: Ledger) -> None:
    Ledger("ledger.db", key="secret")  # wrong: "key"
    manifest.verify("out", public_key=b"pem")  # wrong: "public_key"
    manifest.sealed("secret")  # wrong: "sealed"
    ledger.append("manifest.json")  # wrong: "append"
