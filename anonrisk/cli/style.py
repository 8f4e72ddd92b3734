"""Colours on a terminal, where rich is installed; the words are the same without."""

from __future__ import annotations


def show(text: str) -> bool:
    """Print a result in colours; tell whether that could be done."""
    try:
        from rich.console import Console
        from rich.highlighter import RegexHighlighter
        from rich.theme import Theme
    except ImportError:
        return False

    class Words(RegexHighlighter):
        base_style = "anonrisk."
        highlights = [  # noqa: RUF012
            r"(?m)(?P<good>^ *pass\b)",
            r"(?m)(?P<bad>^ *FAIL\b)",
            r"(?m)(?P<doubt>^ *(COULD NOT ASSESS|\?|warn)(?=[ :]))",
            r"(?m)(?P<told>^- .*$(?:\n  .*$)*)",
        ]

    theme = Theme(
        {
            "anonrisk.good": "green",
            "anonrisk.bad": "bold red",
            "anonrisk.doubt": "yellow",
            "anonrisk.told": "italic",
        }
    )
    console = Console(theme=theme, highlighter=Words())
    # As it is: results fit a terminal already, and a table that is folded cannot be read.
    console.print(text, markup=False, emoji=False, soft_wrap=True)
    return True
