"""Imports of organizations from the exports of other programs: docs/adr/0040-imports.md.

A reader (`readers/`) yields the records of a file in one form (`records.py`), whatever program
wrote it; `importing.py` turns them into rows, in batches that record their progress.
"""
