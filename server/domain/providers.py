"""Who else may say who a user is: other sites, as the operator has registered with them."""

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal
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
from storage.address_folding import folded_domain

GOOGLE, GITHUB, GITLAB = "google", "github", "gitlab"
AZUREAD, APPLE, OIDC, SAML = "azuread", "apple", "oidc", "saml"
METHODS: Final = {
    GOOGLE: "Google",
    GITHUB: "GitHub",
    GITLAB: "GitLab",
    AZUREAD: "AzureAD",
    APPLE: "Apple",
    OIDC: "OpenID Connect",
    SAML: "SAML",
}
"""The names of the methods in an organization's settings, by kind."""
LABELS: Final = {
    **METHODS,
    AZUREAD: "Microsoft Entra ID",
    OIDC: "single sign-on",
    SAML: "single sign-on",
}
ISSUERS: Final = {
    GOOGLE: "https://accounts.google.com",
    GITLAB: "https://gitlab.com",
    APPLE: "https://appleid.apple.com",
    GITHUB: "https://github.com",
}
"""Where a provider is, if the operator names no place of their own."""

_SEQUENCE: Final = b"\x30"
"""How certificates begin."""
_CERTIFICATE: Final = re.compile(
    r"-----BEGIN CERTIFICATE-----(.+?)-----END CERTIFICATE-----", re.DOTALL
)
_PUBLIC_KEY: Final = re.compile(r"-----BEGIN ((RSA )?PUBLIC KEY|CERTIFICATE)-----")


class Provider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One provider. Its name is one of the kinds above, or any other for OpenID Connect."""

    client_id: str
    client_secret: str = ""
    issuer: str = ""
    """Its address, as its tokens have it."""
    label: str = ""
    """What its button says."""
    trusts_addresses: bool = False
    """The operator vouches for the addresses that it names, though it does not."""
    api_url: str = ""
    """Of a GitHub of one's own."""
    team_id: str = ""
    key_id: str = ""
    private_key: str = ""
    """Of Apple, which wants these in place of a secret."""


class SamlProvider(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One that speaks SAML 2.0, under any name."""

    kind: Literal["saml"]
    entity_id: str
    """What it calls itself in its answers."""
    sign_in_url: str
    certificate: str
    """With which it signs them, in PEM; several, while it changes from one to the next."""
    label: str = ""
    trusts_addresses: bool = False
    """As above: it may name any address."""
    domains: tuple[str, ...] = ()
    """Of the addresses that it may name, if not all."""
    email_attribute: str = ""
    name_attributes: tuple[str, ...] = ()
    """Those with a user's name, or with parts of it in their order."""

    @property
    def certificates(self) -> list[str]:
        return _CERTIFICATE.findall(self.certificate) or [self.certificate]


class Providers:
    """The providers by name, in the order in which people see them; a table, or its JSON."""

    def __init__(self, given: object = "") -> None:
        self._by_name = {name: _provider(name, each) for name, each in table_of(given).items()}

    def __getitem__(self, name: str) -> Provider | SamlProvider:
        return self._by_name[name]

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def kind_of(self, name: str) -> str:
        """Return what the provider of this name speaks."""
        if isinstance(self[name], SamlProvider):
            return SAML
        return name if name in METHODS else OIDC

    def method_of(self, name: str) -> str:
        """Return the name of its method, by which organizations choose it."""
        return METHODS[self.kind_of(name)]

    def label_of(self, name: str) -> str:
        """Return what people read on its button."""
        return self[name].label or LABELS[self.kind_of(name)]

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods that there are, for organizations to choose from."""
        return tuple(dict.fromkeys(map(self.method_of, self)))

    @property
    def hosts(self) -> str:
        """The names of the hosts where the server itself asks them, as settings list them."""
        places = [url for each in self._asked for url in (each.issuer, each.api_url)]
        return ", ".join({urlsplit(url).hostname or "" for url in places if url})

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no log line may contain."""
        found = [
            secret for each in self._asked for secret in (each.client_secret, each.private_key)
        ]
        return tuple(secret for secret in found if secret)

    @property
    def _asked(self) -> list[Provider]:
        return [each for each in self._by_name.values() if isinstance(each, Provider)]

    @override
    def __repr__(self) -> str:
        return f"Providers({', '.join(self)})"


def _provider(name: str, given: Mapping[str, Any]) -> Provider | SamlProvider:
    """Return the provider that is described so.

    Raises DescriptionError for one that cannot work.
    """
    if not name.replace("-", "").isalnum() or not name.isascii() or name != name.lower():
        raise DescriptionError(f"{called(name)} must be lower-case letters, digits and hyphens")
    if given.get("kind") == SAML:
        return _checked_saml(name, described_as(SamlProvider, name, given))
    if "kind" in given:
        raise wrong(name, "kind", "can only be saml")
    if name == SAML:
        raise wrong(name, "kind", "must be saml")
    return _checked(name, described_as(Provider, name, given))


def _checked_saml(name: str, provider: SamlProvider) -> SamlProvider:
    if not provider.entity_id:
        raise wrong(name, "entity_id", "is empty")
    if not is_web_address(provider.sign_in_url):
        raise wrong(name, "sign_in_url", "must be an address that starts with https://")
    if not all(map(_is_certificate, provider.certificates)):
        raise wrong(name, "certificate", "must be a certificate in PEM")
    domains = tuple(folded_domain(domain) for domain in provider.domains)
    return msgspec.structs.replace(provider, domains=domains)


def _is_certificate(text: str) -> bool:
    try:
        return base64.b64decode("".join(text.split()), validate=True)[:1] == _SEQUENCE
    except ValueError:
        return False


def _checked(name: str, provider: Provider) -> Provider:
    """Return the provider with its address."""
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
    """With what an organization's own site signs who a user is."""

    key: str
    """A shared secret (HS...), or a public key in PEM."""
    algorithm: str = "HS256"


class JwtKeys:
    """Such keys by subdomain ("": the organization at the root); a table, or its JSON."""

    ALGORITHMS: Final = ("HS256", "HS512", "RS256", "PS256", "ES256", "EdDSA")
    MIN_SECRET_LENGTH: Final = 32
    """Whoever has one token can try shorter secrets on it for as long as they like."""

    def __init__(self, given: object = "") -> None:
        self.by_subdomain = {name: _jwt_key(name, each) for name, each in table_of(given).items()}

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no log line may contain."""
        return tuple(each.key for each in self.by_subdomain.values())

    @override
    def __repr__(self) -> str:
        return f"JwtKeys({', '.join(self.by_subdomain)})"


def _jwt_key(name: str, given: Mapping[str, Any]) -> JwtKey:
    """Return the key that is described so. Raises DescriptionError for one that cannot be used."""
    found = described_as(JwtKey, name, given)
    if found.algorithm not in JwtKeys.ALGORITHMS:
        raise wrong(name, "algorithm", one_of(JwtKeys.ALGORITHMS))
    if not found.algorithm.startswith("HS"):
        if not _PUBLIC_KEY.search(found.key):
            raise wrong(name, "key", f"must be a public key in PEM for {found.algorithm}")
    elif len(found.key) < JwtKeys.MIN_SECRET_LENGTH:
        raise wrong(name, "key", f"must have at least {JwtKeys.MIN_SECRET_LENGTH} characters")
    return found
