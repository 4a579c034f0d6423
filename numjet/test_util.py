"""Checks of derivatives by finite differences."""

from numjet.testing.derivatives import (
    check_close as check_close, check_grads as check_grads, check_jvp as check_jvp, check_vjp as check_vjp,
)
