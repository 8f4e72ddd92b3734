"""Links across a change of pseudonyms, on pandas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.engines.numpy.count import Encoded
from anonrisk.engines.numpy.link import link_counts
from anonrisk.engines.pandas.clock import clock
from anonrisk.engines.pandas.table import PandasTable
from anonrisk.engines.renumber import closed_up
from anonrisk.engines.times import check_moment, missing_time
from anonrisk.measures.counts.question import Question
from anonrisk.measures.counts.traces import LinkCounts, check_any, missing_user

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from anonrisk.measures.counts.traces import LinkQuestion

    Integers = NDArray[np.int64]


def links(frame: pd.DataFrame, question: LinkQuestion) -> LinkCounts:
    """Match persons before and after each change by their quasi-identifiers."""
    asked = Question((question.qid,), None, question.missing)
    encoded = Encoded.of(PandasTable(frame), asked, {question.user: "user"})
    users = encoded.columns[question.user]
    if users.n_missing:
        raise missing_user(question.user, users.n_missing)
    rows = encoded.rows(question.qid)
    check_any(len(rows), len(frame) - len(rows))
    time = clock(frame, question.time, calendar=question.period is not None)
    if question.at is not None:
        check_moment(
            question.time,
            at_on_calendar=question.at_on_calendar,
            on_calendar=time.on_calendar,
        )
    n_missing = int(np.count_nonzero(time.missing[rows]))
    if n_missing:
        raise missing_time(question.time, n_missing)
    user, n_users = closed_up(users.values[rows].astype(np.int64))
    qid, n_qids = closed_up(encoded.keys(question.qid)[0][rows])
    return link_counts(
        (user, n_users), (qid, n_qids), time.values[rows], question, len(frame) - len(rows)
    )
