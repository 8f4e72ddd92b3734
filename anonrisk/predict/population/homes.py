"""A table of whole clusters as a sample of clusters: the rows of the programme of bounds (P0)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.predict.population.sample import Sample

if TYPE_CHECKING:
    from anonrisk.core.arrays import Floats, Integers
    from anonrisk.measures.counts.clustered import ClusteredClasses


def of_clusters(
    counted: ClusteredClasses, persons: Sample, most: int
) -> tuple[Sample, Floats, float]:
    """Return the sample of clusters, the rows of the programme (most + 1,), and their spread λ.

    Notes
    -----
    A class of s parts, b of which have one member, counts as b/s of one in row s, or in the last
    row where s > `most`: if x_r people of the population are such a part of a class of r, the
    expected number is Σ x_r P(s | r)/r. With Δ the rows with a part less those without it, v_h the
    sum of Δ over the parts of cluster h, z_h its people and R = Σ v_h / Σ z_h, what clusters add to
    the covariance is, on average (two classes sharing no second cluster more than chance has it),
    C = (1 − f) (Σ_h (v_h − R z_h)(v_h − R z_h)ᵀ − Σ ΔΔᵀ). The rows themselves have variances of a
    Poisson number at most, V, and λ is 1 plus the largest eigenvalue of V^(−½) C V^(−½).
    """
    n_clusters = counted.n_clusters
    homes = Sample.of({1: n_clusters}, max(n_clusters, round(n_clusters / persons.f)))
    singly = counted.members == 1
    parts = np.bincount(counted.class_of)
    single = np.bincount(counted.class_of, singly)
    rows = np.bincount(_row(parts, most), single / parts, most + 1).astype(np.float64)
    parts, single = parts[counted.class_of], single[counted.class_of]
    changes = np.zeros((len(parts), most + 1))
    at = np.arange(len(parts))
    changes[at, _row(parts, most)] = single / parts
    some = at[parts > 1]
    left = (single - singly)[some] / (parts[some] - 1)
    changes[some, _row(parts[some] - 1, most)] -= left
    together = np.zeros((n_clusters, most + 1))
    np.add.at(together, counted.cluster_of, changes)
    people = counted.people
    together -= np.outer(people, together.sum(axis=0) / people.sum())
    common = (1 - homes.f) * (together.T @ together - changes.T @ changes)
    sd = np.sqrt(np.maximum(rows, 1))
    spread = 1 + max(0.0, float(np.linalg.eigvalsh(common / np.outer(sd, sd))[-1]))
    return homes, rows, spread


def _row(parts: Integers, most: int) -> Integers:
    return np.minimum(parts, most + 1) - 1
