"""`.anon` on every kind of table, in whatever order libraries are imported; oldest versions too."""

from __future__ import annotations

import subprocess
import sys
from functools import cache

import pytest

pytestmark = pytest.mark.engine

# The classes whose tables have `.anon`, by the module that brings them.
BRINGS = {
    "pandas": ["pandas.DataFrame"],
    "polars": ["polars.DataFrame", "polars.LazyFrame"],
    "pyspark.sql": ["pyspark.sql.DataFrame"],
    "pyspark.sql.connect.dataframe": ["pyspark.sql.connect.dataframe.DataFrame"],
    "pyspark.pandas": ["pyspark.pandas.DataFrame"],
}
ORDERS = {
    "anonrisk first": ["anonrisk", *BRINGS],
    "anonrisk last": [*BRINGS, "anonrisk"],
    "between, Connect last": ["polars", "pyspark.sql", "anonrisk", "pyspark.pandas", *BRINGS],
    "between, Connect first": ["pyspark.sql.connect.dataframe", "anonrisk", *reversed(BRINGS)],
    "pandas on Spark first": ["pyspark.pandas", "anonrisk", *BRINGS],
    "pandas first": ["pandas", "anonrisk", *reversed(BRINGS)],
}


@cache
def works(library):
    """Return whether a library can be imported: pandas-on-Spark needs a pandas that it knows."""
    program = [sys.executable, "-c", f"import {library}"]
    return subprocess.run(program, check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("order", ORDERS)
def test_tables_are_registered_in_whatever_order_libraries_come(order):
    libraries = [name for name in ORDERS[order] if works(name)]
    kinds = [kind for name in libraries for kind in BRINGS.get(name, ())]
    assert "pandas.DataFrame" in kinds
    checks = [f"assert {kind}.anon.k.__name__ == 'k'" for kind in kinds]
    finders = "sum('anonrisk' in type(finder).__module__ for finder in sys.meta_path)"
    program = [
        *("import sys, importlib", *(f"import {name}" for name in libraries), *checks),
        *("importlib.reload(anonrisk)", f"assert {finders} == 1", *checks),
    ]
    subprocess.run([sys.executable, "-c", "\n".join(program)], check=True)


def test_importing_brings_no_library_of_tables():
    libraries = {"numpy", "pandas", "polars", "narwhals", "pyspark", "pyarrow"}
    program = f"import sys, anonrisk; assert not {libraries} & {{*sys.modules}}"
    subprocess.run([sys.executable, "-c", program], check=True)


WITHOUT = {
    "explore(['a'], k=2).save('e.html')": ("jinja2 markupsafe", "report"),
    "explore(['a'], k=2, serve=True)": ("tornado", "serve"),
    "plan(['a'], k=2).to_yaml()": ("yaml", "policy"),
    "classes(['a']).plot()": ("matplotlib", "report"),
}


@pytest.mark.slow
@pytest.mark.parametrize("call", [*WITHOUT, "policy"])
def test_what_is_not_installed_is_said_with_what_installs_it(call):
    libraries, extra = WITHOUT.get(call, ("great_expectations", "gx"))
    asked = (
        f"frame.anon.{call}" if call in WITHOUT else "anonrisk.Policy(quasi='a', k=2).to_suite()"
    )
    program = f"""
import sys
sys.modules.update(dict.fromkeys({libraries.split()}))
import pandas as pd
import anonrisk
frame = pd.DataFrame({{"a": list("xxyy"), "b": list("mmff")}})
try:
    {asked}
except anonrisk.errors.AnonRiskError as error:
    assert "pip install 'anonrisk[{extra}]'" in str(error), error
else:
    raise AssertionError("it is there")
"""
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_without_polars_the_import_fails_as_ever():
    program = """
import sys, importlib.machinery as machinery
class Without(machinery.PathFinder):
    @classmethod
    def find_spec(cls, name, *args):
        return None if name == "polars" else super().find_spec(name, *args)
sys.meta_path[:] = [Without if one is machinery.PathFinder else one for one in sys.meta_path]
import anonrisk
try:
    import polars
except ModuleNotFoundError as error:
    assert error.name == "polars"
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-c", program], check=True)
