"""TLS certificates of this server, validated at the start."""

import ssl
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from typing_extensions import override

from server.runtime.sockets import ListenError
from server.settings import Settings, variable_of

OTHERS_KEY: Final = frozenset({"KEY_VALUES_MISMATCH", "NO_CERTIFICATE_ASSIGNED"})
"""OpenSSL's reasons for a key that does not match its certificate, of the same kind and of
another."""

FLIGHTS: Final = 3
"""Number of round trips of a handshake."""


def https(settings: Settings) -> ssl.SSLContext | None:
    """Return the context for the API and the pages; None: there is no certificate.

    Raises ListenError.
    """
    return _tls(settings, "certificate", "certificate_key")


def mail_in(settings: Settings) -> ssl.SSLContext | None:
    """Return the context for incoming mail, likewise."""
    return _tls(settings, "mail_in_certificate", "mail_in_key")


def good_until(tls: ssl.SSLContext, certificate: Path) -> datetime:
    """Return when clients stop to accept the certificate.

    Raises ListenError if its dates are invalid.

    The certificate's issuer is trusted for this check.
    """
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    client.load_verify_locations(certificate)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    asking = client.wrap_bio(back, there)
    answering = tls.wrap_bio(there, back, server_side=True)
    try:
        for side in (asking, answering) * FLIGHTS:
            with suppress(ssl.SSLWantReadError):
                side.do_handshake()
    except ssl.SSLCertVerificationError as error:
        raise ListenError(
            f"Clients refuse the certificate in {certificate}: {error.verify_message}."
        ) from error
    shown = asking.getpeercert()
    assert shown is not None, "the handshake has come to its end"
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(shown["notAfter"])), UTC)


@dataclass(frozen=True, slots=True)
class _File:
    """A file, and the sentence that names it."""

    setting: str
    path: Path

    @override
    def __str__(self) -> str:
        return f"{variable_of(self.setting)} names {self.path}"

    def needs(self, mark: str, lacking: str) -> None:
        """Raise ListenError unless the mark is in the file."""
        try:
            content = self.path.read_bytes()
        except OSError as error:
            raise ListenError(f"{self}, but: {error.strerror}.") from error
        if mark.encode() not in content:
            raise ListenError(f"{self}, which holds {lacking}.")


def _tls(settings: Settings, certificate: str, key: str) -> ssl.SSLContext | None:
    if getattr(settings, certificate) is None:
        return None
    shown = _File(certificate, getattr(settings, certificate))
    shown.needs("CERTIFICATE-----", "no certificate in PEM")
    own = shown
    if getattr(settings, key) is None:
        shown.needs("PRIVATE KEY-----", f"no key in PEM: {variable_of(key)} has to name its file")
    else:
        own = _File(key, getattr(settings, key))
        own.needs("PRIVATE KEY-----", "no key in PEM")
    return _loaded(shown, own)


def _loaded(certificate: _File, key: _File) -> ssl.SSLContext:

    def refuse() -> str:
        # The library would prompt at the terminal.
        raise ListenError(
            f"{key}, which is encrypted: write the key without its pass phrase"
            f" (openssl pkey -in {key.path} -out NEW)."
        )

    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.minimum_version = ssl.TLSVersion.TLSv1_2  # some builds of Python leave it to OpenSSL
    tls.options |= ssl.OP_NO_RENEGOTIATION  # it costs the server much more than the client
    try:
        tls.load_cert_chain(certificate.path, key.path, refuse)
    except ssl.SSLError as error:
        if error.reason in OTHERS_KEY:
            raise ListenError(
                f"{key}, which is not the key of the certificate in {certificate.path}"
                f" ({variable_of(certificate.setting)})."
            ) from error
        places = str(key) if key == certificate else f"{certificate}, and {key}"
        raise ListenError(f"{places}, which cannot be used: {error}.") from error
    return tls
