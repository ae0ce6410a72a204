"""Invitations: links, tokens, and who may manage them."""

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
from storage.invitations import InvitationTerms

PATH: Final = "/join/{token}"
"""Path of the page that a link opens, at the realm's URL."""
PURPOSE: Final = "invitations"
"""Purpose of the key that signs reusable links (storage/server_keys.py)."""
MAX_ADDRESSES: Final = 1_000
"""Maximum per request."""
MAX_PARTS: Final = 10 * MAX_ADDRESSES
"""Maximum number of parts of an address list, duplicates included."""
MAX_NAMED_ADDRESS: Final = 1_000
"""Maximum characters of an address with a name: parsing takes quadratic time."""
MAX_MINUTES: Final = 100 * 366 * 24 * 60
"""Maximum validity; null for no limit."""
SECRET_BYTES: Final = 24

_TOKEN: Final = re.compile(r"([1-9][0-9]{0,17})\.([A-Za-z0-9_-]{32})")


class Key(NamedTuple):
    """The id and secret of an invitation, presented in order to join."""

    invitation_id: InvitationId
    secret: str

    @property
    def token(self) -> str:
        """Return the token in the link."""
        return f"{self.invitation_id}.{self.secret}"

    @property
    def digest(self) -> bytes:
        """Return the stored digest of the secret."""
        return digest_of(self.secret)


def new_key(invitation_id: InvitationId) -> Key:
    """Return a key that is only ever sent in an email."""
    return Key(invitation_id, secrets.token_urlsafe(SECRET_BYTES))


def link_key(key: bytes, realm_id: RealmId, invitation_id: InvitationId) -> Key:
    """Return the key of a reusable link: it is signed, and not stored."""
    said = f"{realm_id}.{invitation_id}".encode()
    signature = hmac.new(key, said, hashlib.sha256).digest()[:SECRET_BYTES]
    return Key(invitation_id, urlsafe_b64encode(signature).decode())


def read_token(token: str) -> Key | None:
    """Return the key in a token; None if it is invalid."""
    match = _TOKEN.fullmatch(token)
    return Key(InvitationId(int(match[1])), match[2]) if match else None


def sees(person: Person, terms: InvitationTerms) -> bool:
    """Return whether a user may see the invitation: their own, or one that they may manage."""
    return terms.inviter_id == person.user_id or (
        not person.is_bot and person.is_administrator and looks_after(person.role, terms)
    )


def looks_after(administrator_role: int, terms: InvitationTerms) -> bool:
    """Return whether this role may manage invitations of other users.

    Not those to a higher role: the link would grant it.
    """
    return administrator_role <= terms.role


def addresses_in(text: str) -> list[str]:
    """Return the addresses of a list separated by commas and lines, deduplicated in order."""
    found: dict[str, str] = {}
    # What is left after so many parts is no address, and refused as such.
    for part in re.split(r"[,\n]", text, maxsplit=MAX_PARTS):
        is_named = "<" in part and len(part) <= MAX_NAMED_ADDRESS
        address = parseaddr(part)[1] if is_named else part.strip()
        if part.strip():
            found.setdefault(fold_address(address), address or part.strip())
    return list(found.values())
