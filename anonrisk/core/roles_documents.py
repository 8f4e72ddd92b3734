"""Roles of columns in the documents of other tools: methods of `Roles`, each in three lines."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self

from anonrisk.core import roles_dbt, roles_frictionless, roles_tags

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path


class InDocuments:
    """Reads and writes roles as Frictionless, dbt and catalogues of tags keep them."""

    @classmethod
    @abstractmethod
    def _assembled(cls, found: Mapping[str, Sequence[str]], what: str) -> Self:
        """Make roles from what a document says of each column."""

    @abstractmethod
    def _words(self) -> dict[str, list[str]]:
        """List the roles of each column as documents write them, whose columns are texts."""

    @classmethod
    def from_frictionless(
        cls, source: Mapping[str, Any] | str | Path, *, resource: str | None = None
    ) -> Self:
        """Read a Frictionless Table Schema, whose fields say their role as ``anonrisk:role``.

        Parameters
        ----------
        source : dict, str or Path
            A Table Schema, or a Data Resource or Data Package that holds it: plain values, JSON
            text, or the path of a JSON or YAML file.
        resource : str, optional
            Which resource of a package; needed where there are several.

        Returns
        -------
        Roles

        See Also
        --------
        anonrisk.Roles.to_frictionless : writes it

        Examples
        --------
        >>> import anonrisk
        >>> fields = [{"name": "zip", "type": "string", "anonrisk:role": "quasi"}]
        >>> anonrisk.Roles.from_frictionless({"fields": fields}).quasi
        ('zip',)
        """
        found = roles_frictionless.read(source, resource)
        return cls._assembled(found, roles_frictionless.WHAT)

    def to_frictionless(
        self,
        schema: Mapping[str, Any] | str | Path | None = None,
        *,
        resource: str | None = None,
    ) -> dict[str, Any]:
        """Write the roles into a Frictionless Table Schema; all else in it stays.

        Parameters
        ----------
        schema : dict, str or Path, optional
            As in `from_frictionless`; left out, a schema with a field for each column is made. What
            is given stays as it is.
        resource : str, optional
            Which resource of a package.

        Returns
        -------
        dict
            Plain values. A role that a field had before and has no more is taken away.

        See Also
        --------
        anonrisk.Roles.from_frictionless : reads it

        Examples
        --------
        >>> import anonrisk
        >>> anonrisk.Roles(quasi=("zip",), columns=("zip",)).to_frictionless()
        {'fields': [{'name': 'zip', 'type': 'any', 'anonrisk:role': 'quasi'}]}
        """
        return roles_frictionless.write(self._words(), schema, resource)

    @classmethod
    def from_dbt(cls, source: Mapping[str, Any] | str | Path, *, model: str | None = None) -> Self:
        """Read the `meta` of a model's columns: ``meta: {anonrisk: {role: quasi}}``.

        Parameters
        ----------
        source : dict, str or Path
            ``target/manifest.json``, or a file of properties such as ``models/schema.yml``: plain
            values, JSON text, or a path.
        model : str, optional
            Its name, or dbt's whole name (``"model.shop.customers"``); of a source
            ``"source.table"``. Needed where there are several.

        Returns
        -------
        Roles
            `meta` of a column and of its `config` (dbt 1.10 and later) are both read.

        See Also
        --------
        anonrisk.Roles.to_dbt : writes it

        Examples
        --------
        >>> import anonrisk
        >>> column = {"name": "zip", "config": {"meta": {"anonrisk": {"role": "quasi"}}}}
        >>> anonrisk.Roles.from_dbt({"models": [{"name": "visits", "columns": [column]}]}).quasi
        ('zip',)
        """
        return cls._assembled(roles_dbt.read(source, model), roles_dbt.WHAT)

    def to_dbt(
        self,
        document: Mapping[str, Any] | str | Path | None = None,
        *,
        model: str,
        in_config: bool = True,
    ) -> dict[str, Any]:
        """Write the roles as the `meta` of a model's columns; all else in the document stays.

        Parameters
        ----------
        document : dict, str or Path, optional
            A file of properties; left out, one is made. What is given stays as it is.
        model : str
            The model, seed or snapshot; one that the document lacks is added to its models.
        in_config : bool
            Write ``config: {meta: …}``, as dbt 1.10 and later have it; False for older ones.

        Returns
        -------
        dict
            Plain values. A role that a column had before and has no more is taken away.

        See Also
        --------
        anonrisk.Roles.from_dbt : reads it

        Examples
        --------
        >>> import anonrisk
        >>> made = anonrisk.Roles(quasi=("zip",), columns=("zip",)).to_dbt(model="visits")
        >>> made["models"][0]["columns"]
        [{'name': 'zip', 'config': {'meta': {'anonrisk': {'role': 'quasi'}}}}]
        """
        return roles_dbt.write(self._words(), document, model, in_config=in_config)

    @classmethod
    def from_tags(
        cls,
        rows: Iterable[Mapping[str, Any]] | str | Path,
        meanings: Mapping[str, str | None] | None = None,
        *,
        table: str | None = None,
    ) -> Self:
        """Read tags of columns as a catalogue lists them, and what they mean for us.

        Parameters
        ----------
        rows : list of dict, or path
            A row for each column and tag, as ``system.information_schema.column_tags`` of Unity
            Catalog or ``TAG_REFERENCES`` of Snowflake give them, in whatever case: `column_name`,
            `tag_name`, `tag_value`; or a CSV or JSON file of such rows.
        meanings : dict, optional
            The role that ``"tag=value"`` means, or ``"tag"`` with any value that is not listed;
            None means no role. Left out, ``anonrisk_role`` with the name of a role.
        table : str, optional
            Which table, by its whole name or the end of it; needed where there are several.

        Returns
        -------
        Roles
            A tag that `meanings` does not name is passed over. One that it names with other values
            alone is refused: nobody has said what this value means.

        See Also
        --------
        anonrisk.Roles.to_tags : writes them

        Examples
        --------
        >>> import anonrisk
        >>> rows = [
        ...     {"column_name": "zip", "tag_name": "privacy", "tag_value": "indirect"},
        ...     {"column_name": "zip", "tag_name": "owner", "tag_value": "sales"},
        ... ]
        >>> anonrisk.Roles.from_tags(rows, {"privacy=indirect": "quasi"}).quasi
        ('zip',)
        """
        return cls._assembled(roles_tags.read(rows, meanings, table), roles_tags.WHAT)

    def to_tags(self, meanings: Mapping[str, str | None] | None = None) -> list[dict[str, str]]:
        """Give a row for each column and tag, to be set in a catalogue.

        Parameters
        ----------
        meanings : dict, optional
            As in `from_tags`; of several tags of one role the first is taken.

        Returns
        -------
        list of dict
            With `column_name`, `tag_name` and `tag_value`.

        See Also
        --------
        anonrisk.Roles.from_tags : reads them

        Examples
        --------
        >>> import anonrisk
        >>> anonrisk.Roles(quasi=("zip",), columns=("zip",)).to_tags()
        [{'column_name': 'zip', 'tag_name': 'anonrisk_role', 'tag_value': 'quasi'}]
        """
        return roles_tags.write(self._words(), meanings)
