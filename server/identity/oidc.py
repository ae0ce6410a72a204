"""OpenID Connect: build requests to a provider, and validate the tokens of its responses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final
from urllib.parse import quote, urlencode, urlsplit

import msgspec
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, KeySet

from server.domain.clock import Clock
from server.domain.providers import APPLE, AZUREAD, Provider
from server.egress import Egress, EgressError
from server.i18n import _
from server.identity.errors import IdentityError
from server.identity.flows import Flow
from server.identity.identity import Identity
from server.runtime.untrusted_json import decode_untrusted

ALGORITHMS: Final = ("RS256", "PS256", "ES256", "EdDSA")
"""Signature algorithms with a private key of the provider."""
LEEWAY_SECONDS: Final = 60
CONFIG_LIFETIME_SECONDS: Final = 3_600.0
"""The lifetime of a provider's cached configuration."""
MIN_KEY_REFRESH_SECONDS: Final = 60.0
"""The minimum interval of requests for its keys, even for a token with an unknown key."""
APPLE_SECRET_LIFETIME_SECONDS: Final = 300
OK: Final = 200
YES: Final = (True, "true", 1, "1")


@dataclass(frozen=True, slots=True)
class _Description:
    """The provider's configuration document."""

    authorization: str
    token: str
    keys: str
    at: float


@dataclass(slots=True)
class OpenIdProvider:
    """An OpenID Connect provider."""

    name: str
    provider: Provider
    egress: Egress
    clock: Clock
    state_field: ClassVar[str] = "state"
    answer_field: ClassVar[str] = "code"
    _described: _Description | None = field(default=None, init=False)
    _keys: tuple[float, KeySet] | None = field(default=None, init=False)

    @property
    def posts_back(self) -> bool:
        """Whether the response is a form POST rather than a redirect."""
        return self.name == APPLE

    async def way_there(self, flow: Flow, redirect_uri: str) -> str:
        """Return the URL to redirect the browser to. Raises IdentityError."""
        described = await self._description()
        fields = {
            "response_type": "code",
            "client_id": self.provider.client_id,
            "redirect_uri": redirect_uri,
            "scope": self._scope,
            "state": flow.state,
            "nonce": flow.nonce,
            "code_challenge": flow.challenge,
            "code_challenge_method": "S256",
        }
        if self.posts_back:
            fields["response_mode"] = "form_post"
        joint = "&" if urlsplit(described.authorization).query else "?"
        return f"{described.authorization}{joint}{urlencode(fields, quote_via=quote)}"

    async def identify(self, flow: Flow, code: str, redirect_uri: str) -> Identity:
        """Exchange the code for a token; return its identity. Raises IdentityError."""
        described = await self._description()
        answer = await self._ask(
            "POST",
            described.token,
            {
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": redirect_uri,
                "client_id": self.provider.client_id,
                "client_secret": self._secret(),
                "code_verifier": flow.verifier,
            },
        )
        token = answer.get("id_token")
        if not isinstance(token, str):
            raise IdentityError("there is no id_token")
        claims = await self._claims(described, token)
        self._check(claims, flow)
        return self._identity(claims)

    def metadata(self, redirect_uri: str) -> None:
        """None: providers read no metadata."""

    @property
    def _scope(self) -> str:
        if self.name == APPLE:
            return "name email"
        return f"openid email profile {self.provider.groups_scope}".strip()

    def _secret(self) -> str:
        """Return the client's secret; for Apple, a new token."""
        provider = self.provider
        if provider.client_secret:
            return provider.client_secret
        now = int(self.clock.now().timestamp())
        claims = {
            "iss": provider.team_id,
            "iat": now,
            "exp": now + APPLE_SECRET_LIFETIME_SECONDS,
            "aud": provider.issuer,
            "sub": provider.client_id,
        }
        key = ECKey.import_key(provider.private_key)
        return jwt.encode({"alg": "ES256", "kid": provider.key_id}, claims, key)

    async def _claims(self, described: _Description, token: str) -> dict[str, Any]:
        """Return the claims of a token with a valid signature of the provider."""
        try:
            return await self._decoded(described, token, CONFIG_LIFETIME_SECONDS)
        except (JoseError, ValueError):
            # It may have rotated its keys.
            try:
                return await self._decoded(described, token, MIN_KEY_REFRESH_SECONDS)
            except (JoseError, ValueError) as error:
                raise IdentityError(f"the token is not good: {error!r}") from error

    async def _decoded(self, described: _Description, token: str, oldest: float) -> dict[str, Any]:
        keys = await self._key_set(described, oldest)
        return dict(jwt.decode(token, keys, algorithms=ALGORITHMS).claims)

    async def _key_set(self, described: _Description, oldest: float) -> KeySet:
        now = self.clock.monotonic()
        if self._keys is None or now - self._keys[0] > oldest:
            found = await self._ask("GET", described.keys)
            try:
                self._keys = now, KeySet.import_key_set(found)  # type: ignore[arg-type]
            except (JoseError, ValueError, KeyError, TypeError) as error:
                raise IdentityError(f"its keys are none: {error!r}") from error
        return self._keys[1]

    def _check(self, claims: Mapping[str, Any], flow: Flow) -> None:
        """Raise IdentityError unless this provider issued the token to us for this flow."""
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        own = self.provider.client_id
        now = self.clock.now().timestamp()
        expires, issued = claims.get("exp"), claims.get("iat")
        problems = {
            "another issuer": claims.get("iss") != self.provider.issuer,
            "another audience": own not in audiences,
            "another party": claims.get("azp", own) != own
            or (len(audiences) > 1 and "azp" not in claims),
            "another nonce": claims.get("nonce") != flow.nonce,
            "too old": not isinstance(expires, int | float) or expires < now - LEEWAY_SECONDS,
            "too young": not isinstance(issued, int | float) or issued > now + LEEWAY_SECONDS,
        }
        if found := [name for name, is_one in problems.items() if is_one]:
            raise IdentityError(f"the token is not good: {', '.join(found)}")

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        email = claims.get("email")
        if not isinstance(email, str) or not email:
            raise IdentityError(
                "no email", _("That account has no email address, or does not share it.")
            )
        if not self._is_verified(claims):
            raise IdentityError(
                "the email is not verified",
                _("The email address of that account has not been verified there."),
            )
        name = claims.get("name")
        groups = group_names(value_at(claims, self.provider.groups_claim))
        return Identity(email, name if isinstance(name, str) else "", groups)

    def _is_verified(self, claims: Mapping[str, Any]) -> bool:
        """Return whether the provider has verified the address.

        Microsoft lets administrators of any tenant set any address, and marks those of verified
        domains by a claim of its own.
        """
        name = "xms_edov" if self.name == AZUREAD else "email_verified"
        return self.provider.trusts_addresses or claims.get(name) in YES

    async def _description(self) -> _Description:
        now = self.clock.monotonic()
        if self._described is None or now - self._described.at > CONFIG_LIFETIME_SECONDS:
            issuer = self.provider.issuer
            found = await self._ask("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
            names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
            places = [found.get(name) for name in names]
            if found.get("issuer") != issuer or not all(
                isinstance(each, str) and _is_as_safe(each, issuer) for each in places
            ):
                raise IdentityError("it does not describe itself as OpenID Connect wants")
            authorization, token, keys = map(str, places)
            self._described = _Description(authorization, token, keys, now)
        return self._described

    async def _ask(
        self, method: str, url: str, fields: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        return dict(await ask_json(self.egress, method, url, fields))


def _is_as_safe(url: str, issuer: str) -> bool:
    """Return whether the URL uses TLS if the provider's does."""
    schemes = {"https"} if urlsplit(issuer).scheme == "https" else {"https", "http"}
    return urlsplit(url).scheme in schemes


def value_at(fields: Any, path: str) -> Any:
    """Return the field of this name, or the one with these names, one in the other; or None."""
    if isinstance(fields, dict) and path in fields:  # some names are URLs
        return fields[path]
    for name in path.split("."):
        fields = fields.get(name) if isinstance(fields, dict) else None
    return fields


def group_names(value: Any) -> tuple[str, ...] | None:
    """Return the names in a claim of groups; None if it is none."""
    if isinstance(value, str):
        return (value,) if value else ()
    if not isinstance(value, list):
        return None
    return tuple(name for name in value if isinstance(name, str))


async def ask_json(
    egress: Egress,
    method: str,
    url: str,
    fields: Mapping[str, str] | None = None,
    *,
    headers: Mapping[str, str] | None = None,
    kind: type = dict,
) -> Any:
    """Request a URL of the provider; return its JSON response.

    Raises IdentityError, without secrets.
    """
    sent = {"Accept": "application/json", "User-Agent": "Parley", **(headers or {})}
    body = b""
    if fields is not None:
        sent["Content-Type"] = "application/x-www-form-urlencoded"
        body = urlencode(fields).encode()
    place = urlsplit(url)._replace(query="").geturl()
    try:
        answer = await egress.fetch(method, url, headers=sent, body=body)
    except EgressError as error:
        raise IdentityError(f"{place} does not answer: {error}") from error
    if answer.status != OK:
        raise IdentityError(f"{place} answers {answer.status}")
    try:
        found = decode_untrusted(answer.body, Any)
    except msgspec.DecodeError as error:
        raise IdentityError(f"{place} answers no JSON") from error
    if not isinstance(found, kind):
        raise IdentityError(f"{place} answers something else")
    return found
