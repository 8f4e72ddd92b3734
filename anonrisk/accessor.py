"""`.anon`: every public function of a table as a method, on the tables of every library.

Type checkers read `accessor.pyi`, which ``python3 dev.py stubs`` writes from the functions.
"""

from __future__ import annotations

import inspect
import sys
from functools import cache, wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic

from anonrisk import api, releases, reporting
from anonrisk.core import calls, render
from anonrisk.core.columns import FrameT, nearest, skeleton
from anonrisk.engines.held import HeldTable
from anonrisk.errors import AnonRiskError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from anonrisk.core.columns import Name


# Where each word stands. Those that need a policy, a page or a key stand a floor above `api`.
WORDS = {
    **{word: f"{api.__name__}.{word}" for word in api.WORDS},
    **{word: f"{releases.__name__}.{place}" for word, place in releases.WORDS.items()},
    **{word: f"{reporting.__name__}.{word}" for word in reporting.WORDS},
}
# Functions for few: `anonrisk.sketch(df, …)` and the like are no methods.
NOT_METHODS = (
    *("box_plot", "is_quasi_identifier", "kl_after", "linkability", "profiles", "sketch"),
    "was_perturbed",
)
METHODS = tuple(word for word in WORDS if word not in NOT_METHODS)
ON_CLASSES = ("anvc", "degree", "rr")


@cache
def function_of(word: str) -> Callable[..., Any]:
    """Load the function that a user knows by a word, with a docstring that stands on its own."""
    calls.fill(_loaded(word), _loaded)
    return _loaded(word)


def _loaded(word: str) -> Callable[..., Any]:
    function: Callable[..., Any] = getattr(import_module(WORDS[word]), word)
    return function


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return `FUNCTIONS`, all of them, to whoever wants to look at every one."""
        if name != "FUNCTIONS":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return tuple(map(function_of, WORDS))


# What other tools (ARX, sdcMicro, pycanon, Presidio) and the literature call ours, as skeletons.
_ALSO_CALLED = {
    other: ours
    for ours, others in {
        "k": "kanonymity kanon calculatek getk mink minclasssize",
        "ldiv": "ldiversity entropyldiversity recursivecldiversity distinctldiversity",
        "tcloseness": "tclose emd",
        "alpha": "alphakanonymity",
        "beta_likeness": "basicbetalikeness enhancedbetalikeness",
        "delta_disclosure": "deltadisclosureprivacy",
        "classes": "equivalenceclasses eqclasses groups groupsizes freqcalc",
        "find_qids": "findquasiidentifiers quasiidentifiers qids quasi",
        "risk": "reidentificationrisk individualrisk prosecutorrisk journalistrisk measurerisk",
        "uniqueness": "singletons uniques sampleuniques",
        "generalize": "globalrecode globalrecoding recode bin topbotcoding mask redact",
        "suppress": "localsuppression localsupp",
        "microaggregate": "microaggregation",
        "perturb": "addnoise noise pram",
        "permute": "shuffle swap rankswap",
        "pseudonymize": "hash tokenize encrypt",
        "anonrisk.Policy(quasi=[…], k=5).check(df)": "check validate gate verify policy",
        "df.anon.apply(df.anon.plan([…], k=5))": "anonymize anonymise deidentify mondrian datafly"
        " kanonymize",
        "anonrisk.Policy.draft(df)": "draft analyze analyse classify",
    }.items()
    for other in others.split()
}
# What each is asked for; a word that stands nowhere here measures, or is of a page.
_ASKED = {
    "measure": (),
    "risk": (
        *("risk", "kmap", "delta_presence", "at_risk", "suda"),
        *("trajectory", "whole_person"),
    ),
    "predict": ("predict_singletons", "predict_classes", "predict_population", "probabilistic_k"),
    "find": ("find_qids", "explain_risk"),
    "change": (
        *("plan", "apply", "utility", "generalize", "suppress", "microaggregate"),
        *("perturb", "permute", "pseudonymize"),
    ),
    "gate": ("declare", "roles"),
    "remember": ("compare", "state"),
    "see": reporting.WORDS,
}
# Names of columns that anybody reads; what comes after them is counted.
_NAMES = 20


class AnonAccessor(render.PrintedTable, Generic[FrameT]):
    """How many people in this table can be singled out; see the functions of `anonrisk`."""

    def __init__(self, frame: FrameT) -> None:
        """Keep the table; nothing is looked at before a question is asked."""
        self._frame = frame

    def _lines(self) -> list[str]:
        """Name the table and its roles, which are known without a look at its rows."""
        held = isinstance(self._frame, HeldTable)
        about = f".anon of a {render.kind_of(self._frame.frame if held else self._frame)}"
        try:
            roles = function_of("roles")(self._frame)
        except AnonRiskError as error:
            return [about, str(error)]
        about += f" with {render.count_of(len(roles.columns), 'column')}"
        if not roles:
            return [
                about,
                "no roles declared: declare(quasi=[…], sensitive=[…], unit=…) states them",
            ]
        declared: dict[str, list[Name]] = {}
        for column in roles.columns:
            declared.setdefault(roles.of(column) or "no role", []).append(column)
        return [about, *(f"{role}: {_listed(names)}" for role, names in declared.items())]

    def _header(self) -> tuple[str, ...]:
        return "to", "ask"

    def _rows(self) -> list[list[str]]:
        known = {word for words in _ASKED.values() for word in words}
        measures = [word for word in METHODS if word not in known]
        return [[what, ", ".join(words or measures)] for what, words in _ASKED.items()]

    def _notes(self) -> list[str]:
        return [
            "help(df.anon.k) explains one of them; anonrisk.Policy(…).check(df) returns a verdict"
        ]

    def __dir__(self) -> list[str]:
        """Complete to the questions only."""
        return [*METHODS]

    if not TYPE_CHECKING:

        def __getattr__(self, word: str) -> Any:
            """Explain where a word is found that is no method, or which one is nearest."""
            raise AttributeError(f".anon has no method {word!r}{instead_of(word, METHODS)}")


def instead_of(word: str, words: Collection[str]) -> str:
    """Return what to write for a word that is none of ours, as the end of a sentence.

    Examples
    --------
    >>> instead_of("k_anonymity", METHODS), instead_of("tcloesness", METHODS)
    ("; did you mean 'k'?", "; did you mean 'tcloseness'?")
    """
    ours = _ALSO_CALLED.get(skeleton(word))
    if word in NOT_METHODS:
        return f"; write anonrisk.{word}(df, …)"
    if word in ON_CLASSES:
        return f"; write df.anon.classes(…).{word}"
    if ours in words:
        return f"; did you mean {ours!r}?"
    return nearest(word, words) if ours is None else f"; write {ours}"


def _listed(names: list[Name]) -> str:
    more = [f"{len(names) - _NAMES:,} more"] if len(names) > _NAMES else []
    return ", ".join([*map(render.named, names[:_NAMES]), *more])


def anon(frame: FrameT) -> AnonAccessor[FrameT]:
    """Return what a table has as `.anon`, in a way that a type checker can follow.

    Tables that have no `.anon`, such as relations of DuckDB, have this.

    Parameters
    ----------
    frame : DataFrame
        A table of any library that the functions take.

    Returns
    -------
    AnonAccessor
        With every function of a table as a method.

    See Also
    --------
    anonrisk.classes : one of the functions that it has as methods
    anonrisk.declare : roles, so that later calls need no names

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012"]})
    >>> anonrisk.anon(df).k("zip") == df.anon.k("zip") == 1
    True
    """
    return AnonAccessor(frame)


def _bound(function: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(function)

    @wraps(function)
    def method(self: AnonAccessor[Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return function(self._frame, *args, **kwargs)
        except TypeError:
            _, *own = signature.parameters.values()
            about = signature.replace(parameters=own)
            wrong = calls.misfit(function.__name__, about, args, kwargs, function.__doc__)
            if wrong is None:
                raise
        raise TypeError(wrong)

    frame, *rest = signature.parameters.values()
    own = frame.replace(name="self", annotation=inspect.Parameter.empty)
    method.__doc__ = calls.without_first(function.__doc__)
    method.__signature__ = signature.replace(parameters=[own, *rest])  # type: ignore[attr-defined]
    return method


class _Method:
    """A word as a method: its function is loaded when somebody looks at it."""

    def __init__(self, word: str) -> None:
        self.word = word

    def __get__(self, accessor: Any, owner: Any = None) -> Any:
        method = _bound(function_of(self.word))
        setattr(AnonAccessor, self.word, method)
        return method.__get__(accessor, owner)


for _word in METHODS:
    setattr(AnonAccessor, _word, _Method(_word))


class _OnTable:
    """A descriptor that makes an accessor for each table it is looked up on."""

    def __get__(self, frame: Any, owner: Any = None) -> Any:
        return AnonAccessor if frame is None else AnonAccessor(frame)


def register() -> None:
    """Register with what is imported already at once, and with the others when they come."""
    HeldTable.anon = _OnTable()  # type: ignore[attr-defined]
    for name, put in _LIBRARIES.items():
        if name in sys.modules:
            put(sys.modules[name])
    if not any(type(finder).__name__ == _WhenImported.__name__ for finder in sys.meta_path):
        sys.meta_path.insert(0, _WhenImported())


def _on_pandas(pandas: Any) -> None:
    # A file of the user's own may have that name, too; and pandas warns when an attribute is
    # replaced, as it is when this module is loaded again.
    frame = getattr(pandas, "DataFrame", None)
    if frame is not None and getattr(frame, "anon", None) is not AnonAccessor:
        pandas.api.extensions.register_dataframe_accessor("anon")(AnonAccessor)


def _on_frames(module: Any) -> None:
    for kind in ("DataFrame", "LazyFrame"):
        if hasattr(module, kind):
            getattr(module, kind).anon = _OnTable()


def _on_pandas_on_spark(_: Any) -> None:
    extensions = import_module("pyspark.pandas.extensions")
    extensions.register_dataframe_accessor("anon")(AnonAccessor)


# In Spark 4 tables of classic and of Connect derive from one class; in 3.5 they do not.
_LIBRARIES: dict[str, Callable[[Any], None]] = {
    "pandas": _on_pandas,
    "polars": _on_frames,
    "pyspark.sql.dataframe": _on_frames,
    "pyspark.sql.connect.dataframe": _on_frames,
    "pyspark.pandas": _on_pandas_on_spark,
}


class _WhenImported:
    """Finds nothing by itself: it has a library found by others, and watches it being loaded."""

    def __init__(self) -> None:
        self.looking: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return how a library is loaded, if it is one of those."""
        put = _LIBRARIES.get(name)
        if put is None or name in self.looking:
            return None
        self.looking.add(name)
        try:
            others = (getattr(finder, "find_spec", None) for finder in sys.meta_path)
            specs = (find(name, path, target) for find in others if find is not None)
            spec = next((spec for spec in specs if spec is not None), None)
        finally:
            self.looking.discard(name)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_register(module: ModuleType) -> None:
                load(module)
                put(module)

            # Of this one loader, which Python made for this one import.
            spec.loader.exec_module = load_and_register
        return spec
