"""Decide which accounts the people of a file get."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from server.actions.users import NewUser
from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, OWNER
from server.domain.accounts import as_full_name, checked_new_email, checked_timezone
from server.domain.errors import DomainError
from server.domain.profiles import user_id_of_hidden_email
from server.domain.system_bots import SYSTEM_BOTS
from server.i18n import marked
from server.imports.errors import FileRefusedError
from server.imports.records import PersonRecord
from server.imports.report import ImportReport
from server.imports.survey import Survey
from storage.address_folding import fold_address

NO_MAIL_DOMAIN: Final = "imported.invalid"
"""Domain of addresses of accounts without one: RFC 2606 reserves it, so no mail goes anywhere."""
GENERIC_BOT: Final = 1


@dataclass(slots=True)
class PlannedAccount:
    """An account to be created, for one or several people of the file."""

    new: NewUser
    is_active: bool
    keys: list[str] = field(default_factory=list)
    lacks_address: bool = False
    """Deactivated only because it has no address."""
    is_first_owner: bool = False
    owner: str | None = None
    """Key of the bot's owner."""
    is_system_bot: bool = False
    """One that every organization has, and this one already."""


def planned_accounts(
    survey: Survey, owner_email: str | None, domain: str, report: ImportReport
) -> list[PlannedAccount]:
    """Return the accounts, the owner first. Raises FileRefusedError if there can be no owner.

    `owner_email`: the address of the owner. If the file does not contain it, its first owner
    gets it if that has no address, or else a new account. None: the file's first owner, or else
    administrator, with an address. `domain`: of the addresses that the realm generates.
    """
    planned, by_address = _planned(survey, domain, report)
    accounts = _with_owner(planned, by_address, owner_email)
    _remark_on_lacking(accounts[1:], report)
    return accounts


def planned_newcomers(survey: Survey, domain: str, report: ImportReport) -> list[PlannedAccount]:
    """Return the accounts for a realm in use, always in the same order: bots after people.

    Who had more rights in the other program is a member: only owners here give them. Profile fields
    are the organization's own, and statuses those of today.
    """
    planned, _ = _planned(survey, domain, report)
    planned.sort(key=lambda account: account.new.bot_type is not None)
    for person in survey.people:
        if person.fields:
            reason = marked(
                "values of profile fields were left out, since the organization has its own"
            )
            report.remark(reason, person.full_name, len(person.fields))
        if person.status is not None:
            report.remark(
                marked("statuses were left out, since they are not of today"), person.full_name
            )
    for account in planned:
        if account.new.role < MEMBER:
            reason = marked(
                "people had more rights there, and are members here unless they had an account"
            )
            report.remark(reason, account.new.full_name)
            account.new = replace(account.new, role=MEMBER)
    _remark_on_lacking(planned, report)
    return planned


def _planned(
    survey: Survey, domain: str, report: ImportReport
) -> tuple[list[PlannedAccount], dict[str, PlannedAccount]]:
    """Return the accounts, and those with an address by its folded form."""
    reserved = {fold_address(bot.email) for bot in SYSTEM_BOTS}
    by_address: dict[str, PlannedAccount] = {}
    planned: list[PlannedAccount] = []
    # Those in use first: of several people with one address, theirs is the account.
    for person in sorted(survey.people, key=lambda each: (not each.is_active, each.is_bot)):
        email = _address(person, domain, report)
        folded = fold_address(email) if email else ""
        if folded in by_address:
            by_address[folded].keys.append(person.key)
            report.remark(
                marked("people have the address of another, and share that account"), email or ""
            )
            continue
        is_system_bot = folded in reserved and person.is_bot
        if folded in reserved and not is_system_bot:
            report.remark(marked("addresses are reserved for bots of the system"), person.full_name)
            email = None
        account = _account(person, email, report)
        account.is_system_bot = is_system_bot
        planned.append(account)
        if email:
            by_address[folded] = account
    planned += [_stranger(key, name, report) for key, name in survey.strangers.items()]
    return planned, by_address


def _remark_on_lacking(accounts: Iterable[PlannedAccount], report: ImportReport) -> None:
    for account in accounts:
        if account.lacks_address:
            reason = marked(
                "people have no address, and are deactivated: give them one and reactivate them"
            )
            report.remark(reason, account.new.full_name)


def _address(person: PersonRecord, domain: str, report: ImportReport) -> str | None:
    """Return the person's address, if it is one."""
    if person.email is None:
        return None
    try:
        email = checked_new_email(person.email)
    except DomainError:
        report.remark(marked("addresses are invalid"), person.email)
        return None
    if user_id_of_hidden_email(email, domain) is not None:
        report.remark(marked("addresses are reserved"), email)
        return None
    return email


def _account(person: PersonRecord, email: str | None, report: ImportReport) -> PlannedAccount:
    lacks_address = email is None and person.is_active and not person.is_bot
    address = email or _made_up(person.key)
    name = as_full_name(person.full_name, email=address)
    if name != " ".join(person.full_name.split()):
        report.remark(marked("names were changed to valid ones"), name)
    new = NewUser(
        email=address,
        full_name=name,
        role=MEMBER if person.is_bot and person.role != GUEST else person.role,
        bot_type=GENERIC_BOT if person.is_bot else None,
        timezone=_timezone(person.timezone, report),
        settings=person.settings,
        stub=None if person.is_bot else "imported",
        joined_at=person.joined_at,
    )
    return PlannedAccount(
        new,
        is_active=person.is_active and not lacks_address,
        keys=[person.key],
        lacks_address=lacks_address,
        is_first_owner=person.is_first_owner,
        owner=person.owner,
    )


def _stranger(key: str, name: str, report: ImportReport) -> PlannedAccount:
    """Return a deactivated account for a sender that the file does not list."""
    name = as_full_name(name or key, email=_made_up(key))
    report.remark(
        marked("accounts are not listed in the export, and were made up, deactivated"), name
    )
    new = NewUser(email=_made_up(key), full_name=name, stub="imported")
    return PlannedAccount(new, is_active=False, keys=[key])


def _made_up(key: str) -> str:
    """Return an address to which nothing is sent, for a key of any characters."""
    local = "".join(c if c.isascii() and c.isalnum() else f"-{ord(c):x}" for c in key)
    return f"{local[:60]}@{NO_MAIL_DOMAIN}"


def _timezone(name: str, report: ImportReport) -> str:
    try:
        return checked_timezone(name)
    except DomainError:
        report.remark(marked("time zones are unknown here, and were left out"), name)
        return ""


def _with_owner(
    planned: list[PlannedAccount], by_address: dict[str, PlannedAccount], email: str | None
) -> list[PlannedAccount]:
    """Return the accounts with the owner first."""
    owner = _best(by_address.values()) if email is None else by_address.get(fold_address(email))
    if owner is None and email is not None:
        owner = next(filter(_is_first_owner_without_address, planned), None)
        if owner is None:
            name = as_full_name("", email=email)
            owner = PlannedAccount(NewUser(email=email, full_name=name), is_active=True)
        owner.new = replace(owner.new, email=email)
    if owner is None:
        raise FileRefusedError(
            "The export has no owner with an email address: name one with --owner ADDRESS."
        )
    owner.new, owner.is_active = replace(owner.new, role=OWNER, bot_type=None), True
    return [owner, *(account for account in planned if account is not owner)]


def _best(accounts: Iterable[PlannedAccount]) -> PlannedAccount | None:
    """Return the first owner, or else administrator, that can sign in."""
    able = [
        account
        for account in accounts
        if account.is_active and account.new.bot_type is None and account.new.role <= ADMINISTRATOR
    ]
    return min(able, key=lambda account: account.new.role, default=None)


def _is_first_owner_without_address(account: PlannedAccount) -> bool:
    return account.is_first_owner and account.lacks_address


def people_of(planned: Sequence[PlannedAccount]) -> dict[str, int]:
    """Count the accounts by kind, for the report."""
    new = [account for account in planned if not account.is_system_bot]
    bots = sum(account.new.bot_type is not None for account in new)
    return {marked("people"): len(new) - bots, marked("bots"): bots}
