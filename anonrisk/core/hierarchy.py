"""Generalisation hierarchies: a tree over the values of a column."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import kind_name
from anonrisk.errors import HierarchyError

# What a column is generalised to has names that people know; a deeper tree is something else.
_MOST_LEVELS = 100
# A node is the path of labels from the root down to it, so that two may share a label.
Node = tuple[str, ...]


@dataclass(frozen=True)
class Hierarchy:
    """A tree whose leaves are the values of a column, as text.

    Attributes
    ----------
    leaves : dict of str to node
        Where each value hangs.
    heights : dict of node to int
        Longest way down from each node to a leaf (T7).
    """

    leaves: dict[str, Node]
    heights: dict[Node, int]

    @classmethod
    def of(cls, value: Any) -> Hierarchy:
        """Read a nested dict, a table of levels, or a CSV file in the layout of ARX.

        Parameters
        ----------
        value : dict, DataFrame, list of rows, str or Path
            A dict of one root, whose nodes are dicts and whose leaves are lists; a table with a
            row per value and a column per level, from the value itself up to one common value; or
            the path of such a table as text separated by semicolons, without a header.

        Examples
        --------
        >>> tree = Hierarchy.of({"any": {"cold": ["flu", "cough"], "heart": ["stroke"]}})
        >>> sorted(tree.leaves), tree.height
        (['cough', 'flu', 'stroke'], 2)
        >>> rows = [["flu", "cold", "any"], ["cough", "cold", "any"], ["stroke", "heart", "any"]]
        >>> Hierarchy.of(rows) == tree
        True
        """
        if isinstance(value, Hierarchy):
            return value
        if isinstance(value, Mapping):
            return _from_paths(_paths_of(value))
        if isinstance(value, (str, Path)):
            return _from_levels(_read(Path(value)))
        if hasattr(value, "itertuples"):
            return _from_levels(list(row) for row in value.itertuples(index=False))
        if isinstance(value, Iterable) and not isinstance(value, bytes):
            rows = list(value)
            if all(isinstance(row, (list, tuple)) and row for row in rows):
                return _from_levels(list(row) for row in rows)
        raise HierarchyError("a hierarchy is a nested dict, a table of levels or the path of one")

    @property
    def height(self) -> int:
        """Number of levels above the values."""
        return max(self.heights.values())

    def group(self, leaf: str, level: int) -> Node:
        """Find the largest subtree of height at most `level` that holds a value."""
        node = self.leaves[leaf]
        while len(node) > 1 and self.heights[node[:-1]] <= level:
            node = node[:-1]
        return node

    def levels(self) -> list[dict[str, int]]:
        """Number the groups of each level below the root: value to group."""
        numbered = []
        for level in range(self.height):
            groups = {leaf: self.group(leaf, level) for leaf in self.leaves}
            numbers = {node: i for i, node in enumerate(dict.fromkeys(groups.values()))}
            numbered.append({leaf: numbers[node] for leaf, node in groups.items()})
        return numbered


def text_of(value: Any) -> str:
    """Write a value as a hierarchy knows it, the same on every engine."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    return str(value)


def _read(path: Path) -> list[list[str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = [row for row in csv.reader(file, delimiter=";") if row]
    except (OSError, ValueError, csv.Error):
        raise HierarchyError(
            f"cannot read a hierarchy from {str(path)!r}: it is a text file with a row for each "
            "value, from the value up to one common one, separated by ;"
        ) from None
    return rows


def _from_levels(rows: Iterable[list[Any]]) -> Hierarchy:
    """Read rows from the value up to the top; a label repeated on the next level is one node."""
    table = [[_label(cell) for cell in row] for row in rows]
    if not table:
        raise HierarchyError("the hierarchy is empty")
    if len({len(row) for row in table}) > 1:
        raise HierarchyError("the rows of a hierarchy must have the same number of levels")
    if len({row[-1] for row in table}) > 1:
        raise HierarchyError("the top level of a hierarchy must be one value")
    for level in range(len(table[0]) - 1):
        above = {row[level]: row[level + 1] for row in table}
        if any(above[row[level]] != row[level + 1] for row in table):
            raise HierarchyError(f"not a tree: a value of level {level} has two parents")
    return _from_paths(
        tuple(label for i, label in enumerate(top) if i == 0 or label != top[i - 1])
        for top in (row[::-1] for row in table)
    )


def _paths_of(tree: Mapping[Any, Any]) -> Iterable[Node]:
    if len(tree) != 1:
        raise HierarchyError("the top level of a hierarchy must be one value")
    # With each node the dicts above it, by which one that holds itself is known.
    stack: list[tuple[Node, Any, frozenset[int]]] = [
        ((_label(root),), below, frozenset([id(tree)])) for root, below in tree.items()
    ]
    while stack:
        node, below, above = stack.pop()
        if id(below) in above:
            raise HierarchyError("not a tree: a node of the hierarchy hangs below itself")
        if below is None or (hasattr(below, "__len__") and not len(below)):
            yield node
        elif isinstance(below, Mapping):
            inside = above | {id(below)}
            stack += [((*node, _label(label)), under, inside) for label, under in below.items()]
        elif isinstance(below, str) or not isinstance(below, Iterable):
            raise HierarchyError(
                "below a node of a hierarchy there must be a dict of nodes or a list of values"
            )
        else:
            stack += [((*node, _label(label)), None, above) for label in below]


def _label(value: Any) -> str:
    """Write a label; a missing value names no node."""
    nan = isinstance(value, (float, np.floating)) and np.isnan(value)
    if value is None or nan or type(value).__name__ in ("NAType", "NaTType"):
        raise HierarchyError("a node of the hierarchy is missing: None or NaN is not a label")
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        raise HierarchyError(f"a label of a hierarchy is one value, not {kind_name(value)}")
    return text_of(value)


def _from_paths(paths: Iterable[Node]) -> Hierarchy:
    leaves: dict[str, Node] = {}
    heights: dict[Node, int] = {}
    for path in paths:
        if len(path) > _MOST_LEVELS:
            raise HierarchyError(f"a hierarchy has at most {_MOST_LEVELS} levels")
        if leaves.setdefault(path[-1], path) != path:
            raise HierarchyError("not a tree: a value hangs in two places")
        for up in range(len(path)):
            node = path[: len(path) - up]
            heights[node] = max(heights.get(node, 0), up)
    if any(heights[path] for path in leaves.values()):
        raise HierarchyError("a value of the hierarchy is also a node above others")
    return Hierarchy(leaves, heights)
