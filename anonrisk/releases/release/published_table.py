"""A table that is published, with what was found of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from anonrisk.core.documents import canonical
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document
from anonrisk.errors import ManifestError
from anonrisk.policy.coverage import Coverage

if TYPE_CHECKING:
    from collections.abc import Mapping

NOT_LOOKED_AT = "not looked at"


@dataclass(frozen=True)
class PublishedTable(Document):
    """A table as a manifest knows it.

    Attributes
    ----------
    name : str
        What the release calls it.
    verdict : dict
        What its check found, as `Verdict.to_dict` gives it.
    content_digest : str or None
        Of a table that is no file: a keyed digest of its rows; see
        `anonrisk.releases.release.contents`.
    """

    name: str
    verdict: Mapping[str, Any]
    content_digest: str | None = None
    _document = ("name", "columns", "content_digest", "verdict")

    def __post_init__(self) -> None:
        """Keep a copy that nobody changes."""
        object.__setattr__(self, "verdict", copied(self.verdict))

    @property
    def coverage(self) -> Coverage:
        """What its verdict covers."""
        return Coverage.from_dict(self.verdict["coverage"])

    @property
    def columns(self) -> list[dict[str, Any]]:
        """Every column with its role, or ``"not looked at"``; row labels are one, if published."""
        covered = self.coverage.to_dict()
        listed = [(column["name"], column["role"]) for column in covered["columns"]]
        names = [name for name, _ in listed]
        listed += [(name, None) for name in covered["not_looked_at"] if name not in names]
        return [{"name": name, "role": role or NOT_LOOKED_AT} for name, role in listed]


def written(document: Any) -> bytes:
    """Write plain values in the one form that is sealed."""
    try:
        return canonical(document).encode("ascii")
    except (TypeError, ValueError, RecursionError):
        raise ManifestError(
            "a manifest holds plain values only, and no NaN or infinite number"
        ) from None


def copied(document: Any) -> Any:
    """Return plain values as they come back from a file."""
    return json.loads(written(document))
