"""Statements of in-toto: what is said, and about which files, by their digests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.releases.release.published_table import written

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anonrisk.releases.release.published_files import PublishedFile

_TYPE = "https://in-toto.io/Statement/v1"


def statement(
    kind: str,
    files: Iterable[PublishedFile],
    digests: Mapping[str, str | None],
    predicate: Mapping[str, Any],
) -> bytes:
    """Write a statement in one form: a `kind` of predicate about files, and about rows of tables.

    Parameters
    ----------
    kind : str
        Which predicate it is.
    files : iterable of PublishedFile
        The files that it is about.
    digests : mapping of str to str
        The keyed digests of tables that are no files, by their names.
    predicate : mapping
        What is said.
    """
    subject: list[dict[str, Any]] = [
        {"name": file.path, "digest": {"sha256": file.sha256}} for file in files
    ]
    for name, digest in digests.items():
        if digest is not None:
            how, _, value = digest.partition(":")
            subject.append({"name": name, "digest": {f"anonrisk-rows-{how}": value}})
    about = {"subject": subject, "predicateType": kind, "predicate": predicate}
    return written({"_type": _TYPE, **about})
