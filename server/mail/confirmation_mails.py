"""Emails with a confirmation link, or with the reason why there is none."""

from collections.abc import Sequence

import msgspec

from server.i18n import _


class EmailContent(msgspec.Struct, frozen=True, kw_only=True, tag="confirmation"):
    """The content of an email, in plain sentences."""

    title: str
    paragraphs: Sequence[str]
    button: str = ""
    url: str = ""
    """The link of the button; empty without one."""

    def subject(self, realm_name: str) -> str:
        del realm_name
        return self.title


class EmailOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """The organization or server in the name of which an email is sent."""

    name: str
    url: str
    language: str
    """The display language of its visitors."""


def reset_password(place: EmailOrigin, full_name: str, url: str) -> EmailContent:
    return EmailContent(
        title=_("Choose a new password for {name}", name=place.name),
        paragraphs=(
            _("Hello {full_name},", full_name=full_name),
            _(
                "somebody, probably you, wants a new password for your account at {url}."
                " The link below leads to a page where you choose one. It works once, within a"
                " day.",
                url=place.url,
            ),
            _("If it was not you, do nothing: your password stays as it is."),
        ),
        button=_("Choose a new password"),
        url=url,
    )


def imported_account(place: EmailOrigin, full_name: str, url: str) -> EmailContent:
    return EmailContent(
        title=_("Your account at {name}", name=place.name),
        paragraphs=(
            _("Hello {full_name},", full_name=full_name),
            _(
                "{name} has moved to {url}, with its people, channels and messages. You have an"
                " account there, with this address. The link below leads to a page where you"
                " choose its password. It works once, within a week.",
                name=place.name,
                url=place.url,
            ),
        ),
        button=_("Choose a password"),
        url=url,
    )


def no_account(place: EmailOrigin, *, is_closed: bool) -> EmailContent:
    what = _(
        "Somebody, probably you, wants a new password at {url}, but no account has this address"
        " there.",
        url=place.url,
    )
    if is_closed:
        what = _(
            "Somebody, probably you, wants a new password at {url}, but the account of this"
            " address is deactivated there.",
            url=place.url,
        )
    return EmailContent(
        title=_("No account at {name}", name=place.name),
        paragraphs=(
            what,
            _(
                "If you have an account, it may have another address. Who looks after the"
                " organization can tell you."
            ),
        ),
    )


def unconfirmed_account(place: EmailOrigin) -> EmailContent:
    return EmailContent(
        title=_("No new password for {name}", name=place.name),
        paragraphs=(
            _(
                "A new password was requested for the account of this address at {url}. It is not"
                " sent, because the account's owner has never confirmed the address.",
                url=place.url,
            ),
            _("If the account is yours, an administrator of the organization can help."),
        ),
    )


def confirm_new_address(place: EmailOrigin, full_name: str, url: str) -> EmailContent:
    return EmailContent(
        title=_("Confirm your new address for {name}", name=place.name),
        paragraphs=(
            _("Hello {full_name},", full_name=full_name),
            _(
                "your account at {url} is to have this address. Confirm on the page to which"
                " the link below leads that it is yours. It works once, within a day.",
                url=place.url,
            ),
            _("If you do not know what this is about, do nothing."),
        ),
        button=_("Confirm the address"),
        url=url,
    )


def confirm_sign_up(place: EmailOrigin, url: str) -> EmailContent:
    return EmailContent(
        title=_("Join {name}", name=place.name),
        paragraphs=(
            _(
                "This address was entered to join {name} at {url}. Go on where the link below"
                " leads. It works once, within a day.",
                name=place.name,
                url=place.url,
            ),
            _("If it was not you, do nothing."),
        ),
        button=_("Join"),
        url=url,
    )


def has_account(place: EmailOrigin) -> EmailContent:
    return EmailContent(
        title=_("You have an account at {name}", name=place.name),
        paragraphs=(
            _(
                "This address was entered to join {name} at {url}, but it has an account there"
                " already. Sign in with it; if you have forgotten the password, or never had"
                " one, the page for new passwords helps.",
                name=place.name,
                url=place.url,
            ),
        ),
        button=_("Sign in"),
        url=f"{place.url}/login",
    )


def confirm_founding(place: EmailOrigin, url: str) -> EmailContent:
    return EmailContent(
        title=_("A new organization"),
        paragraphs=(
            _(
                "This address was entered to create an organization at {url}. Go on where the"
                " link below leads. It works once, within a day.",
                url=place.url,
            ),
            _("If it was not you, do nothing."),
        ),
        button=_("Create the organization"),
        url=url,
    )
