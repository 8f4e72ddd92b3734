"""What will be true of a table that does not exist yet.

Everything here is a pure function of a `Distribution`, of counts, or of a few numbers: it can be
asked before any data exists. `anonrisk.predict_singletons` and its kind ask it of a table.

====================  ===============================================================
`Distribution`        how likely each value of a quasi-identifier is
`singletons`          how many of a group will be alone with their value
`classes`             in classes of which size a group will be
`records_below`       how many will be in classes smaller than k
`uniqueness`          the chance that everybody differs
`k_anonymous`         the chance that no class is smaller than k
`suggest_width`       how wide intervals must be so that few are singletons
`expansion`           the classical approximations for small intervals
`density_limit`       mean and variance (`density_variance_limit`) for very many values
`sigma_from_singletons`  the spread of a Normal column, from how many were alone
`degree`              how anonymous a person is to whoever suspects some more than others
`questionnaire`       how answers shrink the set of people who could have given them
`best_group_size`     how large groups should be where every group costs
`fit_zipf`            Zipf's exponent from how often each value occurs
`zipf`                linked records whose items follow Zipf's law
`population`          from a sample to the population: bounds first, models beside them
====================  ===============================================================
"""

from __future__ import annotations

from anonrisk.predict.degree import DegreeOfAnonymity, degree
from anonrisk.predict.distribution import Distribution
from anonrisk.predict.group import (
    GroupDesign,
    best_group_size,
    classes,
    k_anonymous,
    records_below,
    singletons,
    uniqueness,
)
from anonrisk.predict.kl import KnownByKl
from anonrisk.predict.prediction import PredictedClasses, PredictedRecords, Prediction
from anonrisk.predict.questionnaire import Answer, JointTable, Questionnaire, Step, questionnaire
from anonrisk.predict.sigma_from_singletons import SigmaEstimate, sigma_from_singletons
from anonrisk.predict.width import (
    density_limit,
    density_variance_limit,
    expansion,
    normal_expansion,
    suggest_width,
)
from anonrisk.predict.zipf import Fit as ZipfFit
from anonrisk.predict.zipf import fit as fit_zipf

__all__ = [
    "Answer",
    "DegreeOfAnonymity",
    "Distribution",
    "GroupDesign",
    "JointTable",
    "KnownByKl",
    "PredictedClasses",
    "PredictedRecords",
    "Prediction",
    "Questionnaire",
    "SigmaEstimate",
    "Step",
    "ZipfFit",
    "best_group_size",
    "classes",
    "degree",
    "density_limit",
    "density_variance_limit",
    "expansion",
    "fit_zipf",
    "k_anonymous",
    "normal_expansion",
    "questionnaire",
    "records_below",
    "sigma_from_singletons",
    "singletons",
    "suggest_width",
    "uniqueness",
]
