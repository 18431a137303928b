"""The row columns that metrics are made of: each defined once over the judged ranking, shared by all who need it.

The judged ranking has one row per judgment, sorted by query and rank (nulls last): `relevance`, `rank` (null where
the run does not have the document), `ideal_rank`, `n_ret`. A row column is one more value per judgment, such as
"relevant documents at or above this one". With them, a metric is only row arithmetic and a sum, minimum or maximum.
"""

from __future__ import annotations

import polars as pl

GROUP = "group"
"""The column of a judged ranking that numbers its (run, query) pairs."""


class Rows:
    """Gives row columns to metric formulas.

    A shared builder answers with a column name and remembers what it stands for, so that `add_to` computes each
    once. An inline builder answers with the whole expression, which then holds inside any `group_by` over
    (run, query). `judged_only` counts ranks among judged documents (the condensed list).
    """

    def __init__(self, *, inline: bool = False, judged_only: bool = False) -> None:
        self._inline = inline
        self._judged_only = judged_only
        self._columns: dict[str, tuple[int, pl.Expr]] = {}
        self._level: dict[str, int] = {}

    def include(self, other: Rows) -> None:
        """Take over the row columns of another builder: the same name always stands for the same column."""
        self._columns.update(other._columns)
        self._level.update(other._level)

    def roots(self) -> set[str]:
        """The names of all columns that the row columns are made of."""
        return {root for _, expr in self._columns.values() for root in expr.meta.root_names()}

    @property
    def inline(self) -> bool:
        """Whether the builder answers with whole expressions."""
        return self._inline

    def condensed(self) -> Rows:
        """The same builder over the condensed list; what both need is still computed once."""
        other = Rows(inline=self._inline, judged_only=True)
        other._columns, other._level = self._columns, self._level
        return other

    def add_to(self, judged: pl.LazyFrame) -> pl.LazyFrame:
        """`judged` with every row column that was asked for, those that others build on first."""
        for level in sorted({level for level, _ in self._columns.values()}):
            judged = judged.with_columns(expr.alias(name) for name, (at, expr) in self._columns.items() if at == level)
        return judged

    def _column(self, name: str, expr: pl.Expr, *, windowed: bool = False) -> pl.Expr:
        if self._inline:
            return expr
        if name not in self._columns:
            level = 1 + max((self._level.get(root, 0) for root in expr.meta.root_names()), default=0)
            self._level[name] = level
            self._columns[name] = (level, expr.over(GROUP) if windowed else expr)
        return pl.col(name)

    def _of_list(self, name: str) -> str:
        """The name of a column that differs between the whole and the condensed list."""
        return f"{name} among judged" if self._judged_only else name

    # The list that the run gives, whole or condensed.

    @property
    def rank(self) -> pl.Expr:
        """Place of the document in the list, from 1; null where it is not there."""
        if not self._judged_only:
            return pl.col("rank")
        assessed = self._assessed
        place = pl.when(assessed).then(assessed.cast(pl.Int64).cum_sum())
        return self._column("rank among judged", place, windowed=True)

    @property
    def n_ret(self) -> pl.Expr:
        """Length of the list, the same in every row of a query."""
        if not self._judged_only:
            return pl.col("n_ret")
        return self._column("n_ret among judged", self._assessed.cast(pl.Int64).sum(), windowed=True)

    @property
    def _assessed(self) -> pl.Expr:
        """Retrieved and judged, where a negative grade means in the pool but not assessed."""
        return self._column("assessed", pl.col("rank").is_not_null() & (pl.col("relevance") >= 0))

    def within(self, k: int | None) -> pl.Expr:
        """True for documents in the first k places; without k, for all that were retrieved."""
        return self.rank.is_not_null() if k is None else (self.rank <= places(k)).fill_null(value=False)

    @property
    def above(self) -> pl.Expr:
        """Documents above this one that have a judgment of any sign."""
        found = self.rank.is_not_null().cast(pl.Int64)
        return self._column(self._of_list("judged above"), found.cum_sum() - found, windowed=True)

    # What the judgments say.

    def relevant(self, rel: float | None) -> pl.Expr:
        """True for relevant documents: grade above 0, or at least `rel`."""
        grade = pl.col("relevance")
        return self._column(f"relevant {rel}", grade > 0 if rel is None else grade >= rel)

    def nonrelevant(self, rel: float | None) -> pl.Expr:
        """True for documents that were assessed and found not relevant."""
        return self._column(f"nonrelevant {rel}", (pl.col("relevance") >= 0) & ~self.relevant(rel))

    def n_relevant(self, rel: float | None) -> pl.Expr:
        """R: relevant documents of the query, in every row."""
        return self._column(f"R {rel}", self.relevant(rel).cast(pl.Int64).sum(), windowed=True)

    def n_nonrelevant(self, rel: float | None) -> pl.Expr:
        """N: judged non-relevant documents of the query, in every row."""
        return self._column(f"N {rel}", self.nonrelevant(rel).cast(pl.Int64).sum(), windowed=True)

    def hits(self, rel: float | None) -> pl.Expr:
        """Relevant documents at or above this one."""
        hit = (self.relevant(rel) & self.within(None)).cast(pl.Int64)
        return self._column(self._of_list(f"hits {rel}"), hit.cum_sum(), windowed=True)

    def misses(self, rel: float | None) -> pl.Expr:
        """Judged non-relevant documents at or above this one."""
        miss = (self.nonrelevant(rel) & self.within(None)).cast(pl.Int64)
        return self._column(self._of_list(f"misses {rel}"), miss.cum_sum(), windowed=True)

    def gain(self, gain: str) -> pl.Expr:
        """Gain of the grade, linear or exponential; a negative grade gains nothing."""
        grade = pl.col("relevance").clip(lower_bound=0.0)
        return self._column(f"gain {gain}", grade if gain == "linear" else (2.0**grade) - 1.0)

    def discounted(self, gain: str) -> pl.Expr:
        """Gain over log2(rank + 1); null where the document is not in the list."""
        discount = self._column(self._of_list("discount"), (self.rank + 1).log(2.0))
        return self._column(self._of_list(f"discounted {gain}"), self.gain(gain) / discount)

    def ideally_discounted(self, gain: str) -> pl.Expr:
        """Gain over log2(ideal rank + 1)."""
        discount = self._column("ideal discount", (pl.col("ideal_rank") + 1).log(2.0))
        return self._column(f"ideally discounted {gain}", self.gain(gain) / discount)

    # The cascade of ERR: a reader stops at a document with a probability that grows with its grade.

    def stops(self, max_grade: float) -> pl.Expr:
        """Probability that a reader who sees the document stops there."""
        return self._column(f"stops {max_grade}", self.gain("exponential") / 2.0**max_grade)

    def reached(self, max_grade: float) -> pl.Expr:
        """Probability that a reader gets down to the document."""
        passes = 1.0 - self.stops(max_grade)
        if self._judged_only:  # the condensed list leaves out rows that stand between others
            passes = pl.when(self.within(None)).then(passes).otherwise(1.0)
        reach = passes.cum_prod().shift(1, fill_value=1.0)
        return self._column(self._of_list(f"reached {max_grade}"), reach, windowed=True)

    def ideally_reached(self, max_grade: float) -> pl.Expr:
        """The same down the ideal ranking."""
        passes = (1.0 - self.stops(max_grade)).sort_by("ideal_rank")
        reach = passes.cum_prod().shift(1, fill_value=1.0).gather(pl.col("ideal_rank") - 1)
        return self._column(f"ideally reached {max_grade}", reach, windowed=True)


def places(k: int) -> int:
    """A cutoff as a number that a column can be compared with; no list is longer."""
    return min(k, 2**40)


def total(values: pl.Expr, where: pl.Expr) -> pl.Expr:
    """Sum of the values in the rows where it holds."""
    return pl.when(where).then(values).otherwise(0.0).sum()


def count(where: pl.Expr) -> pl.Expr:
    """Number of rows where it holds, as Float64."""
    return where.sum().cast(pl.Float64)
