"""Who else may say who somebody is: other sites, as the operator has registered with them."""

import base64
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
from typing_extensions import override

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
    """Those with somebody's name, or with parts of it in their order."""

    @property
    def certificates(self) -> list[str]:
        return _CERTIFICATE.findall(self.certificate) or [self.certificate]


class Providers:
    """The providers by name, in the order in which people see them; a table, or its JSON."""

    def __init__(self, given: object = "") -> None:
        if isinstance(given, str):
            given = msgspec.json.decode(given) if given else {}
        found = msgspec.convert(given, dict[str, dict[str, Any]])
        self._by_name = {name: _provider(name, each) for name, each in found.items()}

    def __getitem__(self, name: str) -> Provider | SamlProvider:
        return self._by_name[name]

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def kind_of(self, name: str) -> str:
        """What the provider of this name speaks."""
        if isinstance(self[name], SamlProvider):
            return SAML
        return name if name in METHODS else OIDC

    def method_of(self, name: str) -> str:
        """The name of its method, by which organizations choose it."""
        return METHODS[self.kind_of(name)]

    def label_of(self, name: str) -> str:
        """What people read on its button."""
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
    """The provider that is described so. Raises ValueError for one that cannot work."""
    if not name.replace("-", "").isalnum() or not name.isascii() or name != name.lower():
        raise ValueError(name)
    if given.get("kind") == SAML:
        return _checked_saml(msgspec.convert(given, SamlProvider))
    if name == SAML:
        raise ValueError(name)
    return _checked(name, msgspec.convert(given, Provider))


def _checked_saml(provider: SamlProvider) -> SamlProvider:
    place = urlsplit(provider.sign_in_url)
    if place.scheme not in {"https", "http"} or not place.hostname or not provider.entity_id:
        raise ValueError(provider.sign_in_url)
    for each in provider.certificates:
        if base64.b64decode("".join(each.split()), validate=True)[:1] != _SEQUENCE:
            raise ValueError(provider.entity_id)
    domains = tuple(domain.lower() for domain in provider.domains)
    return msgspec.structs.replace(provider, domains=domains)


def _checked(name: str, provider: Provider) -> Provider:
    """The provider with its address."""
    provider = msgspec.structs.replace(provider, issuer=provider.issuer or ISSUERS.get(name, ""))
    parts = urlsplit(provider.issuer)
    has_secret = all((provider.team_id, provider.key_id, provider.private_key))
    if parts.scheme not in {"https", "http"} or not parts.hostname:
        raise ValueError(name)
    if not provider.client_secret and not (name == APPLE and has_secret):
        raise ValueError(name)
    return provider


class JwtKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """With what an organization's own site signs who somebody is."""

    key: str
    """A shared secret, or a public key in PEM."""
    algorithm: str = "HS256"


class JwtKeys:
    """Such keys by subdomain ("": the organization at the root); a table, or its JSON."""

    ALGORITHMS: Final = frozenset({"HS256", "HS512", "RS256", "PS256", "ES256", "EdDSA"})

    def __init__(self, given: object = "") -> None:
        if isinstance(given, str):
            given = msgspec.json.decode(given) if given else {}
        self.by_subdomain: Mapping[str, JwtKey] = msgspec.convert(given, dict[str, JwtKey])
        for each in self.by_subdomain.values():
            if each.algorithm not in self.ALGORITHMS or not each.key:
                raise ValueError(each.algorithm)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no log line may contain."""
        return tuple(each.key for each in self.by_subdomain.values())

    @override
    def __repr__(self) -> str:
        return f"JwtKeys({', '.join(self.by_subdomain)})"
