"""`parley ldap`: test the LDAP configuration."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scripts.cli.failures import Failure, sentences
from scripts.cli.options import (
    WHICH_REALM,
    password_option,
    place_options,
    read_password,
    settings_beside,
)

if TYPE_CHECKING:
    from server.app import App
    from server.domain.directory_groups import Claims
    from server.identity.ldap import DirectoryEntry
    from storage.ids import RealmId

MOST_GROUPS = 20
"""Maximum number of groups shown."""


@dataclass(frozen=True, slots=True)
class _Found:
    entry: "DirectoryEntry"
    account: str
    """The account that the entry signs in to."""
    claims: "Claims | None"
    """What its groups mean here."""


@click.group()
def ldap() -> None:
    """Test the LDAP configuration."""


@ldap.command()
@click.argument("name")
@password_option
@click.option("--realm", help=WHICH_REALM)
@place_options
def check(
    *,
    name: str,
    password_file: Path | None,
    realm: str | None,
    config: Path | None,
    data: Path | None,
) -> None:
    """Show the LDAP entry of a user, and the account it signs in to. Changes nothing.

    NAME is the name that the user signs in with. A password, if given, is verified too.
    """
    with sentences():
        from scripts.cli.session import with_app

        settings = settings_beside(config, data)
        if settings.ldap_url is None:
            raise Failure("There is no directory: PARLEY_LDAP_URL is not set.")
        password = read_password(password_file)
        found = with_app(settings, lambda app: _look(app, name, password, realm))
    identity = found.entry.identity
    for about, what in (
        ("entry", found.entry.dn),
        ("name", identity.full_name),
        ("email", identity.email),
        *_about_groups(found),
        ("password", "right" if password is not None else "not tried: --password-file tries it"),
        ("account", found.account),
    ):
        click.echo(f"{about:<9} {what}")


def _about_groups(found: _Found) -> list[tuple[str, str]]:
    """Return what is to be shown of the entry's groups, if groups are mapped."""
    groups, claims = found.entry.identity.groups, found.claims
    if groups is None:
        return []
    shown = [("groups", "; ".join(groups[:MOST_GROUPS]) or "none")]
    if claims is None:
        return [*shown, ("mapped to", f"nothing: there are {len(groups)}, which is too many")]
    from server.domain.scim import name_of_role

    role = "as it is" if claims.role is None else name_of_role(claims.role)
    return [*shown, ("mapped to", f"{', '.join(sorted(claims.groups)) or 'no group'}; role {role}")]


async def _look(app: "App", name: str, password: str | None, subdomain: str | None) -> _Found:
    from scripts.cli.session import realm_named
    from server.identity.identities import DirectoryAwayError, IdentityError

    realm_id = await realm_named(app, subdomain)
    ldap = app.identities.ldap
    assert ldap is not None, "the settings name one"
    try:
        if password is None:
            entry = await ldap.find(name)
        else:
            entry = await ldap.sign_in(name, password)
    except DirectoryAwayError as error:
        raise Failure(f"The directory cannot be asked: {error.reason}.") from error
    except IdentityError as error:
        raise Failure(
            f"No account can be made of what the directory has: {error.reason}."
        ) from error
    if entry is None and password is None:
        raise Failure(f"The directory has no entry for {name} that the server can read.")
    if entry is None:
        raise Failure(f"The directory has no entry for {name} with this password.")
    claims = ldap.mapping.claims(entry.identity.groups)
    return _Found(entry, await _account(app, realm_id, entry), claims)


async def _account(app: "App", realm_id: "RealmId", entry: "DirectoryEntry") -> str:
    """Return a sentence about the account of the entry in this organization."""
    from server.actions.sign_up import check_known_may_join
    from server.api.sign_in import account_of
    from server.domain.errors import DomainError
    from server.domain.sign_in import LDAP

    realm_cache = app.realm_caches.of(realm_id)
    realm, settings = await realm_cache.realm(), await realm_cache.settings()
    if not settings.wants_method(LDAP):
        return f"none: {realm.name} does not use the directory; its owners choose LDAP."
    if realm.deactivated:
        return f"none: {realm.name} is deactivated."
    try:
        found = await account_of(app, realm_cache, entry)
        if found is not None:
            return f"{found.email}, user id {found.user_id}"
        async with app.database.connection() as connection:
            email, now = entry.identity.email, app.clock.now()
            await check_known_may_join(connection, realm, email, now=now)
    except DomainError as error:
        return f"none: {error.message}"
    return f"would be made in {realm.name} with the first sign-in"
