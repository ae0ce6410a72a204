"""Blobs in a bucket of S3, or of a compatible store."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

import obstore
from obstore.exceptions import BaseError, NotFoundError
from obstore.store import S3Store
from typing_extensions import override

from storage.blobs import (
    CHUNK_BYTES,
    INCOMING,
    BlobStore,
    BlobStoreError,
    IncomingBlob,
    KeptBlob,
    LocalBlobStore,
    NamelessFile,
    check_key,
)

if TYPE_CHECKING:
    from obstore.store import S3Config

READ_TIMEOUT: Final = timedelta(seconds=30)
"""Timeout of a silent bucket."""
CONNECT_TIMEOUT: Final = timedelta(seconds=5)
TRANSFER_TIMEOUT: Final = timedelta(hours=12)
"""Timeout of a file's transfer to a slow client."""
MAX_ATTEMPTS: Final = 4
RETRY_TIMEOUT: Final = timedelta(seconds=15)
"""Time after which a request is not retried: a client waits for the response."""
PART_BYTES: Final = 8 * 1024 * 1024
"""Larger files are uploaded in parts of this size, two at once."""
LIST_PAGE_SIZE: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Bucket:
    """Name, address and credentials of a bucket."""

    name: str
    region: str
    endpoint: str | None = None
    """URL of a store that is not Amazon's."""
    access_key: str | None = None
    secret_key: str | None = None
    """None: the machine's own credentials are used."""

    def config(self) -> "S3Config":
        """Return the configuration for the library."""
        config: S3Config = {
            "region": self.region,
            "virtual_hosted_style_request": self.endpoint is None,
        }
        if self.endpoint is not None:
            config["endpoint"] = self.endpoint
        if self.access_key is not None and self.secret_key is not None:
            config["access_key_id"] = self.access_key
            config["secret_access_key"] = self.secret_key
        return config


class S3BlobStore(BlobStore):
    """Blobs in a bucket, which servers on any number of machines share.

    Incoming content is staged in a local folder.
    """

    def __init__(self, bucket: Bucket, folder: Path) -> None:
        self._incoming = LocalBlobStore(folder)
        is_plain = bucket.endpoint is not None and bucket.endpoint.startswith("http://")
        self._store = S3Store(
            bucket.name,
            config=bucket.config(),
            client_options={
                "allow_http": is_plain,
                "connect_timeout": CONNECT_TIMEOUT,
                "read_timeout": READ_TIMEOUT,
                "timeout": TRANSFER_TIMEOUT,
            },
            retry_config={"max_retries": MAX_ATTEMPTS - 1, "retry_timeout": RETRY_TIMEOUT},
        )

    @override
    async def receive(self) -> IncomingBlob:
        return IncomingBlob(await self._incoming.nameless(), self._keep)

    async def _keep(self, file: NamelessFile, key: str) -> None:
        # Keys are random: two writers of the same key have the same content.
        with suppress(FileNotFoundError):
            await _size(self._store, key)
            raise FileExistsError(key)
        try:
            with _translated_errors(key):
                await obstore.put_async(
                    self._store, key, file.path, chunk_size=PART_BYTES, max_concurrency=2
                )
        except FileNotFoundError as error:
            raise BlobStoreError("there is no such bucket") from error

    @override
    async def read(
        self, key: str, start: int = 0, length: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        size = await self.size(key)
        end = size if length is None else min(size, start + length)
        if start >= end:
            return
        with _translated_errors(key):
            found = await obstore.get_async(self._store, key, options={"range": (start, end)})
            async for piece in found.stream(min_chunk_size=CHUNK_BYTES):
                content = bytes(piece)
                for at in range(0, len(content), CHUNK_BYTES):
                    yield content[at : at + CHUNK_BYTES]

    @override
    async def size(self, key: str) -> int:
        check_key(key)
        return await _size(self._store, key)

    @override
    async def delete(self, key: str) -> None:
        if key.startswith(f"{INCOMING}/"):
            await self._incoming.delete(key)
            return
        check_key(key)
        with suppress(FileNotFoundError), _translated_errors(key):
            await obstore.delete_async(self._store, key)

    @override
    async def kept(self) -> AsyncIterator[KeptBlob]:
        async for blob in self._incoming.kept():
            yield blob
        with _translated_errors(""):
            async for some in obstore.list(self._store, chunk_size=LIST_PAGE_SIZE):
                for found in some:
                    yield KeptBlob(found["path"], found["last_modified"].timestamp())


async def _size(store: S3Store, key: str) -> int:
    """Return its size; raise FileNotFoundError."""
    with _translated_errors(key):
        found: int = (await obstore.head_async(store, key))["size"]
    return found


@contextmanager
def _translated_errors(key: str) -> Iterator[None]:
    """Translate the library's errors to those of BlobStore."""
    try:
        yield
    except (FileNotFoundError, NotFoundError):
        raise FileNotFoundError(key) from None
    except BaseError as error:
        raise BlobStoreError(str(error).partition("\n")[0]) from error
