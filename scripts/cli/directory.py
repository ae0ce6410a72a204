"""`parley directory`: bring accounts to the state of the LDAP directory."""

from collections.abc import Awaitable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import click

from scripts.cli.failures import Failure, sentences
from scripts.cli.options import WHICH_REALM, place_options, settings_beside
from server.runtime.formatting import counted

if TYPE_CHECKING:
    from server.actions.directory_sync import AccountDifference, DirectoryPerson, SyncPlan
    from server.api.directory_pictures import DirectoryPictures
    from server.app import App
    from server.domain.access import GroupGraph
    from server.identity.ldap import DirectoryEntry, DirectoryListing, Ldap
    from storage.ids import GroupId, RealmId, UserId
    from storage.users import UserRow

Found = TypeVar("Found")

PROGRESS_STEP = 100
"""Number of changed accounts after which the progress is shown."""
PICTURES_AT_ONCE = 20


class _Wanted(NamedTuple):
    """What the operator has asked for."""

    subdomain: str | None
    is_trial: bool
    max_closures: int | None
    """None: the limit of the settings; -1: any number."""


@click.group()
def directory() -> None:
    """Bring accounts to the state of the LDAP directory."""


@directory.command()
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
@click.option("--yes", is_flag=True, help="Deactivate any number of accounts.")
@click.option(
    "--max-closures", type=click.IntRange(min=0), help="Deactivate at most this many accounts."
)
@click.option("--realm", "subdomain", help=WHICH_REALM)
@place_options
def sync(
    *,
    dry_run: bool,
    yes: bool,
    max_closures: int | None,
    subdomain: str | None,
    config: Path | None,
    data: Path | None,
) -> None:
    """Bring accounts to the state of the LDAP directory.

    Accounts that carry an id of the directory are deactivated if their entry is gone or does not
    match the filter any more, and reactivated if it is back; names, addresses, user groups and
    roles are updated as by a sign-in. Without --yes or --max-closures, nothing is done if more
    accounts would be deactivated than PARLEY_SCIM_MAX_CLOSURES allows. The exit status is 1 if
    anything could not be done.
    """
    with sentences():
        from scripts.cli.session import with_app

        settings = settings_beside(config, data)
        if settings.ldap_url is None:
            raise Failure("There is no directory: PARLEY_LDAP_URL is not set.")
        if settings.ldap_id_attribute is None:
            raise Failure(
                "PARLEY_LDAP_ID_ATTRIBUTE is not set: only accounts that carry an id of the"
                " directory are known to be its."
            )
        wanted = _Wanted(subdomain, dry_run, -1 if yes else max_closures)
        with_app(settings, lambda app: _sync(app, wanted))


async def _sync(app: "App", wanted: _Wanted) -> None:
    from scripts.cli.session import realm_named
    from server.actions.directory_sync import plan_sync
    from storage import directory_ids

    realm_id, ldap = await realm_named(app, wanted.subdomain), app.identities.ldap
    assert ldap is not None, "the settings name one"
    await _check_realm(app, realm_id)
    async with app.database.connection() as connection:
        ids = await directory_ids.all_of_realm(connection, realm_id)
    listing = await _listing(ldap, list(ids.values()))
    for problem in listing.problems:
        click.echo(f"note: {problem}", err=True)
    entries = {user_id: listing.entries.get(directory_id) for user_id, directory_id in ids.items()}
    pictures = await _EntryPictures.of(app, realm_id, ldap, entries)
    differing = {ids[user_id] for user_id in await pictures.differing(realm_id)}
    graph = await app.realm_caches.of(realm_id).groups()
    async with app.database.connection() as connection:
        plan = await plan_sync(
            connection,
            realm_id,
            graph,
            ids,  # as it was asked for: accounts that are made meanwhile are none of those gone
            _people(ldap, listing, differing),
            maximum=app.settings.scim_max_closures,
            now=app.clock.now(),
        )
    for name, reason in plan.refusals:
        click.echo(f"note: profile field {name}: {reason}", err=True)
    for line in _lines(plan, graph):
        click.echo(line)
    counts = (
        f"deactivate {len(plan.closures)} and change {len(plan.changes)} of"
        f" {counted(plan.accounts, 'account', 'accounts')}"
    )
    _check_closures(plan, wanted)
    if wanted.is_trial:
        click.echo(f"Would {counts}.")
        return
    failures = await _carry_out(
        app, realm_id, plan, pictures, is_limited=wanted.max_closures is None
    )
    if failures:
        raise Failure(f"{counted(failures, 'account', 'accounts')} could not be changed.")
    click.echo(f"Done: {counts}.")


async def _check_realm(app: "App", realm_id: "RealmId") -> None:
    """Raise Failure unless people of the organization sign in by the directory."""
    from server.domain.sign_in import LDAP

    realm_cache = app.realm_caches.of(realm_id)
    realm, settings = await realm_cache.realm(), await realm_cache.settings()
    if realm.deactivated:
        raise Failure(f"{realm.name} is deactivated.")
    if not settings.wants_method(LDAP):
        raise Failure(f"{realm.name} does not use the directory; its owners choose LDAP.")


async def _asked(answer: "Awaitable[Found]") -> "Found":
    """Return what the directory answers, before anything is changed. Raises Failure."""
    from server.identity.identities import DirectoryAwayError

    try:
        return await answer
    except DirectoryAwayError as error:
        raise Failure(f"Nothing was changed. The directory failed: {error.reason}.") from error


async def _listing(ldap: "Ldap", ids: list[str]) -> "DirectoryListing":
    """Return the directory's entries. Raises Failure if they are not known to be all."""
    listing = await _asked(ldap.listing(ids))
    if not listing.count:
        raise Failure("Nothing was changed: the directory lists no entries with an id.")
    return listing


class _EntryPictures:
    """The pictures of the entries of accounts. They are read a few at a time, and not kept."""

    def __init__(
        self,
        app: "App",
        ldap: "Ldap",
        pictures: "DirectoryPictures",
        dns: "Mapping[UserId, str]",
    ) -> None:
        self._app = app
        self._ldap = ldap
        self._pictures = pictures
        self._dns = dns

    @classmethod
    async def of(
        cls,
        app: "App",
        realm_id: "RealmId",
        ldap: "Ldap",
        entries: "Mapping[UserId, DirectoryEntry | None]",
    ) -> "_EntryPictures":
        from server.api.directory_pictures import DirectoryPictures

        dns = {user_id: entry.dn for user_id, entry in entries.items() if entry is not None}
        return cls(app, ldap, await DirectoryPictures.of(app, realm_id), dns)

    async def differing(self, realm_id: "RealmId") -> "set[UserId]":
        """Return the accounts that have another picture than their entry. Raises Failure."""
        from storage import users

        differing: set[UserId] = set()
        user_ids = list(self._dns) if self._ldap.has_pictures else []
        for at in range(0, len(user_ids), PICTURES_AT_ONCE):
            some = user_ids[at : at + PICTURES_AT_ONCE]
            async with self._app.database.connection() as connection:
                rows = await users.by_ids(connection, realm_id, some)
            found = await _asked(self._ldap.pictures([self._dns[row.user_id] for row in rows]))
            differing |= {
                row.user_id
                for row, picture in zip(rows, found, strict=True)
                if self._pictures.differs(row, picture)
            }
            if (at // PICTURES_AT_ONCE + 1) % PROGRESS_STEP == 0:
                click.echo(f"{at + len(some):,} of {len(user_ids):,} pictures read ...", err=True)
        return differing

    async def follow(self, row: "UserRow") -> None:
        """Give the account the picture of its entry. Raises DirectoryAwayError."""
        [picture] = await self._ldap.pictures([self._dns[row.user_id]])
        if reason := await self._pictures.follow(row, picture):
            click.echo(f"note: {row.email}: the picture was refused: {reason}", err=True)


def _people(
    ldap: "Ldap", listing: "DirectoryListing", differing: set[str]
) -> "dict[str, DirectoryPerson | None]":
    from server.actions.directory_sync import DirectoryPerson

    return {
        directory_id: None
        if entry is None
        else DirectoryPerson(
            entry.identity.email,
            entry.identity.full_name,
            ldap.mapping.claims(entry.identity.groups),
            entry.profile,
            has_other_picture=directory_id in differing,
        )
        for directory_id, entry in listing.entries.items()
    }


def _check_closures(plan: "SyncPlan", wanted: _Wanted) -> None:
    """Raise Failure if more accounts would be deactivated than the operator allows."""
    allowed = plan.may_close if wanted.max_closures is None else wanted.max_closures
    if allowed is None or allowed < 0 or len(plan.closures) <= allowed:
        return
    raise Failure(
        f"{counted(len(plan.closures), 'account', 'accounts')} would be deactivated, and at most"
        f" {allowed} may be now: nothing was changed. If it is intended, repeat it with --yes."
    )


def _lines(plan: "SyncPlan", graph: "GroupGraph") -> Iterator[str]:
    """Describe the plan, a line for each account."""
    names = {group_id: name for name, group_id in graph.ids_by_name.items()}
    if plan.kept is not None:
        yield f"keep        {plan.kept.email}: the last owner, without an entry"
    for row in plan.closures:
        yield f"deactivate  {row.email}"
    for change in plan.changes:
        verb = "reactivate" if change.reactivate else "change"
        facts = ", ".join(_facts(change, names))
        yield f"{verb:<10}  {change.row.email}{': ' if facts else ''}{facts}"


def _facts(change: "AccountDifference", names: "dict[GroupId, str]") -> Iterator[str]:
    from server.domain.scim import name_of_role

    if change.full_name is not None:
        yield f"name {change.full_name}"
    if change.email is not None:
        yield f"address {change.email}"
    if change.person.has_other_picture:
        yield "picture"
    if change.profile:
        yield counted(len(change.profile), "profile field", "profile fields")
    if change.claimed is not None:
        yield from (f"into {names[each]}" for each in change.claimed.add)
        yield from (f"out of {names[each]}" for each in change.claimed.remove)
        if change.claimed.role is not None:
            yield f"role {name_of_role(change.claimed.role)}"


async def _carry_out(
    app: "App",
    realm_id: "RealmId",
    plan: "SyncPlan",
    pictures: _EntryPictures,
    *,
    is_limited: bool,
) -> int:
    """Change the accounts, each in a transaction; return how many could not be changed."""
    from server.actions.directory_sync import close_account, follow_person
    from server.api.directory_claims import finish_access_changes
    from server.domain.errors import DomainError
    from server.identity.identities import DirectoryAwayError

    writer, failures = app.writers.of(realm_id), 0
    maximum = app.settings.scim_max_closures if is_limited else None
    steps: list[tuple[UserRow, DirectoryPerson | None]] = [(row, None) for row in plan.closures]
    steps += [(each.row, each.person) for each in plan.changes]
    for done, (row, person) in enumerate(steps, start=1):
        user_id, now = row.user_id, app.clock.now()
        try:
            if person is None:
                close = partial(close_account, user_id=user_id, maximum=maximum, now=now)
                await writer.write(close)
            else:
                follow = partial(follow_person, user_id=user_id, person=person, now=now)
                await finish_access_changes(app, realm_id, await writer.write(follow))
                if person.has_other_picture:
                    await pictures.follow(row)
        except DomainError as error:
            failures += 1
            click.echo(f"parley: {row.email}: {error.message}", err=True)
        except DirectoryAwayError as error:
            failures += 1
            click.echo(f"parley: {row.email}: the directory failed: {error.reason}", err=True)
        if done % PROGRESS_STEP == 0:
            click.echo(f"{done:,} of {counted(len(steps), 'account', 'accounts')} ...", err=True)
    return failures
