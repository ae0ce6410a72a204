"""Register's `realm_bot`: the bots that the user looks after."""

from typing import Any

from server.domain.access import ADMINISTRATOR
from server.domain.bots import OUTGOING_WEBHOOK
from server.events.bots import shown_bot
from server.initial_state.base import Section, Snapshot
from server.initial_state.people import people_of
from storage import bots


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    actor = snapshot.actor
    rows = (await people_of(snapshot)).bots.values()
    own = [row for row in rows if actor.role <= ADMINISTRATOR or row.bot_owner_id == actor.user_id]
    called = [row.user_id for row in own if row.bot_type == OUTGOING_WEBHOOK]
    services = await bots.services(snapshot.connection, snapshot.realm_id, called) if called else {}
    domain = snapshot.address.domain
    return {"realm_bots": [shown_bot(row, domain, services.get(row.user_id)) for row in own]}


SECTION = Section("realm_bot", fetch)
