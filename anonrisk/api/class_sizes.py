"""What `classes` gives: class sizes, with every measure and prediction that follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.core.arguments import renaming
from anonrisk.core.frozen import dataclass
from anonrisk.measures import entropy as _entropy
from anonrisk.measures import risk as _risk
from anonrisk.measures.counts.class_sizes import ClassCounts

if TYPE_CHECKING:
    from anonrisk.core.results import Divergence, LowerBound
    from anonrisk.core.types import Draw, Method, Model
    from anonrisk.measures.risk import Risk
    from anonrisk.predict.population import PopulationEstimate
    from anonrisk.predict.prediction import PredictedClasses, Prediction


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ClassSizes(ClassCounts):
    """How many classes there are of each size, and what follows from that alone.

    Made from a table by `anonrisk.classes`; or from a histogram, as below. Parameters and
    attributes are those of `anonrisk.measures.counts.class_sizes.ClassCounts`.

    Examples
    --------
    >>> sizes = ClassSizes([1, 4], [2, 3], qid=["zip", "age"])
    >>> sizes.k, round(sizes.entropy(), 3), sizes.risk().prosecutor.highest
    (1, 2.093, 1.0)
    """

    # ---- information ----------------------------------------------------------------------

    @renaming(order="alpha=")
    def entropy(self, alpha: float = 1, *, quantile: float | None = None) -> float:
        """Entropy of the quasi-identifier in bits; see `anonrisk.entropy`."""
        self.refuse_overlap()
        _entropy.check_order(alpha, quantile)
        if quantile is not None:
            return _entropy.addressing_bits(self.sizes, self.classes, quantile)
        return _entropy.renyi(self.sizes, self.classes, alpha)

    @property
    def degree(self) -> float:
        """Degree of anonymity: 0 when every record is unique, 1 when all are alike.

        H2, for an attacker who knows the quasi-identifier: d = Σ f/n · log₂ f / log₂ n =
        1 − H / log₂ n, over classes of f of the n records (C. Díaz et al., *Towards Measuring
        Anonymity*, PET 2002; Koot 2012, 2.2.1, corrected as in docs/formulas.md, ``koot-2.2.1``).
        It is a mean: where most records are in large classes it stays high although some are alone.
        """
        self.refuse_overlap()
        return _entropy.degree(self.sizes, self.classes, self.n_records)

    @property
    def anvc(self) -> float:
        """Average number of value combinations: as many, equally common, would tell as much.

        H6: 2^H, with H the entropy in bits (Fischer-Hübner, Definition 3, corrected as in
        docs/formulas.md, ``fischer-huebner-numbers``). It hardly counts the rare combinations,
        which are those that single people out.
        """
        self.refuse_overlap()
        return _entropy.anvc(self.sizes, self.classes)

    @property
    def rr(self) -> LowerBound:
        """Fischer-Hübner's average risk: a lower bound, shown beside classes / records.

        H6: min(1, 2^H / n), with H the entropy in bits (Definition 4, corrected as in
        docs/formulas.md, ``fischer-huebner-rr``). It understates the average risk wherever classes
        differ in size, so that no gate may use it; see `risk`.
        """
        self.refuse_overlap()
        return _entropy.rr(self.sizes, self.classes)

    def kl(self, n_values: int | None = None) -> Divergence:
        """Kullback-Leibler distance in nats from the uniform law on `n_values` values.

        Parameters
        ----------
        n_values : int, optional
            Number of values that the quasi-identifier can take. Left out, it is the number of
            classes that occur, and the result says so.

        Notes
        -----
        H4: κ = ln N − H, with H in nats (Koot 2012, chapter 4). Adding values that nobody has
        raises κ by ln(N'/N): state the domain.

        Examples
        --------
        >>> ClassSizes([1, 3], [1, 1]).kl()
        0.1308120359411... (nats, from the uniform law on the 2 classes that occur)
        """
        self.refuse_overlap()
        return _entropy.kl(self.sizes, self.classes, n_values)

    def risk(
        self,
        *,
        sampling_fraction: float | None = None,
        population_size: int | None = None,
        unsuppressed: bool = False,
    ) -> Risk:
        """Risk by attacker; see `anonrisk.risk`.

        Examples
        --------
        >>> tenth = ClassSizes([10, 40], [200, 25])
        >>> tenth.risk(sampling_fraction=0.05, population_size=60_000).journalist.highest
        0.0232558139534...
        """
        from anonrisk.predict.sample_risk import of_sample, sampling_of

        sampling = sampling_of(sampling_fraction, population_size, unsuppressed)
        return of_sample(self, sampling) if sampling.known else _risk.of_release(self)

    # ---- predicting -----------------------------------------------------------------------

    def predict_singletons(
        self,
        group_size: int,
        *,
        draw: Draw = "auto",
        method: Method = "exact",
        n_values: int | None = None,
    ) -> Prediction:
        """Predict how many of a group are singletons; see `anonrisk.predict_singletons`.

        Examples
        --------
        >>> ClassSizes([1, 4], [2, 3]).predict_singletons(3).mean
        1.91208791208...
        """
        from anonrisk.predict import table

        return table.singletons(self, group_size, draw, method, n_values)

    def predict_classes(
        self,
        group_size: int,
        upto: int = 10,
        *,
        draw: Draw = "auto",
        method: Method = "exact",
        n_values: int | None = None,
    ) -> PredictedClasses:
        """Predict in classes of which size a group is; see `anonrisk.predict_classes`.

        Examples
        --------
        >>> ClassSizes([1, 4], [2, 3]).predict_classes(14, upto=4).share.tolist()
        [0.14285714285714285, 0.0, 0.0, 0.8571428571428571]
        """
        from anonrisk.predict import table

        return table.classes(self, group_size, upto, draw, method=method, n_values=n_values)

    def predict_population(
        self, population_size: int, *, model: Model = "auto"
    ) -> PopulationEstimate:
        """Return what the population can be that this is a sample of; see `anonrisk`'s function."""
        from anonrisk.predict.population import Sample, estimate

        return estimate(Sample.of(self, population_size), model)
