"""A file that is written whole, or not at all."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from anonrisk.errors import (
    AnonRiskError,
    MissingLibraryError,
    UnwritableTableError,
    raise_alone,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def whole_file(path: Path, title: str) -> Iterator[Path]:
    """Yield where to write; in the end, unless something went wrong, that becomes the file.

    Errors of others are replaced, because they may quote a cell.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield beside
        beside.replace(path)
    except AnonRiskError:
        raise
    except OSError as error:
        # pandas has a sentence of its own for a folder that is not there, and no number.
        gone = isinstance(error, FileNotFoundError) or error.strerror is None
        why = "there is no such folder" if gone else error.strerror
        raise UnwritableTableError(f"cannot write {str(path)!r}: {why}") from None
    except ImportError:
        raise MissingLibraryError(
            f"writing {title} needs pyarrow: pip install 'anonrisk[arrow]'"
        ) from None
    except Exception as error:  # noqa: BLE001
        raise_alone(
            UnwritableTableError(
                f"the table cannot be written to {str(path)!r} as {title} ({type(error).__name__})"
            )
        )
    finally:
        beside.unlink(missing_ok=True)
