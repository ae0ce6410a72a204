"""Discord: users have one address each, which may be unverified, and a display name."""

from typing import ClassVar

from typing_extensions import override

from server.identity.identity import Identity
from server.identity.oauth2 import KnownSite


class Discord(KnownSite):
    """discord.com."""

    authorize_path: ClassVar[str] = "/oauth2/authorize"
    exchange_path: ClassVar[str] = "/api/oauth2/token"
    scope: ClassVar[str] = "identify email"

    @override
    async def _identity(self, token: str) -> Identity | None:
        api = self.provider.api_url or f"{self.provider.issuer}/api"
        user = await self._get(token, f"{api}/users/@me", dict)
        email, names = user.get("email"), (user.get("global_name"), user.get("username"))
        if not isinstance(email, str) or user.get("verified") is not True:
            return None
        return Identity(email, next((name for name in names if isinstance(name, str)), ""))
