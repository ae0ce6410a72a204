"""What all ways to upload a file have in common."""

from server.api.endpoint import Result
from server.domain.attachments import MIB
from server.settings import Settings


def max_upload_bytes(settings: Settings) -> int:
    return settings.max_file_upload_mib * MIB


def max_import_bytes(settings: Settings) -> int:
    return settings.max_import_mib * MIB


def max_resumable_bytes(settings: Settings) -> int:
    """Return the largest size of what may be uploaded in several requests."""
    return max(max_upload_bytes(settings), max_import_bytes(settings))


class Uploaded(Result):
    url: str
    uri: str
    filename: str
