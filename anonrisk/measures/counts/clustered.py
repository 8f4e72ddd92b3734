"""The classes of a table whose records were drawn in clusters: whole homes, say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from anonrisk.core import radix
from anonrisk.core.frozen import dataclass
from anonrisk.measures.counts.class_sizes import ClassCounts

if TYPE_CHECKING:
    from anonrisk.core.arrays import Integers
    from anonrisk.core.columns import Name
    from anonrisk.measures.counts.tally import Tally


@dataclass(frozen=True, eq=False)
class ClusteredClasses:
    """Which clusters the records of each class come from, without any value.

    A part is what one cluster has in one class.

    Attributes
    ----------
    sizes : ClassCounts
        How many classes there are of each size.
    class_of, cluster_of, members : array of int (n_parts,)
        For each part the number of its class, that of its cluster, and its records.
    cluster : name
        The column that tells clusters apart.
    """

    sizes: ClassCounts
    class_of: Integers
    cluster_of: Integers
    members: Integers
    cluster: Name

    @classmethod
    def of(cls, tally: Tally, cluster: Name, *, missing: str = "value", n_dropped: int = 0) -> Self:
        """Take a tally of the quasi-identifiers and the cluster apart."""
        qid = tuple(name for name in tally.codes if name != cluster)
        columns = [(tally.codes[name], len(tally.domains[name]) + 1) for name in qid]
        class_of, n_classes = radix.renumbered(radix.keys_of(columns)[0])
        sizes, classes = np.unique(
            np.bincount(class_of, tally.counts, n_classes).astype(np.int64), return_counts=True
        )
        return cls(
            ClassCounts(sizes, classes, qid=qid, missing=missing, n_dropped=n_dropped),
            class_of,
            radix.renumbered(tally.codes[cluster])[0],
            tally.counts,
            cluster,
        )

    @property
    def n(self) -> int:
        """Number of records."""
        return self.sizes.n_records

    @property
    def people(self) -> Integers:
        """Number of records of each cluster."""
        return np.bincount(self.cluster_of, self.members).astype(np.int64)

    @property
    def together(self) -> float:
        """Number of records that somebody's cluster has, on average over people."""
        return float((self.people.astype(float) ** 2).sum()) / self.n

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.cluster_of.max()) + 1
