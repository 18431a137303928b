"""The program: its commands' common options, how reports are printed, and how warnings and errors are told."""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import warnings
from collections.abc import Sequence
from contextlib import contextmanager, suppress
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast

import typer

from rankframe.errors import GateError, RankframeError, RankframeWarning
from rankframe.rendering import aligned, written

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankframe.report import Report

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Retrieval and RAG evaluation: exact scores from runs and judgments.",
)


class Output(str, Enum):
    table = "table"
    json = "json"
    csv = "csv"
    markdown = "markdown"


class Invalid(str, Enum):
    error = "error"
    drop = "drop"


Format = Annotated[
    Output, typer.Option("--format", help="How to print. A number that is infinite or none at all is null in JSON.")
]


def _version(asked: bool) -> None:  # noqa: FBT001  # as typer calls it
    if asked:
        from rankframe import __version__

        typer.echo(f"rankframe {__version__}")
        raise typer.Exit


@app.callback()
def rankframe(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Retrieval and RAG evaluation: exact scores from runs and judgments."""


def print_report(report: Report, output: Output) -> None:
    """The summary, and as a table what it is over."""
    if output is Output.table:
        typer.echo(aligned(report.table()))
        typer.echo("\n" + "\n".join(report.counts()))
    else:
        typer.echo(written(report.summary, output.value))


def refuse_writing_over(option: str, target: Path | None, inputs: Sequence[Path | None]) -> None:
    """Refuse a target that is one of the inputs, or a part of a BEIR folder among them."""
    from rankframe.io.folders import is_part_of

    if target is not None and any(path is not None and is_part_of(target, path) for path in inputs):
        raise RankframeError(f"{option} {target} would write over an input")


def split_names(text: str) -> list[str]:
    """Metric names at the commas outside of parentheses.

    >>> split_names("ndcg@10, rbp(p=0.5,rel=2)")
    ['ndcg@10', 'rbp(p=0.5,rel=2)']
    """
    names, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth <= 0:
            names.append("")
        else:
            names[-1] += letter
    return [name.strip() for name in names if name.strip()]


_SPELLED = (
    (r'\b(invalid|duplicates|lists)="(\w+)"', r"--\1 \2"),
    (r"\blegacy=True", "--legacy"),
    (r"\b(lists|baseline)=(?=\S)", r"--\1 "),
    (r"\b(lists|baseline)=", r"--\1"),
    (r"\bmin_coverage=", "--min-coverage "),
    (r"\bmax_drop=", "--max-drop "),
    (r"\bformat= says", "its suffix says"),  # --format is how to print
)


def spelled(message: str) -> str:
    """A message in one line, its arguments as the command line calls them.

    >>> spelled('lists="json" decodes it;  invalid="drop" leaves it out')
    '--lists json decodes it; --invalid drop leaves it out'
    """
    for python, option in _SPELLED:
        message = re.sub(python, option, message)
    return " ".join(message.split())


def _say(text: str) -> None:
    if sys.stderr is not None:  # else it is closed, and print would take standard output
        print(text, file=sys.stderr)


@contextmanager
def _warnings_on_stderr() -> Iterator[None]:
    """Say warnings in one line each, without the place in the source."""

    def say(message: Warning | str, category: type[Warning], *_: object) -> None:
        if issubclass(category, RankframeWarning):
            _say(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", RankframeWarning)
        warnings.showwarning = cast("Any", say)
        yield


def main() -> None:
    """Run the command line: exit 0; 1 where a gate did not pass; 2 for bad input with one line on standard error."""
    try:
        with _warnings_on_stderr():
            app()
    except GateError as error:
        _say(str(error))
        raise SystemExit(1) from None
    except (RankframeError, OSError) as error:
        _say(f"error: {spelled(str(error))}")
        raise SystemExit(2) from None


def _end(number: int, _: object) -> NoReturn:
    """End as Ctrl-C does, so that nothing half-written is left; the exit code is that of a shell."""
    raise SystemExit(128 + number)


def run() -> NoReturn:
    """`main` as a process of its own: it ends before collecting garbage or handing back memory pays."""
    signal.signal(signal.SIGTERM, _end)  # schedulers of jobs send it
    gc.disable()
    try:
        main()
        code: object = 0
    except SystemExit as end:
        code = end.code
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError):  # it was closed, or nobody reads it any more
            stream.flush()
    os._exit(code if isinstance(code, int) else code is not None)
