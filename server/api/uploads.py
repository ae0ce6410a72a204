"""What all ways to upload a file have in common."""

from server.api.endpoint import Result
from server.domain.attachments import MIB
from server.settings import Settings


def max_upload_bytes(settings: Settings) -> int:
    return settings.max_file_upload_mib * MIB


class Uploaded(Result):
    url: str
    uri: str
    filename: str
