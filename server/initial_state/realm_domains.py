"""Register's email domains of the realm."""

from typing import Any, Final, TypedDict

from server.events.realm_domains import ShownDomain
from server.initial_state.base import Snapshot, StateSection
from storage import realm_domains


class RealmDomainFields(TypedDict):
    realm_domains: list[ShownDomain]


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    rows = await realm_domains.of_realm(snapshot.connection, snapshot.realm_id)
    return {"realm_domains": [ShownDomain.of(row) for row in rows]}


SECTION: Final = StateSection("realm_domains", fetch, (RealmDomainFields,))
