"""Nextcloud Talk: public conversations, created by an account of the operator."""

import base64
import re
from dataclasses import dataclass
from typing import Any, Final

from server.calls.service import ServiceAnswer, failed, post
from server.egress import Egress

NAME: Final = "Nextcloud Talk"
ROOMS: Final = "/ocs/v2.php/apps/spreed/api/v4/room"
PUBLIC: Final = 3
"""The type of conversations that anyone with the link may join."""
_TOKEN: Final = re.compile(r"[A-Za-z0-9]{1,64}")


@dataclass(frozen=True, slots=True)
class NextcloudTalk:
    url: str
    user: str
    password: str

    async def create(self, egress: Egress, name: str) -> str:
        """Create a public conversation and return its link. Raises CallServiceError."""
        account = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
        answer = await post(
            egress,
            NAME,
            f"{self._base}{ROOMS}",
            headers={"Authorization": f"Basic {account}", "OCS-APIRequest": "true"},
            payload={"roomType": PUBLIC, "roomName": name},
        )
        return f"{self._base}/index.php/call/{_token(answer)}"

    @property
    def _base(self) -> str:
        return self.url.rstrip("/")


def _token(answer: ServiceAnswer) -> str:
    """Return the token of the conversation. Raises CallServiceError."""
    if not answer.is_successful:
        raise failed(NAME, f"It answered {answer.status}.")
    found: Any = answer.content
    for name in ("ocs", "data", "token"):
        found = found.get(name) if isinstance(found, dict) else None
    if not isinstance(found, str) or not _TOKEN.fullmatch(found):
        raise failed(NAME, "Its answer has no token of a conversation.")
    return found
