"""Ids of tests that are the same in every process."""

from __future__ import annotations

import re


def shown(value: object) -> str:
    """The repr of a parameter, without the address of an object."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))
