"""Print the lowest version of every dependency that pyproject.toml allows, as requirements for pip."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

TESTS = ("duckdb", "pytest", "pytest-xdist", "hypothesis", "pandas", "pytrec-eval-terrier")

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
bounds = [
    re.match(r"([\w-]+)>=([\d.]+)", requirement)
    for requirement in (*project["dependencies"], *project["optional-dependencies"]["dev"])
]
needed = [re.match(r"[\w-]+", requirement) for requirement in project["dependencies"]]
names = {match[0] for match in needed if match} | set(TESTS)
print("\n".join(f"{bound[1]}=={bound[2]}" for bound in bounds if bound and bound[1] in names))
