"""Bands and gates: values in words, and held against thresholds or an earlier report, as one row per check.

A gate cannot pass by absence: a metric that is not there, no value, and too few values fall short like a low value.
"""

from rankframe.gates.baselines import regressions
from rankframe.gates.files import Gate, read_gate
from rankframe.gates.outcome import require
from rankframe.gates.scales import BANDS, Scale, band_table, bands
from rankframe.gates.thresholds import GATES, Threshold, checked

__all__ = [
    "BANDS",
    "GATES",
    "Gate",
    "Scale",
    "Threshold",
    "band_table",
    "bands",
    "checked",
    "read_gate",
    "regressions",
    "require",
]
