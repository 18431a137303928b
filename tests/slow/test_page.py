"""The page of a comparison in a real browser: it draws everything, says nothing on its console, and asks nobody."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HANDBOOK = Path(__file__).parents[2] / "data" / "handbook"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed (apt-get install chromium)"),
]
for extra in ("scipy", "altair", "vl_convert", "great_tables"):
    pytest.importorskip(extra, reason=f"{extra} is not installed (extras stats, plots, tables)")

SECTIONS = ("Summary", "Comparison", "Query by query", "By topic", "Hardest queries", "What the numbers are")


def browsed(page: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What the browser prints of a page, with its console on standard error; every address leads nowhere."""
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
    command += ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={page.parent / 'profile'}"]
    command += ["--virtual-time-budget=15000", *options, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)


def console(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("page") / "report.html"
    runs = sorted(map(str, (HANDBOOK / "runs").glob("*.trec")))
    command = [sys.executable, "-m", "rankframe", "compare", *runs, "--qrels", str(HANDBOOK), "--baseline", "bm25"]
    command += ["--by", f"{HANDBOOK}:topic", "--html", str(target)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return target


def test_the_console_is_heard(tmp_path: Path) -> None:
    """Else its silence would mean nothing."""
    loud = tmp_path / "loud.html"
    loud.write_text("<script>console.error('ouch')</script>")
    assert "ouch" in "".join(console(browsed(loud, "--dump-dom")))


def test_its_text_is_read_and_every_picture_drawn_without_a_word_on_the_console(page: Path) -> None:
    done = browsed(page, "--dump-dom")
    assert console(done) == []
    body = done.stdout
    visible = re.sub(r"<(script|style)\b.*?</\1>", " ", body, flags=re.DOTALL)
    assert tuple(re.findall(r"<h2[^>]*>(.*?)</h2>", visible)) == SECTIONS
    text = re.sub(r"<[^>]+>", " ", visible)
    for said in ("Comparison of bm25, dense, rrf, tfidf", "over 86 queries", "ndcg@10", "formats", "missing: zero"):
        assert said in text
    places = re.findall(r'id="picture-\d+"', visible)
    assert len(places) == len(set(places)) == 1 + 3 + 1  # intervals, three runs against one, one column of slices
    drawn = re.findall(r'id="picture-\d+"[^>]*><div class="chart-wrapper"[^>]*><(?:svg|canvas)', visible)
    assert len(drawn) == len(places)


def test_a_screenshot_shows_it(page: Path) -> None:
    image = page.parent / "page.png"
    done = browsed(page, f"--screenshot={image}", "--window-size=1300,3000", "--hide-scrollbars")
    assert console(done) == []
    data = image.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = (int.from_bytes(data[at : at + 4]) for at in (16, 20))
    assert (width, height) == (1300, 3000)
    assert len(data) > 100_000  # an empty page of this size takes 10 kB


def test_nothing_on_it_comes_from_elsewhere(page: Path) -> None:
    source = re.sub(r"<script\b.*?</script>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert re.findall(r"""\b(?:src|href)\s*=\s*["'](?!#|data:)([^"']+)""", source) == []
    assert "@import" not in source
    assert re.findall(r"url\(", source) == []
    assert source.startswith("<!DOCTYPE html>")
