"""What every store of files does."""

import resource
from dataclasses import replace
from pathlib import Path

import pytest
from typing_extensions import override

from storage.blobs import (
    CHUNK_BYTES,
    BlobStoreError,
    IncomingBlob,
    LocalBlobStore,
    NamelessFile,
    new_key,
)
from storage.s3_blobs import PART_BYTES, S3BlobStore

pytestmark = pytest.mark.asyncio


@pytest.fixture(params=["local", "S3"])
def store(request, tmp_path):
    if request.param == "local":
        return LocalBlobStore(tmp_path / "files")
    return S3BlobStore(request.getfixturevalue("bucket"), tmp_path / "files")


async def put(store, content, key=None):
    key = key or new_key("uploads", 1)
    incoming = await store.receive()
    try:
        await incoming.write(content)
        await incoming.keep(key)
    finally:
        await incoming.discard()
    return key


async def content_of(store, key, start=0, length=None):
    return b"".join([chunk async for chunk in store.read(key, start, length)])


async def names_in(store):
    return {blob.key async for blob in store.kept()}


async def test_what_is_kept_is_read_in_pieces_and_from_anywhere(store):
    content = bytes(range(256)) * 1_000
    key = await put(store, content)
    pieces = [chunk async for chunk in store.read(key)]
    assert b"".join(pieces) == content
    assert max(map(len, pieces)) <= CHUNK_BYTES
    assert await content_of(store, key, 1000, 10) == content[1000:1010]
    assert await content_of(store, key, len(content)) == b""
    assert await content_of(store, key, len(content) - 5, 100) == content[-5:]
    assert await names_in(store) == {key}


async def test_what_is_dropped_leaves_nothing(store):
    incoming = await store.receive()
    await incoming.write(b"half")
    assert len(await names_in(store)) == 1
    await incoming.discard()
    await incoming.discard()
    assert await names_in(store) == set()


async def test_what_came_before_a_full_disk_is_kept_and_nothing_of_what_did_not_fit(store):
    key = new_key("uploads", 1)
    incoming = await store.receive()
    await incoming.write(b"before")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            await incoming.write(b"does not fit")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    await incoming.write(b" and after")
    await incoming.keep(key)
    assert await content_of(store, key) == b"before and after"
    assert incoming.size == len(b"before and after")
    await incoming.discard()


async def test_a_key_is_written_once(store):
    key = await put(store, b"first")
    with pytest.raises(FileExistsError):
        await put(store, b"second", key)
    assert await content_of(store, key) == b"first"


async def test_deleting_may_be_repeated(store):
    key = await put(store, b"x")
    await store.delete(key)
    await store.delete(key)
    with pytest.raises(FileNotFoundError):
        await content_of(store, key)


@pytest.mark.parametrize(
    "key",
    [
        "",
        "/etc/passwd",
        "uploads/1/ab/../../../../etc/passwd",
        "uploads/../1/ab/abcdefghijklmnopqrstuv",
        "uploads/1/ab/abcdefghijklmnopqrstuv/x",
        "uploads/1/ab/abcdefghijklmnopqrstuv\n",
        "uploads/1/ab/abcdefghijklmnopqrst\0v",
        "incoming/../uploads/1/ab/abcdefghijklmnopqrstuv/..",
    ],
)
async def test_what_is_no_key_reaches_nothing(store, key):
    incoming = await store.receive()
    with pytest.raises(ValueError, match="not the key of a file"):
        await incoming.keep(key)
    await incoming.discard()
    with pytest.raises(ValueError, match="not the key of a file"):
        await content_of(store, key)


async def test_a_link_in_the_folder_is_not_followed(tmp_path):
    store = LocalBlobStore(tmp_path / "files")
    secret = tmp_path / "secret"
    secret.write_text("secret")
    key = new_key("uploads", 1)
    (tmp_path / "files" / key).parent.mkdir(parents=True)
    (tmp_path / "files" / key).symlink_to(secret)
    with pytest.raises(OSError, match="symbolic links"):
        await content_of(store, key)


async def test_what_is_large_goes_in_parts(store):
    content = bytes(range(251)) * (3 * PART_BYTES // 251)
    key = await put(store, content)
    assert await store.size(key) == len(content)
    assert await content_of(store, key, PART_BYTES - 5, 10) == content[PART_BYTES - 5 :][:10]
    assert await content_of(store, key) == content


async def test_nothing_is_read_of_what_is_not_there(store):
    key = new_key("uploads", 1)
    for look in (store.size(key), content_of(store, key)):
        with pytest.raises(FileNotFoundError):
            await look


async def test_a_bucket_that_is_away_is_no_file_that_is_gone(bucket, tmp_path):
    away = S3BlobStore(replace(bucket, endpoint="http://127.0.0.1:9"), tmp_path / "files")
    with pytest.raises(BlobStoreError):
        await away.delete(new_key("uploads", 1))


class Full(NamelessFile):
    """A file on a disk that is full."""

    @override
    def write(self, chunk: bytes) -> None:
        with Path("/dev/full").open("wb", buffering=0) as file:
            file.write(chunk)


async def test_a_full_disk_is_a_store_that_does_not_do_what_it_should(tmp_path):
    async def keep(file: NamelessFile, key: str) -> None:
        file.keep(key)

    incoming = IncomingBlob(Full(tmp_path), keep)
    with pytest.raises(BlobStoreError, match="no room for files"):
        await incoming.write(b"more")
    await incoming.discard()
