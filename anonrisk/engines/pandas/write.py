"""A pandas table to a file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from anonrisk.errors import UnwritableTableError, raise_alone

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd


def write(frame: pd.DataFrame, path: Path, kind: str, *, sep: str, encoding: str) -> None:
    """Write a whole file or none; errors of others are replaced, because they may quote a cell."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if kind == "parquet":
            frame.to_parquet(beside, index=False)
        else:
            frame.to_csv(beside, index=False, sep=sep, encoding=encoding)
        beside.replace(path)
    except OSError as error:
        # pandas has a sentence of its own for a folder that is not there, and no number.
        why = error.strerror or "there is no such folder"
        raise UnwritableTableError(f"cannot write {str(path)!r}: {why}") from None
    except ImportError:
        raise UnwritableTableError("writing Parquet needs pyarrow: pip install pyarrow") from None
    except Exception as error:  # noqa: BLE001
        raise_alone(
            UnwritableTableError(
                f"the table cannot be written to {str(path)!r} as {kind} ({type(error).__name__})"
            )
        )
    finally:
        beside.unlink(missing_ok=True)
