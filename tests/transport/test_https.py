"""HTTPS with a certificate of the operator's own."""

import ssl

import pytest

from server.listening import ListenError, tls_of
from server.main import TRANSPORTS
from tests.fixtures.clients import basic
from tests.fixtures.sockets import Connection, connected, request, until

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


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_connection_that_breaks_off_without_a_word_is_seen(
    serving_with, log_in, certificate, transport
):
    client = await log_in()
    async with serving_with(
        transport=transport,
        certificate=certificate.folder / "certificate.pem",
        certificate_key=certificate.folder / "key.pem",
    ) as server:
        queue = await client.register(event_types=["message"], fetch_event_types=[])
        path = f"/events?queue_id={queue.queue_id}&last_event_id=-1"
        authorization = basic(client.email, client.api_key)
        async with connected(server.port, certificate.client) as encrypted:
            poll = request("GET", path, host=client.host, Authorization=authorization)
            await encrypted.send(poll)
            await until(lambda: server.app.realtime.waiting() == 1)
        await until(lambda: server.app.realtime.waiting() == 0)
        async with connected(server.port) as half_agreed:
            await half_agreed.send(b"\x16\x03\x01\x02\x00")
            half_agreed.writer.write_eof()
            await _what_comes(half_agreed)
        async with connected(server.port, certificate.client) as encrypted:
            await encrypted.send(
                request("GET", "/users/me", host=client.host, Authorization=authorization)
            )
            assert (await encrypted.answer()).status == 200


async def test_nobody_has_keys_agreed_upon_twice_or_weakly(certificate):
    folder = certificate.folder
    tls = tls_of("PARLEY_CERTIFICATE", folder / "certificate.pem", folder / "key.pem")
    assert tls is not None
    assert tls.options & ssl.OP_NO_RENEGOTIATION
    assert tls.options & ssl.OP_NO_COMPRESSION
    assert tls.minimum_version >= ssl.TLSVersion.TLSv1_2


async def _what_comes(connection: Connection) -> bytes:
    try:
        return await connection.rest()
    except ConnectionError:
        return b""


async def test_a_certificate_that_is_none_is_told_in_a_sentence(tmp_path):
    (tmp_path / "key.pem").write_text("nothing")
    with pytest.raises(ListenError, match="PARLEY_CERTIFICATE cannot be used"):
        tls_of("PARLEY_CERTIFICATE", tmp_path / "key.pem", None)
