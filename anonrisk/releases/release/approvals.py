"""Who answers for a release: approvals of exactly this one, and waivers of a broken budget."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.core.arguments import day_of
from anonrisk.core.columns import nearest, skeleton
from anonrisk.core.documents import Reader
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields, count_of, kind_name
from anonrisk.core.results import Document
from anonrisk.errors import AnonRiskError, ArgumentError, PolicyError
from anonrisk.policy import budgets, fields
from anonrisk.policy.finding import FAIL, PASS, Finding
from anonrisk.pseudonyms.seal import Envelope, PublicKey, Signature, SigningKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.policy.policy import Policy
    from anonrisk.policy.verdict import Verdict

WAIVER_KEYS = ("budget", "table", "reason", "owner", "expires")
# With it a finding's sentence is still shown to its end on every page.
_LONGEST_REASON = 1_000


@dataclass(frozen=True, repr=False)
class Waiver(Document, PrintedFields):
    """Lets a release pass although one budget of one table is broken.

    The finding stays ``"fail"``, with severity ``"waived"``, and says why, who and until when in
    every rendering. A direct identifier, and what could not be assessed, cannot be waived.

    Parameters
    ----------
    budget : str
        As findings name it: ``"k"``, ``"differencing"``, ``"risk.prosecutor.highest"``.
    table : str
        Which table of the release.
    reason : str
        Why it is acceptable.
    owner : str
        Who answers for it.
    expires : date or str
        The last day, in UTC, on which it holds, as ``"2026-12-31"``.

    Examples
    --------
    >>> print(Waiver("k", "patients", "agreed with the ethics board", "A. Officer", "2026-12-31"))
    Waiver
    field    value
    budget   k
    table    patients
    reason   agreed with the ethics board
    owner    A. Officer
    expires  2026-12-31
    """

    budget: str
    table: str
    reason: str
    owner: str
    expires: str

    def __post_init__(self) -> None:
        """Check every part."""
        for key in ("budget", "owner"):
            object.__setattr__(self, key, fields.said(getattr(self, key), f"{key} of a waiver"))
        # On one line and without its full stop, as sentences of every rendering take it.
        said = fields.said(self.reason, "reason of a waiver", most=_LONGEST_REASON)
        object.__setattr__(self, "reason", said.rstrip("."))
        # As the release writes it, blanks too.
        fields.text(self.table, "table of a waiver")
        object.__setattr__(self, "expires", _day(self.expires))
        if budgets.named(self.budget) is None:
            raise PolicyError(_not_waived(self.budget))

    @classmethod
    def of(cls, value: Any, where: str = "a waiver") -> Waiver:
        """Read what a document has; a waiver as it is."""
        if isinstance(value, Waiver):
            return value
        stated = fields.mapping(value, where, WAIVER_KEYS, {"until": "expires", "by": "owner"})
        missing = [key for key in WAIVER_KEYS if stated.get(key) is None]
        if missing:
            raise PolicyError(f"{where} has no {missing[0]}: it needs {', '.join(WAIVER_KEYS)}")
        return cls(**stated)

    @property
    def sentence(self) -> str:
        """What it says, beside the finding that it is about."""
        return f"Waived until {self.expires} by {self.owner}: {self.reason}."

    def expired(self, today: date | None = None) -> bool:
        """Return whether its last day has passed, in UTC."""
        return date.fromisoformat(self.expires) < (today or datetime.now(UTC).date())


def refuse_wrong(waivers: Sequence[Waiver], policies: Mapping[str, Policy]) -> None:
    """Reject waivers of tables and budgets that there are not, and two of the same."""
    for i, waiver in enumerate(waivers):
        policy = policies.get(waiver.table)
        if policy is None:
            raise PolicyError(
                f"a waiver names table {waiver.table!r}, which is not in the release"
                f"{nearest(waiver.table, policies)}"
            )
        stated = {budget.name for rule in policy.rules for budget in rule.budgets}
        if waiver.budget not in stated:
            raise PolicyError(
                f"a waiver names budget {waiver.budget!r}, which the policy of "
                f"{waiver.table!r} does not have{nearest(waiver.budget, stated)}"
            )
        if any((item.budget, item.table) == (waiver.budget, waiver.table) for item in waivers[:i]):
            raise PolicyError(f"{waiver.budget} of {waiver.table!r} is waived twice")


def refuse_expired(waivers: Iterable[Waiver], today: date | None = None) -> None:
    """Reject waivers whose last day has passed: who waives again decides again."""
    for waiver in waivers:
        if waiver.expired(today):
            raise PolicyError(
                f"the waiver of {waiver.budget} for {waiver.table!r} expired on {waiver.expires}: "
                "fix the table, or decide again and set a new date"
            )


def waive(verdict: Verdict, waivers: Iterable[Waiver]) -> Verdict:
    """Return a table's verdict with what its waivers cover; nothing that nobody can tell is."""
    own = {waiver.budget: waiver for waiver in waivers if waiver.table == verdict.table}
    findings = tuple(
        finding.waived(own[finding.budget].to_dict(), own[finding.budget].sentence)
        if finding.waivable and finding.severity == "fail" and finding.budget in own
        else finding
        for finding in verdict.findings
    )
    return replace(verdict, findings=findings)


def _day(value: Any) -> str:
    # YAML makes dates of what looks like one; a moment is also a date to Python.
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    try:
        return day_of(value.strip()).isoformat()
    except (AttributeError, ValueError):
        raise PolicyError("expires of a waiver must be a date, such as 2026-12-31") from None


def _not_waived(budget: str) -> str:
    if budget == "direct":
        return "a direct identifier cannot be waived: take the column out of the table"
    return (
        f"a waiver names budget {budget!r}, which does not exist"
        f"{nearest(budget, budgets.BUDGETS)}; only budgets can be waived"
    )


APPROVAL_KEYS = ("by", "digest", "keyid", "sig")
_READER = Reader("file of approvals", PolicyError)
# How a key begins that stands in a document itself, as OpenSSH and PEM write it.
_WRITTEN_OUT = ("ssh-", "-----BEGIN ")


@dataclass(frozen=True, repr=False)
class Approval(Document, PrintedFields):
    """Somebody has agreed to a release: to its very bytes, its policies and its waivers.

    It is a signature with that person's own key, over the statement of the release: nobody else
    can make it, and whoever has the public key can check it.

    Attributes
    ----------
    by : str
        Who, as the release calls the owner of the key.
    digest : str
        `Release.digest` of what was approved; anything that changes makes the approval void.
    keyid : str
        The fingerprint of the key.
    sig : str
        The signature (Ed25519), in Base64.
    """

    by: str
    digest: str
    keyid: str
    sig: str

    @classmethod
    def made(
        cls, statement: bytes, approvers: Mapping[str, PublicKey], key: SigningKey
    ) -> Approval:
        """Approve the statement of a release; see `Release.approve`."""
        if not isinstance(key, SigningKey):
            raise ArgumentError(
                f"key= is a person's own SigningKey, not {kind_name(key)}: the ledger's key "
                "approves nothing; see SigningKey.from_file"
            )
        own = key.public.key_id
        by = next((name for name, public in approvers.items() if public.key_id == own), None)
        if by is None:
            raise PolicyError(f"the key {own} is not that of an approver that the release names")
        return cls(by, digest_of(statement), **vars(Signature.made(statement, key)))

    @classmethod
    def of(cls, stored: Any) -> Approval:
        """Read what `to_dict` gave."""
        mapping = fields.mapping(stored, "an approval", APPROVAL_KEYS)
        return cls(
            **{key: fields.text(mapping.get(key), f"{key} of an approval") for key in APPROVAL_KEYS}
        )

    def fits(self, statement: bytes, key: PublicKey) -> bool:
        """Return whether this key signed this statement."""
        try:
            return Signature(self.keyid, self.sig).fits(statement, key)
        except AnonRiskError:
            return False


def digest_of(statement: bytes) -> str:
    """Return the SHA-256 that names a statement."""
    return f"sha256:{hashlib.sha256(statement).hexdigest()}"


def read_approvers(value: Any, folder: Path | None = None) -> dict[str, PublicKey]:
    """Read who may approve, by their names: public keys, or files of them that begin at a folder.

    Without one no file is read: what others have written names none of this machine.
    """
    value = {} if value is None else value
    if not isinstance(value, Mapping):
        raise PolicyError("approvers is a mapping of names to public keys, or to their files")
    result: dict[str, PublicKey] = {}
    for name, key in value.items():
        who = fields.said(name, "approvers: the name of a person")
        if skeleton(who) in map(skeleton, result):
            raise PolicyError(f"approvers names {who!r} twice")
        result[who] = key if isinstance(key, PublicKey) else _public_key(key, who, folder)
    ids = [key.key_id for key in result.values()]
    for who, key in result.items():
        if ids.count(key.key_id) > 1:
            raise PolicyError(f"approvers has the key of {who!r} twice: each has one of their own")
    return result


def is_written_out(key: str) -> bool:
    """Return whether a document has the public key itself, and not the path of its file."""
    return key.lstrip().startswith(_WRITTEN_OUT)


def _public_key(value: Any, who: str, folder: Path | None) -> PublicKey:
    where = f"approvers[{who!r}]"
    text = fields.text(str(value) if isinstance(value, Path) else value, where)
    try:
        if folder is None or is_written_out(text):
            return PublicKey.from_bytes(text.encode())
        return PublicKey.from_file(folder / text)
    except AnonRiskError as error:
        raise PolicyError(f"{where}: {error}") from None


def read_approvals(text: str) -> tuple[Approval, ...]:
    """Read a file of approvals: the statement of a release in an envelope, and its signatures."""
    try:
        envelope = Envelope.of(_READER.json(text))
        approvers = _READER.json(envelope.payload)["predicate"]["approvers"]
        keys = read_approvers(approvers)
    except (KeyError, TypeError, ValueError, AttributeError, AnonRiskError) as error:
        if isinstance(error, PolicyError):
            raise
        raise PolicyError("this is not a file of approvals: approve the release again") from None
    names = {key.key_id: name for name, key in keys.items()}
    digest = digest_of(envelope.payload)
    return tuple(
        Approval(names.get(item.keyid, item.keyid), digest, item.keyid, item.sig)
        for item in envelope.signatures
    )


def write_approvals(statement: bytes, approvals: Iterable[Approval]) -> str:
    """Write a file of the approvals of a statement; those of another one are void, and left out."""
    own = {item.keyid: item for item in approvals if item.digest == digest_of(statement)}
    signatures = tuple(Signature(item.keyid, item.sig) for item in own.values())
    return Envelope(statement, signatures).to_bytes().decode("ascii")


def counted(
    approvals: Iterable[Approval],
    *,
    statement: bytes,
    approvers: Mapping[str, PublicKey],
    by: str | None,
) -> tuple[tuple[Approval, ...], list[str]]:
    """Return the approvals that count, and why the others do not.

    No key approves twice, and nobody what they publish themselves; names are compared without
    regard to case, white space, full stops, hyphens, letters that nobody sees and ways to write
    one letter.
    """
    known = {key.key_id: (name, key) for name, key in approvers.items()}
    seen: set[str] = set()
    kept: list[Approval] = []
    why: list[str] = []
    for item in _each(approvals):
        name, key = known.get(item.keyid, (item.by, None))
        if key is None:
            why.append(f"{name}: the key {item.keyid} is not that of an approver")
        elif item.digest != digest_of(statement):
            why.append(f"{name}: the release has changed since")
        elif not item.fits(statement, key):
            why.append(f"{name}: the signature is not of this key")
        elif by is not None and skeleton(name) == skeleton(by):
            why.append(f"{name}: publishes it")
        elif item.keyid in seen:
            why.append(f"{name}: has approved it already")
        else:
            seen.add(item.keyid)
            kept.append(replace(item, by=name))
    return tuple(kept), why


def _each(value: Any) -> list[Approval]:
    results = list(value) if isinstance(value, Iterable) else [value]
    wrong = [item for item in results if not isinstance(item, Approval)]
    if wrong:
        raise ArgumentError(
            f"approvals= is a list of what Release.approve returns, not {kind_name(wrong[0])}"
        )
    return results


def finding(kept: Sequence[Approval], why: Sequence[str], asked: int) -> Finding:
    """Return whether enough people have approved: how many are missing is compared with none."""
    missing = max(0, asked - len(kept))
    text = f"{count_of(asked, 'approval')} asked for, {len(kept)} given"
    who = f" by {', '.join(item.by for item in kept)}" if kept else ""
    void = "".join(f" Does not count: {reason}." for reason in why)
    return Finding(
        budget="approvals",
        status=FAIL if missing else PASS,
        severity="fail",
        sentence=f"{text}{who}.{void}",
        value=missing,
        limit=0,
        margin=-missing,
        parameters={"asked": asked},
    )
