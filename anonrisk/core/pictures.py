"""How results draw themselves: one style, names that fit, no more marks than people see."""

from __future__ import annotations

import textwrap
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from anonrisk.core import render
from anonrisk.errors import ArgumentError, MissingLibraryError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

# Rows of a picture that anybody reads; what comes after them is said in words.
ROWS = 20
_NAME = 24
_LINE = 34
_SMALL = 9
_TITLE = 11
# Width of a letter, as a share of the size of its font.
_LETTER = 0.52


class Colours(NamedTuple):
    """Four colours that colour-blind people tell apart; a mark or a word goes with each."""

    bad: str
    good: str
    blue: str
    quiet: str


LIGHT = Colours("#b5410a", "#00705a", "#2468a2", "#5f6770")
DARK = Colours("#ff9257", "#4cc9a4", "#6cb2eb", "#a3abb5")


def start(ax: Axes | None, rows: int = 0) -> tuple[Axes, Colours]:
    """Return where to draw, a new figure of so many rows if nowhere was named, and its colours."""
    try:
        from matplotlib import pyplot as plt
        from matplotlib.axes import Axes as Drawn
        from matplotlib.colors import to_rgb
    except ImportError:
        message = "a picture needs matplotlib: pip install 'anonrisk[report]'"
        raise MissingLibraryError(message) from None
    if ax is None:
        height = 1.9 + 0.36 * rows if rows else 4.4
        _, ax = plt.subplots(figsize=(8, height), layout="constrained")
    if not isinstance(ax, Drawn):
        raise ArgumentError(f"ax is a matplotlib Axes, not {render.kind_name(ax)}")
    red, green, blue = to_rgb(ax.get_facecolor())
    ax.spines[["top", "right"]].set_visible(False)
    return ax, LIGHT if 0.3 * red + 0.6 * green + 0.1 * blue > 0.5 else DARK


def short(name: object, width: int = _NAME) -> str:
    """Write a name as short as a picture has room for."""
    return render.short(name, width)


def joined(names: Sequence[object], most: int = 5) -> str:
    """Write the names of a quasi-identifier, long ones shortened and many of them counted.

    Examples
    --------
    >>> joined(["zip", "age"]), joined(list("abcdefgh"))
    ('zip + age', 'a + b + c + d + 4 columns more')
    """
    shown = [short(name) for name in names]
    if len(shown) > most:
        shown[most - 1 :] = [f"{len(shown) - most + 1} columns more"]
    return " + ".join(shown)


def plain(text: str) -> str:
    """Keep matplotlib from reading formulas into a text."""
    return text.replace("$", r"\$")


def folded(text: str, width: int = _LINE, lines: int = 2) -> str:
    """Fold a text into so many lines at most; what does not fit becomes an ellipsis."""
    words = " ".join(short(word) for word in text.split())
    return plain("\n".join(textwrap.wrap(words, width, max_lines=lines, placeholder=" …")))


def titled(ax: Axes, text: str, labels: Iterable[str] = ()) -> None:
    """Put a sentence over the picture, in lines that end where it ends.

    `labels` are those beside the picture, which make it narrower.
    """
    letters = int(_inches(ax, labels) * 72 / (_TITLE * _LETTER))
    # Alone in its figure, matplotlib folds at the edge, by the true width of letters; not over an
    # axis on top, where it finds no place for what it folds.
    alone = len(ax.figure.axes) == 1 and not ax.child_axes
    text = folded(text, 4 * letters, 1) if alone else folded(text, letters, 4)
    ax.set_title(text, loc="left", fontsize=_TITLE, wrap=alone)


def _inches(ax: Axes, labels: Iterable[str]) -> float:
    """How wide the picture will be, about, once its labels have found room."""
    lines = [line for label in labels for line in label.split("\n")]
    letters = max((len(line) + sum(map(line.count, "MWmw")) for line in lines), default=0)
    whole = ax.get_window_extent().width / ax.figure.dpi
    return max(whole - max(0.0, letters * 10 * _LETTER / 72 - 0.4), 2.0)


def _beside(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def noted(ax: Axes, text: str) -> None:
    """Write under the picture what it leaves out, or rests on."""
    letters = int(_inches(ax, _beside(ax)) * 72 / (10 * _LETTER))
    ax.set_xlabel(f"{ax.get_xlabel()}\n{folded(render.shown(text), letters, 3)}".strip())


def rows(ax: Axes, labels: Sequence[str], title: str) -> None:
    """Name the rows of a picture from the top, and put its title over it."""
    ax.set_yticks(range(len(labels)), labels)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    titled(ax, title, labels)


def in_percent(axis: Axis) -> None:
    """Write the numbers along an axis as percentages."""
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1))


def beside(ax: Axes, place: float, end: float, text: str) -> None:
    """Write what a mark stands for to the right of it."""
    ax.annotate(
        plain(text),
        (end, place),
        (9, 0),
        textcoords="offset points",
        va="center",
        fontsize=_SMALL,
    )


def above(ax: Axes, place: float, end: float, text: str) -> None:
    """Write what a mark stands for over it, clear of a line that goes on from it."""
    ax.annotate(
        plain(text),
        (end, place),
        (-3, 5),
        textcoords="offset points",
        va="bottom",
        fontsize=_SMALL,
    )


def bars(
    ax: Axes,
    labels: Sequence[str],
    shares: Sequence[float],
    texts: Sequence[str],
    *,
    colours: Colours,
    marked: Collection[int] = (),
) -> None:
    """Draw a bar for each share, with its text; the marked ones are hatched as well as coloured."""
    for place, (share, text) in enumerate(zip(shares, texts, strict=True)):
        bad = place in marked
        ax.barh(
            place,
            share,
            height=0.66,
            color=colours.bad if bad else colours.blue,
            hatch="////" if bad else None,
            edgecolor=ax.get_facecolor(),
            linewidth=0,
        )
        beside(ax, place, share, text)
    with_room(ax, labels, shares, texts)


def with_room(ax: Axes, labels: Sequence[str], ends: Sequence[float], texts: Sequence[str]) -> None:
    """Let an axis of shares reach so far that the texts beside its marks lie within."""
    from matplotlib.ticker import MaxNLocator

    width = _inches(ax, labels)
    needed = [
        end / max(1 - (len(text) * _SMALL * _LETTER / 72 + 0.2) / width, 0.3)
        for end, text in zip(ends, texts, strict=True)
    ]
    most = max(ends, default=0.0) or 1.0
    ax.set_xlim(0, max(needed, default=0.0) or 1.0)
    # A share has no tick beyond the whole.
    ticks = MaxNLocator(max(2, min(6, int(width * 1.2)))).tick_values(0, most)
    ax.set_xticks([tick for tick in ticks if tick <= min(most * 1.1, 1.0)])
    in_percent(ax.xaxis)


def moves(
    ax: Axes,
    first: Sequence[float],
    last: Sequence[float],
    names: tuple[str, str],
    colours: Colours,
) -> None:
    """Draw a line for each row from one value, a ring, to another, a diamond."""
    places = range(len(first))
    ax.hlines(places, first, last, color=colours.quiet, linewidth=2, zorder=1)
    ax.plot(
        *(first, places),
        linestyle="none",
        marker="o",
        markersize=8,
        color=colours.bad,
        markerfacecolor=ax.get_facecolor(),
        markeredgewidth=2,
        clip_on=False,
        label=names[0],
    )
    ax.plot(
        *(last, places),
        linestyle="none",
        marker="D",
        markersize=7,
        color=colours.blue,
        clip_on=False,
        label=names[1],
    )
    _apart(ax)


def descent(
    ax: Axes,
    falling: Sequence[float],
    rising: Sequence[float],
    names: tuple[str, str],
    colours: Colours,
) -> None:
    """Draw two lines down the rows of a picture: what falls, with rings, what rises, diamonds.

    What rises has an axis of its own on top, on which it reaches as far as what falls.
    """
    from matplotlib.ticker import MaxNLocator

    most = max(rising) or 1.0
    scale = (max(falling) or 1.0) / most
    places, risen = range(len(falling)), [value * scale for value in rising]
    kinds = ((falling, "o", colours.bad, "--"), (risen, "D", colours.blue, "-"))
    for (values, marker, colour, line), name in zip(kinds, names, strict=True):
        ax.plot(
            *(values, places),
            linestyle=line,
            linewidth=2,
            marker=marker,
            markersize=7,
            color=colour,
            markerfacecolor=ax.get_facecolor() if marker == "o" else colour,
            markeredgewidth=2,
            clip_on=False,
            label=name,
        )
    top = ax.secondary_xaxis(
        "top", functions=(partial(np.multiply, 1 / scale), partial(np.multiply, scale))
    )
    top.set_xticks([tick for tick in MaxNLocator(4).tick_values(0, most) if tick <= most * 1.1])
    in_percent(top.xaxis)
    for axes, name, colour in ((ax, names[0], colours.bad), (top, names[1], colours.blue)):
        axes.set_xlabel(name, color=colour)
        axes.tick_params(axis="x", colors=colour)
    _apart(ax)


def _apart(ax: Axes) -> None:
    """Keep a mark at nothing, and what is written over it, off the name of its row."""
    ax.tick_params(axis="y", pad=9)


def explained(ax: Axes) -> None:
    """Put the legend under the picture and what is written there, where it hides nothing."""
    from matplotlib.transforms import ScaledTranslation

    _, names = ax.get_legend_handles_labels()
    room = _inches(ax, _beside(ax)) * 72 / (_SMALL * _LETTER)
    in_one_line = sum(len(str(name)) + 9 for name in names) <= room
    inches = 0.3 + 0.17 * (ax.get_xlabel().count("\n") + bool(ax.get_xlabel()))
    under = ScaledTranslation(0, -inches, ax.figure.dpi_scale_trans)
    ax.legend(
        loc="upper left",
        bbox_to_anchor=(0, 0),
        bbox_transform=ax.transAxes + under,
        borderaxespad=0,
        ncols=len(names) if in_one_line else 1,
        fontsize=_SMALL,
        frameon=False,
    )


def whole_numbers(axis: Axis, *, log: bool = False) -> None:
    """Write whole numbers along an axis, and no others."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    if log:
        first, last = sorted(axis.get_view_interval())
        few = last < 1_000 * max(first, 0.5)
        axis.set_major_locator(LogLocator(subs=(1, 2, 5) if few else (1,), numticks=6))
        axis.set_minor_formatter(NullFormatter())
    else:
        axis.set_major_locator(MaxNLocator(6, integer=True, min_n_ticks=1))
    axis.set_major_formatter(lambda x, _: _in_words(x) if x >= 1 or x == 0 else "")


def _in_words(number: float) -> str:
    """Write a whole number of a tick; large ones in words, lest they run into each other.

    Examples
    --------
    >>> _in_words(50_000), _in_words(2_000_000), _in_words(2_500_000), _in_words(10.0**10)
    ('50,000', '2 million', '2,500,000', '10 billion')
    """
    for size, word in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if number >= size and number % size == 0:
            return f"{number / size:,.0f} {word}"
    return f"{number:,.0f}"


def left_out(n: int, what: str) -> str:
    """Return how many rows a picture leaves out, if any.

    Examples
    --------
    >>> left_out(23, "sets"), left_out(20, "sets")
    ('the first 20 of 23 sets', '')
    """
    return f"the first {ROWS} of {n:,} {what}" if n > ROWS else ""
