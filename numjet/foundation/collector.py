"""Pause of Python's garbage collector while modules are imported: they make tens of thousands of objects that stay, which it
would look through again and again, a tenth of the time of `import numjet`."""
import gc


class paused:
    """No collection in a `with` block, unless another thread ends a pause of its own in the meantime.

    What the block has made counts as old at its end. Else the next object that Python makes would have it looked through.
    """

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = gc.isenabled()
        gc.disable()

    def __exit__(self, *_: object) -> None:
        if not self._before:
            return
        if gc.get_freeze_count() == 0:  # the objects of programs that freeze some stay frozen
            gc.freeze()
            gc.unfreeze()
        gc.enable()
