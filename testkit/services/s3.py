"""A bucket on a server that speaks as S3 does."""

import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from storage.s3_blobs import Bucket
from testkit.free_ports import free_port
from testkit.services.proxy import Proxy, proxy_to

START_SECONDS = 60


@pytest.fixture(scope="session")
def s3_server() -> Iterator[str]:
    """The address of the server."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        url = f"http://127.0.0.1:{port}"
        try:
            _until_it_answers(url)
            yield url
        finally:
            process.kill()


@pytest.fixture
def bucket(s3_server: str) -> Bucket:
    """A new one."""
    name = f"files-{uuid.uuid4().hex}"
    assert _status(s3_server, "PUT", f"/{name}") == 200
    return Bucket(
        name=name, region="us-east-1", endpoint=s3_server, access_key="key", secret_key="secret"
    )


@dataclass(frozen=True, slots=True)
class Cuttable:
    """A bucket, and the network in between."""

    bucket: Bucket
    proxy: Proxy

    @property
    def settings(self) -> dict[str, Any]:
        """The settings of a server that keeps its files in this bucket."""
        return {
            "s3_bucket": self.bucket.name,
            "s3_endpoint": self.bucket.endpoint,
            "s3_access_key": self.bucket.access_key,
            "s3_secret_key": self.bucket.secret_key,
        }


@pytest_asyncio.fixture
async def cuttable_bucket(bucket: Bucket) -> AsyncIterator[Cuttable]:
    port = urlsplit(bucket.endpoint or "").port
    assert port is not None
    async with proxy_to(port) as proxy:
        yield Cuttable(replace(bucket, endpoint=f"http://127.0.0.1:{proxy.port}"), proxy)


def _status(url: str, method: str, path: str) -> int:
    place = urlsplit(url)
    with closing(HTTPConnection(place.hostname or "", place.port, timeout=60)) as connection:
        connection.request(method, path)
        return connection.getresponse().status


def _until_it_answers(url: str) -> None:
    until = time.monotonic() + START_SECONDS
    while True:
        try:
            _status(url, "GET", "/")
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return
