"""What a repository answers: lists that print as tables."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.priors.disagreement import Disagreement
from anonrisk.priors.prior import Prior

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

Item = TypeVar("Item")


@dataclass(frozen=True, repr=False)
class _Listing(render.PrintedTable, Generic[Item]):
    """A frozen list of one kind of thing."""

    items: tuple[Item, ...]

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @overload
    def __getitem__(self, place: int) -> Item: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Item, ...]: ...

    def __getitem__(self, place: int | slice) -> Item | tuple[Item, ...]:
        return self.items[place]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        return {"items": self._plain()}

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas table, a row for each."""
        import pandas as pd

        return pd.DataFrame(self._plain(), columns=self._columns())

    @abstractmethod
    def _plain(self) -> list[dict[str, Any]]: ...

    @abstractmethod
    def _columns(self) -> list[str]: ...


@dataclass(frozen=True, repr=False)
class Submissions(_Listing[Prior]):
    """Submissions to a repository, in the order they came.

    Attributes
    ----------
    items : tuple of Prior
        The submissions.
    refused : tuple of str
        What the database holds besides, put there by something else than this library, and why
        it is not used.
    """

    refused: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        return super().to_dict() | {"refused": list(self.refused)}

    def _plain(self) -> list[dict[str, Any]]:
        return [prior.to_dict() for prior in self.items]

    def _columns(self) -> list[str]:
        return list(Prior.__dataclass_fields__)

    def _lines(self) -> list[str]:
        text = render.count_of(len(self.items), "submission")
        return [f"{text}, numbers rounded to three digits"]

    def _header(self) -> tuple[str, ...]:
        return "no.", "qid", "population", "kl", "s2", "s3", "values", "records", "when", "by"

    def _rows(self) -> list[list[str]]:
        return [
            [
                "" if prior.number is None else str(prior.number),
                render.joined(prior.qid),
                prior.population,
                f"{prior.kl:.3g}",
                f"{prior.s2:.3g}",
                f"{prior.s3:.3g}",
                f"{prior.n_values:,}",
                f"{prior.n_records:,}",
                prior.when.isoformat(),
                prior.by,
            ]
            for prior in self.items
        ]

    def _notes(self) -> list[str]:
        return [f"not used: {reason}" for reason in self.refused]


@dataclass(frozen=True, repr=False)
class Disagreements(_Listing[Disagreement]):
    """Where data holders differ about the same quasi-identifier of the same population."""

    def _plain(self) -> list[dict[str, Any]]:
        return [item.to_dict() for item in self.items]

    def _columns(self) -> list[str]:
        return ["qid", "population", "what", "by", "values", "difference", "allowed"]

    def _lines(self) -> list[str]:
        if not self.items:
            return ["no disagreement beyond rounding and chance"]
        return [f"{render.count_of(len(self.items), 'disagreement')} beyond rounding and chance"]

    def _header(self) -> tuple[str, ...]:
        return "qid", "population", "what", "first", "second", "difference", "allowed"

    def _rows(self) -> list[list[str]]:
        return [
            [
                render.joined(item.first.qid),
                item.first.population,
                item.what,
                f"{item.values[0]:.3g} ({item.first.by})",
                f"{item.values[1]:.3g} ({item.second.by})",
                f"{item.difference:.3g}",
                f"{item.allowed:.3g}",
            ]
            for item in self.items
        ]
