"""Files to try the command line on: a hospital's admissions, and a policy for them."""

from __future__ import annotations

import json
from pathlib import Path

from anonrisk.datasets.admissions import hospital
from anonrisk.errors import ArgumentError

TABLE, POLICY = "admissions.csv", "release.json"
_POLICY = {
    "version": 1,
    "name": "release of admissions",
    "roles": {
        "quasi": ["pc4", "year_of_birth", "gender", "admission_date"],
        "sensitive": ["diagnosis", "cost"],
        "direct": ["name"],
        "unit": "patient",
    },
    "missing_sensitive": "error",
    "budgets": {
        "k": 5,
        "max_unique_fraction": 0.01,
        "ldiv": {"l": 2, "variant": "distinct"},
    },
}


def write_example(folder: str | Path = ".") -> tuple[Path, Path]:
    """Write a table of synthetic admissions and a policy that it does not pass.

    Parameters
    ----------
    folder : path, default the current one
        Where to write ``admissions.csv`` and ``release.json``; made if it is not there.

    Returns
    -------
    tuple of Path
        The table and the policy.

    See Also
    --------
    anonrisk.datasets.hospital : the table
    anonrisk.Policy.load : reads the policy

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write_example(folder)]
    ['admissions.csv', 'release.json']
    """
    admissions = hospital(2_000)
    born = admissions.pop("date_of_birth").dt.year
    admissions.insert(2, "year_of_birth", born)
    contents = {
        TABLE: admissions.to_csv(index=False, lineterminator="\n"),
        POLICY: json.dumps(_POLICY, indent=2) + "\n",
    }
    where = Path(folder)
    try:
        where.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            path = where / name
            if path.exists() and path.read_text(encoding="utf-8") != content:
                raise ArgumentError(f"{str(path)!r} already exists, and is something else")
            path.write_text(content, encoding="utf-8")
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "something else is there"
        raise ArgumentError(f"cannot write the example to {str(where)!r}: {why}") from None
    return where / TABLE, where / POLICY
