"""The tables of the identity protector, in any database that SQLAlchemy knows."""

from __future__ import annotations

import hmac
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from anonrisk.core.database import check_installed, make_engine, withheld
from anonrisk.errors import ArgumentError, WrongKeyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import sqlalchemy as sa

    from anonrisk.core.keys import Key

# Rows that one statement holds; databases limit the number of its parameters.
_ROWS = 300


class IdentityStore:
    """Rows go in once and are never changed; all errors of the database become ours."""

    def __init__(self, url: Any, key: Key) -> None:
        """Open the database, make its tables if they are not there, and check the key."""
        check_installed("the identity protector")
        import sqlalchemy

        if not isinstance(url, str) or "://" not in url:
            raise ArgumentError(
                "url= is the address of a database, such as sqlite:///identities.db"
            )
        self.sa = sqlalchemy
        with withheld("cannot open the store"):
            self.engine = make_engine(url)
        self.tables = _tables(sqlalchemy)
        self._make_tables()
        self._check(key)

    def _make_tables(self) -> None:
        metadata = self.tables["setting"].metadata
        try:
            metadata.create_all(self.engine)
        except Exception:  # noqa: BLE001
            # Another process may have made them between our looking and our making.
            with withheld("cannot make the tables of the store"):
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
        with withheld(f"cannot {doing}"), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self, doing: str) -> Iterator[sa.Connection]:
        """Open a transaction that is committed at the end, or not at all."""
        with withheld(f"cannot {doing}"), self.engine.begin() as connection:
            yield connection

    def insert(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Put rows in; those that are there already stay as they are."""
        for start in range(0, len(rows), _ROWS):
            part = [dict(row) for row in rows[start : start + _ROWS]]
            if self.engine.dialect.name in ("sqlite", "postgresql"):
                with self.write("write to the store") as connection:
                    connection.execute(self._insert_new(name), part)
            else:
                for row in part:
                    self.insert_together({name: [row]})

    def _insert_new(self, name: str) -> Any:
        from importlib import import_module

        dialect = import_module(f"sqlalchemy.dialects.{self.engine.dialect.name}")
        return dialect.insert(self.tables[name]).on_conflict_do_nothing()

    def insert_together(self, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> bool:
        """Put rows into several tables, all or none; tell whether they were new."""
        with withheld("cannot write to the store"):
            try:
                with self.engine.begin() as connection:
                    for name, part in rows.items():
                        connection.execute(self.tables[name].insert(), [dict(row) for row in part])
            except self.sa.exc.IntegrityError:
                return False
        return True

    def close(self) -> None:
        """Give back the connections."""
        self.engine.dispose()


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
