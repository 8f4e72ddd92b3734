"""Arrays of Arrow as they lie in memory and in files: what stands in them that no row has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from anonrisk.engines.reading import metadata

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_LISTS = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_map,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)
_VIEW = np.dtype([("length", "<i4"), ("begin", "<i4"), ("buffer", "<i4"), ("offset", "<i4")])
# Shorter texts stand in the view itself.
INSIDE = 12
# What libraries put where a number is missing: nothing, pandas 1, a category -1, NaT the least.
_FILLS = (0, 1, -1, np.iinfo(np.int64).min)


def is_list(kind: Any) -> bool:
    """Return whether the cells of a type are lists, maps among them."""
    return any(test(kind) for test in _LISTS)


def is_text(kind: Any) -> bool:
    """Return whether a type is text or bytes of any length."""
    tests = (
        *(pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
        *(pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view),
    )
    return any(test(kind) for test in tests)


def is_view(kind: Any) -> bool:
    """Return whether a type is text that lies elsewhere, as Polars has it."""
    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def leaves(array: Any) -> Iterator[Any]:
    """Yield the arrays inside an array that are not nested, of the rows that there are."""
    if isinstance(array, pa.ExtensionArray):
        yield from leaves(array.storage)
    elif pa.types.is_struct(array.type):
        for child in array.flatten():
            yield from leaves(child)
    elif is_list(array.type):
        yield from leaves(_as_list(array).flatten())
    elif pa.types.is_union(array.type):
        for i in range(array.type.num_fields):
            yield from leaves(array.field(i))
    elif pa.types.is_run_end_encoded(array.type):
        yield from leaves(array.values)
    else:
        yield array


def hidden_in(array: Any) -> int:
    """Count the values that stand in an array where a cell is missing, or that no cell points to.

    Arrow leaves them where somebody takes cells away, and a file of Arrow is a copy of its memory.
    """
    if isinstance(array, pa.ExtensionArray):
        return hidden_in(array.storage)
    if pa.types.is_struct(array.type) or is_list(array.type):
        return _hidden_inside(array)
    if hasattr(array, "dictionary"):
        return _under_missing(array.indices) + hidden_in(array.dictionary)
    if is_text(array.type):
        return _beside_views(array) if is_view(array.type) else _beside_texts(array)
    return _under_missing(array)


def _hidden_inside(array: Any) -> int:
    """Count the same in nested cells, and what stands inside where the outer cell is missing."""
    if pa.types.is_struct(array.type):
        bare = [array.field(i) for i in range(array.type.num_fields)]
        covered = [
            len(item) - item.null_count - (len(seen) - seen.null_count)
            for item, seen in zip(bare, array.flatten(), strict=True)
        ]
        return int(sum(covered)) + sum(map(hidden_in, bare))
    inside = (lists := _as_list(array)).flatten()
    # Lists of one length have room for their cells also where they are missing.
    room = 0 if pa.types.is_fixed_size_list(array.type) else len(lists.values) - len(inside)
    # What is cut out of texts keeps the text of all of them.
    return room if room > 0 else hidden_in(inside)


def _under_missing(array: Any) -> int:
    """Count the missing cells of one width whose place is not empty."""
    if not array.null_count or pa.types.is_null(array.type) or pa.types.is_nested(array.type):
        return 0
    missing = array.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_boolean(array.type):
        buffers = [None, array.buffers()[1]]
        bare = pa.Array.from_buffers(array.type, len(array), buffers, offset=array.offset)
        return int((bare.to_numpy(zero_copy_only=False) & missing).sum())
    width = array.type.bit_width // 8
    every = np.frombuffer(array.buffers()[1], np.uint8)
    cells = every[array.offset * width : (array.offset + len(array)) * width]
    under = cells.reshape(len(array), width)[missing]
    return int((~_is_fill(under, array.type)).sum())


def _is_fill(under: Any, kind: Any) -> Any:
    """Return for the bytes of each cell whether libraries put them where one is missing."""
    fill = ~under.any(axis=1)
    if pa.types.is_floating(kind):
        fill |= np.isnan(np.ascontiguousarray(under).view(kind.to_pandas_dtype())[:, 0])
    elif under.shape[1] in (1, 2, 4, 8):
        numbers = np.ascontiguousarray(under).view(f"<i{under.shape[1]}")[:, 0]
        fill |= np.isin(numbers, _FILLS)
    return fill


def _beside_texts(array: Any) -> int:
    """Count missing texts that are still there; other text that no cell points to counts as one."""
    missing = 0
    _, offsets, text = array.buffers()
    if array.null_count:
        bare = pa.Array.from_buffers(
            array.type, len(array), [None, offsets, text], offset=array.offset
        )
        lengths = pc.binary_length(bare.filter(array.is_null()))
        missing = int(pc.sum(pc.greater(lengths, 0)).as_py() or 0)
    seen = pc.sum(pc.binary_length(array)).as_py() or 0
    return missing or int(text is not None and text.size > seen)


def _beside_views(array: Any) -> int:
    """Count the same where texts lie elsewhere, and several cells may point to one."""
    buffers = array.buffers()
    views = np.frombuffer(buffers[1], _VIEW)[array.offset : array.offset + len(array)]
    missing = array.is_null().to_numpy(zero_copy_only=False)
    hidden = int((views["length"][missing] > 0).sum())
    far = np.unique(views[~missing & (views["length"] > INSIDE)])
    room = sum(buffer.size for buffer in buffers[2:])
    return hidden or int(room > int(far["length"].sum()))


# ---- rewritten ----------------------------------------------------------------------------------


def gather(array: Any, lists: dict[str, Any], path: str = "") -> None:
    """Add what the rows of an array have of each dictionary inside it, in its order.

    `lists` has the values of each dictionary by its place, and grows.
    """
    if isinstance(array, pa.ChunkedArray):
        for chunk in array.chunks:
            gather(chunk, lists, path)
    elif hasattr(array, "dictionary"):
        places = array.indices.unique().drop_null()
        values = without_views(array.dictionary).take(places.take(pc.sort_indices(places)))
        known = lists.get(path, values)
        lists[path] = pa.concat_arrays([known, values]).unique().drop_null()
    else:
        for i, inner in enumerate(_inside(array)):
            gather(inner, lists, f"{path}/{i}")


def fresh(array: Any, lists: Mapping[str, Any], path: str = "") -> Any:
    """Return an array of the same cells and type, but for `fresh_type`, that holds nothing else.

    Its dictionaries list what `lists` has for them, see `gather`.
    """
    kind = fresh_type(array.type)
    if isinstance(array, pa.ExtensionArray) and not isinstance(kind, pa.BaseExtensionType):
        return fresh(array.storage, lists, f"{path}/0")
    if isinstance(array, pa.ChunkedArray):
        return pa.chunked_array([fresh(chunk, lists, path) for chunk in array.chunks], kind)
    if hasattr(array, "dictionary"):
        values = lists[path]
        places = pc.index_in(without_views(array.dictionary), value_set=values).take(array.indices)
        listed = values.cast(kind.value_type)
        return pa.DictionaryArray.from_arrays(
            places.cast(kind.index_type), listed, ordered=kind.ordered
        )
    inner = [fresh(item, lists, f"{path}/{i}") for i, item in enumerate(_inside(array))]
    if inner:
        return _around(array, inner)
    if pa.types.is_nested(kind) and kind.num_fields and not pa.types.is_fixed_size_list(kind):
        raise pa.ArrowNotImplementedError
    # What is taken out is written anew: nothing where a cell is missing.
    return without_views(array).take(pa.array(np.arange(len(array))))


def _around(array: Any, inner: list[Any]) -> Any:
    """Return a nested array like this one around other cells."""
    kind = fresh_type(array.type)
    if isinstance(array, pa.ExtensionArray):
        return pa.ExtensionArray.from_storage(kind, inner[0])
    if pa.types.is_struct(kind):
        missing = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(inner, fields=list(kind), mask=missing)
    return _list_of(array, inner[0])


def fresh_field(field: Any) -> Any:
    """Return a field with known metadata alone."""
    made = field.with_type(fresh_type(field.type))
    return made.with_metadata(metadata.kept(field.metadata) or None)


def fresh_type(kind: Any) -> Any:
    """Return a type with known metadata alone, and texts as such: not all versions write views."""
    if not metadata.is_known(kind):
        return fresh_type(kind.storage_type)
    if pa.types.is_struct(kind):
        return pa.struct(map(fresh_field, kind))
    if pa.types.is_map(kind):
        return pa.map_(fresh_field(kind.key_field), fresh_field(kind.item_field), kind.keys_sorted)
    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, fresh_type(kind.value_type), kind.ordered)
    for test, make in (
        (pa.types.is_list, lambda: pa.list_(fresh_field(kind.value_field))),
        (pa.types.is_large_list, lambda: pa.large_list(fresh_field(kind.value_field))),
        (
            pa.types.is_fixed_size_list,
            lambda: pa.list_(fresh_field(kind.value_field), kind.list_size),
        ),
        (pa.types.is_string_view, pa.large_string),
        (pa.types.is_binary_view, pa.large_binary),
    ):
        if test(kind):
            return make()
    return kind


def _inside(array: Any) -> list[Any]:
    """List the arrays inside a nested one, of the rows that there are."""
    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return [array.storage]
    if pa.types.is_struct(kind):
        return list(array.flatten())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind):
        return [_as_list(array).flatten()]
    return []


def _as_list(array: Any) -> Any:
    """Return a map as the list of its entries; lists as they are."""
    kind = array.type
    if not pa.types.is_map(kind):
        return array
    entries = pa.struct([kind.key_field, kind.item_field])
    pairs = pa.StructArray.from_arrays([array.keys, array.items], fields=list(entries))
    buffers, named = array.buffers()[:2], pa.list_(pa.field("entries", entries, nullable=False))
    return pa.Array.from_buffers(named, len(array), buffers, offset=array.offset, children=[pairs])


def _list_of(array: Any, values: Any) -> Any:
    """Return a list, or a map, of the same lengths with these values."""
    kind = fresh_type(array.type)
    width = pa.int64() if pa.types.is_large_list(kind) else pa.int32()
    lengths = np.diff(array.offsets.to_numpy())
    missing = array.is_null() if array.null_count else None
    if missing is not None:
        lengths = np.where(missing.to_numpy(zero_copy_only=False), 0, lengths)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), width)
    if pa.types.is_map(kind):
        keys, items = values.flatten()
        return pa.MapArray.from_arrays(offsets, keys, items, type=kind, mask=missing)
    made = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
    return made.from_arrays(offsets, values, type=kind, mask=missing)


def without_views(array: Any) -> Any:
    """Return texts that lie elsewhere as such that do not: hardly anything takes the others."""
    return array.cast(fresh_type(array.type)) if is_view(array.type) else array
