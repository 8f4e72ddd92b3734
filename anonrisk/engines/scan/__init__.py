"""Files larger than memory: an embedded DuckDB reads them, and the SQL engine asks it.

Cells mean what they mean to the reader of pandas: of Parquet only types that both read alike are
compared, and CSV is read by the very same code, once, into an encrypted copy.
"""

from __future__ import annotations

from anonrisk.engines.scan.table import ScanEngine, ScanTable

__all__ = ["ScanEngine", "ScanTable"]
