"""The ready policies, as JSON inside the package; expectations/ has them with their sources."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from anonrisk.core.arguments import is_there
from anonrisk.core.columns import nearest
from anonrisk.core.render import kind_name
from anonrisk.errors import PolicyError
from anonrisk.policy import fields

_ENDING = ".json"


def names() -> list[str]:
    """List the ready policies.

    Examples
    --------
    >>> names()
    ['cms_k11', 'hipaa_style', 'open_data', 'research_k5']
    """
    result = (entry.name for entry in resources.files(__name__).iterdir())
    return sorted(name.removesuffix(_ENDING) for name in result if name.endswith(_ENDING))


def read(name: Any) -> Any:
    """Read the document of a ready policy; an unknown name is refused with the nearest one."""
    known = names()
    if not isinstance(name, str) or name not in known:
        shown = repr(name) if isinstance(name, str) else kind_name(name)
        hint = nearest(name, known) if isinstance(name, str) else ""
        raise PolicyError(
            f"no ready policy is called {shown}{hint or '.'} There are {', '.join(known)}"
        )
    entry = resources.files(__name__).joinpath(name + _ENDING)
    return fields.from_json(entry.read_text(encoding="utf-8"))


def load(path: str | Path) -> Any:
    """Read the document of a file; where there is none, of the ready policy of that name."""
    # A name without an ending is rather one of ours than that of a file.
    if isinstance(path, str) and path.isidentifier() and not is_there(Path(path)):
        try:
            return read(path)
        except PolicyError as error:
            raise PolicyError(f"there is no file {path!r}, and {error}") from None
    return fields.from_file(path)
