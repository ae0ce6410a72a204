"""Invitations: whom they are for, and the secrets in their links."""

import hashlib
import hmac
import re
import secrets
from base64 import urlsafe_b64encode
from email.utils import parseaddr
from typing import Final, NamedTuple

from server.domain.access import Person
from server.domain.sessions import digest_of
from storage.address_folding import fold_address
from storage.ids import InvitationId, RealmId
from storage.invitations import Terms

PATH: Final = "/join/{token}"
"""The page that a link opens, at the organization's address."""
PURPOSE: Final = "invitations"
"""The name of the key that signs the links that any user may use (storage/server_keys.py)."""
MAX_ADDRESSES: Final = 1_000
"""In one request."""
MAX_PARTS: Final = 10 * MAX_ADDRESSES
"""Of a list of addresses, in which some may stand twice."""
MAX_NAMED_ADDRESS: Final = 1_000
"""Characters of an address with a name: the library takes the square of it."""
MAX_MINUTES: Final = 100 * 366 * 24 * 60
"""For longer there is null."""
SECRET_BYTES: Final = 24

_TOKEN: Final = re.compile(r"([1-9][0-9]{0,17})\.([A-Za-z0-9_-]{32})")


class Key(NamedTuple):
    """What a user shows who wants to join."""

    invitation_id: InvitationId
    secret: str

    @property
    def token(self) -> str:
        """As it stands in the link."""
        return f"{self.invitation_id}.{self.secret}"

    @property
    def digest(self) -> bytes:
        """What is kept of the secret."""
        return digest_of(self.secret)


def new_key(invitation_id: InvitationId) -> Key:
    """Return one that is in a mail alone."""
    return Key(invitation_id, secrets.token_urlsafe(SECRET_BYTES))


def link_key(key: bytes, realm_id: RealmId, invitation_id: InvitationId) -> Key:
    """That of a link that is shown again and again, and so is kept nowhere: it is signed."""
    said = f"{realm_id}.{invitation_id}".encode()
    signature = hmac.new(key, said, hashlib.sha256).digest()[:SECRET_BYTES]
    return Key(invitation_id, urlsafe_b64encode(signature).decode())


def read_token(token: str) -> Key | None:
    """Return what the link holds; None if no user made it."""
    match = _TOKEN.fullmatch(token)
    return Key(InvitationId(int(match[1])), match[2]) if match else None


def sees(person: Person, terms: Terms) -> bool:
    """Whether a user may know of the invitation: their own, or one that they look after."""
    return terms.inviter_id == person.user_id or (
        not person.is_bot and person.is_administrator and looks_after(person.role, terms)
    )


def looks_after(administrator_role: int, terms: Terms) -> bool:
    """Return whether people of this role look after what others have sent.

    Not what asks a user to be more than they are: its link would make them that.
    """
    return administrator_role <= terms.role


def addresses_in(text: str) -> list[str]:
    """The addresses in a list by commas and lines, with or without names: each once, in order."""
    found: dict[str, str] = {}
    # What is left together after so many parts is no address, and refused as such.
    for part in re.split(r"[,\n]", text, maxsplit=MAX_PARTS):
        is_named = "<" in part and len(part) <= MAX_NAMED_ADDRESS
        address = parseaddr(part)[1] if is_named else part.strip()
        if part.strip():
            found.setdefault(fold_address(address), address or part.strip())
    return list(found.values())
