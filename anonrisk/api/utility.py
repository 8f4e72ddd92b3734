"""Utility: what a changed table still tells, against the original."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.question import in_one_state, question_of
from anonrisk.api.sensitive import loss_word
from anonrisk.core.arguments import by_column
from anonrisk.core.columns import as_name, require, require_hierarchies
from anonrisk.core.hierarchy import Hierarchy
from anonrisk.engines import engine_for
from anonrisk.errors import ArgumentError, EmptyTableError, RoleConflictError
from anonrisk.measures.counts.question import ClassesOfSets, Question
from anonrisk.planning.utility import compare, majority_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Loss, LossFunction
    from anonrisk.planning.utility import Utility


@in_one_state
def utility(
    frame: Any,
    qids: Names | None = None,
    sensitive: Name | None = None,
    *,
    original: Any,
    hierarchies: Mapping[Any, Any] | None = None,
    loss: Loss | LossFunction = "entropy",
) -> Utility:
    r"""Return what a changed table is still good for.

    Parameters
    ----------
    frame : DataFrame
        The changed table: recoded by `apply` or `generalize`, with records or cells suppressed.
    qids : name or list of names, optional
        The columns to compare; left out, those declared.
    sensitive : name, optional
        The column to be predicted, for the classification metric and private mutual information.
    original : DataFrame
        The table it was made from, of the same engine. Records need not be in the same order; those
        that the changed table has fewer of were suppressed.
    hierarchies : dict of column to hierarchy, optional
        The hierarchies that columns were recoded by. Other labels ("30-39", "1981-H2", "10**", "*")
        say themselves which values they stand for.
    loss : {"entropy", "range", "discernibility", "target", "private"} or function
        Which loss is reported as `loss`, as in `anonrisk.PlanOptions`; of plans it is `after.loss`;
        ``"target"`` and ``"private"`` are about `sensitive`. All other measures are told anyway.

    Returns
    -------
    Utility
        A measure is None where a column holds values that name no values of the original, as after
        microaggregation or noise; how its mean moved is still told.

    Raises
    ------
    ColumnNotFoundError, RolesNotGivenError, RolesLostError, UnsupportedColumnError
        As in `anonrisk.classes`.
    UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.
    HierarchyError
        As in `anonrisk.generalize`.
    EmptyTableError
        If the original has no record.

    See Also
    --------
    anonrisk.plan : looks for the least loss
    anonrisk.apply : makes the changed table
    anonrisk.generalize : makes single columns coarser

    Notes
    -----
    T8, the classification metric; T9, the loss metric, of a cell that stands for M_g of the
    column's M values, or for a part of its range; T10, monotone entropy; T11, mutual information,
    and T12, that of the sensitive value y. B is the set that a cell x became, n and r are records
    and columns:

    .. math::

        \mathrm{LM} = \frac{1}{nr} \sum \frac{M_g - 1}{M - 1},
        \qquad \mathrm{MI} = \frac{1}{nr} \sum \log_2 \frac{\Pr(x \mid B)}{\Pr(x)}

    The loss metric is a mean over original records and columns: a suppressed cell or record costs
    1, an unchanged value 0. Mutual information and its loss add up to the mean entropy of the
    columns, private mutual information and its loss to the entropy of the sensitive column, all in
    bits; a suppressed record tells nothing. By ``"entropy"``, `loss` is the mean over columns of 1
    − MI/H.

    When it misleads: none of them knows what the table is for: columns count alike, each by itself,
    and a question about two of them together may be lost where each loses little.

    References
    ----------
    - V. S. Iyengar, *Transforming Data to Satisfy Privacy Constraints*, KDD 2002, 279-288.
    - S. Mahiou & F. Nagle, *Anonymity, Utility and Risk: an Overview*, 2018, chapter 4; corrected
      as in docs/formulas.md, ``mahiou-4.1``, ``mahiou-4.2``, ``mahiou-4.3``, ``mahiou-4.5``.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"age": [31, 33, 42, 51]})
    >>> coarse = df.anon.generalize("age", bins=[40])
    >>> found = coarse.anon.utility("age", original=df)
    >>> round(found.loss_metric, 3), found.mutual_information, found.loss
    (0.475, 1.0, 0.5)
    """
    if loss_word(loss) in ("target", "private") and sensitive is None:
        raise ArgumentError(f"loss={loss!r} is about a column: name it with sensitive=")
    engine, question = question_of(original, qids, unit=None, missing="value")
    qid = question.qid
    changed_engine = engine_for(frame)
    if type(changed_engine) is not type(engine):
        raise ArgumentError("the changed table and the original must be of the same engine")
    known = engine.schema(frame).columns
    require(qid, "quasi-identifier", known)
    more: tuple[Name, ...] = ()
    if sensitive is not None:
        more = (as_name(sensitive, "sensitive column"),)
        if sensitive in qid:
            raise RoleConflictError(
                f"column {sensitive!r} cannot be both quasi-identifier and sensitive column"
            )
        for columns in (known, engine.schema(original).columns):
            require(more, "sensitive column", columns)
    roles = dict.fromkeys(qid, "quasi-identifier") | dict.fromkeys(more, "sensitive column")
    engine.schema(frame).check(roles)
    engine.schema(original).check(roles)
    fields = {
        name: Hierarchy.of(tree) for name, tree in by_column(hierarchies, "hierarchies").items()
    }
    require_hierarchies(fields, qid)
    sets = tuple((name, *more) for name in qid)
    before = dict(zip(qid, engine.tally(original, ClassesOfSets(sets)), strict=True))
    everything = ((*qid, *more),) if more else ()
    counted = engine.tally(frame, ClassesOfSets((*sets, *everything)))
    after = dict(zip(qid, counted, strict=False))
    n_records, n_left = before[qid[0]].n_records, after[qid[0]].n_records
    if not n_records:
        raise EmptyTableError("the original table is empty: there is nothing to compare with")
    if n_left > n_records:
        raise ArgumentError(
            f"the changed table has {n_left:,} records and the original {n_records:,}: "
            "it was not made from it"
        )
    sizes = engine.count(frame, Question((qid,)))[0] if n_left else None
    majority = majority_of(counted[-1], qid) if more else None
    return compare(
        before,
        after,
        sizes=sizes,
        n_records=n_records,
        sensitive=sensitive,
        majority=majority,
        hierarchies=fields,
        loss=loss,
    )
