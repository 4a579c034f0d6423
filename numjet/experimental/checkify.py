"""Errors of a function as a value that it returns: checks by the user, NaNs, divisions by zero, indices out of bounds."""

from numjet.api.checkify import (
    Error as Error,
    ErrorCategory as ErrorCategory,
    all_checks as all_checks,
    automatic_checks as automatic_checks,
    check_error as check_error,
    checkify as checkify,
    div_checks as div_checks,
    float_checks as float_checks,
    index_checks as index_checks,
    init_error as init_error,
    nan_checks as nan_checks,
    user_checks as user_checks,
)
from numjet.control.checks.check_op import JaxRuntimeError as JaxRuntimeError, check as check, debug_check as debug_check

__all__ = [
    "Error", "ErrorCategory", "JaxRuntimeError", "all_checks", "automatic_checks", "check", "check_error", "checkify",
    "debug_check", "div_checks", "float_checks", "index_checks", "init_error", "nan_checks", "user_checks",
]
