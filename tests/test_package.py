"""The package as a whole: what it loads, what it offers, which version it is."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

import rankframe as rf

ROOT = Path(__file__).parents[1]


def _loaded(code: str) -> set[str]:
    """The modules that a new Python has loaded after this code."""
    told = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{code}\nimport sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stderr == ""
    return set(told.stdout.splitlines()[-1].split())


def test_importing_loads_nothing_heavier_than_polars() -> None:
    loaded = _loaded("import rankframe")
    assert set() == loaded & {
        "numpy",
        "scipy",
        "pyarrow",
        "typer",
        "click",
        "tqdm",
        "pandas",
        "rankframe.io",
        "rankframe.scoring",
    }


def test_naming_everything_loads_no_command_line_and_no_other_frames() -> None:
    loaded = _loaded("import rankframe\nfor name in rankframe.__all__: getattr(rankframe, name)")
    assert set() == loaded & {"typer", "click", "tqdm", "pandas", "scipy"}


@pytest.mark.parametrize(
    "use", ["value('map')", "table()", "to_dict()", "gate({'map': 0.5})", "diff('run', 'run')", "hardest()", "bands()"]
)
def test_a_saved_report_tells_its_values_without_numpy(use: str, tmp_path: Path) -> None:
    """Intervals alone need it, which only a summary and slices have."""
    path = tmp_path / "report.parquet"
    rf.evaluate({"q1": {"d1": 1.0}}, {"q1": {"d1": 1}}, metrics="map").write_parquet(path)
    code = f"import rankframe\nreport = rankframe.read_report({str(path)!r})\nreport."
    assert "numpy" not in _loaded(f"{code}{use}")
    assert "numpy" in _loaded(f"{code}summary")


@pytest.mark.parametrize("name", rf.__all__)
def test_every_name_resolves_and_is_described(name: str) -> None:
    value = getattr(rf, name)
    if name != "__version__":
        assert (value.__doc__ or "").strip()
        assert value.__doc__.strip()[-1] != ":"
    assert name in dir(rf)


def test_the_names_are_those_that_type_checkers_see() -> None:
    """The imports under TYPE_CHECKING, `from x import y as y`, and the table of homes are one list."""
    source = (ROOT / "src" / "rankframe" / "__init__.py").read_text(encoding="utf-8")
    typed = [line.rsplit(" as ", 1)[1].strip() for line in source.splitlines() if line.startswith("    from rankframe")]
    assert sorted([*typed, "__version__"]) == sorted(rf.__all__)
    assert len(set(rf.__all__)) == len(rf.__all__)


def test_the_documented_names_are_there() -> None:
    reading = {f"{verb}_{kind}" for verb in ("read", "scan", "write") for kind in ("run", "qrels", "queries", "corpus")}
    others = {
        "read_beir",
        "write_beir",
        "Beir",
        "evaluate",
        "check",
        "Report",
        "read_report",
        "Metric",
        "metrics",
        "compare",
    }
    errors = {"RankframeError", "DataError", "MetricError", "ExtraError", "RankframeWarning"}
    assert reading | others | errors <= set(rf.__all__)


def test_every_name_of_metrics_resolves_and_is_described() -> None:
    for name in rf.metrics.__all__:
        value = getattr(rf.metrics, name)
        told = value.summary if isinstance(value, rf.metrics.Family) else value.__doc__
        assert (told or "").strip(), name


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'rankframe' has no attribute 'evaluat'"):
        getattr(rf, "evaluat")  # noqa: B009  # as a caller may


def test_errors_are_value_errors_of_one_family() -> None:
    for error in (rf.DataError, rf.MetricError, rf.ExtraError):
        assert issubclass(error, rf.RankframeError)
    assert issubclass(rf.RankframeError, ValueError)
    assert issubclass(rf.ExtraError, ImportError)
    assert issubclass(rf.RankframeWarning, UserWarning)


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == rf.__version__ == version("rankframe")


def test_types_ship_with_the_package() -> None:
    assert (Path(rf.__file__).parent / "py.typed").is_file()
