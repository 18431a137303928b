"""The same over Spark Connect: a server of its own on loopback, and a client that has no JVM."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .shared import CONFIG

LATEST = 120.0  # seconds until a server must listen; it takes some ten


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    ends = time.monotonic() + LATEST
    while time.monotonic() < ends:
        assert process.poll() is None, log.read_text()
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    raise AssertionError(log.read_text())


@pytest.fixture
def server(_spark_is_here: None, tmp_path: Path) -> Iterator[str]:
    pytest.importorskip("grpc_status", reason="needs pyspark[connect]", exc_type=ImportError)
    import pyspark

    port, log = _free_port(), tmp_path / "server.log"
    config = {**CONFIG, "spark.connect.grpc.binding.address": "127.0.0.1", "spark.connect.grpc.binding.port": str(port)}
    config |= {"spark.local.dir": str(tmp_path), "spark.sql.warehouse.dir": str(tmp_path)}
    command = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
        *("--master", "local[2]", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *(part for key, value in config.items() for part in ("--conf", f"{key}={value}")),
        "spark-internal",
    ]
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=tmp_path, env=environment)
        try:
            _wait(process, port, log)
            yield f"sc://127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def test_a_client_of_spark_connect_finds_what_is_found_in_memory(server: str) -> None:
    command = [sys.executable, "-m", "tests.spark.connected", server]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
    ended = subprocess.run(
        command,
        cwd=Path(__file__).parents[2],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (0, "as in memory\n"), ended.stderr
