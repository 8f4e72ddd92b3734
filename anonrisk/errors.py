"""Everything that anonrisk refuses, under one base class.

No message ever holds the value of a cell: column names, types and counts only.
"""

from __future__ import annotations

import pathlib
import sys
import warnings
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class AnonRiskError(Exception):
    """Base of every error that anonrisk raises on purpose."""


class ArgumentError(AnonRiskError, ValueError):
    """An argument has a value that the call does not take."""


class UnsupportedFrameError(AnonRiskError, TypeError):
    """The object is not a table of a supported library, or is a streaming one."""


class ColumnNotFoundError(AnonRiskError, KeyError):
    """A named column is not in the table."""

    # KeyError quotes its message as if it were a key.
    __str__ = Exception.__str__


class TableNotFoundError(AnonRiskError, LookupError):
    """The database has no table of this name."""


class NoColumnsError(ArgumentError):
    """An empty list of columns was given where at least one is needed."""


class RepeatedColumnError(ArgumentError):
    """The same column was named twice."""


class DuplicateColumnError(AnonRiskError, ValueError):
    """A named column occurs more than once in the table, so that it is not clear which is meant."""


class UnsupportedColumnError(AnonRiskError, TypeError):
    """The cells of a column cannot be compared: nested, unhashable or of mixed types."""


class RoleConflictError(ArgumentError):
    """One column was given two roles that exclude each other."""


class RolesNotGivenError(AnonRiskError, ValueError):
    """No quasi-identifiers were given, neither in the call nor by `declare`."""


class RolesLostError(AnonRiskError, ValueError):
    """The table changed since its roles were declared, in a way that leaves them in doubt."""


class RolesDocumentError(AnonRiskError, ValueError):
    """A document of another tool that holds roles of columns cannot be read, or is in doubt."""


class MissingValuesError(AnonRiskError, ValueError):
    """A quasi-identifier has missing values although the call refuses them."""


class MissingSensitiveError(MissingValuesError):
    """A sensitive column has missing values although the call refuses them.

    Attributes
    ----------
    n_missing : int
        In how many rows.
    """

    def __init__(self, message: str, n_missing: int = 0) -> None:
        """Remember how many."""
        super().__init__(message)
        self.n_missing = n_missing


class MissingUnitError(AnonRiskError, ValueError):
    """The column that says which person a row belongs to has missing values."""


class EmptyTableError(AnonRiskError, ValueError):
    """There is no record to measure."""


class TooManyGroupsError(AnonRiskError, ValueError):
    """`by` has more different values than a summary can hold."""


class TooManyPatternsError(AnonRiskError, ValueError):
    """Records miss more sets of columns than can be compared with each other."""


class HierarchyError(AnonRiskError, ValueError):
    """A hierarchy is not a tree, cannot be read, or misses values of the column."""


class TooManyProfilesError(AnonRiskError, ValueError):
    """There are more kinds of class than may leave the engine."""


class TooManyValuesError(AnonRiskError, ValueError):
    """An ordered distance was asked for over more different values than it takes."""


class PlanError(AnonRiskError, ValueError):
    """A plan cannot be met, read, or applied to this table."""


class UnseenValuesError(PlanError, HierarchyError):
    """A table has values that a plan, or the hierarchy of a column, does not know."""


class NoPlanHelpsError(PlanError):
    """A gate could not assess the table, however coarse it became."""


class TooManyClassesError(AnonRiskError, ValueError):
    """A plan would need more classes than may leave the engine."""


class TooManyRecordsError(AnonRiskError, ValueError):
    """A step was asked for over more records than it takes."""


class PopulationError(AnonRiskError, ValueError):
    """The release has records that the population cannot have given it."""


class ModelError(AnonRiskError, ValueError):
    """A model of the population does not hold for this table, or could not be fitted to it."""


class WeightError(AnonRiskError, ValueError):
    """A sampling weight is missing, not a number, or below 1."""


class ApproximationError(AnonRiskError, ValueError):
    """An approximation was asked for where it is known to be bad."""


class ApproximationWarning(UserWarning):
    """An approximation is used near the end of where it is good; the message says how good."""


class PrecisionWarning(UserWarning):
    """Numbers are stored in a type that cannot tell all of them apart; some may be one already."""


class StoppedWarning(UserWarning):
    """Ctrl-C stopped the work; the result is what was known by then, and says how far it came."""


class EngineError(AnonRiskError, RuntimeError):
    """The engine failed; its own message is withheld because it may quote a cell."""


class SessionStoppedError(EngineError):
    """The Spark session that the table belongs to has stopped."""


class PolicyError(ArgumentError):
    """A policy or a release is not well formed: a misspelt key, a wrong type, nothing to check."""


class Decision(Protocol):
    """What `ReleaseBlocked` keeps of an `anonrisk.Verdict`, which stands above this file."""

    @property
    def status(self) -> str:
        """One of ``"pass"``, ``"fail"`` and ``"could_not_assess"``."""

    @property
    def findings(self) -> Sequence[Any]:
        """What came of each budget."""

    def to_dict(self) -> Mapping[str, Any]:
        """Return plain values that serialise as JSON."""


class ReleaseBlocked(AnonRiskError, RuntimeError):  # noqa: N818
    """A gate did not pass: a budget was broken, or could not be assessed.

    Attributes
    ----------
    verdict : Verdict or None
        What was found, where something was measured.
    """

    def __init__(self, message: str, verdict: Decision | None = None) -> None:
        """Keep the verdict for whoever catches it."""
        super().__init__(message)
        self.verdict = verdict


class ManifestError(ReleaseBlocked):
    """What is published is not what was checked, or its manifest does not hold: do not publish."""


class InvalidPriorError(ArgumentError):
    """Published numbers about a population that no population can have."""


class PopulationTooSmallError(AnonRiskError, ValueError):
    """Numbers about so few people would say something about single ones."""


class PriorNotFoundError(AnonRiskError, LookupError):
    """Nobody has published about this quasi-identifier of this population."""


class DisagreementError(AnonRiskError, ValueError):
    """Data holders publish different things about the same population."""


class StoreError(AnonRiskError, RuntimeError):
    """A database cannot be used; its message is withheld: it may hold a password or a person."""


class LedgerError(StoreError):
    """A ledger is not what its publishers wrote, is none, or cannot take this publication."""


class LedgerMovedError(LedgerError):
    """Somebody published since the ledger was looked at: check the release again."""


class CollisionError(StoreError):
    """Two different persons would share a pseudonym; nothing was done, and nobody is named."""


class ErasedError(StoreError):
    """The person was erased, and must not come back; nobody is named."""


class MissingTimeError(AnonRiskError, ValueError):
    """The column that orders the records has missing values, or no such column was given."""


class NoOrderError(AnonRiskError, ValueError):
    """Records of one user have the same time, although their order is asked for."""


class SecretKeyError(AnonRiskError, ValueError):
    """A secret key is absent, too short, or cannot be read; never shows the key."""


class WrongKeyError(SecretKeyError):
    """A store of identities, a state, a ledger or a seal was made with another key."""


class StateError(AnonRiskError, ValueError):
    """A state cannot be read, or does not fit another one."""


class UnknownPseudonymError(AnonRiskError, LookupError):
    """No such pseudonym was issued for this scope."""


class NotAllowedError(AnonRiskError, PermissionError):
    """The person has not been granted this."""


class UnreadableTableError(AnonRiskError, ValueError):
    """A file is not there, is damaged, or does not hold the table that it should."""


class MissingLibraryError(AnonRiskError, ImportError):
    """A library that this needs is not installed, or in a version that does not fit the others."""


class UnwritableTableError(AnonRiskError, OSError):
    """A table or page cannot be written where it should go."""


def raise_alone(error: AnonRiskError) -> NoReturn:
    """Raise an error without the one that it replaces, which may quote a cell.

    ``from None`` only hides that one from whoever prints a traceback; collectors of errors walk
    along `__context__`.
    """
    try:
        raise error from None
    finally:
        # Set by Python when it raises.
        error.__context__ = None


def warn_of_approximation(message: str) -> None:
    """Warn that an approximation is used near the end of where it is good."""
    _warn(message, ApproximationWarning)


def warn_of_precision(message: str) -> None:
    """Warn that numbers may have been merged before they came here."""
    _warn(message, PrecisionWarning)


def warn_of_stop(message: str) -> None:
    """Warn that a result is not all that was asked for."""
    _warn(message, StoppedWarning)


def _warn(message: str, kind: type[Warning]) -> None:
    """Warn, and point at the line outside of this library that asked."""
    inside = str(pathlib.Path(__file__).parent)
    frame, level = sys._getframe(1), 2  # noqa: SLF001
    while frame.f_back is not None and frame.f_code.co_filename.startswith(inside):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, kind, stacklevel=level)
