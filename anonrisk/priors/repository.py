"""The repository of Koot's chapter 7: publish, query, analyse, decide."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from anonrisk.api.class_sizes import ClassSizes
from anonrisk.core import render
from anonrisk.core.arguments import whole_number
from anonrisk.core.columns import nearest
from anonrisk.core.database import open_store, withheld, writing
from anonrisk.errors import (
    AnonRiskError,
    ArgumentError,
    DisagreementError,
    PopulationTooSmallError,
    PriorNotFoundError,
    StoreError,
)
from anonrisk.priors import listing
from anonrisk.priors.forecast import Forecast, forecast
from anonrisk.priors.listing import Disagreements, Submissions
from anonrisk.priors.prior import Prior, as_population, as_qid, as_text, rounded

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Iterator

    from sqlalchemy import Connection, MetaData

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Missing


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
        return Disagreements(tuple(listing.find(self.query(qid, population))))

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
            differing = Disagreements(tuple(listing.find(result)))
            if differing:
                raise DisagreementError(
                    f"holders disagree about this population; say by= whom to believe.\n{differing}"
                )
        return forecast(listing.chosen(result), group_size, method=method)

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
