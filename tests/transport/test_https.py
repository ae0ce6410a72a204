"""HTTPS with a certificate of the operator's own."""

import pytest

from server.listening import ListenError, tls_of
from server.main import TRANSPORTS
from tests.fixtures.clients import basic
from tests.fixtures.sockets import Connection, connected, request

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_server_with_a_certificate_speaks_https_alone(
    serving_with, log_in, certificate, transport
):
    client = await log_in()
    async with serving_with(
        transport=transport,
        certificate=certificate.folder / "certificate.pem",
        certificate_key=certificate.folder / "key.pem",
    ) as server:
        asked = request(
            "GET",
            "/users/me",
            host=client.host,
            Authorization=basic(client.email, client.api_key),
        )
        async with connected(server.port, certificate.client) as encrypted:
            for _ in range(2):
                await encrypted.send(asked)
                assert (await encrypted.answer()).body["email"] == client.email
            await encrypted.send(b"\0\r\n\r\n")
            assert (await encrypted.rest()).startswith(b"HTTP/1.1 400 ")
        async with connected(server.port) as plain:
            await plain.send(asked)
            assert b"HTTP" not in await _what_comes(plain)
        assert server.app.settings.public_url.startswith("https://")


async def _what_comes(connection: Connection) -> bytes:
    try:
        return await connection.rest()
    except ConnectionError:
        return b""


async def test_a_certificate_that_is_none_is_told_in_a_sentence(tmp_path):
    (tmp_path / "key.pem").write_text("nothing")
    with pytest.raises(ListenError, match="PARLEY_CERTIFICATE cannot be used"):
        tls_of("PARLEY_CERTIFICATE", tmp_path / "key.pem", None)
