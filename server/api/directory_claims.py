"""Follow the groups that providers and directories assert when people sign in."""

from collections.abc import Iterable

import structlog

from server.actions import stepped_work
from server.actions.access.deferred import ACCESS_CHANGE
from server.actions.directory_claims import claimed_changes, follow_claims, mapped_groups
from server.app import App
from server.domain.directory_groups import MAX_ASSERTED_GROUPS, Claims, GroupMapping
from server.domain.errors import BadRequestError
from server.identity.identities import Identity
from server.realm_cache import RealmCache
from storage.ids import RealmId, UserId

logger = structlog.get_logger(__name__)


async def claims_of(
    app: App, realm_cache: RealmCache, identity: Identity, mapping: GroupMapping, *, provider: str
) -> Claims | None:
    """Return what the asserted groups mean here, or None if nothing follows from them.

    What is wrong with the mapping in this realm is logged once.
    """
    claims = mapping.claims(identity.groups)
    if claims is None:
        if mapping and len(identity.groups or ()) > MAX_ASSERTED_GROUPS:
            logger.warning("directory.too_many_groups", provider=provider)
        return None
    known = mapped_groups(await realm_cache.groups(), claims.managed)
    for name in sorted(claims.managed - known.keys()):
        warning = (realm_cache.realm_id, provider, name)
        if warning not in app.identities.warned:
            app.identities.warned.add(warning)
            logger.warning(
                "directory.group_unknown",
                realm_id=realm_cache.realm_id,
                provider=provider,
                group=name,
            )
    return claims


async def follow_groups(
    app: App,
    realm_cache: RealmCache,
    user_id: UserId,
    identity: Identity,
    mapping: GroupMapping,
    *,
    provider: str,
) -> None:
    """Change the account to what the asserted groups mean here, as far as it differs.

    A refusal is logged, and does not prevent the sign-in.
    """
    claims = await claims_of(app, realm_cache, identity, mapping, provider=provider)
    row = await realm_cache.user(user_id)
    if claims is None or row is None:
        return
    if not claimed_changes(await realm_cache.groups(), row, claims):
        return
    writer, now = app.writers.of(realm_cache.realm_id), app.clock.now()
    try:
        work = await writer.write(
            lambda tx: follow_claims(tx, user_id, claims, cause=provider, now=now)
        )
    except BadRequestError as error:
        logger.warning("directory.groups_not_followed", provider=provider, reason=error.message)
        return
    await finish_access_changes(app, realm_cache.realm_id, work)


async def finish_access_changes(app: App, realm_id: RealmId, work_ids: Iterable[str]) -> None:
    """Finish the ACCESS_CHANGEs that changes of groups have left."""
    services = app.realm_services(realm_id)
    for work_id in work_ids:
        await stepped_work.finish(services, ACCESS_CHANGE, work_id)
