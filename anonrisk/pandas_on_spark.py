"""Import this to have `.anon` on pandas-on-Spark tables.

``import anonrisk`` does so by itself where ``pyspark.pandas`` was imported before it.
"""

from __future__ import annotations

from pyspark.pandas.extensions import register_dataframe_accessor

from anonrisk.accessor import AnonAccessor

register_dataframe_accessor("anon")(AnonAccessor)
