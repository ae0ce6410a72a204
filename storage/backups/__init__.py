"""Backups: a whole installation in one file, from which it can be restored."""

from storage.backups.archive import BackupError, BackupManifest, Progress
from storage.backups.dumping import dump
from storage.backups.loading import refusal, refusal_of_version, restore, verify

__all__ = [
    "BackupError",
    "BackupManifest",
    "Progress",
    "dump",
    "refusal",
    "refusal_of_version",
    "restore",
    "verify",
]
