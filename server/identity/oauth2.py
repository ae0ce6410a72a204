"""OAuth 2 without an identity token: an API of the provider returns the user's address."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple
from urllib.parse import urlencode

from typing_extensions import override

from server.domain.providers import OAuth2Provider, Provider
from server.egress import Egress
from server.i18n import _
from server.identity.errors import IdentityError
from server.identity.flows import Flow
from server.identity.identity import Identity
from server.identity.oidc import ask_json, group_names, value_at


class Client(NamedTuple):
    """This server as a client of the provider, and where that is asked."""

    client_id: str
    client_secret: str
    authorize_url: str
    """Where users permit it."""
    token_url: str
    """Where a code is exchanged for a token."""
    scope: str


@dataclass(slots=True)
class OAuth2Site(ABC):
    """The authorization code flow with PKCE (RFC 6749, RFC 7636). Subclasses ask their API."""

    client: Client
    egress: Egress
    posts_back: ClassVar[bool] = False
    state_field: ClassVar[str] = "state"
    answer_field: ClassVar[str] = "code"

    async def way_there(self, flow: Flow, redirect_uri: str) -> str:
        """Return the URL to redirect the browser to."""
        fields = {
            "client_id": self.client.client_id,
            "redirect_uri": redirect_uri,
            "response_type": "code",
            "scope": self.client.scope,
            "state": flow.state,
            "code_challenge": flow.challenge,
            "code_challenge_method": "S256",
        }
        url = self.client.authorize_url
        return f"{url}{'&' if '?' in url else '?'}{urlencode(fields)}"

    async def identify(self, flow: Flow, code: str, redirect_uri: str) -> Identity:
        """Return the user's identity, by their verified address. Raises IdentityError."""
        answer = await ask_json(
            self.egress,
            "POST",
            self.client.token_url,
            {
                "client_id": self.client.client_id,
                "client_secret": self.client.client_secret,
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": redirect_uri,
                "code_verifier": flow.verifier,
            },
        )
        token = answer.get("access_token")
        if not isinstance(token, str):
            raise IdentityError("there is no access_token")
        found = await self._identity(token)
        if found is None:
            raise IdentityError(
                "no verified email",
                _("The email address of that account has not been verified there."),
            )
        return found

    def metadata(self, redirect_uri: str) -> None:  # noqa: B027 - not for subclasses
        """None: these providers read no metadata."""

    @abstractmethod
    async def _identity(self, token: str) -> Identity | None:
        """Return the identity of the token's user; None without a verified address."""

    async def _get(self, token: str, url: str, kind: type) -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        return await ask_json(self.egress, "GET", url, headers=headers, kind=kind)


@dataclass(slots=True)
class KnownSite(OAuth2Site):
    """A site with paths that this server knows."""

    provider: Provider
    authorize_path: ClassVar[str]
    exchange_path: ClassVar[str]
    scope: ClassVar[str]

    @classmethod
    def of(cls, provider: Provider, egress: Egress) -> "KnownSite":
        client = Client(
            provider.client_id,
            provider.client_secret,
            f"{provider.issuer}{cls.authorize_path}",
            f"{provider.issuer}{cls.exchange_path}",
            cls.scope,
        )
        return cls(client, egress, provider)


@dataclass(slots=True)
class DescribedSite(OAuth2Site):
    """A site with addresses and fields from the operator's settings."""

    provider: OAuth2Provider

    @classmethod
    def of(cls, provider: OAuth2Provider, egress: Egress) -> "DescribedSite":
        client = Client(
            provider.client_id,
            provider.client_secret,
            provider.authorize_url,
            provider.token_url,
            provider.scope,
        )
        return cls(client, egress, provider)

    @override
    async def _identity(self, token: str) -> Identity | None:
        user = await self._get(token, self.provider.user_url, dict)
        email = value_at(user, self.provider.email_field)
        is_verified = value_at(user, self.provider.verified_field) is True
        if not isinstance(email, str) or not (is_verified or self.provider.trusts_addresses):
            return None
        names = [value_at(user, field) for field in self.provider.name_fields]
        groups = group_names(value_at(user, self.provider.groups_field))
        return Identity(email, " ".join(name for name in names if isinstance(name, str)), groups)
