"""Any run as batches of whole queries: one where it is in memory, else as many as memory asks for."""

from rankframe.batches.grouping import NotGroupedError, rows_within
from rankframe.batches.reading import Batches, StoppedError

__all__ = ["Batches", "NotGroupedError", "StoppedError", "rows_within"]
