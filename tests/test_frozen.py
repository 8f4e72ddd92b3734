"""Frozen dataclasses of our own are those of Python."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field
from functools import partial

import pytest

from anonrisk.core import frozen

MAKERS = (frozen.dataclass, dataclasses.dataclass)


def family(make):
    @make(frozen=True)
    class Base:
        """A base."""

        a: int
        b: float = 1.5
        c: list[int] = field(default_factory=list)

    @make(frozen=True, kw_only=True)
    class Named(Base):
        """More fields, by name."""

        d: str
        e: int = field(default=7, compare=False)
        f: int = field(default=8, hash=False, repr=False)
        g: list[int] = field(init=False, compare=False, default_factory=lambda: [1])
        h: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "h", self.a + 1)

    @make(frozen=True, eq=False, repr=False)
    class Own(Base):
        """Functions of its own."""

        def __repr__(self) -> str:
            return "own"

    @make(frozen=True)
    class Set(Base):
        """An initializer, an equality and a hash of its own."""

        def __init__(self) -> None:
            object.__setattr__(self, "a", 4)

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 5

    @make(frozen=True)
    class Empty:
        """Nothing."""

    return Base, Named, Own, Set, Empty


def outcome(what):
    """Return what a function does: its result in words, or its error."""
    try:
        return repr(what())
    except (AttributeError, TypeError, ValueError) as error:
        return type(error).__name__, str(error)


def changed(self, **kinds):
    for name, value in kinds.items():
        setattr(self, name, value)


ASKED = {
    "signatures": lambda *classes: [inspect.signature(cls) for cls in classes],
    "annotations": lambda base, *_: base.__init__.__annotations__,
    "names": lambda *classes: [cls.__init__.__qualname__ for cls in classes],
    "match": lambda *classes: [cls.__match_args__ for cls in classes],
    "written": lambda base, named, own, *_: [base(1), named(1, d="x"), own(2)],
    "too few": lambda base, *_: base(),
    "too many": lambda base, *_: base(1, 2, 3, 4),
    "not by name": lambda _, named, *__: named(1, 2.0, [], "x"),
    "equal": lambda base, *_: [base(1) == base(1), base(1) == base(2), base(1) == 1],
    "of another kind": lambda base, _, own, *__: [base(1) == own(1), own(1) == own(1)],
    "not compared": lambda _, named, *__: named(1, d="x", e=1) == named(1, d="x", e=2),
    "hash": lambda base, *_: hash(base(1, 2.0, ())) == hash((1, 2.0, ())),
    "not hashed": lambda _, named, *__: hash(named(1, c=(), d="x", f=[])),
    "no hash": lambda base, *_: hash(base(1)),
    "own": lambda *classes: [classes[3]().a, classes[3]() == 1, hash(classes[3]())],
    "empty": lambda *classes: [classes[4](), classes[4]() == classes[4](), hash(classes[4]())],
    "factory": lambda base, *_: base(1).c is base(1).c,
    "set": lambda base, *_: changed(base(1), a=2),
    "set something": lambda base, *_: changed(base(1), z=2),
    "delete": lambda base, *_: delattr(base(1), "a"),
    "subclass": lambda base, *_: changed(type("Sub", (base,), {})(1), z=2),
    "set of subclass": lambda base, *_: changed(type("Sub", (base,), {})(1), a=2),
    "replace": lambda _, named, *__: dataclasses.replace(named(1, d="x"), a=3),
    "replace none": lambda _, named, *__: dataclasses.replace(named(1, d="x"), h=3),
    "plain": lambda _, named, *__: dataclasses.asdict(named(1, d="x")),
    "fields": lambda _, named, *__: [item.name for item in dataclasses.fields(named)],
    "copy": lambda _, named, *__: copy.deepcopy(named(1, d="x")),
    "documented": lambda *classes: [cls.__doc__ for cls in classes],
}


@pytest.mark.parametrize("asked", ASKED)
def test_a_class_does_what_pythons_own_does(asked):
    ours, theirs = (outcome(partial(ASKED[asked], *family(make))) for make in MAKERS)
    assert ours == theirs


@frozen.dataclass(frozen=True)
class Loop:
    """May hold itself."""

    held: list[object]


def test_what_holds_itself_is_written():
    held = []
    held.append(Loop(held))
    assert repr(held[0]) == "Loop(held=[...])"


def test_a_class_of_a_module_is_pickled():
    assert pickle.loads(pickle.dumps(Loop([1]))) == Loop([1])


def test_what_is_not_frozen_is_made_by_python():
    @frozen.dataclass
    class Changing:
        a: int

    made = Changing(1)
    made.a = 2
    assert made == Changing(2)
