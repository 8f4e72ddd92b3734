"""What must not pass, each in a process of its own: forked from one that knows only GX itself.

    python gx_fresh.py FOLDER

prints a line of JSON for each case: its name, what it came to, and the modules that it had loaded.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path

import great_expectations as gxp
import pandas as pd

GOOD = pd.DataFrame({"zip": ["1011"] * 6, "ill": ["flu", "cold"] * 3})
ROOT = sys.argv[1]
TYPE = "expect_k_anonymity_to_be_at_least"


def context():
    return gxp.get_context(mode="file", project_root_dir=ROOT)


def prepare():
    """Store a project: suites, and checkpoints with and without the gate."""
    from anonrisk import gx

    project = context()
    source = project.data_sources.add_pandas("p")
    data = source.add_dataframe_asset("a").add_batch_definition_whole_dataframe("b")
    suites = {
        "release": [
            gx.ExpectKAnonymityToBeAtLeast(qids=["zip"], k=5),
            gx.ExpectLDiversityToBeAtLeast(qids=["zip"], sensitive="ill", l=2, variant="distinct"),
            gx.ExpectColumnsToBePublishable(direct=["name"], classified=["zip", "ill"]),
            gxp.expectations.ExpectColumnToExist(column="zip"),
        ],
        "parameter": [gx.ExpectKAnonymityToBeAtLeast(qids=["zip"], k={"$PARAMETER": "k"})],
        "empty": [],
    }
    for name, expectations in suites.items():
        suite = project.suites.add(gxp.ExpectationSuite(name=name, expectations=expectations))
        validation = project.validation_definitions.add(
            gxp.ValidationDefinition(name=name, data=data, suite=suite)
        )
        required = {name: {TYPE: 1}}
        gate = (
            gx.AnonriskGateAction.requiring(suite)
            if expectations
            else gx.AnonriskGateAction(required=required)
        )
        project.checkpoints.add(
            gxp.Checkpoint(name=name, validation_definitions=[validation], actions=[gate])
        )
        project.checkpoints.add(
            gxp.Checkpoint(name=f"{name}_open", validation_definitions=[validation])
        )


def run(name="release", frame=GOOD, **parameters):
    project = context()
    return project.checkpoints.get(name).run({"dataframe": frame}, parameters).success


def stored_suite_passes():
    import anonrisk.gx

    assert run() is True
    assert anonrisk.gx.run_gate(context().checkpoints.get("release_open"), GOOD).success
    return "passed"


def plugin_registers_too():
    """The one-line module of expectations/, as a project's plugin."""
    project = context()
    import anonrisk_expectations

    assert anonrisk_expectations.run_gate
    assert project.checkpoints.get("release").run({"dataframe": GOOD}).success
    return "passed"


def without_the_module_gx_itself_passes():
    """Why the gate is needed; if this ever changes, say so in the documents."""
    result = context().checkpoints.get("release_open").run({"dataframe": pd.DataFrame({"zip": []})})
    (only,) = result.run_results.values()
    assert result.success
    return f"{len(only.results)} result"


def without_the_module():
    return run()


def saved_without_the_module():
    """A suite that somebody saved without our module has lost our expectations, for good."""
    project = context()
    suite = project.suites.get("release")
    suite.notes = "looked at"
    suite.save()
    import anonrisk.gx  # noqa: F401

    return run()


def missing_column():
    import anonrisk.gx  # noqa: F401

    return run(frame=GOOD.drop(columns="zip"))


def empty_table():
    import anonrisk.gx  # noqa: F401

    return run(frame=GOOD.iloc[:0])


def empty_suite():
    import anonrisk.gx  # noqa: F401

    return run("empty")


def empty_suite_in_one_call():
    import anonrisk.gx

    return anonrisk.gx.run_gate(context().checkpoints.get("empty_open"), GOOD)


def zero_rows_fetched():
    """A driver that loses the rows of a result: DuckDB's did."""
    import sqlalchemy as sa

    import anonrisk.gx
    from anonrisk.engines.sql import SqlTable

    url = f"sqlite:///{ROOT}/zero.sqlite"
    with sa.create_engine(url).begin() as connection:
        connection.execute(sa.text("CREATE TABLE t (zip TEXT)"))
        connection.execute(sa.text("INSERT INTO t VALUES ('a'), ('a')"))
    SqlTable.fetch = lambda *_: []
    project = gxp.get_context(mode="ephemeral")
    table = project.data_sources.add_sqlite("s", connection_string=url).add_table_asset(
        "t", table_name="t"
    )
    suite = gxp.ExpectationSuite(
        name="s", expectations=[anonrisk.gx.ExpectKAnonymityToBeAtLeast(qids="zip", k=2)]
    )
    return anonrisk.gx.run_gate(suite, table.add_batch_definition_whole_table("b"))


def metric_raising():
    import anonrisk
    import anonrisk.gx

    def broken(*_, **__):
        raise RuntimeError("MARKER")

    anonrisk.gx.metrics.count = broken
    return run()


def class_of_the_same_name():
    from great_expectations.expectations.expectation import BatchExpectation

    import anonrisk.gx  # noqa: F401

    class ExpectKAnonymityToBeAtLeast(BatchExpectation):
        qids: list
        k: int

        def _validate(self, metrics, runtime_configuration=None, execution_engine=None):
            return {"success": True, "result": {"observed_value": 1}}

    return run()


def parameter_missing():
    import anonrisk.gx  # noqa: F401

    return run("parameter")


def parameter_missing_in_one_call():
    import anonrisk.gx

    return anonrisk.gx.run_gate(context().checkpoints.get("parameter_open"), GOOD)


CASES = [
    *(stored_suite_passes, plugin_registers_too, without_the_module_gx_itself_passes),
    *(without_the_module, missing_column, empty_table, empty_suite, empty_suite_in_one_call),
    *(zero_rows_fetched, metric_raising, class_of_the_same_name, parameter_missing),
    # The last one spoils the stored suite.
    *(parameter_missing_in_one_call, saved_without_the_module),
]


def forked(case) -> str:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        ours = [name for name in sys.modules if name.startswith("anonrisk")]
        try:
            came_to = {"returned": str(case())}
        except BaseException as error:  # noqa: BLE001
            came_to = {
                "raised": type(error).__name__,
                "message": str(error),
                "traceback": traceback.format_exc(),
            }
        with os.fdopen(write, "w") as pipe:
            json.dump({"case": case.__name__, "known": ours, **came_to}, pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return answer or json.dumps({"case": case.__name__, "raised": "died", "known": []})


if __name__ == "__main__":
    print(forked(prepare))
    plugins = Path(ROOT) / "gx" / "plugins"
    plugins.mkdir(parents=True, exist_ok=True)
    shipped = Path(__file__).parents[1] / "expectations" / "anonrisk_expectations.py"
    (plugins / shipped.name).write_text(shipped.read_text())
    for case in CASES:
        print(forked(case))
