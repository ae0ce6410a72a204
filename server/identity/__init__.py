"""Identity of users by others: identity providers, directories, tokens of one's own site."""

from server.identity.identities import (
    DirectoryAwayError,
    Identities,
    Identity,
    IdentityError,
    open_identities,
)

__all__ = ["DirectoryAwayError", "Identities", "Identity", "IdentityError", "open_identities"]
