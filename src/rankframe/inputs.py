"""What a caller gives: runs under their names, and the ids of queries or documents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from rankframe.errors import DataError
from rankframe.frames.checks import Invalid, Loaded, valid_ids, valid_rows
from rankframe.frames.coerce import collected, conform, id_series, table_frame
from rankframe.frames.schemas import Schema
from rankframe.io.files import existing, stem
from rankframe.io.folders import is_part_of
from rankframe.io.readers import load_run, load_texts
from rankframe.io.retrievals import Retrieval, load_retrieval, loaded_retrieval
from rankframe.io.tables import parquet_files
from rankframe.metrics.grammar import is_text

NEEDED = ("query_id", "doc_id", "score", "rank", "run_id")
"""The columns of a run that an evaluation looks at."""


class Source(NamedTuple):
    """Where a run comes from: the name that the caller gave, the one it has otherwise, and what holds it."""

    given: str | None
    otherwise: str
    holder: object


def sources(runs: object) -> list[Source]:
    """The runs that a caller gave.

    A mapping is one run where its values map documents to scores, else name -> run. A list is one of paths.

    Raises:
        DataError: for a name that is no text.
    """
    if isinstance(runs, Mapping) and not _is_run(runs):
        found = [Source(name, name, run) for name, run in runs.items()]
    elif are_paths(runs):
        found = [Source(None, stem(Path(path)), path) for path in runs]  # type: ignore[attr-defined]  # a list
    else:
        found = [Source(None, stem(Path(runs)) if isinstance(runs, (str, PathLike)) else "run", runs)]
    for source in found:
        if not is_text(source.otherwise):
            raise DataError(
                f"the name of a run is text, got {source.otherwise!r}; name it, as in evaluate({{'bm25': run}}, qrels)"
            )
    return found


def are_paths(value: object) -> bool:
    """Whether a caller gave a list of paths."""
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(isinstance(p, (str, PathLike)) for p in value)


def _is_run(runs: Mapping[Any, Any]) -> bool:
    """Whether a mapping is one run: its values are mappings, and theirs are no mappings or tables."""
    inner = [value for value in runs.values() if isinstance(value, Mapping)]
    if len(inner) < len(runs):
        return False
    return not any(isinstance(next(iter(value.values()), None), Mapping) for value in inner)


def load_runs(source: Source, *, invalid: Invalid) -> list[tuple[str, Loaded]]:
    """The runs of one source by name: the given one, else the column run_id, else the file's name, else "run".

    A list of paths under one name is one run in several files.
    """
    return [
        (name, valid_rows(loaded, "score", invalid)) for name, loaded in _split(source, _unchecked(source, invalid))
    ]


def _unchecked(source: Source, invalid: Invalid) -> Loaded:
    """All rows of one source, as they stand."""
    if not are_paths(source.holder):
        return _one(source.holder, invalid)
    with all_there(source):
        parts = [_one(path, invalid) for path in source.holder]  # type: ignore[attr-defined]  # a list
    return Loaded(
        pl.concat([part.frame for part in parts], how="diagonal_relaxed"),
        ", ".join(part.where for part in parts),
        [said for part in parts for said in part.notes],
        [query for part in parts for query in part.no_results],
        [query for part in parts for query in part.failed],
        {query: left for part in parts for query, left in part.collapsed.items()},
    )


@contextmanager
def all_there(source: Source) -> Iterator[None]:
    """Where a path of a list is not there, say what the list is taken for."""
    try:
        yield
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"{error}; {source.given!r} holds a list, which is one run in several files; a ranking of documents is "
            f"given as {{document: score}}"
        ) from error


def _one(holder: object, invalid: Invalid) -> Loaded:
    """A run, or what a retriever answered, with what its log says."""
    if isinstance(holder, Retrieval):
        return loaded_retrieval(holder, only=NEEDED)
    if isinstance(holder, (str, PathLike)) and (kept := load_retrieval(existing(holder))):
        return loaded_retrieval(kept[0], str(holder), NEEDED)
    refuse_collection(holder)
    if type(holder).__module__.startswith("pyspark.sql"):
        raise DataError(
            "run: a Spark DataFrame stays where it is; rankframe.spark.evaluate(run, qrels) scores it there"
        )
    if callable(holder):
        raise DataError("run: a function is a retriever; retrieve(function, queries) gives what is evaluated")
    if isinstance(holder, (list, tuple)) and holder and not all(isinstance(row, Mapping) for row in holder):
        raise DataError(
            f"run: a list of {type(holder[0]).__name__}s is no run; name several, as in evaluate({{'a': first, 'b': "
            f"second}}, qrels)"
        )
    return load_run(holder, invalid=invalid, only=NEEDED, checked=False)


def refuse_writing_over(option: str, target: Path, runs: object, others: Iterable[object] = ()) -> None:
    """Refuse a file to be written that is an input, or would stand among the files of a run."""
    holders = list(runs.values()) if isinstance(runs, Mapping) else [runs]
    paths = [path for holder in holders for path in (holder if are_paths(holder) else [holder])]  # type: ignore[union-attr]  # a list
    folders = [Path(path).resolve() for path in paths if isinstance(path, (str, PathLike)) and Path(path).is_dir()]
    written_over = any(isinstance(p, (str, PathLike)) and is_part_of(target, Path(p)) for p in (*paths, *others))
    if written_over or any(target.is_relative_to(folder) for folder in folders):
        raise DataError(f"{option}{target} would write over an input, or among the files of a run; name another place")


def refuse_collection(holder: object) -> None:
    """A folder with a corpus holds no run."""
    if isinstance(holder, (str, PathLike)) and any(Path(holder).glob("corpus.*")):
        raise DataError(f"{holder}: a BEIR folder is no run; a retriever makes one (--retriever bm25, or retrieve)")


def _split(source: Source, loaded: Loaded) -> list[tuple[str, Loaded]]:
    """The runs that a column run_id tells apart, before their rows are checked, so that each is told its own losses."""
    frame = loaded.frame
    if "run_id" not in frame.columns:
        return [(source.otherwise, loaded)]
    names = frame["run_id"]
    if names.null_count():
        raise null_runs(loaded.where, names.null_count())
    found = names.unique().sort().to_list()
    if len(found) <= 1:
        return [(run_name(source, next(iter(found), ""), found), replace(loaded, frame=frame.drop("run_id")))]
    parts = frame.partition_by("run_id", as_dict=True, include_key=False, maintain_order=True)
    return [
        (run_name(source, name, found), replace(loaded, frame=parts[name,], where=f"{loaded.where}, run {name!r}"))
        for name in found
    ]


def run_name(source: Source, run: str, runs: Sequence[str]) -> str:
    """What a run is called that the column run_id calls `run`, beside the other `runs` of its source."""
    if len(runs) > 1:
        return f"{source.given}/{run}" if source.given else run
    return source.given or (run if runs else source.otherwise)


def null_runs(where: str, count: int) -> DataError:
    """The error for rows whose run has no name."""
    return DataError(f"{where}: {count:,} null run_id; name every row's run or drop the column")


def load_ids(source: object, schema: Schema, *, texts: bool = False, invalid: Invalid = "error") -> Loaded:
    """The queries or documents that a caller names: a path, a frame, a mapping by id, or ids in any collection.

    Args:
        source: what the caller gave.
        schema: QUERIES or CORPUS.
        texts: keep the text of each, where the source has it.
        invalid: "drop" leaves records without an id out, and malformed lines of a file, and notes them.

    Returns:
        The id column (query_id or doc_id String), one row per record; with `texts`, and from a file, further columns.

    Raises:
        DataError: for anything that holds no such ids.
        FileNotFoundError: for a path where nothing is.
    """
    key, label = schema.columns[0].name, schema.label
    kept = schema.columns if texts else schema.columns[:1]
    wanted = replace(schema, columns=tuple(replace(column, required=column.name == key) for column in kept))
    if isinstance(source, (str, PathLike)):
        return _ids_of_file(source, schema, invalid)
    if isinstance(source, Mapping) and texts:
        return load_texts(source, wanted, invalid=invalid)
    if _is_array(source):
        source = source.to_pylist() if hasattr(source, "to_pylist") else source.tolist()  # type: ignore[attr-defined]  # one of them
    frame = source.alias(key).to_frame() if isinstance(source, pl.Series) else table_frame(source, label)
    if frame is not None:
        known = conform(frame, wanted, label)
        found = collected(known if texts else known.select(key))
    elif isinstance(source, Iterable) and not isinstance(source, (bytes, bytearray)):
        found = id_series(key, list(source), label).to_frame()
    else:
        raise DataError(
            f"{label}= takes ids or a frame with {key!r}, got a {type(source).__name__}; one id stands in a list"
        )
    return valid_ids(Loaded(found, label), key, invalid)


def _ids_of_file(path: str | PathLike[str], schema: Schema, invalid: Invalid) -> Loaded:
    """The records of a file; where it is no file of texts, one of ids will do."""
    try:
        return load_texts(path, schema, invalid=invalid)
    except DataError:
        try:
            return load_texts(path, replace(schema, columns=schema.columns[:1]), invalid=invalid)
        except DataError:
            pass  # what is wrong with the texts says more
        raise


def _is_array(source: object) -> bool:
    """Whether values stand in an array without a name: of NumPy, a pandas Series or Index, of pyarrow."""
    return hasattr(source, "__array__") and not hasattr(source, "columns") and not isinstance(source, pl.Series)


def described(source: object, fingerprint: str, *, folders: bool = False) -> dict[str, Any]:
    """Path and size of an input that is a file, and the hash of its bytes where that is asked for.

    With `folders`, of one that is several files too: Parquet files in a folder, or a list; their bytes count in order.
    """
    files = _files(source) if folders else [source]
    if not files or not all(isinstance(file, (str, PathLike)) and Path(file).is_file() for file in files):
        return {}
    paths = [Path(str(file)) for file in files]
    where = str(source) if isinstance(source, (str, PathLike)) else ", ".join(map(str, files))
    told: dict[str, Any] = {"path": where, "bytes": sum(path.stat().st_size for path in paths)}
    if fingerprint == "sha256":
        digest = hashlib.sha256()
        for path in paths:
            with path.open("rb") as file:
                while block := file.read(2**20):
                    digest.update(block)
        told["sha256"] = digest.hexdigest()
    return told


def _files(source: object) -> list[object]:
    """The files of a run."""
    if isinstance(source, (str, PathLike)):
        return list(parquet_files(Path(source))) if Path(source).is_dir() else [source]
    return list(source) if are_paths(source) else []  # type: ignore[call-overload]  # a list
