"""The type of mutable references."""

from numjet.core.refs import AbstractRef as AbstractRef
