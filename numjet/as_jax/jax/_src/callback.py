"""Callbacks of compiled programs."""

from numjet.control.host.callback import io_callback as io_callback, pure_callback as pure_callback
