"""Export: functions as bytes that another process, release or machine calls. `numjet/export.py` shows the names."""
