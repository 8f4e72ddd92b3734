"""Manifests: which bytes were checked, by which policy, with which result, for whom, by whom."""

from __future__ import annotations

import hashlib
import json
import uuid
from dataclasses import field, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from anonrisk._version import __version__
from anonrisk.core.arguments import as_path, why_not
from anonrisk.core.documents import Reader
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedTable, bytes_of, count_of, kind_name, named, shown
from anonrisk.core.results import Document, restore_fields
from anonrisk.errors import (
    AnonRiskError,
    ArgumentError,
    ManifestError,
    UnreadableTableError,
    UnwritableTableError,
)
from anonrisk.policy.coverage import caveats_of
from anonrisk.policy.finding import PASS, STATUSES
from anonrisk.policy.verdict import Verdict
from anonrisk.policy.verdict import now as current_time
from anonrisk.pseudonyms.hash_chain import CLOCKS_DIFFER
from anonrisk.pseudonyms.keys import Key, as_key
from anonrisk.pseudonyms.private_files import replace_file
from anonrisk.pseudonyms.seal import Envelope, PublicKey, Signature, SigningKey
from anonrisk.releases.release.approvals import Approval, Waiver, counted, digest_of, read_approvers
from anonrisk.releases.release.contents import compare_rows
from anonrisk.releases.release.parts import TERMS
from anonrisk.releases.release.published_files import (
    PublishedFile,
    PublishedTable,
    compare_files,
    copied,
    statement,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anonrisk.releases.release.published_files import AnyPath


class Recorded(Protocol):
    """What a ledger tells of a release that is in it; the ledger itself stands above this file."""

    @property
    def number(self) -> int:
        """Which entry of the ledger it is."""

    @property
    def manifest_sha256(self) -> str:
        """SHA-256 of the manifest."""

    @property
    def release(self) -> str:
        """Which release it is."""

    @property
    def audience(self) -> str:
        """For whom it was published."""

    @property
    def at(self) -> str:
        """When, in UTC."""

    @property
    def tables(self) -> tuple[str, ...]:
        """Its tables."""

    @property
    def withdrawn(self) -> str:
        """How it was withdrawn; empty if it was not."""


@runtime_checkable
class Remembers(Protocol):
    """What a manifest asks of a ledger."""

    def entries(self) -> Iterable[Recorded]:
        """Return all entries in order, if the chain holds."""


@dataclass(frozen=True, repr=False)
class Verified(PrintedTable):
    """The files are those that were checked, and everything that allowed it still holds.

    There is no such object otherwise: `Manifest.verify` raises.

    Attributes
    ----------
    release, audience, at, by : str
        Which release, for whom, when and by whom it was published.
    tables : tuple of str
        Its tables.
    n_files, n_bytes : int
        How much was read and compared.
    by_rows : tuple of str
        The tables that are no files, whose rows were compared.
    sealed_by : str
        Which key: its fingerprint, or what names a key of HMAC.
    waivers : tuple of str
        What was accepted, by whom and until when.
    approvals : tuple of str
        Who agreed, with the fingerprint of their keys.
    ledger_entry : int or None
        Its number in the ledger; None if no ledger was consulted.
    replaced_by : str or None
        The newest later release for this audience that has one of its tables, by the ledger.
    """

    release: str
    audience: str
    at: str
    by: str
    tables: tuple[str, ...]
    n_files: int
    n_bytes: int
    sealed_by: str
    by_rows: tuple[str, ...] = ()
    waivers: tuple[str, ...] = ()
    approvals: tuple[str, ...] = ()
    ledger_entry: int | None = None
    replaced_by: str | None = None

    def _lines(self) -> list[str]:
        size = f"{count_of(self.n_files, 'file')}, {bytes_of(self.n_bytes)}"
        if self.by_rows:
            size += f", rows of {count_of(len(self.by_rows), 'table')}"
        return [f"Verified: release {named(self.release)} for {named(self.audience)} ({size})"]

    def _header(self) -> tuple[str, str]:
        return "what", "found"

    def _rows(self) -> list[list[str]]:
        chain = "no ledger was consulted"
        if self.ledger_entry is not None:
            chain = f"entry {self.ledger_entry:,}"
        if self.replaced_by is not None:
            chain += f", replaced by {named(self.replaced_by)}"
        return [
            ["published", f"{shown(self.at)} by {named(self.by)}"],
            ["tables", ", ".join(map(named, self.tables)) or "-"],
            ["seal", shown(self.sealed_by)],
            ["waivers", str(len(self.waivers))],
            ["approvals", "; ".join(map(shown, self.approvals)) or "0"],
            ["chain", chain],
        ]

    def _notes(self) -> list[str]:
        return [shown(waiver) for waiver in self.waivers]


VERSION = 1
# The predicate of its statement, up to the version.
_KIND = "urn:anonrisk:release:v"
_READER = Reader("manifest", ManifestError)
_TEXTS = ("release", "audience", "by", "at", "library_version")


@dataclass(frozen=True, repr=False)
class Manifest(Document, PrintedTable):
    r"""What was released, and why it was allowed to be: evidence that goes with the files.

    `Release.publish` makes one. It is a statement of in-toto about the files, in an envelope of
    DSSE that any number of keys sign. Both are canonical JSON: keys sorted, no white space, ASCII
    (other letters as ``\uXXXX``), numbers as Python writes them, no NaN, one line end after it. A
    file in any other form is refused, so that a manifest has one text and every byte counts.

    Parameters
    ----------
    release : str
        Which release it is; no two of a ledger have the same.
    audience : str
        For whom.
    by : str
        Who publishes.
    policy_digest : str or None
        Which policy; see `Policy.digest`.
    files : tuple of PublishedFile
        Every file with its size and SHA-256; `published_files` reads them.
    tables : tuple of PublishedTable
        Every table with its verdict and the roles of its columns.
    verdict : dict
        What the check of the release found; its ``"status"`` decides.
    waivers, approvals : tuple of dict
        What was accepted, and who agreed.
    terms : dict
        What the release says, as `Release.to_dict` gives it: with the files, what approvals sign.
    previous : str or None
        The head of the ledger that the release was checked against.
    at : str
        When, in UTC.
    library_version : str
        The version of anonrisk.
    signatures : tuple of Signature
        See `sealed`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from anonrisk import Policy
    >>> from anonrisk.releases.release.published_files import published_files
    >>> df = pd.DataFrame({"zip": ["1011", "1011"]})
    >>> file = Path(tempfile.mkdtemp()) / "patients.csv"
    >>> df.to_csv(file, index=False)
    >>> policy = Policy(quasi="zip", k=2, unlisted="ignore")
    >>> verdict = policy.check(df, name="patients").to_dict()
    >>> manifest = Manifest(
    ...     release="2026-11",
    ...     audience="university",
    ...     by="A. Officer",
    ...     policy_digest=policy.digest,
    ...     files=published_files({"patients": file}),
    ...     tables=(PublishedTable("patients", verdict),),
    ...     verdict={"status": "pass"},
    ... )
    >>> key = Key.generate()
    >>> sealed = manifest.sealed(key)
    >>> sealed.verify(file, key=key).release
    '2026-11'
    >>> _ = file.write_text("zip\n1012\n1013\n")
    >>> sealed.verify(file, key=key)
    Traceback (most recent call last):
    ...
    anonrisk.errors.ManifestError: the files are not those that were checked: 'patients.csv' was ...
    """

    release: str
    audience: str
    by: str
    policy_digest: str | None
    files: tuple[PublishedFile, ...]
    tables: tuple[PublishedTable, ...]
    verdict: Mapping[str, Any]
    waivers: tuple[Mapping[str, Any], ...] = ()
    approvals: tuple[Mapping[str, Any], ...] = ()
    previous: str | None = None
    at: str = field(default_factory=current_time)
    library_version: str = __version__
    terms: Mapping[str, Any] = field(default_factory=dict)
    signatures: tuple[Signature, ...] = ()
    _document = (
        *("release", "audience", "by", "policy_digest", "files", "tables", "verdict", "waivers"),
        *("approvals", "previous", "at", "library_version", "status", "terms"),
    )
    _parts = (PublishedFile, PublishedTable)

    def __post_init__(self) -> None:
        """Reject what cannot be so; what is kept is a copy of what was given."""
        for name in _TEXTS:
            value = getattr(self, name)
            if not isinstance(value, str) or not value.strip():
                raise ManifestError(f"{name} of a manifest must be a non-empty text")
        moment(self.at)
        for name in ("verdict", "terms"):
            object.__setattr__(self, name, copied(dict(getattr(self, name))))
        for name in ("waivers", "approvals"):
            object.__setattr__(self, name, tuple(copied(list(getattr(self, name)))))
        if self.verdict.get("status") not in STATUSES:
            raise ManifestError("the verdict of a release says pass, fail or could_not_assess")
        for what, names in (
            ("file", [file.path for file in self.files]),
            ("table", [table.name for table in self.tables]),
        ):
            twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
            if twice is not None:
                raise ManifestError(f"{what} {twice!r} is in the manifest twice")
        unknown = {file.table for file in self.files} - {None, *(t.name for t in self.tables)}
        if unknown:
            raise ManifestError(
                f"a file belongs to table {min(map(str, unknown))!r}, of which "
                "the manifest says nothing"
            )

    # ---- leaving and coming back ------------------------------------------------------------

    @property
    def status(self) -> str:
        """``"pass"``, ``"fail"`` or ``"could_not_assess"``."""
        return str(self.verdict["status"])

    @property
    def envelope(self) -> Envelope:
        """The statement that is sealed, and who sealed it."""
        digests = {table.name: table.content_digest for table in self.tables}
        body = statement(f"{_KIND}{VERSION}", self.files, digests, self.to_dict())
        return Envelope(body, self.signatures)

    def to_bytes(self) -> bytes:
        """Write it as an envelope of DSSE."""
        return self.envelope.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` wrote; what contradicts itself, or has another form, is refused."""
        outer = _READER.json(data)
        try:
            envelope = Envelope.of(outer)
            inner = _READER.json(envelope.payload)
            kind, _, version = inner["predicateType"].rpartition("v")
            if f"{kind}v" == _KIND and version.isdigit() and int(version) > VERSION:
                raise ManifestError(
                    f"the manifest has version {version}, this library reads {VERSION}: update it"
                )
            stored = inner["predicate"]
            manifest = cls(**restore_fields(cls, stored), signatures=envelope.signatures)
            again = _READER.json(manifest.envelope.payload)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            if isinstance(error, AnonRiskError):
                raise
            raise ManifestError("this is not a manifest of anonrisk") from None
        if manifest.to_bytes() != data:
            said, meant = {**stored, **inner}, {**again["predicate"], **again}
            beside = [key for key in said if key != "predicate" and meant.get(key) != said[key]]
            raise ManifestError(
                f"{beside[0]!r} of the manifest contradicts the rest"
                if beside
                else "the manifest is not in its one form: it was written by something else"
            )
        return manifest

    @property
    def sha256(self) -> str:
        """SHA-256 of its bytes, by which a ledger knows it."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def same_content(self, other: Manifest) -> bool:
        """Return whether both publish the same bytes and rows; when and by whom does not matter."""
        mine, theirs = ({t.name: t.content_digest for t in item.tables} for item in (self, other))
        return self.files == other.files and mine == theirs

    def save(self, path: AnyPath) -> None:
        """Write a file, all of it or nothing."""
        place = as_path(path, "a manifest")
        try:
            # It goes with the files, to whoever gets them.
            replace_file(place, self.to_bytes(), mode=0o644)
        except (OSError, ValueError) as error:
            why = why_not(error)
            raise UnwritableTableError(f"cannot write manifest {str(path)!r}: {why}") from None

    @classmethod
    def load(cls, path: AnyPath) -> Self:
        """Read a file."""
        place = as_path(path, "a manifest")
        try:
            data = place.read_bytes()
        except (OSError, ValueError) as error:
            why = why_not(error)
            raise UnreadableTableError(f"cannot read manifest {str(path)!r}: {why}") from None
        return cls.from_bytes(data)

    # ---- the seal ---------------------------------------------------------------------------

    def sealed(self, key: Key | SigningKey | bytes) -> Self:
        """Return the same manifest with a seal more.

        Parameters
        ----------
        key : Key, SigningKey or bytes
            With a `SigningKey` (Ed25519) whoever has the public key can verify, and nobody else
            can seal; with a `Key` (HMAC-SHA-256) whoever can verify can also seal.
        """
        taken = key if isinstance(key, SigningKey) else as_key(key)
        return replace(self, signatures=self.envelope.signed(taken).signatures)

    def check_seal(
        self, *, key: Key | bytes | None = None, public_key: PublicKey | None = None
    ) -> str:
        """Raise unless it was sealed with this key; return which key it is."""
        if (key is None) == (public_key is None):
            raise ArgumentError("give key= for a seal by HMAC, or public_key= for one by Ed25519")
        if public_key is not None and not isinstance(public_key, PublicKey):
            raise ArgumentError("public_key= takes a PublicKey; see PublicKey.from_file")
        if not self.signatures:
            raise ManifestError("the manifest has no seal: anybody may have written it")
        return self.envelope.check(public_key or as_key(key))

    # ---- does it hold? ----------------------------------------------------------------------

    def verify(
        self,
        files: AnyPath | Sequence[AnyPath],
        *,
        tables: Mapping[str, Any] | None = None,
        key: Key | bytes | None = None,
        public_key: PublicKey | None = None,
        at: date | None = None,
        ledger: Remembers | None = None,
    ) -> Verified:
        """Raise unless the files are those that were checked, and all that allowed it holds.

        Parameters
        ----------
        files : path or paths
            The folder that is about to be published, or all files of it; no link is followed. The
            manifest itself may lie among them. An empty list if no table is a file.
        tables : mapping of name to table, optional
            Every table that is no file, whose rows are compared by their digest; `key` is then
            needed, the ledger's, also where a public key checks the seal.
        key : Key or bytes
            Of a seal by HMAC, the key.
        public_key : PublicKey
            Of a seal by Ed25519, the public key.
        at : date, optional
            The day (UTC) on which it must hold: no waiver has expired by then. Left out, the day of
            publication: a waiver that expires later does not undo what was published.
        ledger : Ledger, optional
            The ledger in which the release must be, with an unbroken chain; it also says which
            later release replaced it, up to that day if one is given.

        Returns
        -------
        Verified
            What was compared. Whatever does not hold is raised: a `ManifestError` (exit code 1 of
            the command line), or where nobody can tell (a file cannot be read, a table that is no
            file is not given, the key or the ledger is another one) an `UnreadableTableError`,
            `WrongKeyError` or `StoreError` (3).
        """
        of_seal = None if tables and public_key is not None else key
        day: Any = at
        if day is not None and (not isinstance(day, date) or isinstance(day, datetime)):
            raise ArgumentError(f"at= takes a date, not {kind_name(at)}")
        if ledger is not None and not isinstance(ledger, Remembers):
            raise ArgumentError(f"ledger= takes an anonrisk.Ledger, not {kind_name(ledger)}")
        sealed_by = self.check_seal(key=of_seal, public_key=public_key)
        self.refuse_contradictions()
        if self.status != PASS:
            raise ManifestError(f"the release did not pass: its verdict is {self.status}")
        published = moment(self.at).date()
        if at is not None and at < published:
            raise ManifestError(f"on {at} the release was not published yet, but on {published}")
        self._refuse_expired(at or published)
        compare_files(self.files, files, self.to_bytes())
        by_rows = compare_rows(self.tables, tables or {}, key)
        entry, newer = (None, None) if ledger is None else self._entry(ledger, at)
        return Verified(
            *(self.release, self.audience, self.at, self.by),
            tables=tuple(table.name for table in self.tables),
            n_files=len(self.files),
            n_bytes=sum(file.size for file in self.files),
            by_rows=by_rows,
            sealed_by=sealed_by,
            waivers=tuple(map(_waiver_text, self.waivers)),
            approvals=tuple(f"{item['by']} ({item['keyid']})" for item in self.approvals),
            ledger_entry=entry,
            replaced_by=newer,
        )

    def refuse_contradictions(self) -> None:
        """Raise if what is said of tables, their verdicts and the times cannot all be so."""
        passed = []
        for table in self.tables:
            try:
                result = Verdict.from_json(json.dumps(table.verdict))
            except AnonRiskError as error:
                raise ManifestError(f"the verdict of table {table.name!r}: {error}") from None
            if result.table != table.name:
                raise ManifestError(f"the verdict of table {table.name!r} is about another table")
            if moment(result.checked_at) > moment(self.at) + CLOCKS_DIFFER:
                raise ManifestError(f"table {table.name!r} was checked after it was published")
            passed.append(result.passed)
        summary = self.verdict.get("tables")
        if summary is not None and summary != {table.name: table.verdict for table in self.tables}:
            raise ManifestError("the verdict of the release has other tables than the manifest")
        if self.status == PASS and not all(passed):
            raise ManifestError("the release passed, and a table of it did not")
        self._refuse_unapproved()

    def _refuse_unapproved(self) -> None:
        """Raise unless as many have signed what was published as the release asks for."""
        terms, own = self.terms, {"name": self.release, "audience": self.audience}
        if not terms and not self.approvals:
            return
        for key, value in {**own, "waivers": [*self.waivers]}.items():
            if terms.get(key) != value:
                raise ManifestError(f"{key} of the manifest is not that of the release's terms")
        digests = {table.name: table.content_digest for table in self.tables}
        agreed = statement(TERMS, self.files, digests, terms)
        if self.verdict.get("digest") != digest_of(agreed):
            raise ManifestError("the verdict is about another release than that of the terms")
        try:
            kept, why = counted(
                map(Approval.of, self.approvals),
                statement=agreed,
                approvers=read_approvers(terms.get("approvers")),
                by=self.by,
            )
        except AnonRiskError as error:
            raise ManifestError(f"the approvals of the manifest are not valid: {error}") from None
        asked = terms.get("approvals")
        if why or type(asked) is not int or len(kept) < asked:
            said = why[0] if why else f"{len(kept)} of {asked} are there"
            raise ManifestError(f"the approvals of the manifest do not hold: {shown(said)}")

    def _refuse_expired(self, at: date) -> None:
        for stated in self.waivers:
            try:
                waiver = Waiver.of(stated)
            except AnonRiskError as error:
                raise ManifestError(f"a waiver of the manifest is not valid: {error}") from None
            if waiver.expired(at):
                raise ManifestError(
                    f"the waiver of {waiver.budget} for {waiver.table!r} by {waiver.owner!r} "
                    f"expired on {waiver.expires}"
                )

    def _entry(self, ledger: Remembers, at: date | None) -> tuple[int, str | None]:
        """Return its number in the ledger, and the release that replaced it, if one did."""
        # Whatever else was done has no manifest.
        entries = [item for item in ledger.entries() if item.manifest_sha256]
        own = [item for item in entries if item.release == self.release]
        # Of several revisions the last: each earlier one was withdrawn.
        entry = own[-1] if own else None
        if entry is None:
            raise ManifestError(f"release {self.release!r} is not in the ledger")
        if entry.manifest_sha256 != self.sha256:
            raise ManifestError(
                f"entry {entry.number} of the ledger is release {self.release!r} with another "
                "manifest"
            )
        if entry.withdrawn:
            raise ManifestError(f"release {self.release!r} was withdrawn: {entry.withdrawn}")
        newer = [
            item.release
            for item in entries
            if item.number > entry.number
            and not item.withdrawn
            and item.audience == entry.audience
            and {*item.tables} & {*entry.tables}
            and (at is None or moment(item.at).date() <= at)
        ]
        return entry.number, newer[-1] if newer else None

    # ---- showing ----------------------------------------------------------------------------

    def _lines(self) -> list[str]:
        keys = ", ".join(item.keyid for item in self.signatures)
        seal = f"sealed by {shown(keys)}" if keys else "no seal"
        agreed = count_of(len(self.approvals), "approval")
        caveats = {table.name: table.coverage.caveats for table in self.tables}
        word = ", ".join((self.status, *(caveats_of(caveats) if self.status == PASS else ())))
        return [
            f"Manifest of release {named(self.release)} for {named(self.audience)}: {word}",
            f"{shown(self.at)} by {named(self.by)}, {seal}, {agreed}",
        ]

    def _header(self) -> tuple[str, ...]:
        return "file", "table", "bytes", "SHA-256"

    def _rows(self) -> list[list[str]]:
        return [
            [named(file.path), named(file.table or "-"), f"{file.size:,}", file.sha256[:16]]
            for file in self.files
        ]

    def _notes(self) -> list[str]:
        covers = [
            f"{named(table.name)}: {line}"
            for table in self.tables
            for line in table.coverage.lines()
        ]
        return [*covers, *map(_waiver_text, self.waivers)]


def moment(written: Any) -> datetime:
    """Read a time as manifests have it, in UTC."""
    try:
        read = datetime.fromisoformat(written)
    except (TypeError, ValueError):
        read = None
    if read is None or read.utcoffset() != timedelta(0):
        raise ManifestError("a time of a manifest is one in UTC, as 2026-11-16T12:00:00+00:00")
    return read


def _waiver_text(waiver: Mapping[str, Any]) -> str:
    """Return what a waiver says, each part of it as far as it is there."""
    said = [f"{key} {shown(value)}" for key, value in waiver.items()]
    return f"Waiver: {', '.join(said)}"


_SPEC = "https://openlineage.io/spec"
_EVENT = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS = f"{_SPEC}/facets"
_VERSION = f"{_FACETS}/1-0-1/DatasetVersionDatasetFacet.json#/$defs/DatasetVersionDatasetFacet"
_QUALITY = "DataQualityAssertionsDatasetFacet"
_ASSERTIONS = f"{_FACETS}/1-1-0/{_QUALITY}.json#/$defs/{_QUALITY}"
# Of a facet that no standard describes.
_OWN = "urn:anonrisk:release:v1"


def openlineage(manifest: Manifest) -> dict[str, Any]:
    """Return a complete run event: the tables that were checked go in, the files come out."""
    producer = f"urn:anonrisk:{manifest.library_version}"

    def facet(schema: str, **facts: Any) -> dict[str, Any]:
        return {"_producer": producer, "_schemaURL": schema, **facts}

    def assertion(finding: Mapping[str, Any]) -> dict[str, Any]:
        return {"assertion": finding["sentence"], "success": finding["status"] == PASS}

    return {
        "eventType": "COMPLETE",
        "eventTime": manifest.at,
        "producer": producer,
        "schemaURL": _EVENT,
        # The same each time, so that an event that is sent twice is one run.
        "run": {
            "runId": str(uuid.uuid5(uuid.NAMESPACE_OID, manifest.sha256)),
            "facets": {"anonrisk_release": facet(_OWN, **_facts(manifest))},
        },
        "job": {"namespace": "anonrisk", "name": f"release for {manifest.audience}"},
        "inputs": [
            {
                "namespace": "anonrisk",
                "name": table.name,
                "inputFacets": {
                    "dataQualityAssertions": facet(
                        _ASSERTIONS,
                        assertions=[assertion(item) for item in table.verdict.get("budgets", ())],
                    )
                },
            }
            for table in manifest.tables
        ],
        "outputs": [
            {
                "namespace": "file",
                "name": file.path,
                "facets": {"version": facet(_VERSION, datasetVersion=f"sha256:{file.sha256}")},
            }
            for file in manifest.files
        ],
    }


def prov(manifest: Manifest) -> dict[str, Any]:
    """Return the release as an activity of PROV, in PROV-JSON, with the files that it made."""
    release, person, library = "manifest:release", "manifest:publisher", "manifest:library"
    files = {
        f"manifest:file{i}": {"prov:label": file.path, "anonrisk:sha256": file.sha256}
        for i, file in enumerate(manifest.files)
    }
    facts = {f"anonrisk:{name}": value for name, value in _facts(manifest).items()}
    return {
        # Names of each manifest are its own, wherever documents are put together.
        "prefix": {
            "anonrisk": "urn:anonrisk:",
            "manifest": f"urn:anonrisk:manifest:{manifest.sha256}:",
        },
        "activity": {release: {"prov:endTime": manifest.at, **facts}},
        "entity": files,
        "agent": {
            person: {"prov:type": _named("prov:Person"), "prov:label": manifest.by},
            library: {
                "prov:type": _named("prov:SoftwareAgent"),
                "prov:label": f"anonrisk {manifest.library_version}",
            },
        },
        "wasGeneratedBy": {
            f"_:made{i}": {"prov:entity": file, "prov:activity": release}
            for i, file in enumerate(files)
        },
        "wasAssociatedWith": {
            f"_:with{i}": {"prov:activity": release, "prov:agent": agent}
            for i, agent in enumerate((person, library))
        },
    }


FORMS = {"openlineage": openlineage, "prov": prov}


def _facts(manifest: Manifest) -> dict[str, Any]:
    """Return what is said of the release as a whole; what is not known is left out."""
    facts = {
        "release": manifest.release,
        "audience": manifest.audience,
        "by": manifest.by,
        "status": manifest.status,
        "policyDigest": manifest.policy_digest,
        "manifestSha256": manifest.sha256,
        "previous": manifest.previous,
        "waivers": len(manifest.waivers),
        "approvals": len(manifest.approvals),
    }
    return {name: value for name, value in facts.items() if value is not None}


def _named(kind: str) -> dict[str, str]:
    return {"$": kind, "type": "prov:QUALIFIED_NAME"}
