"""Restrictions on email addresses of new accounts and invitations."""

from collections.abc import Iterable
from typing import Final

from server.domain.errors import BadRequestError
from server.domain.realm_domains import check_admitted
from server.domain.realm_settings import RealmSettings
from server.i18n import _
from storage.address_folding import fold_address
from storage.realm_domains import DomainRow

UNCONFIRMED: Final = _(
    "This organization admits addresses of certain domains, and this server sends no mail to"
    " confirm that one is yours. Ask an administrator for an account."
)


def check_address(
    email: str, settings: RealmSettings, domains: Iterable[DomainRow], *, confirmed: bool = True
) -> None:
    """Raise BadRequestError unless the realm accepts this address.

    `confirmed`: whether it is known to be the owner's; otherwise it belongs to no domain.
    """
    if settings.emails_restricted_to_domains:
        if not confirmed:
            raise BadRequestError(UNCONFIRMED)
        check_admitted(email, domains)
    elif settings.disallow_disposable_email_addresses and is_disposable(email):
        raise BadRequestError(_("Please use your real email address, not a disposable one."))


def is_disposable(email: str) -> bool:
    """Return whether the address belongs to a service of disposable addresses."""
    from disposable_email_domains import blocklist  # large, and rarely needed

    labels = fold_address(email.strip()).rpartition("@")[2].split(".")
    return any(".".join(labels[at:]) in blocklist for at in range(len(labels) - 1))
