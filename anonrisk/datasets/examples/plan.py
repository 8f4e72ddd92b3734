"""From a table that singles people out to one that does not: plan, look, apply, keep.

Run it with: anonrisk example plan
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import anonrisk
from anonrisk import datasets

if TYPE_CHECKING:
    from collections.abc import Sequence

QIDS = ["pc4", "date_of_birth", "gender"]


def main(arguments: Sequence[str] = ()) -> int:  # noqa: ARG001 - there are none
    """Plan, apply, and print what it cost."""
    # A plan counts records, so each patient must have one.
    table = datasets.hospital().drop_duplicates("patient").astype({"pc4": str})
    print(f"Before: k = {table.anon.k(QIDS)}, {table.anon.uniqueness(QIDS):.0%} are singletons\n")
    plan = table.anon.plan(
        QIDS, k=5, max_suppressed=0.02, options=anonrisk.PlanOptions(method="full-domain")
    )
    print(f"{plan}\n")
    safe = table.anon.apply(plan)
    print(f"After: k = {safe.anon.k(QIDS)}\n")
    print(safe.anon.utility(QIDS, "diagnosis", original=table))
    stored = plan.to_json()
    assert anonrisk.Plan.from_json(stored).to_json() == stored
    print(f"\nThe plan as SQL, for where there is no Python:\n{plan.to_sql('postgresql')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
