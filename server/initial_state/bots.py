"""Register's `realm_bot`: the bots that the user looks after."""

from typing import Any

from server.domain.access import ADMINISTRATOR
from server.events.bots import shown_bot
from server.initial_state.base import Section, Snapshot
from server.initial_state.people import people_of


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    actor = snapshot.actor
    bots = (await people_of(snapshot)).bots.values()
    own = [bot for bot in bots if actor.role <= ADMINISTRATOR or bot.bot_owner_id == actor.user_id]
    return {"realm_bots": [shown_bot(row, snapshot.address.domain) for row in own]}


SECTION = Section("realm_bot", fetch)
