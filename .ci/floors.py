"""Print the lowest version of every dependency that pyproject.toml allows, as requirements for pip."""

from __future__ import annotations

import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
tests = ("pytest", "hypothesis", "pandas", "pytrec-eval-terrier")
wanted = [*project["dependencies"], *(d for d in project["optional-dependencies"]["dev"] if d.startswith(tests))]
print("\n".join(requirement.replace(">=", "==") for requirement in wanted if not requirement.startswith("pytest-")))
