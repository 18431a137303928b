"""Which run is better, and how sure that is: paired differences, tests, corrections."""

from __future__ import annotations

from rankframe.comparison.comparing import compare as compare
from rankframe.comparison.corrections import corrected as corrected

__all__ = ["compare", "corrected"]
