"""Convert accounts to SCIM users, and SCIM users to wanted accounts."""

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final

from scim2_models import GroupMembership, InvalidValueException, Meta, Reference

from server.actions.scim.accounts import (
    WAITING_EMAIL,
    WAITING_ROLE,
    AccountState,
    WantedAccount,
)
from server.domain.access import ROLE_NAMES
from server.domain.accounts import as_full_name
from server.domain.scim import name_of_role, role_named
from server.scim.resources import RoleName, ScimEmail, ScimName, ScimRole, ScimUser
from storage.address_folding import fold_address
from storage.ids import GroupId

MAX_TEXT: Final = 500
"""Maximum length of a text that is kept for the directory."""
MAX_EMAILS: Final = 20
DIGEST_BYTES: Final = 12


def shown_user(state: AccountState, groups: Mapping[GroupId, str]) -> ScimUser:
    """Return the account as a SCIM user in these groups, by id and name."""
    row, said = state.row, state.said
    attributes = said.attributes if said is not None else {}
    name = attributes.get("name")
    memberships = [
        GroupMembership(
            value=str(group_id),
            display=group_name,
            type="direct",
            ref=Reference[Any](f"Groups/{group_id}"),
        )
        for group_id, group_name in groups.items()
    ]
    return ScimUser(
        id=str(row.user_id),
        external_id=said.external_id if said is not None else None,
        meta=Meta(
            resource_type="User",
            created=row.date_joined,
            last_modified=said.modified_at if said is not None else row.date_joined,
            version=version_of(state),
        ),
        user_name=said.user_name if said is not None else row.email,
        name=None if name is None else ScimName(**name),
        display_name=row.full_name,
        active=row.is_active,
        emails=_shown_emails(state),
        roles=[ScimRole(value=RoleName(name_of_role(_role(state))), primary=True)],
        groups=memberships or None,
    )


def version_of(state: AccountState) -> str:
    """Return the weak entity tag of what a directory sees of the account."""
    row = state.row
    facts = (row.email, row.full_name, row.role, row.is_active, state.said)
    return entity_tag(facts)


def entity_tag(facts: object) -> str:
    """Return a weak entity tag for these facts."""
    digest = blake2b(repr(facts).encode(errors="replace"), digest_size=DIGEST_BYTES).hexdigest()
    return f'W/"{digest}"'


def wanted_account(user: ScimUser, old: ScimUser | None = None) -> WantedAccount:
    """Return the account that the user describes; `old` is the user before a change.

    Raises InvalidValueException.
    """
    assert user.user_name is not None, "it is required"
    _check_texts(user)
    email = _wanted_email(user)
    name = _wanted_name(user, old)
    kept = {
        "name": user.name and user.name.model_dump(by_alias=False),
        "emails": [each.model_dump(by_alias=False) for each in user.emails or ()],
    }
    return WantedAccount(
        user_name=user.user_name,
        external_id=user.external_id,
        email=email,
        full_name=None if name is None else as_full_name(name, email=email),
        role=_wanted_role(user, old),
        is_active=_wanted_active(user, old),
        attributes={name: value for name, value in kept.items() if value},
    )


def _role(state: AccountState) -> int:
    return _waiting(state, WAITING_ROLE) or state.row.role


def _email(state: AccountState) -> str:
    return _waiting(state, WAITING_EMAIL) or state.row.email


def _waiting(state: AccountState, name: str) -> Any:
    """Return what the account gets when it is reactivated, if it waits for that."""
    if state.row.is_active or state.said is None:
        return None
    return state.said.attributes.get(name)


def _shown_emails(state: AccountState) -> list[ScimEmail]:
    """Return the addresses that the directory gave, with that of the account as the main one."""
    kept = state.said.attributes.get("emails", []) if state.said is not None else []
    emails, email = [ScimEmail(**each) for each in kept], _email(state)
    main = _main_email(emails)
    if main is None:
        return [ScimEmail(value=email, type="work", primary=True)]
    if fold_address(main.value or "") != fold_address(email):
        main.value = email
    return emails


def _main_email(emails: Sequence[ScimEmail]) -> ScimEmail | None:
    """Return the primary address, else one for work, else the first."""
    given = [each for each in emails if each.value]
    work = [each for each in given if (each.type or "").casefold() == "work"]
    return next((each for each in given if each.primary), None) or next(iter(work or given), None)


def _wanted_email(user: ScimUser) -> str:
    main = _main_email(user.emails or ())
    email = main.value if main is not None and main.value else user.user_name
    assert email is not None, "the user name is required"
    if "@" not in email:
        raise InvalidValueException(
            detail="The account needs an address: give `emails`, or an address as `userName`."
        )
    return email.strip()


def _wanted_name(user: ScimUser, old: ScimUser | None) -> str | None:
    """Return the name that is new: the one to display, the formatted one, or its parts."""
    before = _names(old) if old is not None else ("", "", "")
    for name, was in zip(_names(user), before, strict=True):
        if name and name != was:
            return name
    return None


def _names(user: ScimUser) -> tuple[str, str, str]:
    name = user.name or ScimName()
    parts = " ".join(part for part in (name.given_name, name.family_name) if part)
    return user.display_name or "", name.formatted or "", parts


def _wanted_active(user: ScimUser, old: ScimUser | None) -> bool:
    """Return whether the account is to be active; without a value, as before, or else yes."""
    if user.active is not None:
        return bool(user.active)
    return old is None or old.active is not False


def _wanted_role(user: ScimUser, old: ScimUser | None) -> int | None:
    """Return the role that is new, else the primary one, else the first; None without any."""
    before = {each.value for each in (old.roles or ())} if old is not None else set()
    given = [each for each in user.roles or () if each.value]
    new = [each for each in given if each.value not in before]
    chosen = next((each for each in new or given if each.primary), next(iter(new or given), None))
    if chosen is None or chosen.value is None:
        return None
    role = role_named(chosen.value)
    if role is None:
        raise InvalidValueException(detail=f"roles: one of {', '.join(ROLE_NAMES)}")
    return role


def _check_texts(user: ScimUser) -> None:
    """Raise InvalidValueException for texts that cannot be kept."""
    name = user.name or ScimName()
    emails = user.emails or []
    texts = [user.user_name, user.external_id, user.display_name]
    texts += [name.formatted, name.given_name, name.family_name]
    texts += [text for each in emails for text in (each.value, each.type)]
    check_texts(texts)
    if len(emails) > MAX_EMAILS:
        raise InvalidValueException(detail=f"emails: at most {MAX_EMAILS}")
    if not (user.user_name or "").strip():
        raise InvalidValueException(detail="userName must not be empty")


def check_texts(texts: Sequence[str | None]) -> None:
    """Raise InvalidValueException for a text that is too long, or that no database holds."""
    for text in texts:
        if text is not None and (len(text) > MAX_TEXT or not is_storable(text)):
            raise InvalidValueException(
                detail=f"Texts have at most {MAX_TEXT} characters, and no null characters."
            )


def is_storable(text: str) -> bool:
    """Return whether the database can hold the text, or compare something with it."""
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return True
