"""The shapes of the frames that rankframe reads: which columns, of which kind, under which other names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from rankframe.errors import DataError, listed

Kind = Literal["id", "number", "text", "ids", "texts", "any"]

_MARKS = {",": "commas separate here: format='csv'; ", ";": "semicolons separate here, CSV is read with commas; "}
"""What the only column of a frame says by its name, if it was the whole header of a file."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: ids are compared as text, numbers are Float64, text is String.

    Lists of texts or of ids are List(String); "any" is kept as it is.
    """

    name: str
    kind: Kind
    aliases: tuple[str, ...] = ()
    required: bool = True
    leads: bool = True  # whether it stands before the metadata


@dataclass(frozen=True, slots=True)
class Schema:
    """The known columns of one kind of frame; any further column is metadata and is kept."""

    name: str
    columns: tuple[Column, ...]
    label: str = ""
    key: str = ""  # the column by whose ids messages name rows
    readers: str = ""  # who takes columns=, a mapping of names

    def column(self, name: str) -> Column | None:
        """The known column of this name."""
        return next((column for column in self.columns if column.name == name), None)

    def text_names(self, columns: Mapping[str, str] | None = None) -> set[str]:
        """Every name under which an id or a text of this schema may stand."""
        texts = [column for column in self.columns if column.kind in ("id", "text")]
        named = {mine for mine, ours in (columns or {}).items() if ours in {column.name for column in texts}}
        return named | {name for column in texts for name in (column.name, *column.aliases)}

    @property
    def required(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if column.required)

    def names(self, present: Iterable[str], *, columns: Mapping[str, str] | None, where: str) -> dict[str, str]:
        """Which of the columns `present` are renamed to which known names.

        An explicit `columns` mapping claims its targets; for the rest the name itself or one alias stands.
        Two candidates for one column, or none for a required one, is an error that names them.
        """
        present = list(present)
        renames = self._explicit(present, columns or {}, where)
        claimed = set(renames.values())
        for column in self.columns:
            if column.name in claimed:
                continue
            found = [name for name in (column.name, *column.aliases) if name in present and name not in renames]
            if len(found) > 1:
                which = self._mapping("say which with", found[0], column) or "drop one of them"
                raise DataError(
                    f"{where}: {' and '.join(map(repr, found))} both name the column {column.name!r}; {which}"
                )
            if found:
                renames[found[0]] = column.name
            elif column.required:
                seen = [name for name in present if not name.startswith("__rankframe")]
                hint = next((told for mark, told in _MARKS.items() if len(seen) == 1 and mark in seen[0]), "")
                other = self._mapping("anything else by", "yours", column) or "rename yours"
                raise DataError(
                    f"{where}: no column {column.name!r} for {self.name} among {listed(seen, 12) or 'no columns'}; "
                    f"{hint}read as {column.name}: {', '.join((column.name, *column.aliases))}; {other}"
                )
        clash = {new for old, new in renames.items() if old != new} & (set(present) - set(renames))
        if clash:
            raise DataError(f"{where}: renaming would write over the column {listed(sorted(clash))}; rename it first")
        return {old: new for old, new in renames.items() if old != new}

    def _mapping(self, how: str, name: str, column: Column) -> str:
        """How a name is read as that of a column; "" where nothing takes such a mapping."""
        return f'{how} columns={{"{name}": "{column.name}"}} of {self.readers}' if self.readers else ""

    def _explicit(self, present: list[str], columns: Mapping[str, str], where: str) -> dict[str, str]:
        unknown = [name for name in columns if name not in present]
        if unknown:
            raise DataError(f"{where}: columns= names {listed(unknown)}, but there are only {listed(present, 12)}")
        targets = list(columns.values())
        if len(set(targets)) < len(targets):
            raise DataError(f"{where}: columns= gives the same name twice: {listed(targets, 12)}")
        return dict(columns)


_QUERY_ALIASES = ("qid", "query-id", "query")
_DOC_ALIASES = ("docno", "doc", "corpus-id", "corpus_id", "docid", "_id", "id")
_QUERY_ID = Column("query_id", "id", _QUERY_ALIASES)
_DOC_ID = Column("doc_id", "id", _DOC_ALIASES)

RUN = Schema(
    "a run",
    (
        _QUERY_ID,
        _DOC_ID,
        Column("score", "number"),
        Column("run_id", "id", required=False),
        Column("tag", "text", required=False, leads=False),
    ),
    "run",
    readers="read_run or scan_run",
)
QRELS = Schema(
    "qrels",
    (
        _QUERY_ID,
        _DOC_ID,
        Column("relevance", "number", ("label", "rel", "score")),
        Column("iteration", "text", required=False, leads=False),
    ),
    "qrels",
    readers="read_qrels or scan_qrels",
)
CORPUS = Schema(
    "a corpus",
    (_DOC_ID, Column("text", "text"), Column("title", "text", required=False)),
    "corpus",
    readers="read_corpus or scan_corpus",
)
QUERIES = Schema(
    "queries",
    (Column("query_id", "id", (*_QUERY_ALIASES, "_id", "id")), Column("text", "text")),
    "queries",
    readers="read_queries or scan_queries",
)
JUDGED = Schema(
    "a judged ranking",
    (
        Column("run_id", "id", required=False),
        _QUERY_ID,
        _DOC_ID,
        Column("relevance", "number", ("label", "rel")),
        Column("rank", "number"),
        Column("ideal_rank", "number", required=False),
        Column("n_ret", "number", required=False),
    ),
    "judged ranking",
)
POOL = Schema(
    "a pool",
    (
        _QUERY_ID,
        _DOC_ID,
        Column("query_text", "text", required=False, leads=False),
        Column("title", "text", required=False, leads=False),
        Column("text", "text", required=False, leads=False),
        Column("relevance", "number", ("label", "rel"), leads=False),  # a score is that of a run
    ),
    "pool",
)
SAMPLES = Schema(
    "samples",
    (
        Column("run_id", "id", required=False),
        Column("sample_id", "id", ("id", "_id", "sample-id"), required=False),
        Column("user_input", "text", required=False),
        Column("response", "text", required=False),
        Column("reference", "text", required=False),
        Column("references", "texts", required=False),
        Column("retrieved_contexts", "texts", required=False),
        Column("reference_contexts", "texts", required=False),
        Column("retrieved_context_ids", "ids", required=False),
        Column("reference_context_ids", "ids", required=False),
        Column("multi_responses", "texts", required=False),
        Column("rubrics", "any", required=False),
        Column("persona_name", "text", required=False),
        Column("query_style", "text", required=False),
        Column("query_length", "text", required=False),
        Column("query_id", "id", required=False),
        Column("ground_truth_sources", "texts", required=False),
    ),
    "samples",
    key="sample_id",
    readers="read_samples",
)
