"""Constructor Groups: each user has a room, identified by the email address."""

import hashlib
from dataclasses import dataclass
from typing import Final

from server.calls.service import link_in, post
from server.egress import Egress

NAME: Final = "Constructor Groups"


@dataclass(frozen=True, slots=True)
class ConstructorGroups:
    url: str
    access_key: str
    secret_key: str

    async def create(self, egress: Egress, *, full_name: str, email: str) -> str:
        """Create the user's room if necessary and return its link. Raises CallServiceError."""
        digest = hashlib.sha256(f"{self.access_key}|{self.secret_key}".encode()).hexdigest()
        answer = await post(
            egress,
            NAME,
            f"{self.url.rstrip('/')}/room/default",
            headers={"Authorization": f"Bearer {self.access_key}|{digest}"},
            payload={
                "name": full_name,
                "fallback_name": f"{full_name} ({email})",
                "creator_email": email,
            },
        )
        return link_in(NAME, answer, "url")
