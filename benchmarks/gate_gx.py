"""What Great Expectations adds to a measure, once it is imported."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median
from typing import Any

import great_expectations as gxp

import anonrisk
from anonrisk import gx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench, attributes
from benchmarks._bench import Row

RECORDS = 1_000_000
AT_MOST = 0.5


def rows(n_records: int) -> list[Row]:
    frame = attributes.admissions(n_records, len(attributes.VALUES))
    k = gx.ExpectKAnonymityToBeAtLeast(qids=attributes.QID, k=5)
    ldiv = gx.ExpectLDiversityToBeAtLeast(
        qids=attributes.QID, sensitive="sensitive", l=2, variant="distinct"
    )
    suite = gxp.ExpectationSuite(name="gate", expectations=[k, ldiv])
    context = gxp.get_context(mode="ephemeral")
    asset = context.data_sources.add_pandas("p").add_dataframe_asset("a")
    definition = asset.add_batch_definition_whole_dataframe("b")

    def fresh() -> Any:
        return definition.get_batch({"dataframe": frame})

    batch = fresh()
    calls = {
        "k": lambda: anonrisk.k(frame, attributes.QID),
        "expectation": lambda: batch.validate(k),
        "both": lambda: (
            anonrisk.classes(frame, attributes.QID),
            anonrisk.assess(
                frame,
                attributes.QID,
                "sensitive",
                ["ldiv", "entropy_ldiv", "tcloseness"],
                distance="equal",
            ),
        ),
        "suite": lambda: batch.validate(suite),
        "load": fresh,
    }
    times = _bench.interleaved(calls, warm_up=1)
    return [
        added("one expectation, beyond anonrisk.k", times["expectation"], times["k"]),
        added("a suite of k and l, beyond both measures", times["suite"], times["both"]),
        Row("Great Expectations loads the batch", _bench.seconds(median(times["load"])), "", None),
    ]


def added(what: str, ours: Any, bare: Any) -> Row:
    """Make the row of the seconds that are added, round by round."""
    more = median([a - b for a, b in zip(ours, bare, strict=True)])
    return Row(
        what,
        _bench.seconds(median(ours)),
        _bench.seconds(median(bare)),
        None,
        f"{more:.3f} s more, at most {AT_MOST} s",
        more <= AT_MOST,
    )


def main() -> None:
    asked = _bench.options(__doc__, records=RECORDS)
    _bench.report(
        "gate_gx",
        f"An expectation, {asked.records:,} records",
        _bench.machine("numpy", "pandas", "great_expectations"),
        rows(asked.records),
        write=not asked.no_write,
    )


if __name__ == "__main__":
    main()
