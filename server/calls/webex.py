"""Webex: meetings of the user, which others may join before their host."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar, Final

from server.calls.oauth import OAuthClient

LEAD: Final = timedelta(minutes=1)
"""Webex accepts no meeting that begins in the past."""
LENGTH: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Webex:
    client: OAuthClient
    api_url: str
    key: ClassVar[str] = "webex"
    name: ClassVar[str] = "Webex"
    scope: ClassVar[str] = "meeting:schedules_read meeting:schedules_write"
    link_field: ClassVar[str] = "webLink"
    has_basic_authentication: ClassVar[bool] = False

    @property
    def authorize_url(self) -> str:
        return f"{self.api_url.rstrip('/')}/authorize"

    @property
    def token_url(self) -> str:
        return f"{self.api_url.rstrip('/')}/access_token"

    @property
    def meetings_url(self) -> str:
        return f"{self.api_url.rstrip('/')}/meetings"

    def meeting(self, *, has_video: bool, now: datetime) -> Mapping[str, Any]:  # noqa: ARG002 - Webex has no such option
        start = now.replace(microsecond=0) + LEAD
        return {
            "title": "Call",
            "start": start.isoformat(),
            "end": (start + LENGTH).isoformat(),
            "enabledJoinBeforeHost": True,
        }
