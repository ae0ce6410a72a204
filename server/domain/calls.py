"""BigBlueButton calls: links to them, and requests to its server."""

import hashlib
import re
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import quote, urlencode

from itsdangerous import BadData, URLSafeSerializer

from server.i18n import _
from storage.ids import RealmId, UserId

PURPOSE: Final = "calls"
"""Purpose of the key that signs the links (storage/server_keys.py)."""
BIG_BLUE_BUTTON: Final = "BigBlueButton"
JOIN: Final = "/calls/bigbluebutton/join"
MAX_NAME_LENGTH: Final = 200
_SUCCESS: Final = re.compile(r"<returncode>\s*SUCCESS\s*</returncode>")
_CREATED: Final = re.compile(r"<createTime>\s*(\d{1,20})\s*</createTime>")


def not_configured(provider: str) -> str:
    """Return the message for a provider that the operator has not configured."""
    return _("{provider} is not configured.", provider=provider)


@dataclass(frozen=True, slots=True)
class Meeting:
    """A call that anyone with its link may join after sign-in."""

    realm_id: RealmId
    meeting_id: str
    name: str
    voice_only: bool
    moderator_id: UserId
    """Its creator."""


def link_to(key: bytes, meeting: Meeting) -> str:
    """Return the signed path to join the call, below the realm's URL."""
    token = _serializer(key).dumps(
        [
            meeting.realm_id,
            meeting.meeting_id,
            meeting.name,
            meeting.voice_only,
            meeting.moderator_id,
        ]
    )
    return f"{JOIN}?{urlencode({'bigbluebutton': token})}"


def meeting_of(key: bytes, token: str) -> Meeting | None:
    """Return the call of a link's token; None if it is invalid."""
    try:
        realm_id, meeting_id, name, voice_only, moderator_id = _serializer(key).loads(token)
    except (BadData, ValueError, TypeError):
        return None
    return Meeting(RealmId(realm_id), meeting_id, name, voice_only, UserId(moderator_id))


@dataclass(frozen=True, slots=True)
class BigBlueButton:
    """A BigBlueButton server and its shared secret."""

    url: str
    secret: str

    def creating(self, meeting: Meeting) -> str:
        """Return the URL to request before a user joins; it is idempotent."""
        return self._asking(
            "create",
            meetingID=meeting.meeting_id,
            name=meeting.name,
            lockSettingsDisableCam="true" if meeting.voice_only else "false",
        )

    def joining(self, meeting: Meeting, *, created: str, user_id: UserId, full_name: str) -> str:
        """Return the URL for this user to join; `created` is from the response to `creating`."""
        role: Literal["MODERATOR", "VIEWER"] = (
            "MODERATOR" if user_id == meeting.moderator_id else "VIEWER"
        )
        return self._asking(
            "join",
            meetingID=meeting.meeting_id,
            role=role,
            fullName=full_name,
            createTime=created,
        )

    def _asking(self, call: str, **values: str) -> str:
        query = urlencode(values, quote_via=quote)
        checksum = hashlib.sha256(f"{call}{query}{self.secret}".encode()).hexdigest()
        return f"{self.url.rstrip('/')}/api/{call}?{query}&checksum={checksum}"


def created_at(answer: bytes) -> str | None:
    """Return the call's creation time from the response to `creating`; None if it failed."""
    text = answer.decode(errors="replace")
    found = _CREATED.search(text)
    return found[1] if found and _SUCCESS.search(text) else None


def _serializer(key: bytes) -> URLSafeSerializer:
    return URLSafeSerializer(
        key, salt="big blue button", signer_kwargs={"digest_method": hashlib.sha256}
    )
