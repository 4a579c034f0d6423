"""Residuals as libraries list them."""

from numjet.api.saved_residuals import saved_residuals as saved_residuals
