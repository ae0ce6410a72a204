"""Exports: one realm in a file of an open format, which another server can import."""

from storage.exports.files import drop_files, put_files, take_files
from storage.exports.loading import Place, load, refusal_of_version, renumbering
from storage.exports.manifest import ExportError, Manifest, Scope, reading, verify
from storage.exports.writing import Request, export

__all__ = [
    "ExportError",
    "Manifest",
    "Place",
    "Request",
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
