"""Approvals: who, beside the one who publishes, has agreed to exactly this release."""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import skeleton
from anonrisk.core.documents import Reader, canonical
from anonrisk.core.render import PrintedFields, count_of, kind_name
from anonrisk.core.results import Document
from anonrisk.errors import ArgumentError, PolicyError
from anonrisk.policy import fields
from anonrisk.policy.finding import FAIL, PASS, Finding
from anonrisk.policy.verdict import now
from anonrisk.pseudonyms.keys import as_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.pseudonyms.keys import Key

KEYS = ("by", "at", "digest", "seal")
_READER = Reader("list of approvals", PolicyError)


@dataclass(frozen=True, repr=False)
class Approval(Document, PrintedFields):
    """Somebody has agreed to a release: to its very bytes, its policies and its waivers.

    It is sealed with the ledger's key, so that nobody without the key can write one. It does not
    prove who somebody is: whoever holds the key can write any name. Where that matters, let each
    person's approval come from a job that only that person can start.

    Attributes
    ----------
    by : str
        Who.
    at : str
        When, in UTC.
    digest : str
        `Release.digest` of what was approved; anything that changes makes the approval void.
    seal : str
        HMAC-SHA-256 of the others under a key that is derived from the ledger's.
    """

    by: str
    at: str
    digest: str
    seal: str

    @classmethod
    def given(cls, by: str, digest: str, key: Key | bytes) -> Approval:
        """Approve a release by its digest, now; see `Release.approve`."""
        name = fields.said(by, "by")
        at = now()
        return cls(name, at, digest, _seal(name, at, digest, as_key(key)))

    @classmethod
    def of(cls, stored: Any) -> Approval:
        """Read what `to_dict` gave."""
        mapping = fields.mapping(stored, "an approval", KEYS)
        return cls(**{key: fields.text(mapping.get(key), f"{key} of an approval") for key in KEYS})

    def holds(self, key: Key | bytes) -> bool:
        """Return whether it was sealed with this key and not changed since."""
        expected = _seal(self.by, self.at, self.digest, as_key(key))
        return hmac.compare_digest(self.seal.encode(), expected.encode())


def read_approvals(text: str) -> tuple[Approval, ...]:
    """Read a file of approvals."""
    return tuple(map(Approval.of, fields.listed(_READER.json(text), "a list of approvals")))


def write_approvals(approvals: Iterable[Approval]) -> str:
    """Write a file of approvals."""
    return json.dumps([approval.to_dict() for approval in approvals], indent=2) + "\n"


def counted(
    approvals: Iterable[Approval], *, digest: str, by: str | None, key: Key | bytes
) -> tuple[tuple[Approval, ...], list[str]]:
    """Return the approvals that count, and why the others do not.

    Nobody approves twice, or what they publish themselves; names are compared without regard to
    case, white space, full stops, hyphens, letters that nobody sees and ways to write one letter.
    Accents, and letters of other alphabets that look alike, make another name.
    """
    seen = set() if by is None else {skeleton(by)}
    kept: list[Approval] = []
    why: list[str] = []
    for item in _each(approvals):
        name = skeleton(item.by)
        if not item.holds(key):
            why.append(f"{item.by}: the seal is not of this ledger's key, or the text was changed")
        elif item.digest != digest:
            why.append(f"{item.by}: the release has changed since")
        elif name in seen:
            own = by is not None and name == skeleton(by)
            why.append(f"{item.by}: {'publishes it' if own else 'has approved it already'}")
        else:
            seen.add(name)
            kept.append(item)
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


def _seal(by: str, at: str, digest: str, key: Key) -> str:
    text = canonical({"by": by, "at": at, "digest": digest})
    return hmac.digest(key.derived("release approval"), text.encode("ascii"), "sha256").hex()
