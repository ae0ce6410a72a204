"""HTTPS with a certificate of the operator's own."""

import asyncio
import re
import shutil
import ssl
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from server.main import TRANSPORTS
from server.runtime.sockets import ListenError
from server.settings import Settings, certificates
from server.transport import acceptor_pool
from server.transport import server as transport_server
from testkit.clients.api import basic
from testkit.clients.raw_sockets import Connection, connected, request, until
from tests.transport.exchanges import ASK, serving

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


async def test_failed_handshakes_count_and_keep_no_client_out_for_ever(certificate, monkeypatch):
    monkeypatch.setattr(transport_server, "HANDSHAKE_SECONDS", 1.0)
    monkeypatch.setattr(acceptor_pool, "CHECK_SECONDS", 0.1)
    async with serving(tls=certificate.server) as (server, port, _), AsyncExitStack() as stack:
        server._room = 20
        async with connected(port, certificate.client) as known:
            for _ in range(60):
                await stack.enter_async_context(connected(port))
            await until(lambda: server._acceptors._is_paused)
            await asyncio.sleep(0.1)
            assert len(server._arrivals) < 40, "no other client is let in"
            await known.send(ASK)
            assert (await known.answer()).status == 200
        async with asyncio.timeout(60), connected(port, certificate.client) as late:
            await late.send(ASK)
            assert (await late.answer()).status == 200


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


async def test_renegotiation_and_weak_keys_are_refused(certificate):
    folder = certificate.folder
    tls = certificates.https(shown(folder / "certificate.pem", folder / "key.pem"))
    assert tls is not None
    assert tls.options & ssl.OP_NO_RENEGOTIATION
    assert tls.options & ssl.OP_NO_COMPRESSION
    assert tls.minimum_version >= ssl.TLSVersion.TLSv1_2


@pytest.mark.parametrize(
    ("name", "key", "sentence"),
    [
        ("none", "key", "PARLEY_CERTIFICATE names {}/none.pem, but: No such file or directory."),
        ("nothing", None, "PARLEY_CERTIFICATE names {}/nothing.pem, which holds no certificate in"),
        ("certificate", None, "which holds no key in PEM: PARLEY_CERTIFICATE_KEY has to name its"),
        ("certificate", "none", "PARLEY_CERTIFICATE_KEY names {}/none.pem, but: No such file"),
        (
            "certificate",
            "nothing",
            "PARLEY_CERTIFICATE_KEY names {}/nothing.pem, which holds no key",
        ),
        (
            "certificate",
            "encrypted",
            "PARLEY_CERTIFICATE_KEY names {}/encrypted.pem, which is encr",
        ),
        (
            "certificate",
            "same kind",
            "which is not the key of the certificate in {}/certificate.pem",
        ),
        ("certificate", "other", "which is not the key of the certificate in {}/certificate.pem"),
        (
            "certificate",
            "broken",
            "and PARLEY_CERTIFICATE_KEY names {}/broken.pem, which cannot be",
        ),
    ],
)
async def test_a_certificate_that_is_good_for_nothing_is_told_in_a_sentence(
    certificate, tmp_path, name, key, sentence
):
    for each in ("certificate.pem", "key.pem"):
        shutil.copy(certificate.folder / each, tmp_path)
    own, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    same_kind = rsa.generate_private_key(65_537, 2048)
    locked = BestAvailableEncryption(b"canary")
    for file, content in {
        "nothing": b"nothing",
        "broken": b"-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----\n",
        "other": other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        "same kind": same_kind.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()),
        "encrypted": own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked),
    }.items():
        (tmp_path / f"{file}.pem").write_bytes(content)

    def place(name):
        return None if name is None else tmp_path / f"{name}.pem"

    settings = shown(place(name), place(key))
    with pytest.raises(ListenError, match=re.escape(sentence.format(tmp_path))):
        certificates.https(settings)


async def test_so_is_that_of_mail_which_comes_in(certificate):
    own, missing = certificate.folder / "certificate.pem", certificate.folder / "none.pem"
    settings = Settings(data_directory=own, mail_in_certificate=own, mail_in_key=missing)
    with pytest.raises(ListenError, match=f"PARLEY_MAIL_IN_KEY names {missing}, but: No such"):
        certificates.mail_in(settings)


def shown(certificate, key):
    return Settings(data_directory=Path(), certificate=certificate, certificate_key=key)


async def _what_comes(connection: Connection) -> bytes:
    try:
        return await connection.rest()
    except ConnectionError:
        return b""
