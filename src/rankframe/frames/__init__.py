"""Frames: their schemas, how anything becomes one, and what is checked before one is used."""
