"""One test, every engine: `frame` builds the same table in each library that --engines names."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import anonrisk  # noqa: F401 - puts .anon on tables
from anonrisk.errors import UnsupportedColumnError, UnsupportedFrameError

# How many examples a property is tried on: in the quick lane, by day, and by night.
# A machine that is busy with something else is no fault.
for name, number in {"quick": 10, "day": 15, "night": 60}.items():
    settings.register_profile(
        name,
        derandomize=True,
        deadline=None,
        max_examples=number,
        suppress_health_check=[HealthCheck.too_slow],
    )

# What each name of --engines stands for: the kinds of table that a test then runs on.
KINDS = {
    "plain": ("pandas",),
    "pandas": ("pandas", "pandas_nullable", "pandas_arrow", "pandas_object"),
    "spark": ("spark",),
    "connect": ("connect",),
    "pandas_on_spark": ("pandas_on_spark",),
    "arrow": ("polars", "duckdb"),
    "scan": ("scan",),
    "sql": ("sqlite", "duckdb_sql", "datafusion", "postgresql"),
    "arrow_more": ("polars_lazy", "pyarrow", "narwhals", "held"),
}
# Where cells keep their meaning, or do not: the quick lane runs these through Arrow as well.
THROUGH_ARROW = {"test_engines"}
# What does not run through Arrow, beside what is refused.
NOT_THROUGH_ARROW = {
    "test_long_work_tells_and_is_silent[duckdb-suda]": "rows of DuckDB have no order",
    "test_long_work_tells_and_is_silent[polars_lazy-suda]": "rows of a query have no order",
}
FAILED = pytest.StashKey[bool]()
# Published numbers that the tests hold the library to, and real tables, which stay outside.
REFERENCE = Path(__file__).parent / "tests" / "data" / "reference.json"
SHARED = Path(__file__).parents[1] / "shared"

collect_ignore = ["dev.py", "setup.py", "benchmarks", "examples", "spark_jobs", "tests/gx_fresh.py"]
# The oldest versions are tested without some of these, orchestrators apart.
for module, parts in {
    "airflow": ("integrations/airflow.py",),
    "dagster": ("integrations/dagster.py",),
    "great_expectations": ("gx",),
    "sqlalchemy": ("engines/sql", "dbt"),
}.items():
    if importlib.util.find_spec(module) is None:
        collect_ignore += [f"anonrisk/{part}" for part in parts]


def pytest_addoption(parser):
    parser.addoption("--engines", default="pandas", help="comma-separated: " + ", ".join(KINDS))
    parser.addoption(
        "--share",
        type=float,
        default=1.0,
        help="how much of what is no contract is drawn for each kind of table but plain pandas",
    )
    parser.addoption(
        "--slow-share",
        type=float,
        default=1.0,
        help="how much is drawn of what is marked slow",
    )
    parser.addoption(
        "--passed",
        metavar="FILE",
        type=Path,
        help="leave out the tests that the file lists, and add those that pass",
    )
    parser.addoption(
        "--draw", metavar="SEED", help="what the share is drawn by, in place of the commit"
    )


def pytest_configure(config):
    if unknown := {*engines(config)} - {*KINDS}:
        raise pytest.UsageError(f"--engines: {', '.join(unknown)}; there are {', '.join(KINDS)}")
    for option in ("--share", "--slow-share"):
        if not 0 <= config.getoption(option) <= 1:
            raise pytest.UsageError(f"{option} is a share from 0 to 1")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # As a job in the background of a script, where the processes of tests would inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    named = config.getoption("--hypothesis-profile")
    settings.load_profile(named or ("quick" if engines(config) == ["plain"] else "day"))


def engines(config) -> list[str]:
    return config.getoption("--engines").split(",")


def pytest_generate_tests(metafunc):
    if "frame" in metafunc.fixturenames:
        named = engines(metafunc.config)
        if named == ["plain"] and metafunc.module.__name__ in THROUGH_ARROW:
            named = ["plain", "arrow"]
        mark = metafunc.definition.get_closest_marker("kinds")
        about = {kind for name in mark.args for kind in KINDS.get(name, [name])} if mark else None
        unknown = (about or set()) - {kind for kinds in KINDS.values() for kind in kinds}
        if unknown:
            raise pytest.UsageError(f"{metafunc.definition.nodeid}: no kind of table {unknown}")
        kinds = [
            kind for engine in named for kind in KINDS[engine] if about is None or kind in about
        ]
        metafunc.parametrize("frame", kinds, indirect=True)


def seed_of(config) -> str:
    """What a share is drawn by: --draw, or the commit, or where there is no git always the same."""
    if config.getoption("--draw"):
        return config.getoption("--draw")
    command = ("git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD")
    try:
        return subprocess.check_output(command, stderr=subprocess.DEVNULL, text=True).strip()
    except (OSError, subprocess.CalledProcessError):
        return "no commit"


def drawn(seed: str, name: str, share: float) -> bool:
    """Whether a test is among the share that is drawn, by its name and not by its place."""
    digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


def pytest_report_header(config):
    share, slow = config.getoption("--share"), config.getoption("--slow-share")
    drawn_too = f"drawn beside the contract: {share:.0%}, of what is slow {slow:.0%}"
    return f"{drawn_too}, by --draw {seed_of(config)}" * (min(share, slow) < 1)


def refuse_late_contract(items):
    """What the library promises runs by day: a contract test may not be put off."""
    put_off = ("slow", "nightly", "skip", "xfail")
    # Where no kind of a lane is asked, pytest itself marks the test as skipped.
    late = [
        item.nodeid
        for item in items
        if item.get_closest_marker("contract")
        and any(
            mark.name in put_off and "empty parameter set" not in str(mark.kwargs)
            for mark in item.iter_markers()
        )
    ]
    if late:
        raise pytest.UsageError(
            "tests of the contract run by day, on every kind of table, and cannot be marked "
            f"{', '.join(put_off)}: {', '.join(late)}"
        )


def kind_of(item):
    """The kind of table that a test takes, if it takes one."""
    return item.callspec.params.get("frame") if hasattr(item, "callspec") else None


def share_of(item, config) -> float:
    """How often a test is drawn: the contract always, what no lane draws always too."""
    if item.get_closest_marker("contract"):
        return 1.0
    if kind_of(item) not in (None, "pandas"):
        return config.getoption("--share")
    return config.getoption("--slow-share") if item.get_closest_marker("slow") else 1.0


def pytest_collection_modifyitems(config, items):
    named = engines(config)
    refuse_late_contract(items)
    seed = seed_of(config)
    left_out = {item for item in items if not drawn(seed, item.nodeid, share_of(item, config))}
    passed = config.getoption("--passed")
    if passed and passed.exists():
        before = set(passed.read_text(encoding="utf-8").splitlines())
        left_out |= {item for item in items if item.nodeid in before}
    config.hook.pytest_deselected(items=[*left_out])
    items[:] = [item for item in items if item not in left_out]
    for item in items:
        wants = {mark.args[0] if mark.args else "spark" for mark in item.iter_markers("spark")}
        # Some that take no table of a kind compare with pandas on every version: once is enough.
        alone = not wants and kind_of(item) is None and item.get_closest_marker("engine")
        if alone and not {"plain", "pandas"} & {*named}:
            item.add_marker(pytest.mark.skip(reason="asked in the lanes that have pandas"))
        # What asks for Connect or pandas-on-Spark is in no lane that does not ask for them.
        if "frame" in getattr(item, "fixturenames", ()) or wants - {"spark"}:
            item.add_marker(pytest.mark.engine)
        if item.name in NOT_THROUGH_ARROW:
            item.add_marker(pytest.mark.skip(reason=NOT_THROUGH_ARROW[item.name]))
        if wants and not wants & set(named):
            item.add_marker(pytest.mark.skip(reason=f"needs --engines {' or '.join(wants)}"))


def pytest_collection_finish():
    """Have no search for waste look through thousands of tests, which stay until the end."""
    gc.collect()
    gc.freeze()


@contextlib.contextmanager
def left_out_if_listed(item):
    """Leave out what a kind of table refuses, if `anonrisk.engines.refusals` lists it there."""
    try:
        yield
    except (UnsupportedFrameError, UnsupportedColumnError) as error:
        import every_call

        if kind_of(item) and every_call.is_listed(kind_of(item), error):
            pytest.skip(str(error))
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item):
    """A fixture may declare roles, which not every kind of table carries."""
    with left_out_if_listed(item):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """What a kind of table answers must be right, and what it refuses must be listed."""
    with left_out_if_listed(pyfuncitem):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Note a test that has passed from its beginning to its end."""
    report = yield
    item.stash[FAILED] = report.failed or item.stash.get(FAILED, False)
    passed = item.config.getoption("--passed")
    if passed and report.when == "teardown" and not item.stash[FAILED]:
        with passed.open("a", encoding="utf-8") as file:
            file.write(f"{item.nodeid}\n")
    return report


def asks_for_more_than_pandas(text) -> bool:
    """Whether an error says that a library is not here which the quick lane does without."""
    named = re.findall(r"No module named '(\w+)|`Import (\w+)` failed|(pyarrow)>=", text)
    absent = (importlib.util.find_spec("".join(names)) is None for names in named)
    return "pip install 'anonrisk[" in text or any(absent)


def told_by(error) -> str:
    """What an error says, and those behind it; a doctest wraps what an example raised."""
    said = []
    while error is not None and len(said) < 9:
        error = getattr(error, "exc_info", (None, error))[1]
        said.append(str(error))
        error = error.__cause__ or error.__context__
    return "\n".join(said)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    """The quick lane has pandas alone, and skips files that ask for more; no other lane does."""
    report = yield
    quick = engines(collector.config) == ["plain"]
    if report.failed and quick and asks_for_more_than_pandas(str(report.longrepr)):
        report.outcome, report.longrepr = "skipped", (str(collector.path), 0, "Skipped: no library")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Skip tests alike."""
    try:
        return (yield)
    except Exception as error:
        if engines(item.config) == ["plain"] and asks_for_more_than_pandas(told_by(error)):
            pytest.skip("asks for a library that is not installed")
        raise


def arrow_works(session) -> bool:
    """Whether tables can leave Spark by Arrow: those of Spark 3.5 cannot with Java 21 or newer."""
    java = session.sparkContext._jvm.System.getProperty("java.specification.version")
    return float(java) < 21 or not session.version.startswith("3.")


@pytest.fixture(scope="session")
def spark(request):
    """A Spark session of the kind that --engines asks for, tuned for many small jobs."""
    from pyspark.sql import SparkSession

    # Else a machine whose own name leads nowhere cannot reach itself.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYARROW_IGNORE_TIMEZONE", "1")
    named = engines(request.config)
    connect = "connect" in named
    builder = SparkSession.builder
    # One core each: the lanes run side by side.
    builder = builder.remote("local[1]") if connect else builder.master("local[1]")
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
    }
    # Tables of five rows are compiled and planned anew for longer than they are counted: Spark is
    # asked without that, and Connect as it is for users, who set nothing.
    if not connect:
        options["spark.sql.codegen.wholeStage"] = "false"
        options["spark.sql.codegen.factoryMode"] = "NO_CODEGEN"
        options["spark.sql.adaptive.enabled"] = "false"
    for key, value in options.items():
        builder = builder.config(key, value)
    with warnings.catch_warnings():
        # Connect warns of options that only a server takes.
        warnings.simplefilter("ignore")
        session = builder.getOrCreate()
        if not connect and not arrow_works(session):
            session.conf.set("spark.sql.execution.arrow.pyspark.enabled", "false")
    yield session
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        session.stop()


@pytest.fixture
def frame(request):
    """A function that builds a table of one kind from lists of cells, None for missing."""
    import tables

    kind = request.param
    if kind in (*KINDS["arrow"], *KINDS["arrow_more"]):
        return tables.arrow_builder(kind)
    if kind == "scan":
        return tables.scan_builder(request.getfixturevalue("tmp_path"))
    if kind == "datafusion":
        return tables.datafusion_builder()
    if kind in KINDS["sql"]:
        return tables.sql_builder(kind, tables.sql_connection(kind, request))
    session = (
        None
        if kind.startswith("pandas") and kind != "pandas_on_spark"
        else (request.getfixturevalue("spark"))
    )

    def build(cells, partitions=2):
        if session is None:
            return tables.pandas_table(kind, cells)
        table = tables.spark_table(session, cells, partitions)
        if kind == "pandas_on_spark":
            importlib.import_module("anonrisk.pandas_on_spark")
            return table.pandas_api()
        return table

    build.kind = kind
    build.is_pandas = session is None
    return build


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL server of this machine's own, where one can be had."""
    from postgres import NoPostgresError, running

    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(running())
        except NoPostgresError as reason:
            pytest.skip(f"no PostgreSQL: {reason}")
        yield server


@pytest.fixture(scope="session")
def postgres_connection(postgres_server):
    """A connection to one database for all tests that only need a table each."""
    import psycopg

    url = postgres_server.new_database().replace("+psycopg", "")
    with psycopg.connect(url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def postgres(postgres_server) -> str:
    """The URL of a new, empty PostgreSQL database."""
    return postgres_server.new_database()


@pytest.fixture(scope="session")
def browser():
    """The machine's own Chromium, where there is one."""
    from chromium import NoChromiumError, running

    with contextlib.ExitStack() as stack:
        try:
            started = stack.enter_context(running())
        except NoChromiumError as reason:
            pytest.skip(f"no Chromium: {reason}")
        yield started


@pytest.fixture(scope="session")
def site(tmp_path_factory) -> Path:
    """The documentation, without pages that follow from the code: they take a minute more."""
    from test_site import built

    return built(tmp_path_factory.mktemp("site"), "--quick")


@pytest.fixture(scope="session")
def whole_site(tmp_path_factory) -> Path:
    """The documentation with every page, and with what its notebooks show."""
    from test_site import built

    return built(tmp_path_factory.mktemp("whole_site"))


@pytest.fixture(scope="session")
def reference() -> dict[str, dict[str, Any]]:
    """Numbers printed in the sources, and vectors derived from their formulas, by their id."""
    content = json.loads(REFERENCE.read_text(encoding="utf-8"))
    return {row["id"]: row for row in content["published"] + content["derived"]}


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real tables beside the project, where there is one."""
    if not SHARED.is_dir():
        pytest.skip("no ../shared beside the project: real tables are not part of it")
    return SHARED
