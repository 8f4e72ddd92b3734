"""Airflow: an operator that checks files, so that what follows it runs only if the gate passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.cli import main
from anonrisk.cli.output import CODES
from anonrisk.policy.finding import FAIL, PASS

try:
    from airflow.exceptions import AirflowException, AirflowFailException
    from airflow.sdk import BaseOperator
except ImportError:
    raise ImportError(
        "anonrisk.integrations.airflow needs Airflow 3: pip install 'apache-airflow>=3'"
    ) from None

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["GateOperator"]


class GateOperator(BaseOperator):  # type: ignore[misc]
    """Check files against a policy, as `anonrisk check` does; only a pass lets the task succeed.

    Parameters
    ----------
    table : str or list of str
        The files of the table.
    policy : str
        Where the policy is.
    verdict : str, optional
        Where the verdict goes, as JSON.
    more : list of str
        Further words of `anonrisk check`, as ``["--fail-on", "warn"]``.
    **about
        As of every operator. All of the above are templates.

    Notes
    -----
    A table that fails is not tried again, whatever `retries` says: it is the same the second time.
    One that could not be assessed may be, if its file was not there yet.

    See Also
    --------
    anonrisk.Policy.check : the same of a table in Python

    Examples
    --------
    ``GateOperator(task_id="check", table="admissions.parquet", policy="release.json") >> publish``
    """

    template_fields: Sequence[str] = ("table", "policy", "verdict", "more")

    def __init__(
        self,
        *,
        table: str | Sequence[str],
        policy: str,
        verdict: str | None = None,
        more: Sequence[str] = (),
        **about: Any,
    ) -> None:
        """Remember what to check."""
        super().__init__(**about)
        self.table, self.policy, self.verdict, self.more = table, policy, verdict, list(more)

    def execute(self, context: Any) -> None:  # noqa: ARG002
        """Check, and fail unless it passes."""
        tables = [self.table] if isinstance(self.table, str) else list(self.table)
        output = [] if self.verdict is None else [f"--output={self.verdict}"]
        if any(word == "--help" or word.startswith("-h") for word in self.more):
            raise AirflowFailException("the gate did not pass: a help text is not a verdict")
        # A template gives names of tables, which are no options whatever they begin with.
        code = main(["check", *self.more, f"--policy={self.policy}", *output, "--", *tables])
        if code == CODES[PASS]:
            return
        kind = AirflowFailException if code == CODES[FAIL] else AirflowException
        raise kind(f"the gate did not pass (exit code {code}): the log says why")
