"""Performs a command: whatever happens, an exit code, and no traceback that may quote a cell."""

from __future__ import annotations

import json
import os
import sys
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.cli import output
from anonrisk.cli.output import CODES, RESULTS, Outcome
from anonrisk.core.render import escaped, escaped_json, fitted, shown
from anonrisk.engines.reading.files import without_values
from anonrisk.errors import (
    AnonRiskError,
    ArgumentError,
    MissingLibraryError,
    StoppedWarning,
    UnwritableTableError,
)
from anonrisk.policy.finding import COULD_NOT_ASSESS

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from anonrisk.cli.source import Source


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


_OF_THE_SYSTEM = (("/", "dev"), ("/", "proc"))


def perform(run: Callable[[Any, Source], Outcome], args: argparse.Namespace, source: Source) -> int:
    """Run a command and deliver what it has to say; give the exit code."""
    try:
        output.refuse_overwriting(args)
    except ArgumentError as error:
        print_error(f"wrong usage: {error}")
        return CODES["wrong_usage"]
    except OSError as error:
        print_error(f"wrong usage: a path cannot be used: {error.strerror}")
        return CODES["wrong_usage"]
    delivered = False
    code = CODES[COULD_NOT_ASSESS]
    try:
        delivered, code = _perform(run, args, source)
    finally:
        if not delivered:
            _clear_results(args, source)
    return code


def _perform(
    run: Callable[[Any, Source], Outcome], args: argparse.Namespace, source: Source
) -> tuple[bool, int]:
    """Run a command and deliver its result; tell whether that could be done, and the exit code."""
    try:
        with source.open():
            _not_finished(args, source)
            outcome = _attempt(run, args, source)
            return True, _deliver(outcome, args, source)
    except KeyboardInterrupt:
        print_error("interrupted")
        return False, CODES[COULD_NOT_ASSESS]
    except BrokenPipeError:
        _silence_stdout()
        print_error("could not assess: whoever reads the output has closed it")
    except MissingLibraryError as error:
        print_error(f"wrong usage: {error}")
        return False, CODES["wrong_usage"]
    except AnonRiskError as error:
        print_error(f"could not assess: {error}")
    except OSError as error:
        _silence_stdout()
        print_error(f"could not assess: the result cannot be written: {error.strerror}")
    except Exception as error:
        if getattr(args, "traceback", False):
            raise
        print_error(f"could not assess: {_unexpected(error)}")
    return False, CODES[COULD_NOT_ASSESS]


def print_error(message: str) -> None:
    """Write a message of one line to standard error, which may be closed."""
    if sys.stderr is None:
        return
    try:
        text = f"anonrisk: {shown(message)}"
        # Programs that read it expect one line.
        print(fitted(text) if sys.stderr.isatty() else text, file=sys.stderr, flush=True)
    except (OSError, ValueError):
        return


def _attempt(
    run: Callable[[Any, Source], Outcome], args: argparse.Namespace, source: Source
) -> Outcome:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            outcome = run(args, source)
        except (ArgumentError, MissingLibraryError) as error:
            outcome = Outcome.refused("wrong_usage", str(error))
        except AnonRiskError as error:
            outcome = Outcome.refused(COULD_NOT_ASSESS, str(error))
        except Exception as error:
            if getattr(args, "traceback", False):
                raise
            outcome = Outcome.refused(COULD_NOT_ASSESS, _unexpected(error))
    for warning in caught:
        # Warnings of other libraries are for their users, and may quote a cell.
        if warning.category.__module__.startswith("anonrisk."):
            print_error(f"note: {warning.message}")
    if any(issubclass(warning.category, StoppedWarning) for warning in caught):
        return replace(outcome, code=CODES[COULD_NOT_ASSESS])
    return outcome


def _unexpected(error: Exception) -> str:
    return (
        f"it failed unexpectedly ({type(error).__name__}); the message is withheld because it may "
        "quote a cell, and --traceback shows it"
    )


def _deliver(outcome: Outcome, args: argparse.Namespace, source: Source) -> int:
    """Write the files first: a program that waits for the output may look for them."""
    if outcome.message:
        print_error(outcome.message)
    written = _write_results(outcome, args, source)
    for option, path in _files(args, "output"):
        if not outcome.message or option in _replaced(args):
            print_error(f"Wrote {without_values(path)}")
        elif Path(path).exists():
            print_error(f"{without_values(path)} stays as it was")
    if sys.stdout is None:
        raise BrokenPipeError
    if args.json:
        # Other encodings than UTF-8 may lack a letter.
        utf8 = (sys.stdout.encoding or "").casefold().replace("-", "") == "utf8"
        _print(written if utf8 else _json(outcome, ascii_alone=True))
    elif outcome.text:
        _print(outcome.text, styled=sys.stdout.isatty())
    return outcome.code


def _json(outcome: Outcome, *, ascii_alone: bool) -> str:
    return escaped_json(
        json.dumps(outcome.document, indent=2, ensure_ascii=ascii_alone, allow_nan=False)
    )


def _not_finished(args: argparse.Namespace, source: Source) -> None:
    """Replace results of an earlier run: whatever kills this one, they are not taken for its own.

    What goes to a stream would be read as a result.
    """
    for option, _ in _files(args, *_replaced(args)):
        _write_not_finished(args, source, option)


def _replaced(args: argparse.Namespace) -> tuple[str, ...]:
    """List the results that a failure replaces: a stored plan stays until there is another one."""
    return tuple(option for option in RESULTS if option != getattr(args, "kept", None))


def _write_not_finished(args: argparse.Namespace, source: Source, option: str) -> None:
    outcome = Outcome.not_finished(getattr(args, "fail_on", None))
    _write_results(outcome, args, source, option)


def _clear_results(args: argparse.Namespace, source: Source) -> None:
    """Leave no result of a run that could not deliver all of it, nor of an earlier one."""
    for option, path in _files(args, *_replaced(args)):
        try:
            _write_not_finished(args, source, option)
        except (Exception, KeyboardInterrupt):  # noqa: BLE001
            # What cannot be replaced goes: one file must not keep another from being cleared.
            _remove(path)
    for _, path in _files(args, "page"):
        _remove(path)


def _files(args: argparse.Namespace, *options: str) -> list[tuple[str, str]]:
    """List the files that options name, but no streams."""
    named = [(option, getattr(args, option, None)) for option in options]
    return [(option, path) for option, path in named if path and not _is_stream(Path(path))]


def _remove(path: str) -> None:
    with suppress(OSError):
        Path(path).resolve().unlink(missing_ok=True)


def _write_results(outcome: Outcome, args: argparse.Namespace, source: Source, *only: str) -> str:
    """Write the files that a command's options name, or one of them; give the JSON."""
    written = _json(outcome, ascii_alone=False)
    for option in only or (_replaced(args) if outcome.message else RESULTS):
        path = getattr(args, option, None)
        if path is None:
            continue
        if option != "output":
            write(path, _rendered(option, outcome, args))
        elif not source.write(written, path):
            write(path, written + "\n")
    return written


def _rendered(option: str, outcome: Outcome, args: argparse.Namespace) -> str:
    from anonrisk.cli import formats

    if option == "markdown" and outcome.page is not None:
        return outcome.page.to_markdown()
    if option == "sarif":
        return formats.sarif_document(outcome, args)
    return (
        formats.junit_document(outcome) if option == "junit" else formats.markdown_document(outcome)
    )


def write(path: str, text: str) -> None:
    """Write a whole file or none: half a verdict must not be read as one."""
    place = Path(path)
    if _is_stream(place):
        # A pipe, a terminal or a device is written to; a file in its place would reach nobody.
        with place.open("a", encoding="utf-8") as stream:
            stream.write(_encodable(text))
        return
    # What a link points at is replaced, not the link.
    place = place.resolve()
    beside = place.with_name(f".{place.name}.{os.getpid()}")
    try:
        beside.write_text(_encodable(text), encoding="utf-8")
        beside.replace(place)
    except OSError:
        # Neither half a result nor that of an earlier run is left.
        for left in (beside, place):
            with suppress(OSError):
                left.unlink(missing_ok=True)
        raise


def _is_stream(place: Path) -> bool:
    return place.parts[:2] in _OF_THE_SYSTEM or (place.exists() and not place.is_file())


def _print(text: str, *, styled: bool = False) -> None:
    # Names are escaped where they are written; nothing that was overlooked reaches a terminal.
    whole = _encodable(escaped(text, but="\n"), sys.stdout.encoding or "utf-8")
    if styled and show(whole):
        return
    sys.stdout.write(whole + "\n")
    sys.stdout.flush()


def _encodable(text: str, encoding: str = "utf-8") -> str:
    r"""Escape what cannot be encoded, as half a character in a name; JSON has the same escapes.

    Examples
    --------
    >>> json.loads(_encodable('"a\ud800"')) == "a\ud800"
    True
    """
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _silence_stdout() -> None:
    """Point standard output at nothing, so that Python does not stumble over it at its end."""
    if sys.stdout is None:
        return
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return


def write_or_refuse(path: str, text: str) -> None:
    """Write a file that is no result of a gate; where that fails, the command does."""
    try:
        write(path, text)
    except OSError as error:
        raise UnwritableTableError(f"cannot write {path!r}: {error.strerror}") from None
