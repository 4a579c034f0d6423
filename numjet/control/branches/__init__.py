"""Branches: cond, switch, and the choice by platform.
Imports `call`.
Add a way to choose as an operation with a module of its own.
"""
