"""Enough of dbt's Jinja to write the SQL of generic tests, without dbt: for tests by day.

`tests/test_dbt.py` runs dbt itself by night, and compares.
"""

from __future__ import annotations

import re
from types import SimpleNamespace

from jinja2 import Environment


class CompilerError(Exception):
    """What `exceptions.raise_compiler_error` raises."""


class Returned(Exception):  # noqa: N818
    """How `return` leaves a macro, as in dbt."""


class Project:
    """Macros and tests of some files, and a database that says which columns a table has."""

    def __init__(self, files, adapter, columns, **config):
        self.logged, self.macros = [], {}
        text = "".join(text for path, text in files.items() if path.endswith(".sql"))
        text = re.sub(r"{% test (\w+)\(model\) %}", r"{% macro test_\1(model) %}", text)
        text = text.replace("{% endtest %}", "{% endmacro %}")
        self.tests = re.findall(r"macro test_(\w+)\(", text)
        environment = Environment(extensions=["jinja2.ext.do"], autoescape=False)
        environment.globals |= {
            "execute": True,
            "return": self._return,
            "config": _Config(config),
            "log": lambda text, info: self.logged.append(text),
            "exceptions": SimpleNamespace(raise_compiler_error=self._raise),
            "adapter": SimpleNamespace(
                type=lambda: adapter, get_columns_in_relation=lambda _: columns
            ),
        }
        # A template each, so that one macro calls another through `_calling`, which `return` needs.
        for macro in re.findall(r"{% macro .*?{% endmacro %}", text, re.DOTALL):
            name = re.match(r"{% macro (\w+)", macro)[1]
            self.macros[name] = getattr(environment.from_string(macro).module, name)
            environment.globals[name] = self._calling(name)

    def sql(self, test, model):
        """Write the SQL of a test."""
        return str(self.macros[f"test_{test}"](model))

    def _calling(self, name):
        def call(*arguments):
            try:
                return self.macros[name](*arguments)
            except Returned as returned:
                return returned.args[0]

        return call

    @staticmethod
    def _return(value):
        raise Returned(value)

    @staticmethod
    def _raise(message):
        raise CompilerError(message)


class _Config:
    """The configuration of a test: its own, unless somebody's file says otherwise."""

    def __init__(self, more):
        self.more, self.own = more, {}

    def __call__(self, **own):
        self.own = own
        return ""

    def get(self, key):
        return {**self.own, **self.more}.get(key)
