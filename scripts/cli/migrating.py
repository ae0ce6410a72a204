"""Apply all migrations, with the changes of rows that the last ones require."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from server.settings import Settings


def bring_up_to_date(settings: "Settings", url: str) -> list[str]:
    """Apply all missing migrations; return their names. Raises MigrationError.

    The last migrations make names unique that older releases took for different ones: before these,
    duplicates are renamed, with events to the clients of a running server.
    """
    from storage.migrate import migrate, pending

    applied = migrate(url, before_deploy=True)
    _fold_addresses(url)
    if pending(url, after_deploy=True):
        _rename_duplicates(settings, url)
    return applied + migrate(url)


def _fold_addresses(url: str) -> None:
    """Fold addresses that SQL cannot fold, and log accounts with the same address."""
    import structlog

    from storage.migrate import connected
    from storage.shared_addresses import fill_foldings, shared_addresses

    with connected(url) as connection:
        if fill_foldings(connection):
            for shared in shared_addresses(connection):
                structlog.get_logger(__name__).warning(
                    "accounts.shared_address", realm_id=shared.realm_id, emails=shared.emails
                )


def _rename_duplicates(settings: "Settings", url: str) -> None:
    from storage import name_duplicates

    realm_ids = name_duplicates.realm_ids(url)
    if not realm_ids:
        return
    import asyncio

    from scripts.cli.database import with_database
    from server.actions.duplicate_names import rename_duplicates
    from server.app import open_app

    async def run() -> None:
        async with open_app(with_database(settings, url)) as app:
            for realm_id in realm_ids:
                await rename_duplicates(app.uncached_realm_services(realm_id))

    asyncio.run(run())
