"""The hook for a detector of names in texts, which others write: Presidio, or a list of names."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from anonrisk.core.render import kind_name
from anonrisk.errors import ArgumentError

Detector = Callable[[Sequence[str]], Sequence[bool]]

# Names a detector where no code of the caller runs, as module:function.
VARIABLE = "ANONRISK_NAME_DETECTOR"
_chosen: Detector | None = None


def set_name_detector(detector: Detector | None) -> None:
    """Choose what says which texts name a person, for every gate of this process.

    A gate then shows it up to 1,000 different texts of each column of texts that is not a direct
    identifier, here and not on the executors of Spark or in a database. The column blocks
    (``names``) if it says yes to a fifth of them; a detector that fails blocks, too. Where no code
    of yours runs, as on the command line, the variable ``ANONRISK_NAME_DETECTOR`` of the
    environment names it: ``module:function``.

    Parameters
    ----------
    detector : callable or None
        Takes a list of texts and returns a truth value for each; None for no detector.

    See Also
    --------
    anonrisk.Policy.check : shows it the texts

    Examples
    --------
    >>> import pandas as pd
    >>> from anonrisk.policy import Policy, set_name_detector
    >>> table = pd.DataFrame({"zip": ["1011"] * 20, "job": [f"nurse Smith {i}" for i in range(20)]})
    >>> policy = Policy(quasi="zip", sensitive="job", k=2)
    >>> set_name_detector(lambda texts: ["Smith" in text for text in texts])
    >>> policy.check(table).status
    'could_not_assess'
    >>> set_name_detector(None)
    >>> policy.check(table).status
    'pass'
    """
    global _chosen  # noqa: PLW0603 - one detector for all gates of the process
    if detector is not None and not callable(detector):
        raise ArgumentError(f"detector must be a function of texts, not {kind_name(detector)}")
    _chosen = detector


def name_detector() -> Detector | None:
    """Return the detector of this process, or the one that its environment names."""
    written = os.environ.get(VARIABLE, "")
    if _chosen is not None or not written:
        return _chosen
    module, _, function = written.partition(":")
    detector = _foreign(
        lambda: getattr(import_module(module), function),
        f"{VARIABLE} names no function that can be imported; write module:function",
    )
    if not callable(detector):
        raise ArgumentError(f"{VARIABLE} names {kind_name(detector)}, not a function")
    made: Detector = detector
    return made


def count_names(detector: Detector, texts: list[str]) -> int:
    """Count the texts that a detector takes for names, or for texts with names."""
    # It gets a list of its own: what it does to that changes nothing here.
    answers = _foreign(lambda: list(detector([*texts])), "the detector of names failed")
    if len(answers) != len(texts):
        raise ArgumentError(
            f"the detector of names answered {len(answers):,} times to {len(texts):,} texts"
        )
    n: int = _foreign(lambda: sum(map(bool, answers)), "the detector of names failed")
    return n


def _foreign(call: Callable[[], Any], failed: str) -> Any:
    """Run code of somebody else: whatever it raises, also to end the program, is an error here."""
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001
        raise ArgumentError(f"{failed} ({type(error).__name__})") from None
