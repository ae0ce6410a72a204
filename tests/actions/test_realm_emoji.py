"""Emoji of the organization: all users hear of each change, and its author is kept."""

import pytest

from server.actions.realm_emoji import NewEmoji, add_emoji, deactivate_emoji
from server.domain.access import ADMINISTRATOR, GUEST
from storage import audit_log
from storage.blobs import new_key

pytestmark = pytest.mark.asyncio


async def test_every_change_is_told_to_everyone_and_kept_in_the_audit_log(stage, make, witnesses):
    admin = await make.user(role=ADMINISTRATOR)
    people = [admin, await make.user(), await make.user(role=GUEST)]
    actor = await make.actor(admin)
    key = new_key("emoji", make.realm_id)

    async def change():
        for name in ("one", "two"):
            new = NewEmoji(name=name, blob_key=f"{key}.{name}.gif", still_key=f"{key}.still.png")
            await stage.write(add_emoji, actor, new)
        await stage.write(deactivate_emoji, actor, "one")

    newest, *_ = await witnesses.watch(change, people)

    assert [event["type"] for event in newest.events] == ["realm_emoji"] * 3
    rows = await audit_log.newest(make.connection, make.realm_id, limit=3)
    assert [row.action for row in reversed(rows)] == [
        "emoji_added",
        "emoji_added",
        "emoji_deactivated",
    ]
