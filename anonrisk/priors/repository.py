"""The repository of Koot's chapter 7: publish, query, analyse, decide."""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from anonrisk.api.class_sizes import ClassSizes
from anonrisk.core import render
from anonrisk.core.arguments import whole_number
from anonrisk.core.columns import nearest
from anonrisk.core.database import open_store, withheld, writing
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields
from anonrisk.errors import (
    AnonRiskError,
    ArgumentError,
    DisagreementError,
    PopulationTooSmallError,
    PriorNotFoundError,
    StoreError,
)
from anonrisk.priors.forecast import (
    ERRORS,
    Forecast,
    forecast,
    of_domain,
    of_entropy,
    of_s2,
    of_s3,
    unbiased_entropy,
)
from anonrisk.priors.prior import Prior, as_population, as_qid, as_text, rounded

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Callable, Iterable, Iterator

    import pandas as pd
    from sqlalchemy import Connection, MetaData

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Missing
    from anonrisk.priors.forecast import Precision


@dataclass(frozen=True, repr=False)
class Disagreement(PrintedFields):
    """Two submissions that cannot both be right.

    Attributes
    ----------
    first, second : Prior
        The latest submissions of two holders.
    what : str
        The number that differs: s2, s3, entropy (nats) or n_values.
    values : tuple of float
        That number of each of the two.
    difference, allowed : float
        How far apart they are, and how far rounding and chance could take them.
    """

    first: Prior
    second: Prior
    what: str
    values: tuple[float, float]
    difference: float
    allowed: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        return {
            "qid": list(self.first.qid),
            "population": self.first.population,
            "what": self.what,
            "by": [self.first.by, self.second.by],
            "values": list(self.values),
            "difference": self.difference,
            "allowed": self.allowed,
        }


def disagreements_of(submissions: Iterable[Prior]) -> Iterator[Disagreement]:
    """Compare the latest submissions of every two holders of one (QID, population).

    They disagree where s2, s3 or the entropy differ by more than rounding (half a unit of the
    third digit of each) and three standard errors of counting so many records as a sample, or
    where two declared domains differ in size by more than rounding. Compared is the entropy
    ln(n_values) − kl rather than the KL distance, because the latter also depends on how many
    values each holder takes to be possible; it is left out where one of the two has fewer than
    five records per value.
    """
    about: dict[tuple[tuple[str, ...], str], list[Prior]] = {}
    for prior in latest(submissions):
        about.setdefault((prior.qid, prior.population), []).append(prior)
    for holders in about.values():
        for first, second in combinations(holders, 2):
            yield from _compare(first, second)


def latest(submissions: Iterable[Prior]) -> list[Prior]:
    """Return the latest submission of each holder about each (QID, population)."""
    kept: dict[tuple[tuple[str, ...], str, str], Prior] = {}
    for prior in submissions:
        key = prior.qid, prior.population, prior.by
        if key not in kept or _order(prior) >= _order(kept[key]):
            kept[key] = prior
    return list(kept.values())


def chosen(submissions: Iterable[Prior]) -> Prior:
    """Return the latest submission of the holder with the most records."""
    return max(latest(submissions), key=lambda prior: (prior.n_records, *_order(prior)))


def _order(prior: Prior) -> tuple[Any, int]:
    return prior.when, prior.number or 0


def _compare(first: Prior, second: Prior) -> Iterator[Disagreement]:
    measures: list[tuple[str, Callable[[Prior], float], Callable[[Prior], Precision]]] = [
        ("s2", lambda prior: prior.s2, of_s2),
        ("s3", lambda prior: prior.s3, of_s3),
    ]
    if all(prior.n_records >= 5 * prior.n_values for prior in (first, second)):
        measures.append(("entropy", unbiased_entropy, of_entropy))
    if first.domain == second.domain == "declared":
        measures.append(("n_values", lambda prior: prior.n_values, of_domain))
    for what, value, about in measures:
        values = value(first), value(second)
        item, other = about(first), about(second)
        chance = ERRORS * math.hypot(item.error, other.error)
        allowed = item.rounding + other.rounding + chance
        difference = abs(values[0] - values[1])
        if difference > allowed:
            yield Disagreement(first, second, what, values, difference, allowed)


Item = TypeVar("Item")


@dataclass(frozen=True, repr=False)
class _Listing(render.PrintedTable, Generic[Item]):
    """A frozen list of one kind of thing."""

    items: tuple[Item, ...]

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, place: int) -> Item: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Item, ...]: ...

    def __getitem__(self, place: int | slice) -> Item | tuple[Item, ...]:
        return self.items[place]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        return {"items": self._plain()}

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table, a row for each."""
        import pandas as pd

        return pd.DataFrame(self._plain(), columns=self._columns())

    @abstractmethod
    def _plain(self) -> list[dict[str, Any]]: ...

    @abstractmethod
    def _columns(self) -> list[str]: ...


@dataclass(frozen=True, repr=False)
class Submissions(_Listing[Prior]):
    """Submissions to a repository, in the order they came.

    Attributes
    ----------
    items : tuple of Prior
        The submissions.
    refused : tuple of str
        What the database holds besides, put there by something else than this library, and why
        it is not used.
    """

    refused: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        return super().to_dict() | {"refused": list(self.refused)}

    def _plain(self) -> list[dict[str, Any]]:
        return [prior.to_dict() for prior in self.items]

    def _columns(self) -> list[str]:
        return list(Prior.__dataclass_fields__)

    def _lines(self) -> list[str]:
        text = render.count_of(len(self.items), "submission")
        return [f"{text}, numbers rounded to three digits"]

    def _header(self) -> tuple[str, ...]:
        return "no.", "qid", "population", "kl", "s2", "s3", "values", "records", "when", "by"

    def _rows(self) -> list[list[str]]:
        return [
            [
                "" if prior.number is None else str(prior.number),
                render.joined(prior.qid),
                prior.population,
                f"{prior.kl:.3g}",
                f"{prior.s2:.3g}",
                f"{prior.s3:.3g}",
                f"{prior.n_values:,}",
                f"{prior.n_records:,}",
                prior.when.isoformat(),
                prior.by,
            ]
            for prior in self.items
        ]

    def _notes(self) -> list[str]:
        return [f"not used: {reason}" for reason in self.refused]


@dataclass(frozen=True, repr=False)
class Disagreements(_Listing[Disagreement]):
    """Where data holders differ about the same quasi-identifier of the same population."""

    def _plain(self) -> list[dict[str, Any]]:
        return [item.to_dict() for item in self.items]

    def _columns(self) -> list[str]:
        return ["qid", "population", "what", "by", "values", "difference", "allowed"]

    def _lines(self) -> list[str]:
        if not self.items:
            return ["no disagreement beyond rounding and chance"]
        return [f"{render.count_of(len(self.items), 'disagreement')} beyond rounding and chance"]

    def _header(self) -> tuple[str, ...]:
        return "qid", "population", "what", "first", "second", "difference", "allowed"

    def _rows(self) -> list[list[str]]:
        return [
            [
                render.joined(item.first.qid),
                item.first.population,
                item.what,
                f"{item.values[0]:.3g} ({item.first.by})",
                f"{item.values[1]:.3g} ({item.second.by})",
                f"{item.difference:.3g}",
                f"{item.allowed:.3g}",
            ]
            for item in self.items
        ]


# Nothing is ever changed or deleted: a submission is a new row. Connections are opened for one
# transaction and closed after it, so that processes may share a repository.

VERSION = 1
SUBMISSIONS, ABOUT = "anonrisk_priors", "anonrisk_priors_about"


class PriorStore:
    """Rows of submissions in a database.

    Parameters
    ----------
    url : str or path
        A URL of SQLAlchemy, or the path of an SQLite file.
    floor : int
        The least number of records to publish about, kept where the database is new.
    """

    def __init__(self, url: Any, floor: int) -> None:
        """Connect; make the tables in a new database, check the version of an old one."""
        self._engine, self.place = open_store(url, "a repository")
        with self._withheld():
            about = self._about()
            if about is None:
                about = self._make(floor)
        if about.get("version") != str(VERSION):
            raise StoreError(
                f"{self.place} holds version {about.get('version', 'unknown')} of the tables, "
                f"this library reads version {VERSION}"
            )
        self.floor = int(about["floor"])

    def add(self, row: Mapping[str, Any]) -> int:
        """Store one submission; give its number."""
        table = _tables().tables[SUBMISSIONS]
        values = dict(row) | {"qid": json.dumps(row["qid"], ensure_ascii=False)}
        with self._withheld(), self._writing() as connection:
            key = connection.execute(table.insert().values(**values)).inserted_primary_key
        return int(key[0]) if key else 0

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield every submission, in the order they came."""
        table = _tables().tables[SUBMISSIONS]
        with self._withheld(), self._engine.connect() as connection:
            result = connection.execute(table.select().order_by(table.c.number)).mappings().all()
        for row in result:
            yield dict(row) | {"qid": _names(row["qid"])}

    def _withheld(self) -> contextlib.AbstractContextManager[None]:
        return withheld(f"{self.place} cannot be used")

    def _about(self) -> dict[str, str] | None:
        """What the database says about its own tables; None if it has none."""
        from sqlalchemy import inspect

        with self._engine.connect() as connection:
            present = set(inspect(connection).get_table_names())
            if ABOUT not in present:
                if SUBMISSIONS in present:
                    return {}
                return None
            table = _tables().tables[ABOUT]
            return {row.name: row.value for row in connection.execute(table.select()).all()}

    def _make(self, floor: int) -> dict[str, str]:
        tables = _tables()
        about = {"version": str(VERSION), "floor": str(floor)}
        with self._writing() as connection:
            # Somebody else may have made them between our look and our lock.
            tables.create_all(connection)
            table = tables.tables[ABOUT]
            if not connection.execute(table.select()).first():
                rows = [{"name": name, "value": value} for name, value in about.items()]
                connection.execute(table.insert(), rows)
        result = self._about()
        return result or {}

    def _writing(self) -> contextlib.AbstractContextManager[Connection]:
        return writing(self._engine, "priors")


def _tables() -> MetaData:
    from sqlalchemy import BigInteger, Column, Double, Index, Integer, MetaData, Table, Text

    tables = MetaData()
    whole = BigInteger().with_variant(Integer(), "sqlite")
    Table(
        SUBMISSIONS,
        tables,
        Column("number", whole, primary_key=True, autoincrement=True),
        Column("qid", Text, nullable=False),
        Column("population", Text, nullable=False),
        Column("kl", Double, nullable=False),
        Column("s2", Double, nullable=False),
        Column("s3", Double, nullable=False),
        Column("n_values", BigInteger, nullable=False),
        Column("n_records", BigInteger, nullable=False),
        Column("domain", Text, nullable=False),
        Column("by", Text, nullable=False),
        # Text, so that a row with something else there is put aside instead of blocking the rest.
        Column("when", Text, nullable=False),
        Index("anonrisk_priors_key", "population", "qid"),
        sqlite_autoincrement=True,
    )
    Table(ABOUT, tables, Column("name", Text, primary_key=True), Column("value", Text))
    return tables


def _names(stored: Any) -> Any:
    """Read the names of a quasi-identifier; what is not a list of them is refused later."""
    try:
        return json.loads(stored)
    except (TypeError, ValueError, RecursionError):
        return None


DEFAULT_PLACE = "anonrisk_priors.sqlite"
DEFAULT_FLOOR = 1_000


class Repository:
    """Where data holders publish how people differ, and policy makers ask without seeing data.

    Parameters
    ----------
    url : str or path, optional
        The path of an SQLite file, or the URL of an SQLite or PostgreSQL database
        (``postgresql://user:password@host/database``). Left out, the file
        ``anonrisk_priors.sqlite`` in the current folder. A new database gets its tables.
    floor : int, optional
        The least number of records to publish about: 1,000 unless a new repository is made with
        another one. It is kept there, and a later floor may be higher but not lower.

    Notes
    -----
    Koot 2012, chapter 7. A repository keeps every submission. It holds names of columns and
    populations, and numbers rounded to three significant digits: no value of a cell, and too
    coarse to tell what one person more or less does to them.

    Examples
    --------
    >>> import pandas as pd
    >>> from anonrisk.priors import Repository
    >>> ages = pd.DataFrame({"age": [20 + i % 50 for i in range(5000)]})
    >>> repository = Repository("sqlite://")
    >>> _ = repository.publish(ages, "age", population="Members 2021", by="The Club",
    ...                        when="2021-06-01")
    >>> repository.query("age")
    1 submission, numbers rounded to three digits
    no.  qid  population  kl      s2        s3  values  records        when  by
      1  age  Members      0  0.0198  0.000388      50    5,000  2021-06-01  The
              2021                                                           Club
    """

    def __init__(self, url: Any = None, *, floor: int | None = None) -> None:
        """Open a repository, or make one."""
        if floor is not None:
            whole_number(floor, "floor", at_least=1)
        self._store = PriorStore(DEFAULT_PLACE if url is None else url, floor or DEFAULT_FLOOR)
        if floor is not None and floor < self._store.floor:
            raise ArgumentError(
                f"this repository was made with a floor of {self._store.floor:,} records; "
                "it may be opened with a higher one, not with a lower"
            )
        self.floor = floor or self._store.floor

    def __repr__(self) -> str:
        """Return where it is, without user or password."""
        return render.fitted(f"Repository in {self._store.place}, floor {self.floor:,} records")

    def publish(
        self,
        data: Any,
        qid: Any = None,
        *,
        population: Any = None,
        by: str | None = None,
        when: Any = None,
        n_values: int | None = None,
        unit: Name | None = None,
        missing: Missing = "value",
    ) -> Prior:
        """Publish how a quasi-identifier is distributed; give what was stored.

        Parameters
        ----------
        data : DataFrame, ClassSizes, Prior or mapping
            A table of any engine, counted classes, or a summary with the fields of `Prior`.
        qid : name or list of names, optional
            The quasi-identifier; may be left out where the data has one.
        population : str or mapping, optional
            Whom the data is about; needed unless a summary says so.
        by : str, optional
            Who publishes; needed unless a summary says so.
        when : date, optional
            The day of publication; today if left out.
        n_values : int, optional
            How many values the quasi-identifier can take, where that is known; left out, those
            that occur are counted.
        unit, missing
            As in `anonrisk.classes`, for a table.

        Returns
        -------
        Prior
            The rounded numbers, with the number of the submission.

        See Also
        --------
        anonrisk.priors.Prior.of : the numbers, without storing them
        anonrisk.priors.Repository.query : lists what was published

        Examples
        --------
        >>> from anonrisk import ClassSizes
        >>> from anonrisk.priors import Repository
        >>> ages = ClassSizes([100], [50], qid=["age"])
        >>> repository = Repository("sqlite://", floor=100)
        >>> published = repository.publish(ages, population="Members", by="The Club")
        >>> published.n_values
        50
        """
        fields = {"population": population, "by": by, "when": when}
        if isinstance(data, Prior):
            data = data.to_dict()
        if isinstance(data, Mapping):
            prior = _from_summary(data, qid, fields, n_values)
        else:
            for name in ("population", "by"):
                if fields[name] is None:
                    raise ArgumentError(f"say {name}=: the repository needs it")
            if not isinstance(data, ClassSizes):
                from anonrisk.api.classes import classes

                data = classes(data, qid, unit=unit, missing=missing)
                qid = None
            self._check_floor(data.n_records, self.floor)
            prior = Prior.of(data, qid=qid, n_values=n_values, **fields)
        self._check_floor(prior.n_records, rounded(self.floor))
        row = prior.to_dict()
        del row["number"]
        return prior.numbered(self._store.add(row))

    def query(
        self, qid: Any = None, population: Any = None, *, by: str | None = None
    ) -> Submissions:
        """List what was published, about a quasi-identifier, a population, or by somebody.

        Parameters
        ----------
        qid : name or list of names, optional
            The whole quasi-identifier, in any order.
        population : str or mapping, optional
            The population.
        by : str, optional
            The holder.

        Returns
        -------
        Submissions
            Every submission that fits, in the order they came; may be empty.

        See Also
        --------
        anonrisk.priors.Repository.publish : adds a submission
        anonrisk.priors.Repository.predict : uses one

        Examples
        --------
        >>> from anonrisk import ClassSizes
        >>> from anonrisk.priors import Repository
        >>> ages = ClassSizes([100], [50], qid=["age"])
        >>> repository = Repository("sqlite://", floor=100)
        >>> _ = repository.publish(ages, population="Members", by="The Club", when="2021-06-01")
        >>> len(repository.query("age")), len(repository.query("zip"))
        (1, 0)
        """
        wanted_qid = None if qid is None else as_qid(qid)
        wanted_population = None if population is None else as_population(population)
        wanted_by = None if by is None else as_text(by, "by")
        everything = self._read()
        return Submissions(
            tuple(
                prior
                for prior in everything
                if wanted_qid in {None, prior.qid}
                and wanted_population in {None, prior.population}
                and wanted_by in {None, prior.by}
            ),
            everything.refused,
        )

    def disagreements(self, qid: Any = None, population: Any = None) -> Disagreements:
        """List where holders differ about the same quasi-identifier of the same population.

        The latest submission of each holder is compared with those of the others. They disagree
        where s2, s3 or the entropy differ by more than rounding and three standard errors of
        counting so many records as a sample explain, or declared domains by more than rounding.

        Parameters
        ----------
        qid, population : optional
            As in `query`.

        Returns
        -------
        Disagreements
            May be empty.

        See Also
        --------
        anonrisk.priors.Repository.query : what they say
        anonrisk.priors.Repository.predict : refuses to choose between them

        Examples
        --------
        >>> from anonrisk import ClassSizes
        >>> from anonrisk.priors import Repository
        >>> ages = ClassSizes([100], [50], qid=["age"])
        >>> repository = Repository("sqlite://", floor=100)
        >>> _ = repository.publish(ages, population="Members", by="The Club", when="2021-06-01")
        >>> _ = repository.publish(
        ...     ClassSizes([50, 500], [90, 1], qid=["age"]), population="Members", by="The Census"
        ... )
        >>> len(repository.disagreements("age")) > 0
        True
        """
        return Disagreements(tuple(disagreements_of(self.query(qid, population))))

    def predict(
        self,
        qid: Any,
        population: Any,
        group_size: int,
        *,
        by: str | None = None,
        method: str = "auto",
    ) -> Forecast:
        """Predict the singletons in a group from this population, without its data.

        Parameters
        ----------
        qid, population
            As in `query`.
        group_size : int
            Number of people in the group.
        by : str, optional
            Whose numbers to use. Left out, the latest of the holder with the most records, and
            an error where holders disagree.
        method : {"auto", "pairs", "kl", "bounds"}
            ``"pairs"`` uses s2 and s3 where hardly any three people share a value, ``"kl"`` the
            Kullback-Leibler distance within its limits, ``"bounds"`` only what every
            distribution with these numbers has in common. ``"auto"`` takes the first of
            ``"pairs"`` and ``"kl"`` that may be used, and is an error where neither may.

        Returns
        -------
        Forecast
            The prediction, and the bounds in any case.

        See Also
        --------
        anonrisk.priors.forecast : from one prior
        anonrisk.predict_singletons : from a table

        Notes
        -----
        S15 and U5 (pairs), S5, S6 and U6 (kl) with the limits within which they are good; the
        bounds are a linear programme over all distributions that fit (see `Forecast`).

        References
        ----------
        M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, chapters 5
        and 7; corrected as in docs/formulas.md, ``koot-5.1``, ``koot-5.3.2``.

        Examples
        --------
        >>> from anonrisk import ClassSizes
        >>> from anonrisk.priors import Repository
        >>> ages = ClassSizes([100], [50], qid=["age"])
        >>> repository = Repository("sqlite://", floor=100)
        >>> _ = repository.publish(ages, population="Members", by="The Club", when="2021-06-01")
        >>> repository.predict("age", "Members", 10).verdict(max_fraction=0.5)
        'fail'
        """
        result = self._submissions(qid, population, by)
        if by is None:
            differing = Disagreements(tuple(disagreements_of(result)))
            if differing:
                raise DisagreementError(
                    f"holders disagree about this population; say by= whom to believe.\n{differing}"
                )
        return forecast(chosen(result), group_size, method=method)

    def _read(self) -> Submissions:
        """Read every row, and put aside those that somebody wrote past this library."""
        priors, refused = [], []
        for row in self._store.rows():
            number = row["number"]
            try:
                prior = Prior.from_dict(row)
            except AnonRiskError as error:
                refused.append(f"submission {number}: {error}")
                continue
            if prior.n_records < rounded(self._store.floor):
                refused.append(f"submission {number}: fewer than {self._store.floor:,} records")
                continue
            priors.append(prior)
        return Submissions(tuple(priors), tuple(refused))

    def _submissions(self, qid: Any, population: Any, by: str | None) -> Submissions:
        query = self.query(qid, population, by=by)
        if query:
            return query
        wanted, people = render.joined(as_qid(qid)), as_population(population)
        everything = self._read()
        about = {render.joined(prior.qid) for prior in everything if prior.population == people}
        if about and by is None:
            known = sorted(about)
            raise PriorNotFoundError(
                f"nobody has published about {wanted} of {people}; published about it: "
                f"{', '.join(known[:10])}"
            )
        names = sorted({prior.population for prior in everything})
        who = "nobody has" if by is None else f"{by} has not"
        raise PriorNotFoundError(
            f"{who} published about {wanted} of {people}{nearest(people, names)}"
        )

    def _check_floor(self, n_records: int, floor: float) -> None:
        """Reject few records: as they are, and as rounded, which is what others publish."""
        if n_records < floor:
            raise PopulationTooSmallError(
                f"{render.count_of(n_records, 'record')} are fewer than the floor of "
                f"{self.floor:,}: numbers about so few people would say something about single "
                "ones, even when rounded. Publish about a larger population"
            )


def _from_summary(
    data: Mapping[str, Any], qid: Any, argument: dict[str, Any], n_values: int | None
) -> Prior:
    """Complete a summary by what the call says; the two must not differ."""
    fields = {name: value for name, value in data.items() if name != "number"}
    said = argument | {"qid": qid, "n_values": n_values}
    for name, value in said.items():
        if value is not None and fields.get(name) is None:
            fields[name] = value
        elif value is not None:
            read: Any = {"qid": as_qid, "population": as_population}.get(name, lambda same: same)
            if read(fields[name]) != read(value):
                raise ArgumentError(f"{name} differs between the summary and the call")
    return Prior.from_dict(fields)
