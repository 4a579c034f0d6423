"""Compiled functions as bytes, loaded again by another process."""

from numjet.api.export.executables import deserialize_and_load as deserialize_and_load, serialize as serialize
