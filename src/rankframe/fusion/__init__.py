"""Several runs become one.

`methods` says what a row is worth and how the rows of a document add up; `fusing` reads the runs and joins the two.
"""

from __future__ import annotations

from rankframe.fusion.fusing import fuse as fuse

__all__ = ["fuse"]
