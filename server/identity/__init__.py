"""Sign-in through identity providers, LDAP directories and JSON Web Tokens."""

from server.identity.identities import (
    DirectoryAwayError,
    Identities,
    Identity,
    IdentityError,
    open_identities,
)

__all__ = ["DirectoryAwayError", "Identities", "Identity", "IdentityError", "open_identities"]
