"""Measures of class sizes: how many records share a quasi-identifier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.question import ask
from anonrisk.errors import ArgumentError
from anonrisk.measures.entropy import check_order

if TYPE_CHECKING:
    from anonrisk.core.columns import Name
    from anonrisk.core.results import LowerBound
    from anonrisk.counts.class_sizes import ClassSizes


def classes(
    frame: Any, qids: Any = None, *, unit: Name | None = None, missing: str = "value"
) -> ClassSizes:
    """Count the classes of a quasi-identifier: one scan, many questions.

    Parameters
    ----------
    frame : DataFrame
        A pandas, Spark (classic or Connect) or pandas-on-Spark table.
    qids : name or list of names, optional
        The columns that together may single somebody out; left out, those that were declared.
    unit : name, optional
        The column that says which person a row belongs to. A class's size is then its number of
        different persons, and shares count persons, each by the smallest of their classes.
    missing : {"value", "drop", "error"}
        Whether a missing quasi-identifier is a value like any other, is left out, or is refused.

    Returns
    -------
    ClassSizes
        The histogram of class sizes, which answers for k, uniqueness, entropy and more.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012"], "age": [34, 34, 51]})
    >>> anonrisk.classes(df, ["zip", "age"])
    Classes of zip + age: 3 records in 2 classes, k = 1
    1 record (33.3%) is a singleton
    class size   classes   records   share
             1         1         1   33.3%
             2         1         2   66.7%
    """
    engine, question = ask(frame, qids, unit=unit, missing=missing)
    return engine.count(frame, question)[0]


def k(frame: Any, qids: Any = None, *, unit: Name | None = None, missing: str = "value") -> int:
    """Give the size of the smallest class: the table is k-anonymous for this k.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`.

    Returns
    -------
    int

    Notes
    -----
    T1: k = min f over all classes (Samarati & Sweeney 1998).

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012"], "age": [34, 34, 51]})
    >>> df.anon.k(["zip", "age"])
    1
    """
    return classes(frame, qids, unit=unit, missing=missing).k


def uniqueness(
    frame: Any, qids: Any = None, *, unit: Name | None = None, missing: str = "value"
) -> float:
    """Give the share of the records that are singletons: alone in their class.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`.

    Returns
    -------
    float

    Notes
    -----
    T1 with K = 2: records in classes smaller than two, over all records (Koot 2012, chapter 3).

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012", "1013"]})
    >>> df.anon.uniqueness("zip")
    0.5
    """
    return classes(frame, qids, unit=unit, missing=missing).uniqueness


def entropy(
    frame: Any,
    qids: Any = None,
    order: float = 1,
    *,
    quantile: float | None = None,
    unit: Name | None = None,
    missing: str = "value",
) -> float:
    """Give the entropy of a quasi-identifier in bits: how much its value tells.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`.
    order : float
        Order of the Rényi entropy: 1 is Shannon's, 0 counts the values, ``math.inf`` looks at the
        commonest one only.
    quantile : float, optional
        Instead, the bits that address this share of the records: log2 of the fewest values that
        together hold it, so that outliers do not count.

    Returns
    -------
    float

    Notes
    -----
    H1: H = −Σ p log2 p; H3: H_α = log2(Σ p^α) / (1 − α), with p = f/n (Koot 2012, 2.2). With a
    `unit`, p is over (person, class) pairs.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a"] * 4 + ["b"] * 2 + ["c", "d"]})
    >>> df.anon.entropy("zip"), df.anon.entropy("zip", order=0)
    (1.75, 2.0)
    >>> df.anon.entropy("zip", quantile=0.75)
    1.0
    """
    check_order(order, quantile)
    counted = classes(frame, qids, unit=unit, missing=missing)
    return counted.entropy(order, quantile=quantile)


def degree(
    frame: Any, qids: Any = None, *, unit: Name | None = None, missing: str = "value"
) -> float:
    """Give the degree of anonymity: 0 when every record is unique, 1 when all are alike.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`.

    Returns
    -------
    float

    Notes
    -----
    H2: d = Σ (f/n) log2 f / log2 n = 1 − H/log2 n (Koot 2012, 2.2.1, for an attacker who knows the
    quasi-identifier). The entropy of the values over log2 n runs the other way and is no anonymity.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b", "b"], "id": [1, 2, 3, 4], "all": [0] * 4})
    >>> df.anon.degree("zip"), df.anon.degree("id"), df.anon.degree("all")
    (0.5, 0.0, 1.0)
    """
    return classes(frame, qids, unit=unit, missing=missing).degree


def anvc(
    frame: Any, qids: Any = None, *, unit: Name | None = None, missing: str = "value"
) -> float:
    """Give the average number of value combinations of a quasi-identifier.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`.

    Returns
    -------
    float

    Notes
    -----
    H6: 2^H, with H the Shannon entropy in bits (Fischer-Hübner).

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"sex": ["f", "f", "m", "m"]})
    >>> df.anon.anvc("sex")
    2.0
    """
    return classes(frame, qids, unit=unit, missing=missing).anvc


def rr(
    frame: Any, qids: Any = None, *, unit: Name | None = None, missing: str = "value"
) -> LowerBound:
    """Give Fischer-Hübner's average risk: a lower bound, shown beside classes / records.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`.

    Returns
    -------
    LowerBound
        A float that prints classes / records beside itself.

    Notes
    -----
    H6: min(1, 2^H / n). Since 2^H never exceeds the number of classes, this understates the
    average risk of classes / records wherever classes differ in size. No gate may use it.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"sex": ["f", "f", "f", "m"]})
    >>> df.anon.rr("sex")
    0.4386913376508... (a lower bound; classes/records 0.5)
    """
    return classes(frame, qids, unit=unit, missing=missing).rr


def sizes(
    frame: Any,
    qids: Any = None,
    *,
    unit: Name | None = None,
    missing: str = "value",
    name: Any = "class_size",
) -> Any:
    """Give the size of each record's class.

    Parameters
    ----------
    frame, qids, unit, missing
        As in `anonrisk.classes`. With ``missing="drop"`` a dropped record has no size (NA).
    name : str
        Name of the new Series or column.

    Returns
    -------
    Series or DataFrame
        On pandas a Series with the table's index. On Spark the table with one column more, lazily;
        the sizes come from a window over the quasi-identifier. There a missing unit, or a missing
        value under ``missing="error"``, fails when the table is computed.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012"]})
    >>> df.anon.sizes("zip").tolist()
    [2, 2, 1]
    """
    if not isinstance(name, str) or not name:
        raise ArgumentError("name= is the name of the new column: a text that is not empty")
    engine, question = ask(frame, qids, unit=unit, missing=missing)
    return engine.sizes(frame, question, name)
