"""Zoom: instant meetings of the user."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final

from server.calls.oauth import OAuthClient

INSTANT: Final = 1


@dataclass(frozen=True, slots=True)
class Zoom:
    client: OAuthClient
    oauth_url: str
    api_url: str
    key: ClassVar[str] = "zoom"
    name: ClassVar[str] = "Zoom"
    scope: ClassVar[str] = ""
    """Empty: the scopes of the registration."""
    link_field: ClassVar[str] = "join_url"
    has_basic_authentication: ClassVar[bool] = True

    @property
    def authorize_url(self) -> str:
        return f"{self.oauth_url.rstrip('/')}/oauth/authorize"

    @property
    def token_url(self) -> str:
        return f"{self.oauth_url.rstrip('/')}/oauth/token"

    @property
    def meetings_url(self) -> str:
        return f"{self.api_url.rstrip('/')}/v2/users/me/meetings"

    def meeting(self, *, has_video: bool, now: datetime) -> Mapping[str, Any]:  # noqa: ARG002 - it begins at once
        return {
            "type": INSTANT,
            "default_password": True,
            "settings": {"host_video": has_video, "participant_video": has_video},
        }
