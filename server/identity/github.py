"""GitHub: OAuth without an identity token; its API returns the verified addresses."""

from dataclasses import dataclass
from typing import Any, ClassVar, Final
from urllib.parse import urlencode

from server.domain.providers import Provider
from server.egress import Egress
from server.i18n import _
from server.identity.errors import IdentityError
from server.identity.flows import Flow
from server.identity.identity import Identity
from server.identity.oidc import ask_json

API_URL: Final = "https://api.github.com"


@dataclass(slots=True)
class GitHub:
    """github.com, or a server of GitHub Enterprise."""

    provider: Provider
    egress: Egress
    posts_back: ClassVar[bool] = False
    state_field: ClassVar[str] = "state"
    answer_field: ClassVar[str] = "code"

    async def way_there(self, flow: Flow, redirect_uri: str) -> str:
        """Return the URL to redirect the browser to."""
        fields = {
            "client_id": self.provider.client_id,
            "redirect_uri": redirect_uri,
            "scope": "read:user user:email",
            "state": flow.state,
            "code_challenge": flow.challenge,
            "code_challenge_method": "S256",
        }
        return f"{self.provider.issuer}/login/oauth/authorize?{urlencode(fields)}"

    async def identify(self, flow: Flow, code: str, redirect_uri: str) -> Identity:
        """Return the user's identity, by their primary address. Raises IdentityError."""
        answer = await ask_json(
            self.egress,
            "POST",
            f"{self.provider.issuer}/login/oauth/access_token",
            {
                "client_id": self.provider.client_id,
                "client_secret": self.provider.client_secret,
                "code": code,
                "redirect_uri": redirect_uri,
                "code_verifier": flow.verifier,
            },
        )
        token = answer.get("access_token")
        if not isinstance(token, str):
            raise IdentityError("there is no access_token")
        addresses = await self._api(token, "/user/emails", list)
        user = await self._api(token, "/user", dict)
        found = [each for each in addresses if _is_verified_and_primary(each)]
        if not found:
            raise IdentityError(
                "no verified email",
                _("The email address of that account has not been verified there."),
            )
        name = user.get("name")
        return Identity(str(found[0]["email"]), name if isinstance(name, str) else "")

    def metadata(self, redirect_uri: str) -> None:
        """None: GitHub reads no metadata."""

    async def _api(self, token: str, path: str, kind: type) -> Any:
        url = (self.provider.api_url or API_URL) + path
        headers = {"Authorization": f"Bearer {token}"}
        return await ask_json(self.egress, "GET", url, headers=headers, kind=kind)


def _is_verified_and_primary(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("email"), str)
        and entry.get("verified") is True
        and entry.get("primary") is True
    )
