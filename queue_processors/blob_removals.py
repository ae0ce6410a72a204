"""Process the blob removal queue: delete blobs that no row refers to any more."""

from queue_processors.processor import Processor
from server.app import App
from server.jobs import BlobRemoval


async def handle(app: App, job: BlobRemoval) -> None:
    for key in job.keys:
        await app.blobs.delete(key)


PROCESSOR = Processor(BlobRemoval, handle)
