"""Lazy exports: what `jax.experimental` names of other rooms, imported when the first of it is named."""

from numjet.control.host.callback import io_callback as io_callback
