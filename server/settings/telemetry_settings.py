"""Declarations of the settings of traces and error reports."""

from typing import Annotated

from msgspec import Meta

from server.settings.descriptions import described
from server.settings.ldap_settings import LdapSettings


class TelemetrySettings(LdapSettings, frozen=True, kw_only=True):
    """The settings of what this server reports about itself, beside those of directories."""

    traces_endpoint: Annotated[
        Annotated[str, Meta(pattern=r"^https?://[^?#@\s]+$")] | None,
        described("an address like http://localhost:4318/v1/traces"),
    ] = None
    """The collector of traces, by OTLP over HTTP. None: nothing is traced."""
    traces_sample_ratio: Annotated[
        Annotated[float, Meta(ge=0, le=1)], described("a number from 0 to 1, like 0.01")
    ] = 0.01
    """The part of the requests that is traced."""
    sentry_dsn: Annotated[
        Annotated[str, Meta(pattern=r"^https?://[^@/\s]+@[^/\s]+/\S*\d+$")] | None,
        described("a DSN, like https://key@errors.example.com/1"),
    ] = None
    """Where faults are reported, in the protocol of Sentry. None: in the log only."""
