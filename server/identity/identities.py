"""All identity providers of a server."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from server.domain.clock import Clock
from server.domain.providers import DISCORD, GITHUB, OAuth2Provider, SamlProvider
from server.egress import Egress, open_egress
from server.identity.errors import DirectoryAwayError, IdentityError
from server.identity.flows import PURPOSE, Flows
from server.identity.identity import Identity, OtherSite
from server.parsing.lane import Lane
from server.settings import Settings
from storage import server_keys
from storage.database import Database
from storage.ids import RealmId

if TYPE_CHECKING:
    from server.identity.ldap import Ldap

__all__ = ["DirectoryAwayError", "Identities", "Identity", "IdentityError", "open_identities"]

SAML_WORKER: Final = "server.identity.saml_worker"


@dataclass(frozen=True, slots=True)
class Identities:
    """The providers by their configured names."""

    providers: dict[str, OtherSite]
    flows: Flows
    ldap: "Ldap | None"
    """None if LDAP is not configured."""
    warned: set[tuple[RealmId, str, str]] = field(default_factory=set)
    """Organizations, providers and names of groups in their mapping that have been logged as
    unknown."""


@asynccontextmanager
async def open_identities(
    settings: Settings, database: Database, clock: Clock
) -> AsyncIterator[Identities]:
    """Open the configured providers. Requests to them are not restricted by the egress guard."""
    async with database.connection() as connection:
        flows = Flows(await server_keys.key_for(connection, PURPOSE))
    wanted = settings.sign_in_providers
    async with open_egress(settings, also=wanted.hosts) as egress:
        lane = Lane(SAML_WORKER)
        providers = {name: _site(name, settings, egress, clock, lane) for name in wanted}
        try:
            with _ldap(settings) as ldap:
                yield Identities(providers, flows, ldap)
        finally:
            await lane.close()


@contextmanager
def _ldap(settings: Settings) -> "Iterator[Ldap | None]":
    if settings.ldap_url is None:
        yield None
        return
    from server.identity.ldap import Ldap  # starts faster without ldap3

    with closing(Ldap(settings)) as ldap:
        yield ldap


def _site(name: str, settings: Settings, egress: Egress, clock: Clock, lane: Lane) -> OtherSite:
    provider = settings.sign_in_providers[name]
    if isinstance(provider, SamlProvider):
        from server.identity.saml import (  # starts faster without xmlsec
            SamlSite,
            ServiceProviderKey,
        )

        own = None
        if settings.saml_certificate is not None and settings.saml_key is not None:
            own = ServiceProviderKey(settings.saml_certificate, settings.saml_key)
        return SamlSite(provider, own, clock, lane)
    from server.identity.oidc import OpenIdProvider  # starts faster without joserfc

    if isinstance(provider, OAuth2Provider):
        from server.identity.oauth2 import DescribedSite

        return DescribedSite.of(provider, egress)
    if name == GITHUB:
        from server.identity.github import GitHub

        return GitHub.of(provider, egress)
    if name == DISCORD:
        from server.identity.discord import Discord

        return Discord.of(provider, egress)
    return OpenIdProvider(name, provider, egress, clock)
