"""One real Spark for all tests of this folder; without PySpark or Java they are skipped."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from .shared import CONFIG

# PySpark says so on import where pandas 3 is installed; nothing here goes through pandas.
PANDAS = "ignore:PySpark does not yet fully support pandas:FutureWarning"
# PySpark 4.0 leaves sockets to the garbage collector, over which the JVM hands results to it.
SOCKETS = (
    "ignore:Exception ignored in. <socket.socket:pytest.PytestUnraisableExceptionWarning",
    "ignore:unclosed <socket.socket:ResourceWarning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.filterwarnings(PANDAS))
            item.add_marker(pytest.mark.filterwarnings(*SOCKETS))


@pytest.fixture(scope="session")
def _spark_is_here() -> None:
    pytest.importorskip("pyspark", reason="needs PySpark (extra spark)", exc_type=ImportError)
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs Java, on which Spark runs")


@pytest.fixture(scope="session")
def spark(_spark_is_here: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from pyspark.sql import SparkSession

    patch = pytest.MonkeyPatch()
    patch.setenv("PYSPARK_PYTHON", sys.executable)  # the workers' Python: another one need not have rankframe
    folder = str(tmp_path_factory.mktemp("spark"))
    builder = SparkSession.builder.master("local[2]").config("spark.local.dir", folder)
    for key, value in {**CONFIG, "spark.sql.warehouse.dir": folder}.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")  # what is refused on purpose is an error to Spark
    yield session
    session.stop()
    patch.undo()
