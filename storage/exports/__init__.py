"""Exports: one realm in a file of an open format, which another server can import."""

from storage.exports.files import drop_files, put_files, take_files
from storage.exports.loading import ImportTarget, load, refusal_of_version, renumbering
from storage.exports.manifest import ExportError, ExportManifest, Scope, reading, verify
from storage.exports.writing import ExportRequest, export

__all__ = [
    "ExportError",
    "ExportManifest",
    "ExportRequest",
    "ImportTarget",
    "Scope",
    "drop_files",
    "export",
    "load",
    "put_files",
    "reading",
    "refusal_of_version",
    "renumbering",
    "take_files",
    "verify",
]
