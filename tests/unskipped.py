"""A plugin that makes a skip a failure: `pytest -p tests.unskipped tests/frameworks`."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.CollectReport, pytest.TestReport)


def _failed(report: Report) -> Report:
    if report.skipped and isinstance(report.longrepr, tuple):  # file, line and reason
        report.outcome, report.longrepr = "failed", report.longrepr[2]
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    return _failed((yield))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _failed((yield))
