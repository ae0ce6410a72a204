"""What every store of files does."""

import pytest

from storage.blobs import CHUNK_BYTES, LocalBlobStore, new_key

pytestmark = pytest.mark.asyncio


@pytest.fixture
def store(tmp_path):
    return LocalBlobStore(tmp_path / "files")


async def put(store, content, key=None):
    key = key or new_key("uploads", 1)
    incoming = await store.receive()
    await incoming.write(content)
    await incoming.keep(key)
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


async def test_a_link_in_the_folder_is_not_followed(store, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    key = new_key("uploads", 1)
    (tmp_path / "files" / key).parent.mkdir(parents=True)
    (tmp_path / "files" / key).symlink_to(secret)
    with pytest.raises(OSError, match="symbolic links"):
        await content_of(store, key)
