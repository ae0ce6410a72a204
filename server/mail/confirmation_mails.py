"""Emails with a confirmation link, or with the reason why there is none."""

from collections.abc import Sequence

import msgspec


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


def reset_password(place: EmailOrigin, full_name: str, url: str) -> EmailContent:
    return EmailContent(
        title=f"Choose a new password for {place.name}",
        paragraphs=(
            f"Hello {full_name},",
            (
                f"somebody, probably you, wants a new password for your account at {place.url}. The"
                " link below leads to a page where you choose one. It works once, within a day."
            ),
            "If it was not you, do nothing: your password stays as it is.",
        ),
        button="Choose a new password",
        url=url,
    )


def no_account(place: EmailOrigin, *, is_closed: bool) -> EmailContent:
    what = (
        "the account of this address is deactivated"
        if is_closed
        else ("no account has this address")
    )
    return EmailContent(
        title=f"No account at {place.name}",
        paragraphs=(
            f"Somebody, probably you, wants a new password at {place.url}, but {what} there.",
            (
                "If you have an account, it may have another address. Who looks after the"
                " organization can tell you."
            ),
        ),
    )


def confirm_new_address(place: EmailOrigin, full_name: str, url: str) -> EmailContent:
    return EmailContent(
        title=f"Confirm your new address for {place.name}",
        paragraphs=(
            f"Hello {full_name},",
            (
                f"your account at {place.url} is to have this address. Confirm on the page to which"
                " the link below leads that it is yours. It works once, within a day."
            ),
            "If you do not know what this is about, do nothing.",
        ),
        button="Confirm the address",
        url=url,
    )


def confirm_sign_up(place: EmailOrigin, url: str) -> EmailContent:
    return EmailContent(
        title=f"Join {place.name}",
        paragraphs=(
            (
                f"This address was entered to join {place.name} at {place.url}. Go on where the"
                " link below leads. It works once, within a day."
            ),
            "If it was not you, do nothing.",
        ),
        button="Join",
        url=url,
    )


def has_account(place: EmailOrigin) -> EmailContent:
    return EmailContent(
        title=f"You have an account at {place.name}",
        paragraphs=(
            (
                f"This address was entered to join {place.name} at {place.url}, but it has an"
                " account there already. Sign in with it; if you have forgotten the password, or"
                " never had one, the page for new passwords helps."
            ),
        ),
        button="Sign in",
        url=f"{place.url}/login",
    )


def confirm_founding(place: EmailOrigin, url: str) -> EmailContent:
    return EmailContent(
        title="A new organization",
        paragraphs=(
            (
                f"This address was entered to create an organization at {place.url}. Go on where"
                " the link below leads. It works once, within a day."
            ),
            "If it was not you, do nothing.",
        ),
        button="Create the organization",
        url=url,
    )
