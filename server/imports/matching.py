"""Match the people of a file with the accounts of an organization in use."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from server.actions.users import NewUser
from server.domain.accounts import MAX_NAME_LENGTH
from server.domain.names import fold_name
from server.imports.accounts import NO_MAIL_DOMAIN, PlannedAccount
from server.transactions import Tx
from storage import import_joining, import_keys, users
from storage.address_folding import fold_address
from storage.database import Connection
from storage.ids import RealmId, UserId
from storage.imports import ImportRow


class AccountMatcher:
    """Matches people of a file with the accounts that are there."""

    def __init__(self, row: ImportRow, *, unique_names: bool) -> None:
        self._row = row
        self._unique_names = unique_names

    async def find(
        self, connection: Connection, tx: Tx, batch: Sequence[PlannedAccount]
    ) -> dict[str, UserId]:
        """Return the accounts with the same addresses, by the first keys of the people.

        An address that an import has made up is of the same person only if that was an import from
        the same program; another one is made up otherwise.
        """
        rows = await users.by_emails(connection, tx.realm_id, [a.new.email for a in batch])
        by_address: dict[str, users.UserRow] = {}
        for row in sorted(rows, key=lambda each: each.is_active):
            by_address[fold_address(row.email)] = row
        made_up = [row.user_id for row in rows if row.email.endswith(f"@{NO_MAIL_DOMAIN}")]
        same = await import_joining.imported_accounts(
            connection, tx.realm_id, self._row.source, made_up
        )
        known: dict[str, UserId] = {}
        for account in batch:
            found = by_address.get(fold_address(account.new.email))
            if found is None:
                continue
            if found.user_id in made_up and found.user_id not in same:
                local, _, domain = account.new.email.partition("@")
                email = f"{local}-{self._row.import_id}@{domain}"
                account.new = replace(account.new, email=email)
            else:
                known[account.keys[0]] = found.user_id
        return known

    async def named(
        self,
        connection: Connection,
        tx: Tx,
        new: Sequence[PlannedAccount],
        people: Mapping[str, UserId],
        now: datetime,
    ) -> list[NewUser]:
        """Return the accounts to be created, with names that they may have.

        `people`: the accounts so far, by their keys.
        """
        taken: set[str] = set()
        wanted: list[NewUser] = []
        for account in new:
            name = account.new.full_name
            if self._unique_names or account.new.bot_type is not None:
                name = await self._free_name(connection, tx, name, taken)
            taken.add(fold_name(name))
            owner_id = people.get(account.owner or "", UserId(self._row.options["owner_id"]))
            wanted.append(
                replace(
                    account.new,
                    full_name=name,
                    is_active=account.is_active,
                    joined_at=min(account.new.joined_at or now, now),
                    bot_owner_id=owner_id if account.new.bot_type else None,
                )
            )
        return wanted

    async def _free_name(self, connection: Connection, tx: Tx, name: str, taken: set[str]) -> str:
        number, wanted = 1, name
        while fold_name(wanted) in taken or await users.named(connection, tx.realm_id, wanted):
            end = f" ({self._row.source})" if number == 1 else f" ({self._row.source} {number})"
            wanted, number = name[: MAX_NAME_LENGTH - len(end)].rstrip() + end, number + 1
        return wanted


async def people_in(connection: Connection, realm_id: RealmId, import_id: int) -> dict[str, UserId]:
    """Return the accounts of all people of the file, new or not, by their keys."""
    new = await import_keys.keys_of(connection, realm_id, import_id, "person")
    there = await import_keys.keys_of(connection, realm_id, import_id, "account")
    return {key: UserId(each) for key, each in (new | there).items()}
