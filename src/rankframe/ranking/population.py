"""Which judged queries count, for every metric of a report alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rankframe.errors import DataError, listed, warn
from rankframe.frames.checks import no_query_in_common
from rankframe.frames.ledger import Note, note
from rankframe.metrics.conventions import Convention
from rankframe.ranking.judgments import Judgments
from rankframe.ranking.runs import Ranking

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Codes = NDArray[np.uint32]

STATUSES = ("ok", "missing", "failed", "no_relevant", "not_asked")


@dataclass(frozen=True, slots=True)
class Covered:
    """The judged queries of one run: the status of each (a place in STATUSES), and whether it counts."""

    status: Codes
    counts: Flags
    notes: tuple[Note, ...]


class Population:
    """The judged queries under a convention, perhaps narrowed to those that were asked."""

    def __init__(self, judgments: Judgments, rules: Convention, asked: pl.Series | None = None) -> None:
        import numpy as np

        self._ids = judgments.queries
        self._rules = rules
        self._relevant: Flags = judgments.n_rel > 0
        self.asked: Flags = np.ones(len(self._ids), dtype=np.bool_)
        if asked is not None:
            self.asked = self._ids.is_in(asked.implode()).to_numpy()
            if not self.asked.any():
                raise DataError(
                    f"queries= has no judged query; queries: {listed(asked.head(3), 3) or 'none'}, "
                    f"judgments: {listed(self._ids.head(3), 3)}"
                )

    @property
    def notes(self) -> list[Note]:
        """What there is to say of the judgments alone."""
        return self._noted(no_relevant=~self._relevant & self.asked, not_asked=~self.asked)

    def _noted(self, **reasons: Flags) -> list[Note]:
        return [
            note(reason, self._ids.filter(pl.Series(where)).to_list())
            for reason, where in reasons.items()
            if where.any()
        ]

    def covered(
        self, ranking: Ranking, where: str, no_results: Sequence[str] = (), failed: Sequence[str] = ()
    ) -> Covered:
        """How one run covers the judged queries.

        Args:
            ranking: where the run has what was judged.
            where: what messages call the run.
            no_results: queries that it says returned nothing.
            failed: queries whose retrieval it says failed.

        Raises:
            DataError: where the run has rows and none of them is of a judged query; a row that was dropped on request
                counts here.

        Warns:
            RankframeWarning: for a run without rows, saying what its queries count as.
        """
        import numpy as np

        has_rows = ranking.n_ret != 0
        returned_nothing = self._among(no_results) & ~has_rows
        broke = self._among(failed) & ~has_rows & ~returned_nothing
        missing = ~has_rows & ~returned_nothing & ~broke
        if not ranking.n_rows:
            kinds = {
                "that returned nothing and count 0": returned_nothing,
                "whose retrieval failed": broke,
                "that are missing": missing,
            }
            told = [f"{what}: {(of & self.asked).sum():,}" for what, of in kinds.items() if of.any()]
            warn(f"{where}: the run {ranking.run_id!r} is empty; judged queries {', '.join(told)}")
        elif ranking.strangers and not (returned_nothing | broke).any():
            raise no_query_in_common(where, ranking.run_id, ranking.strangers, self._ids.head(3).to_list())
        counts = self.asked.copy()
        if self._rules.no_relevant == "skip":
            counts &= self._relevant
        if self._rules.missing == "skip":
            counts &= ~missing
        if (self._rules.failed or self._rules.missing) == "skip":
            counts &= ~broke
        code = np.select([~self.asked, ~self._relevant, broke, missing], [4, 3, 2, 1], 0).astype(np.uint32)
        return Covered(
            status=code,
            counts=counts,
            notes=tuple(
                said.of(ranking.run_id)
                for said in self._noted(
                    missing_query=missing & self.asked,
                    failed_query=broke & self.asked,
                    no_results=returned_nothing & self.asked,
                )
            ),
        )

    def _among(self, ids: Sequence[str]) -> Flags:
        import numpy as np

        if not ids:
            return np.zeros(len(self._ids), dtype=np.bool_)
        flags: Flags = self._ids.is_in(pl.Series(ids, dtype=pl.String).implode()).to_numpy()
        return flags
