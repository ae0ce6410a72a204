"""GitHub: its API returns all addresses of a user, and which one is the primary."""

from typing import Any, ClassVar, Final

from typing_extensions import override

from server.identity.identity import Identity
from server.identity.oauth2 import KnownSite

API_URL: Final = "https://api.github.com"


class GitHub(KnownSite):
    """github.com, or a server of GitHub Enterprise."""

    authorize_path: ClassVar[str] = "/login/oauth/authorize"
    exchange_path: ClassVar[str] = "/login/oauth/access_token"
    scope: ClassVar[str] = "read:user user:email"

    @override
    async def _identity(self, token: str) -> Identity | None:
        api = self.provider.api_url or API_URL
        addresses = await self._get(token, f"{api}/user/emails", list)
        user = await self._get(token, f"{api}/user", dict)
        found = [each for each in addresses if _is_verified_and_primary(each)]
        if not found:
            return None
        name = user.get("name")
        return Identity(str(found[0]["email"]), name if isinstance(name, str) else "")


def _is_verified_and_primary(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and isinstance(entry.get("email"), str)
        and entry.get("verified") is True
        and entry.get("primary") is True
    )
