"""The Safe Harbor rule of HIPAA for dates, ages and postal codes, as a ready plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anonrisk.core.arguments import whole_number
from anonrisk.core.columns import as_names, require
from anonrisk.engines import engine_for
from anonrisk.errors import (
    ArgumentError,
    NoColumnsError,
    RepeatedColumnError,
    UnsupportedColumnError,
)
from anonrisk.measures.recode import DatePart, TopBottom, ZipArea
from anonrisk.measures.recode.kinds import AREA, ZIP
from anonrisk.planning.plan import Plan

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.recode import Recoding

# 45 CFR 164.514(b)(2): three digits where more than 20,000 people share them, ages up to 89.
MIN_PEOPLE = 20_000
OLDEST = 90


def safe_harbor(
    frame: Any,
    *,
    dates: Any = None,
    births: Any = None,
    ages: Any = None,
    zips: Any = None,
    zip_population: Any = None,
    year: int | None = None,
) -> Plan:
    """Make the plan that Safe Harbor asks for: years, ages up to 89, three digits of a zip code.

    Parameters
    ----------
    frame : DataFrame
        A pandas, Spark or pandas-on-Spark table.
    dates : name or list of names, optional
        Dates about a person: they become years.
    births : name or list of names, optional
        Dates of birth: years, and all that tell an age above 89 together.
    ages : name or list of names, optional
        Ages: 90 stands for 90 and more.
    zips : name or list of names, optional
        ZIP codes as text: three digits, 000 where at most 20,000 people share those, and for every
        cell that is not a code of five digits, or of five and four as 12345-6789.
    zip_population : dict, optional
        Number of people by ZIP code, or by its first three digits; a code that it lacks becomes
        000.
    year : int, optional
        The year of the release, needed with `births`.

    Returns
    -------
    Plan
        For `anonrisk.apply`. It suppresses no records and promises no k: measure the result. Names,
        numbers and the other identifiers that the rule lists must be left out apart from this.

    See Also
    --------
    anonrisk.apply : makes the table
    anonrisk.plan : a plan that promises a k
    anonrisk.Policy.ready : a gate in the same spirit, ``"hipaa_style"``

    Notes
    -----
    Rule and not measure: the classes that remain may be of any size.

    References
    ----------
    - 45 CFR 164.514(b)(2)(i).
    - S. Lodha & D. Thomas, *Probabilistic Anonymity*, example 8.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["10011", "03601"], "age": [34, 93]})
    >>> people = {"10011": 50_000, "10012": 25_000, "03601": 300}
    >>> plan = anonrisk.hipaa.safe_harbor(df, ages="age", zips="zip", zip_population=people)
    >>> df.anon.apply(plan)
       zip  age
    0  100   34
    1  000   90
    """
    schema = engine_for(frame).schema(frame)
    columns = schema.columns
    recodings: dict[Name, Recoding] = {}

    def named(value: Any, role: str) -> Qid:
        names = () if value is None else as_names(value, role, columns)
        require(names, role, columns)
        for name in names:
            if name in recodings:
                raise RepeatedColumnError(f"column {name!r} is named twice")
        return names

    recodings |= dict.fromkeys(named(dates, "date"), DatePart("year"))
    if births is not None:
        if year is None:
            raise ArgumentError("births= needs year=, the year of the release")
        # Somebody born in the year before this one may be 90 already.
        earliest = whole_number(year, "year", at_least=1900) - OLDEST + 1
        recodings |= dict.fromkeys(named(births, "birth"), DatePart("year", earliest=earliest))
    recodings |= dict.fromkeys(named(ages, "age"), TopBottom(top=OLDEST))
    if zips is not None:
        area = ZipArea(_large(zip_population))
        codes = named(zips, "zip code")
        for name in codes:
            if not schema.is_text(name):
                raise UnsupportedColumnError(
                    f"column {name!r} holds no text: zip codes kept as numbers have lost their "
                    "leading zeros, so that their first three digits are others; write them as "
                    "text of five digits first"
                )
        recodings |= dict.fromkeys(codes, area)
    if not recodings:
        raise NoColumnsError("name at least one of dates=, births=, ages= and zips=")
    schema.check(dict.fromkeys(recodings, "column"))
    return Plan(
        recodings=recodings,
        columns=tuple(columns),
        note="Safe Harbor: leave out names, numbers and the other identifiers as well.",
    )


def _large(population: Any) -> tuple[str, ...]:
    """List the first three digits that more than 20,000 people share."""
    if not isinstance(population, Mapping) or not population:
        raise ArgumentError(
            "zips= needs zip_population=, a dict of ZIP code to number of people: which first "
            "three digits may be published depends on how many people share them"
        )
    people: dict[str, int] = {}
    for code, number in population.items():
        if not isinstance(code, str) or not (AREA.fullmatch(code) or ZIP.fullmatch(code)):
            raise ArgumentError(
                "zip_population maps ZIP codes, as text of three or five digits, to numbers of "
                "people"
            )
        head = code[: ZipArea.digits]
        people[head] = people.get(head, 0) + whole_number(number, "a population", at_least=0)
    return tuple(sorted(head for head, number in people.items() if number > MIN_PEOPLE))
