"""Gates for streams of Spark: ``writeStream.foreachBatch(anonrisk.spark.foreach_batch(…))``."""

from anonrisk.releases.state.stream import foreach_batch

__all__ = ["foreach_batch"]
