"""Import this to have `.anon` on pandas-on-Spark tables.

``import anonrisk`` does so by itself where ``pyspark.pandas`` is imported, before it or after.
"""

from __future__ import annotations

from importlib import metadata

from anonrisk.errors import MissingLibraryError


def _installed(name: str) -> str:
    try:
        return f"{name} {metadata.version(name)}"
    except metadata.PackageNotFoundError:
        return f"no {name}"


try:
    import pyspark.pandas.extensions  # noqa: F401
except (ImportError, AttributeError) as error:
    # Its own words name one thing at a time, or something inside of pandas.
    versions = ", ".join(map(_installed, ("pyspark", "pandas", "pyarrow")))
    raise MissingLibraryError(
        "pandas-on-Spark cannot be imported here: it needs pyspark, pyarrow, and a pandas that "
        "pyspark knows, which is one below 3 so far: pip install 'anonrisk[pandas-on-spark]', or "
        f"pyspark, pyarrow and 'pandas<3'. Here are {versions}. Spark tables have .anon without it"
    ) from error
