"""Plain values as text that programs read: YAML and JSON."""

from __future__ import annotations

from typing import Any

from anonrisk.render import escaped

# What build servers look for in a line; see `anonrisk.render.shown`.
_COMMANDS = ("::", "##")


def to_yaml(document: Any, **style: Any) -> str:
    r"""Write plain values as YAML, in the order given (needs PyYAML).

    Letters stay as they are, unless one of them is not printable: a terminal may obey it. A text
    that a build server may obey keeps to its line.

    Examples
    --------
    >>> print(to_yaml({"name": "né"}), to_yaml({"name": chr(0x202E)}), sep="")
    name: né
    name: "\u202E"
    """
    import yaml

    class Dumper(yaml.SafeDumper):
        """PyYAML's safe dumper, which breaks a line where a text has a line break."""

    def written(dumper: Any, text: str) -> Any:
        plain = text.isprintable() and not any(sign in text for sign in _COMMANDS)
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=None if plain else '"')

    Dumper.add_representer(str, written)
    about = {"Dumper": Dumper, "sort_keys": False, **style}
    text: str = yaml.dump(document, allow_unicode=True, **about)
    if text != escaped(text, but="\n"):
        text = yaml.dump(document, allow_unicode=False, **about)
    return text
