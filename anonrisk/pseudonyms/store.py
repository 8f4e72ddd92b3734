"""The tables of the identity protector, in any database that SQLAlchemy knows."""

from __future__ import annotations

import hmac
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from anonrisk.errors import AnonRiskError, ArgumentError, StoreError, WrongKeyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import sqlalchemy as sa

    from anonrisk.core.keys import Key

# Seconds that a writer waits for another one to finish.
_PATIENCE = 60
# Rows that one statement holds; databases limit the number of its parameters.
_ROWS = 300


class IdentityStore:
    """Rows go in once and are never changed; all errors of the database become ours."""

    def __init__(self, url: str, key: Key) -> None:
        """Open the database, make its tables if they are not there, and check the key."""
        self.sa = _sqlalchemy()
        self.engine = self._opened(url)
        self.tables = _tables(self.sa)
        self._make_tables()
        self._check(key)

    def _opened(self, url: str) -> sa.Engine:
        with _guarded("open the store"):
            try:
                engine: sa.Engine = self.sa.create_engine(url, **_options(url))
            except ModuleNotFoundError as error:
                raise StoreError(
                    f"this kind of database needs the driver {error.name!r}; install it"
                ) from None
        return engine

    def _make_tables(self) -> None:
        metadata = self.tables["setting"].metadata
        try:
            metadata.create_all(self.engine)
        except Exception:  # noqa: BLE001
            # Another process may have made them between our looking and our making.
            with _guarded("make the tables of the store"):
                metadata.create_all(self.engine)

    def _check(self, key: Key) -> None:
        """Refuse a key other than the one that the store was made with."""
        table, mine = self.tables["setting"], key.derived("identity check").hex()
        self.insert("setting", [{"name": "key check", "value": mine}])
        with self.read("read the settings") as connection:
            query = self.sa.select(table.c.value).where(table.c.name == "key check")
            kept = connection.execute(query).scalar_one()
        if not hmac.compare_digest(kept, mine):
            raise WrongKeyError("this store of identities was made with another key")

    @contextmanager
    def read(self, doing: str) -> Iterator[sa.Connection]:
        """Open a connection; errors that could quote a person are replaced."""
        with _guarded(doing), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self, doing: str) -> Iterator[sa.Connection]:
        """Open a transaction that is committed at the end, or not at all."""
        with _guarded(doing), self.engine.begin() as connection:
            yield connection

    def insert(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Put rows in; those that are there already stay as they are."""
        for start in range(0, len(rows), _ROWS):
            part = [dict(row) for row in rows[start : start + _ROWS]]
            if self.engine.dialect.name in ("sqlite", "postgresql"):
                with self.write("write to the store") as connection:
                    connection.execute(self._insert_new(name), part)
            else:
                self._insert_one_by_one(name, part)

    def _insert_new(self, name: str) -> Any:
        from importlib import import_module

        dialect = import_module(f"sqlalchemy.dialects.{self.engine.dialect.name}")
        return dialect.insert(self.tables[name]).on_conflict_do_nothing()

    def _insert_one_by_one(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        for row in rows:
            try:
                with self.engine.begin() as connection:
                    connection.execute(self.tables[name].insert(), row)
            except self.sa.exc.IntegrityError:
                continue
            except Exception as error:  # noqa: BLE001
                raise _ours(error, "write to the store") from None

    def insert_together(self, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> bool:
        """Put rows into several tables, all or none; tell whether they were new."""
        try:
            with self.engine.begin() as connection:
                for name, part in rows.items():
                    connection.execute(self.tables[name].insert(), [dict(row) for row in part])
        except self.sa.exc.IntegrityError:
            return False
        except Exception as error:  # noqa: BLE001
            raise _ours(error, "write to the store") from None
        return True

    def close(self) -> None:
        """Give back the connections."""
        self.engine.dispose()


def _sqlalchemy() -> Any:
    try:
        import sqlalchemy
    except ImportError:
        raise StoreError(
            "the identity protector needs SQLAlchemy: pip install 'anonrisk[store]'"
        ) from None
    return sqlalchemy


def _options(url: Any) -> dict[str, Any]:
    if not isinstance(url, str) or "://" not in url:
        raise ArgumentError("url= is the address of a database, such as sqlite:///identities.db")
    return {"connect_args": {"timeout": _PATIENCE}} if url.startswith("sqlite") else {}


def _tables(sa: Any) -> dict[str, sa.Table]:
    metadata = sa.MetaData()

    def text(name: str, **more: Any) -> Any:
        return sa.Column(name, sa.String(255), nullable=False, **more)

    tables = [
        sa.Table("anonrisk_setting", metadata, text("name", primary_key=True), text("value")),
        sa.Table(
            "anonrisk_identity",
            metadata,
            text("scope", primary_key=True),
            text("pseudonym", primary_key=True),
            sa.Column("sealed", sa.LargeBinary, nullable=False),
        ),
        sa.Table(
            "anonrisk_grant",
            metadata,
            text("person", primary_key=True),
            text("action", primary_key=True),
        ),
        sa.Table(
            "anonrisk_event",
            metadata,
            sa.Column("number", sa.Integer, primary_key=True, autoincrement=True),
            text("at"),
            text("by"),
            text("action"),
            text("scope"),
            # Whatever was asked for and why, in full.
            sa.Column("subject", sa.Text, nullable=False),
            text("target"),
            sa.Column("reason", sa.Text, nullable=False),
            text("outcome"),
        ),
    ]
    return {table.name.removeprefix("anonrisk_"): table for table in tables}


@contextmanager
def _guarded(doing: str) -> Iterator[None]:
    try:
        yield
    except AnonRiskError:
        raise
    except Exception as error:  # noqa: BLE001
        raise _ours(error, doing) from None


def _ours(error: Exception, doing: str) -> StoreError:
    return StoreError(
        f"cannot {doing} ({type(error).__name__}); the message of the database is withheld "
        "because it may quote a person"
    )
