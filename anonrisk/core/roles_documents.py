"""The words for roles of columns, and roles in the documents of other tools."""

from __future__ import annotations

import csv
from abc import abstractmethod
from collections.abc import Iterable, Mapping
from copy import deepcopy
from difflib import SequenceMatcher
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from anonrisk.core.columns import nearest
from anonrisk.core.documents import Reader
from anonrisk.core.render import kind_name
from anonrisk.errors import RolesDocumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    Meanings = Mapping[str, str | None]

# How each role is called in messages.
ROLE_NAMES = {
    "quasi": "quasi-identifier",
    "sensitive": "sensitive column",
    "direct": "direct identifier",
    "insensitive": "insensitive column",
}
WORDS = (*ROLE_NAMES, "unit")
# How other tools (ARX, sdcMicro, pycanon, Presidio) and the literature call roles, as skeletons.
OTHER_WORDS = {
    word: role
    for role, words in {
        "quasi": "quasiidentifiers quasiidentifier quasiident quasiidentifying qids qid qi indirect"
        " quasiidentifyingattributes indirectidentifiers keyvars keyvariables",
        "sensitive": "sensitiveattributes sensitiveattribute sensatt sa sensiblevar confidential"
        " confidentialattributes",
        "direct": "identifiers identifier identifying identifyingattributes directidentifiers pii"
        " personaldata entities",
        "insensitive": "insensitiveattributes nonsensitive nonsensitiveattributes ignore ignored"
        " safe harmless",
        "unit": "entity person patient subject individual id user userid hhid household",
        "weight": "weightvar weights samplingweight samplingweights",
    }.items()
    for word in words.split()
}
# How alike a key must be to ours to be taken for a slip.
_ALIKE = 0.75


def role_words(value: Any, where: str) -> tuple[str, ...]:
    """Read a role, or a list of them: a unit may be a direct identifier too.

    Examples
    --------
    >>> role_words("quasi", "here"), role_words(["direct", "unit"], "here")
    (('quasi',), ('direct', 'unit'))
    """
    words = value if isinstance(value, list) else [value]
    for word in words:
        if word not in WORDS:
            shown = repr(word) if isinstance(word, str) else kind_name(word)
            raise RolesDocumentError(
                f"{where}: {shown} is not a role; the roles are "
                f"{', '.join(WORDS)}{nearest(word, WORDS)}"
            )
    if not words:
        raise RolesDocumentError(f"{where}: the list of roles is empty; leave it out, or fill it")
    return tuple(words)


def written(words: Sequence[str]) -> Any:
    """Return what `role_words` reads."""
    return words[0] if len(words) == 1 else list(words)


def read_document(source: Any, what: str) -> dict[str, Any]:
    """Read plain values, JSON text, or a file: YAML if its name ends so, else JSON."""
    if isinstance(source, Mapping):
        return dict(source)
    if not isinstance(source, (str, Path)):
        raise RolesDocumentError(
            f"the {what} is a dict, JSON text or a path, not {kind_name(source)}"
        )
    read = Reader(what, RolesDocumentError)
    if isinstance(source, str) and source.lstrip()[:1] in {"{", "["}:
        document = read.json(source)
    else:
        path = Path(source)
        as_yaml = path.suffix.casefold() in {".yaml", ".yml"}
        text = text_of(path, what)
        document = read.yaml(text) if as_yaml else read.json(text)
    if not isinstance(document, dict):
        raise RolesDocumentError(f"the {what} is not a mapping of keys to values")
    return document


def text_of(path: Path, what: str) -> str:
    """Read a file as text."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise RolesDocumentError(f"the {what} {str(path)!r} is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "not a path"
        raise RolesDocumentError(f"cannot read the {what} {str(path)!r}: {why}") from None


def named_entries(value: Any, where: str) -> dict[str, dict[str, Any]]:
    """Read a list of mappings that each have a name; two of one name are refused."""
    results: dict[str, dict[str, Any]] = {}
    for entry in [] if value is None else _listed(value, where):
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(name, str):
            raise RolesDocumentError(f"{where} has an entry without a name")
        if name in results:
            raise RolesDocumentError(f"{where} has two entries named {name!r}")
        results[name] = entry
    return results


def picked(name: str | None, names: Iterable[str], what: str, argument: str) -> str:
    """Choose the entry that is asked for, or the only one there is."""
    known = list(names)
    if name is None and len(known) == 1:
        return known[0]
    if name is None:
        raise RolesDocumentError(
            f"the {what} has {len(known):,} tables, and none was named: give {argument}="
        )
    if name not in known:
        raise RolesDocumentError(f"the {what} has no table {name!r}{nearest(name, known)}")
    return name


def misspelt(key: str, right: str) -> bool:
    """Return whether a key was meant to be ours: passed over, its column would have no role.

    Examples
    --------
    >>> misspelt("anonrsik", "anonrisk"), misspelt("anonymised", "anonrisk")
    (True, False)
    """
    alike = SequenceMatcher(None, key.casefold(), right).ratio()
    return key != right and alike >= _ALIKE


def _listed(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise RolesDocumentError(f"{where} is not a list")
    return value


DBT = "dbt document"
KEY = "anonrisk"
# What has columns, beside sources, whose tables are one level deeper.
_KINDS = ("models", "seeds", "snapshots")


def read_dbt(source: Any, model: str | None) -> dict[str, tuple[str, ...]]:
    """Return the roles of each column of one model."""
    document = read_document(source, DBT)
    tables = _of_manifest(document, model) if "nodes" in document else _of_properties(document)
    if not tables:
        raise RolesDocumentError(
            f"the {DBT} describes no table: it has no {', '.join(_KINDS)} or sources"
        )
    name = picked(model, tables, DBT, "model")
    columns = _columns(tables[name], name)
    return {column: _roles(entry, name, column) for column, entry in columns.items()}


def write_dbt(
    words: Mapping[str, Sequence[str]], document: Any, model: str, *, in_config: bool
) -> dict[str, Any]:
    """Return a file of properties with the roles of one model, else as it was."""
    made: dict[str, Any] = {"version": 2} if document is None else read_document(document, DBT)
    if "nodes" in made:
        raise RolesDocumentError(
            "a manifest is written by dbt from files of properties: write the roles into one of "
            "those, such as models/schema.yml"
        )
    made = deepcopy(made)
    tables = _of_properties(made)
    if model not in tables:
        tables[model] = {"name": model}
        made.setdefault("models", []).append(tables[model])
    columns = _columns(tables[model], model)
    for name in words:
        if name not in columns:
            columns[name] = {"name": name}
            tables[model].setdefault("columns", []).append(columns[name])
    for name, entry in columns.items():
        _forget(entry)
        if words.get(name):
            place = entry.setdefault("config", {}) if in_config else entry
            place.setdefault("meta", {})[KEY] = {"role": written(words[name])}
    return made


def _of_properties(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """List what a file of properties describes, by name; tables of a source as source.table."""
    results: dict[str, dict[str, Any]] = {}
    for kind in _KINDS:
        for name, entry in named_entries(document.get(kind), f"{kind} of the {DBT}").items():
            if any("columns" in v for v in entry.get("versions") or () if isinstance(v, dict)):
                raise RolesDocumentError(
                    f"model {name!r} has versions with columns of their own: read "
                    "target/manifest.json, where each is a model"
                )
            results[name] = entry
    for source, entry in named_entries(document.get("sources"), f"sources of the {DBT}").items():
        tables = named_entries(entry.get("tables"), f"tables of source {source!r}")
        results |= {f"{source}.{name}": table for name, table in tables.items()}
    return results


def _of_manifest(document: dict[str, Any], model: str | None) -> dict[str, dict[str, Any]]:
    """List what a manifest describes, by dbt's whole name, and by `model` if one alone has it."""
    results: dict[str, dict[str, Any]] = {}
    for part in ("nodes", "sources"):
        nodes = document.get(part)
        for whole, node in nodes.items() if isinstance(nodes, dict) else ():
            kind = node.get("resource_type") if isinstance(node, dict) else None
            if kind in {"model", "seed", "snapshot", "source"}:
                results[whole] = node
    same = [whole for whole, node in results.items() if model in _short(node)]
    if len(same) > 1:
        raise RolesDocumentError(
            f"the {DBT} has {len(same)} tables {model!r}: say which, as in model={same[0]!r}"
        )
    if same and model is not None:
        return {model: results[same[0]]}
    # So that the nearest word is one that somebody would type.
    return (
        results if model in results else {name: n for n in results.values() for name in _short(n)}
    )


def _short(node: dict[str, Any]) -> list[str]:
    if node.get("resource_type") == "source":
        return [f"{node.get('source_name')}.{node.get('name')}"]
    version = node.get("version")
    return [str(node.get("name")), *([f"{node.get('name')}.v{version}"] if version else [])]


def _columns(table: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    columns = table.get("columns")
    if isinstance(columns, dict):
        columns = list(columns.values())
    return named_entries(columns, f"columns of {name!r} in the {DBT}")


def _roles(entry: dict[str, Any], model: str, column: str) -> tuple[str, ...]:
    """Read a column's role, from either place; dbt 1.10 writes both into a manifest."""
    where = f"the {DBT}, model {model!r}, column {column!r}"
    results = [_role_in_dbt(meta, where) for meta in _metas(entry)]
    said = [role for role in results if role]
    if len(set(said)) > 1:
        raise RolesDocumentError(f"{where}: meta and config.meta give it different roles")
    return said[0] if said else ()


def _metas(entry: dict[str, Any]) -> list[dict[str, Any]]:
    config = entry.get("config")
    places = [entry, *([config] if isinstance(config, dict) else [])]
    return [place["meta"] for place in places if isinstance(place.get("meta"), dict)]


def _role_in_dbt(meta: dict[str, Any], where: str) -> tuple[str, ...]:
    for key in meta:
        if misspelt(str(key), KEY):
            raise RolesDocumentError(f"{where}: the role goes under meta.{KEY}, not meta.{key}")
    if KEY not in meta:
        return ()
    ours = meta[KEY]
    if not isinstance(ours, dict) or [*ours] != ["role"]:
        raise RolesDocumentError(
            f"{where}: meta.{KEY} holds one key, role, as in {KEY}: {{role: quasi}}"
        )
    return role_words(ours["role"], where)


def _forget(entry: dict[str, Any]) -> None:
    """Take away a role that was written before, with what would be left empty."""
    config = entry.get("config")
    for place in (entry, config if isinstance(config, dict) else {}):
        meta = place.get("meta")
        if isinstance(meta, dict) and meta.pop(KEY, None) is not None and not meta:
            del place["meta"]
    if config == {}:
        del entry["config"]


# Frictionless lets descriptors have properties of anybody's, with a prefix that says whose.
FRICTIONLESS = "Frictionless schema"
PROPERTY = "anonrisk:role"


def read_frictionless(source: Any, resource: str | None) -> dict[str, tuple[str, ...]]:
    """Return the roles of each field."""
    fields = _fields(read_document(source, FRICTIONLESS), resource)
    results: dict[str, tuple[str, ...]] = {}
    for name, field in fields.items():
        where = f"the {FRICTIONLESS}, field {name!r}"
        for key in field:
            if misspelt(str(key), PROPERTY):
                raise RolesDocumentError(f"{where}: the role goes under {PROPERTY!r}, not {key!r}")
        results[name] = role_words(field[PROPERTY], where) if PROPERTY in field else ()
    return results


def write_frictionless(
    words: Mapping[str, Sequence[str]], schema: Any, resource: str | None
) -> dict[str, Any]:
    """Return a schema with the roles, else as it was."""
    if schema is None:
        document: dict[str, Any] = {
            "fields": [{"name": name, "type": "any"} for name in words],
        }
    else:
        document = deepcopy(read_document(schema, FRICTIONLESS))
    fields = _fields(document, resource)
    for name in words:
        if name not in fields:
            hint = nearest(name, fields)
            raise RolesDocumentError(f"the {FRICTIONLESS} has no field for column {name!r}{hint}")
    for name, field in fields.items():
        field.pop(PROPERTY, None)
        if words.get(name):
            field[PROPERTY] = written(words[name])
    return document


def _fields(document: dict[str, Any], resource: str | None) -> dict[str, dict[str, Any]]:
    """Find the fields: of a schema, of a resource, or of one resource of a package."""
    if "resources" in document:
        resources = named_entries(document["resources"], "resources of the data package")
        document = resources[picked(resource, resources, "data package", "resource")]
    elif resource is not None:
        raise RolesDocumentError(f"resource={resource!r} goes with a data package, not a schema")
    schema = document.get("schema", document)
    if isinstance(schema, str):
        raise RolesDocumentError(
            f"the schema is kept elsewhere, in {schema!r}: give that file instead"
        )
    if not isinstance(schema, dict) or "fields" not in schema:
        raise RolesDocumentError(f"the {FRICTIONLESS} has no fields: is it a Table Schema?")
    return named_entries(schema["fields"], f"fields of the {FRICTIONLESS}")


TAGS = "list of tags"
TAG = "anonrisk_role"
OURS: dict[str, str | None] = {f"{TAG}={word}": word for word in WORDS}
# What a table is called, from the outside in: by Unity Catalog, and by Snowflake.
_TABLES = (
    ("catalog_name", "schema_name", "table_name"),
    ("object_database", "object_schema", "object_name"),
)


def read_tags(
    rows: Any, meanings: Meanings | None, table: str | None
) -> dict[str, tuple[str, ...]]:
    """Return the roles of each column that has a tag, whatever it means."""
    known = _meanings(OURS if meanings is None else meanings)
    by_table: dict[str, dict[str, list[str]]] = {}
    for row in filter(None, map(_of_column, _rows(rows))):
        name, column, tag, value = row
        roles = by_table.setdefault(name, {}).setdefault(column, [])
        role = _role_in_tags(known, tag, value, f"the {TAGS}, column {column!r}")
        if role is not None and role not in roles:
            roles.append(role)
    if not by_table:
        raise RolesDocumentError(f"the {TAGS} has no row about a column")
    return {column: tuple(roles) for column, roles in by_table[_table(by_table, table)].items()}


def write_tags(
    words: Mapping[str, Sequence[str]], meanings: Meanings | None
) -> list[dict[str, str]]:
    """Return a row for each role, with the first tag that means it."""
    tags: dict[str, str] = {}
    argument = OURS if meanings is None else meanings
    _meanings(argument)
    for tag, role in argument.items():
        if role is not None:
            tags.setdefault(role, tag)
    rows = []
    for column, roles in words.items():
        for role in roles:
            if role not in tags:
                raise RolesDocumentError(
                    f"column {column!r} is {role}, and no tag means that: add one to the mapping"
                )
            name, _, value = tags[role].partition("=")
            rows.append({"column_name": column, "tag_name": name, "tag_value": value})
    return rows


def _meanings(argument: Any) -> dict[str, dict[str | None, str | None]]:
    """Read what tags mean, by their name and then by their value; None is any other value."""
    if not isinstance(argument, Mapping):
        raise RolesDocumentError("what tags mean is a mapping, as in {'pii=email': 'direct'}")
    known: dict[str, dict[str | None, str | None]] = {}
    for key, role in argument.items():
        name, sign, value = str(key).partition("=")
        if isinstance(role, (list, tuple)):
            raise RolesDocumentError(
                f"tag {str(key)!r} means one role, or None, not a list of them"
            )
        if role is not None:
            role_words(role, f"the meaning of tag {str(key)!r}")
        known.setdefault(name.casefold(), {})[value if sign else None] = role
    return known


def _role_in_tags(
    known: dict[str, dict[str | None, str | None]], tag: str, value: str, where: str
) -> str | None:
    """Find what a tag means: one that is not in the mapping nothing, by any other value a doubt."""
    values = known.get(tag.casefold())
    if values is None:
        return None
    if value in values:
        return values[value]
    if None in values:
        return values[None]
    hint = nearest(value, [item for item in values if item is not None])
    raise RolesDocumentError(
        f"{where}: nothing says what tag {tag!r} means with the value {value!r}{hint or '.'} "
        f"Add '{tag}={value}' to the mapping, with None if it means no role"
    )


def _rows(argument: Any) -> Iterable[Mapping[str, Any]]:
    if isinstance(argument, (str, Path)):
        path = Path(argument)
        text = text_of(path, TAGS)
        if path.suffix.casefold() == ".csv":
            argument = list(csv.DictReader(text.splitlines()))
        else:
            argument = Reader(TAGS, RolesDocumentError).json(text)
    if isinstance(argument, Mapping) or not isinstance(argument, Iterable):
        argument = [None]
    for row in argument:
        if not isinstance(row, Mapping):
            raise RolesDocumentError(
                f"the {TAGS} is a list of mappings, one per row, or the path of a .csv or .json "
                "file that holds one; of a DataFrame, df.to_dict('records')"
            )
        yield {str(key).casefold(): value for key, value in row.items()}


def _of_column(row: Mapping[str, Any]) -> tuple[str, str, str, str] | None:
    """Return table, column, tag and value; nothing for a tag of a table, or of one that is gone."""
    for key in ("column_name", "tag_name", "tag_value"):
        if key not in row:
            raise RolesDocumentError(f"the {TAGS} has a row without {key}{nearest(key, row)}")
    if _empty(row["column_name"]) or not _empty(row.get("object_deleted")):
        return None
    parts = next((names for names in _TABLES if names[-1] in row), ())
    table = ".".join(str(row[part]) for part in parts if not _empty(row.get(part)))
    value = "" if _empty(row["tag_value"]) else str(row["tag_value"])
    return table, str(row["column_name"]), str(row["tag_name"]), value


def _empty(value: Any) -> bool:
    # A missing cell of a DataFrame is not equal to itself.
    return value is None or value == "" or value != value  # noqa: PLR0124


def _table(tables: Mapping[str, Any], asked: str | None) -> str:
    """Find a table by its whole name, or by its end where one alone has it."""
    if asked is not None and asked not in tables:
        same = [name for name in tables if name.endswith(f".{asked}")]
        if len(same) > 1:
            raise RolesDocumentError(
                f"the {TAGS} has {len(same)} tables {asked!r}: say which, as in table={same[0]!r}"
            )
        asked = same[0] if same else asked
    return picked(asked, tables, TAGS, "table")


class InDocuments:
    """Reads and writes roles as Frictionless, dbt and catalogues of tags keep them."""

    @classmethod
    @abstractmethod
    def _assembled(cls, result: Mapping[str, Sequence[str]], what: str) -> Self:
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
        frictionless = read_frictionless(source, resource)
        return cls._assembled(frictionless, FRICTIONLESS)

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
        return write_frictionless(self._words(), schema, resource)

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
        return cls._assembled(read_dbt(source, model), DBT)

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
        return write_dbt(self._words(), document, model, in_config=in_config)

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
        return cls._assembled(read_tags(rows, meanings, table), TAGS)

    def to_tags(self, meanings: Mapping[str, str | None] | None = None) -> list[dict[str, str]]:
        """Return a row for each column and tag, to be set in a catalogue.

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
        return write_tags(self._words(), meanings)
