"""Frozen dataclasses, of which only `__init__` is compiled.

The library of Python compiles six functions for each, which was half of the time until a first
answer. What a class is asked is the same: `fields`, `replace`, `asdict`, equality, hash and errors.
"""

from __future__ import annotations

import sys
from dataclasses import MISSING, FrozenInstanceError, fields
from functools import partial
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from dataclasses import Field, dataclass

    __all__ = ["dataclass"]
else:
    import dataclasses

    def dataclass(cls: Any = None, /, *, frozen: bool = False, **options: bool) -> Any:
        """Make a dataclass; the options are those of the library."""
        if cls is None:
            return partial(dataclass, frozen=frozen, **options)
        return _frozen(cls, **options) if frozen else dataclasses.dataclass(cls, **options)

    def _frozen(
        cls: type,
        *,
        init: bool = True,
        eq: bool = True,
        repr: bool = True,  # noqa: A002
        kw_only: bool = False,
    ) -> type:
        own = {name for name, value in vars(cls).items() if value is not None}
        dataclasses.dataclass(cls, init=False, eq=False, repr=False, kw_only=kw_only)
        made = _unchangeable(cls)
        if eq:
            made |= _equality(fields(cls))
        if repr:
            made["__repr__"] = recursive_repr()(_written)
        if init and "__init__" not in own:
            made["__init__"] = _initializer(cls)
        for name in made.keys() - own:
            function = made[name]
            function.__qualname__ = f"{cls.__qualname__}.{name}"
            setattr(cls, name, function)
        return cls


class _Factory:
    """What stands for a default that is made anew."""

    def __repr__(self) -> str:
        return "<factory>"


def _initializer(cls: type) -> Callable[..., None]:
    """Compile what sets every field."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_factory": _Factory()}
    positional, named, lines = ["self"], ["*"], []
    for field in fields(cls):
        name, value = field.name, field.name
        parameter = name
        if field.default is not MISSING:
            known[f"_default_{name}"] = field.default
            parameter = f"{name}=_default_{name}"
        elif field.default_factory is not MISSING:
            known[f"_make_{name}"] = field.default_factory
            parameter = f"{name}=_factory"
            value = f"_make_{name}()" + (
                f" if {name} is _factory else {name}" if field.init else ""
            )
        if field.init:
            (named if field.kw_only else positional).append(parameter)
        if field.init or field.default_factory is not MISSING:
            lines.append(f"_set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join(positional + (named if len(named) > 1 else []))
    body = "\n  ".join(lines or ["pass"])
    text = (
        f"def make({', '.join(known)}):\n def __init__({parameters}):\n  {body}\n return __init__"
    )
    made: dict[str, Any] = {}
    # The module's own names, by which the annotations can be read.
    exec(text, getattr(sys.modules.get(cls.__module__), "__dict__", {}), made)  # noqa: S102
    result: Callable[..., None] = made["make"](**known)
    result.__annotations__ = {field.name: field.type for field in fields(cls) if field.init}
    result.__annotations__["return"] = None
    return result


def _equality(own_fields: Iterable[Field[Any]]) -> dict[str, Callable[..., Any]]:
    compared = _values(field.name for field in own_fields if field.compare)
    hashed = _values(f.name for f in own_fields if (f.compare if f.hash is None else f.hash))

    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807
        same = other.__class__ is self.__class__
        return compared(self) == compared(other) if same else NotImplemented

    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(hashed(self))

    return {"__eq__": __eq__, "__hash__": __hash__}


def _values(names: Iterable[str]) -> Callable[[Any], tuple[Any, ...]]:
    names = tuple(names)
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _unchangeable(cls: Any) -> dict[str, Callable[..., None]]:
    def __setattr__(self: Any, name: str, value: object) -> None:  # noqa: N807
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:  # noqa: N807
        if type(self) is cls or name in cls.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}


def _written(self: Any) -> str:
    shown = (f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"
