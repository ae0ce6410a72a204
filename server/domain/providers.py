"""Identity providers for sign-in, as configured by the operator."""

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

import msgspec
from typing_extensions import override

from server.domain.descriptions import (
    DescriptionError,
    called,
    described_as,
    is_web_address,
    one_of,
    table_of,
    wrong,
)
from server.domain.directory_groups import GroupMapping, role_called
from storage.address_folding import folded_domain

GOOGLE, GITHUB, GITLAB = "google", "github", "gitlab"
AZUREAD, APPLE, DISCORD = "azuread", "apple", "discord"
OIDC, OAUTH2, SAML = "oidc", "oauth2", "saml"
METHODS: Final = {
    GOOGLE: "Google",
    GITHUB: "GitHub",
    GITLAB: "GitLab",
    AZUREAD: "AzureAD",
    APPLE: "Apple",
    DISCORD: "Discord",
    OIDC: "OpenID Connect",
    OAUTH2: "OAuth 2",
    SAML: "SAML",
}
"""Method names in a realm's settings, by kind."""
LABELS: Final = {
    **METHODS,
    AZUREAD: "Microsoft Entra ID",
    OIDC: "single sign-on",
    OAUTH2: "single sign-on",
    SAML: "single sign-on",
}
ISSUERS: Final = {
    GOOGLE: "https://accounts.google.com",
    GITLAB: "https://gitlab.com",
    APPLE: "https://appleid.apple.com",
    GITHUB: "https://github.com",
    DISCORD: "https://discord.com",
}
"""Default issuers of providers."""

_SEQUENCE: Final = b"\x30"
"""First byte of a DER certificate."""
_CERTIFICATE: Final = re.compile(
    r"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL
)
_PUBLIC_KEY: Final = re.compile(r"-----BEGIN ((RSA )?PUBLIC KEY|CERTIFICATE)-----")


class Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One provider. Its name is one of the kinds above, or any other for OpenID Connect."""

    client_id: str
    client_secret: str = ""
    issuer: str = ""
    """Issuer URL in its tokens."""
    label: str = ""
    """Label of its button."""
    trusts_addresses: bool = False
    """Whether the operator trusts its addresses even if it does not mark them as verified."""
    api_url: str = ""
    """API URL of a GitHub Enterprise server."""
    team_id: str = ""
    key_id: str = ""
    private_key: str = ""
    """Key that Apple requires in place of a secret."""
    groups_claim: str = "groups"
    """Claim with the user's groups; claims of objects in it follow after dots."""
    groups_scope: str = ""
    """Scope that the provider wants for this claim."""
    groups: dict[str, str] = {}
    """User groups by names of the provider's groups."""
    roles: dict[str, str] = {}
    """Roles by names of the provider's groups."""

    @property
    def urls(self) -> tuple[str, ...]:
        """URLs that the server connects to."""
        return (self.issuer, self.api_url)


class OAuth2Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A site with OAuth 2.0 (RFC 6749) and a resource that describes the user, under any name."""

    kind: Literal["oauth2"]
    client_id: str
    client_secret: str
    authorize_url: str
    """Where users permit it."""
    token_url: str
    """Where a code is exchanged for a token."""
    user_url: str
    """Resource with the token's user, in JSON."""
    scope: str = "email"
    email_field: str = "email"
    """Field with the address; fields of objects in it follow after dots."""
    verified_field: str = "email_verified"
    """Field that is true if the address is verified."""
    name_fields: tuple[str, ...] = ("name",)
    """Fields with a user's name, or with parts of it in their order."""
    label: str = ""
    trusts_addresses: bool = False
    """As above: it need not mark them as verified."""
    groups_field: str = "groups"
    """Field with the user's groups."""
    groups: dict[str, str] = {}
    roles: dict[str, str] = {}

    @property
    def urls(self) -> tuple[str, ...]:
        """URLs that the server connects to."""
        return (self.token_url, self.user_url)


class SamlProvider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A SAML 2.0 identity provider, under any name."""

    kind: Literal["saml"]
    entity_id: str
    """Entity id in its responses."""
    sign_in_url: str
    certificate: str
    """Signing certificate in PEM; several during a rotation."""
    label: str = ""
    trusts_addresses: bool = False
    """As above: it may assert any address."""
    domains: tuple[str, ...] = ()
    """Domains of addresses that it may assert, if not all."""
    email_attribute: str = ""
    name_attributes: tuple[str, ...] = ()
    """Attributes with a user's name, or with parts of it in their order."""
    groups_attribute: str = ""
    """Attribute with the user's groups, if it is none of the usual ones."""
    groups: dict[str, str] = {}
    roles: dict[str, str] = {}

    @property
    def certificates(self) -> list[str]:
        return _CERTIFICATE.findall(self.certificate) or [self.certificate]


AnyProvider: TypeAlias = Provider | OAuth2Provider | SamlProvider


class Providers:
    """The providers by name, in display order; from a table, or its JSON."""

    def __init__(self, given: object = "") -> None:
        self._by_name = {name: _provider(name, each) for name, each in table_of(given).items()}

    def __getitem__(self, name: str) -> AnyProvider:
        return self._by_name[name]

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def kind_of(self, name: str) -> str:
        """Return the protocol of the provider."""
        provider = self[name]
        if not isinstance(provider, Provider):
            return provider.kind
        return name if name in METHODS else OIDC

    def method_of(self, name: str) -> str:
        """Return the name of its authentication method in a realm's settings."""
        return METHODS[self.kind_of(name)]

    def label_of(self, name: str) -> str:
        """Return the label of its button."""
        return self[name].label or LABELS[self.kind_of(name)]

    def mapping_of(self, name: str) -> GroupMapping:
        """Return what the provider's groups are here."""
        provider = self[name]
        roles = {group: role_called(role) for group, role in provider.roles.items()}
        return GroupMapping.of(provider.groups, roles)

    @property
    def methods(self) -> tuple[str, ...]:
        """Return the names of the available methods."""
        return tuple(dict.fromkeys(map(self.method_of, self)))

    @property
    def hosts(self) -> str:
        """Return the host names that the server connects to, as a list in settings' format."""
        places = [
            url
            for each in self._by_name.values()
            if not isinstance(each, SamlProvider)
            for url in each.urls
        ]
        return ", ".join({urlsplit(url).hostname or "" for url in places if url})

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return what no log line may contain."""
        found = [
            getattr(each, field, "")
            for each in self._by_name.values()
            for field in ("client_secret", "private_key")
        ]
        return tuple(secret for secret in found if secret)

    @override
    def __repr__(self) -> str:
        return f"Providers({', '.join(self)})"


def _provider(name: str, given: Mapping[str, Any]) -> AnyProvider:
    """Return the configured provider.

    Raises DescriptionError for an invalid configuration.
    """
    if not name.replace("-", "").isalnum() or not name.isascii() or name != name.lower():
        raise DescriptionError(f"{called(name)} must be lower-case letters, digits and hyphens")
    if given.get("kind") == SAML:
        return _with_mapping(name, _checked_saml(name, described_as(SamlProvider, name, given)))
    if given.get("kind") == OAUTH2:
        return _with_mapping(name, _checked_oauth2(name, described_as(OAuth2Provider, name, given)))
    if "kind" in given:
        raise wrong(name, "kind", one_of((OAUTH2, SAML)))
    if name in (OAUTH2, SAML):
        raise wrong(name, "kind", f"must be {name}")
    return _with_mapping(name, _checked(name, described_as(Provider, name, given)))


def _with_mapping(name: str, provider: AnyProvider) -> AnyProvider:
    """Return the provider if it may have this mapping of groups."""
    for field in ("groups", "roles"):
        table = getattr(provider, field)
        if table and name in (GITHUB, DISCORD):
            raise wrong(name, field, "cannot be: it asserts no groups")
        if not all(group and here for group, here in table.items()):
            raise wrong(name, field, "has an empty name")
    for role in provider.roles.values():
        try:
            role_called(role)
        except DescriptionError as error:
            raise wrong(name, "roles", f"is wrong: {error}") from None
    return provider


def _checked_saml(name: str, provider: SamlProvider) -> SamlProvider:
    if not provider.entity_id:
        raise wrong(name, "entity_id", "is empty")
    if not is_web_address(provider.sign_in_url):
        raise wrong(name, "sign_in_url", "must be an address that starts with https://")
    if not all(map(_is_certificate, provider.certificates)):
        raise wrong(name, "certificate", "must be a certificate in PEM")
    domains = tuple(folded_domain(domain) for domain in provider.domains)
    return msgspec.structs.replace(provider, domains=domains)


def _checked_oauth2(name: str, provider: OAuth2Provider) -> OAuth2Provider:
    for field in ("authorize_url", "token_url", "user_url"):
        if not is_web_address(getattr(provider, field)):
            raise wrong(name, field, "must be an address that starts with https://")
    for field in ("client_id", "client_secret", "email_field"):
        if not getattr(provider, field):
            raise wrong(name, field, "is empty")
    return provider


def _is_certificate(text: str) -> bool:
    try:
        return base64.b64decode("".join(text.split()), validate=True)[:1] == _SEQUENCE
    except ValueError:
        return False


def _checked(name: str, provider: Provider) -> Provider:
    """Return the provider with its issuer."""
    provider = msgspec.structs.replace(provider, issuer=provider.issuer or ISSUERS.get(name, ""))
    if not provider.issuer:
        raise wrong(name, "issuer", "is missing")
    for field in ("issuer", "api_url"):
        url = getattr(provider, field)
        if url and not is_web_address(url):
            raise wrong(name, field, "must be an address that starts with https://")
    if not provider.client_id:
        raise wrong(name, "client_id", "is empty")
    if provider.client_secret:
        return provider
    if name != APPLE:
        raise wrong(name, "client_secret", "is missing")
    for field in ("team_id", "key_id", "private_key"):
        if not getattr(provider, field):
            raise wrong(name, field, "is missing, and so is `client_secret`")
    return provider


class JwtKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The key with which a realm's own site signs user identities."""

    key: str
    """A shared secret (HS...), or a public key in PEM."""
    algorithm: str = "HS256"


class JwtKeys:
    """JWT keys by subdomain ("" for the root); from a table, or its JSON."""

    ALGORITHMS: Final = ("HS256", "HS512", "RS256", "PS256", "ES256", "EdDSA")
    MIN_SECRET_LENGTH: Final = 32
    """Shorter secrets could be found by brute force from one token."""

    def __init__(self, given: object = "") -> None:
        self.by_subdomain = {name: _jwt_key(name, each) for name, each in table_of(given).items()}

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return what no log line may contain."""
        return tuple(each.key for each in self.by_subdomain.values())

    @override
    def __repr__(self) -> str:
        return f"JwtKeys({', '.join(self.by_subdomain)})"


def _jwt_key(name: str, given: Mapping[str, Any]) -> JwtKey:
    """Return the configured key; raise DescriptionError if it is unusable."""
    found = described_as(JwtKey, name, given)
    if found.algorithm not in JwtKeys.ALGORITHMS:
        raise wrong(name, "algorithm", one_of(JwtKeys.ALGORITHMS))
    if not found.algorithm.startswith("HS"):
        if not _PUBLIC_KEY.search(found.key):
            raise wrong(name, "key", f"must be a public key in PEM for {found.algorithm}")
    elif len(found.key) < JwtKeys.MIN_SECRET_LENGTH:
        raise wrong(name, "key", f"must have at least {JwtKeys.MIN_SECRET_LENGTH} characters")
    return found
