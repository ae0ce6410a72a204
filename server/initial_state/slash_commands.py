"""Register's `realm_slash_commands`, for clients with the capability `slash_commands`."""

from typing import Any, Final, NotRequired, TypedDict

from server.events.slash_commands import ShownSlashCommand
from server.initial_state.base import Snapshot, StateSection
from storage import slash_commands


class SlashCommandFields(TypedDict):
    realm_slash_commands: NotRequired[list[ShownSlashCommand]]
    """Only for clients with the capability."""


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    if not snapshot.view.slash_commands:
        return {}
    rows = await slash_commands.of_realm(snapshot.connection, snapshot.realm_id)
    return {"realm_slash_commands": [ShownSlashCommand.of(row) for row in rows]}


SECTION: Final = StateSection("realm_slash_commands", fetch, (SlashCommandFields,))
