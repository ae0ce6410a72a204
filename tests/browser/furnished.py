"""An organization in which every view and dialog of the browser client has something to show."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from server.domain.access import GUEST, OWNER
from storage.channels import ChannelRow
from storage.database import open_database
from storage.ids import MessageId
from storage.users import UserRow
from testkit.clients.api import Client
from testkit.clients.page_client import give_password
from testkit.clients.server import Server, serve
from testkit.factories import Make, new_realm
from testkit.images import picture
from testkit.reused_connections import ReusedConnection

LATER: Final = 4_000_000_000
RICH: Final = """\
Of **all** things, @**Ada Lovelace** and @*engineers*: see #**plans** and `code`
at <time:2031-05-06T07:08:09Z>, or [the notes]({file}) :smile:

* one
* two with $$x^2$$

> quoted

| part | count |
|------|-------|
| cog  | 12    |

```python
def turn(cog):  # once
    return f"{{cog}} {{1 + 1}}"
```

```spoiler The end
It works.
```

[engine.png]({picture})
"""
PRAISE: Final = (("smile", "1f604"), ("heart", "2764"), ("+1", "1f44d"))


@dataclass(frozen=True, slots=True)
class Furnished:
    """The server, some people, and where things are."""

    server: Server
    make: Make
    owner: UserRow
    member: UserRow
    guest: UserRow
    engines: ChannelRow
    plans: ChannelRow
    own_message: MessageId
    """Of the owner: edited, moved, starred and reacted to."""
    group_id: int

    @property
    def url(self) -> str:
        return f"http://localhost:{self.server.port}"

    @property
    def topic(self) -> str:
        return f"#narrow/channel/{self.engines.channel_id}-engines/topic/notes"

    @property
    def direct(self) -> str:
        return f"#narrow/dm/{self.member.user_id}-Grace"


@asynccontextmanager
async def furnished(database_url: str) -> AsyncIterator[Furnished]:
    """Serve the organization until the block ends. Its people have the password of the tests."""
    async with (
        open_database(database_url, min_size=1, connection_class=ReusedConnection) as pool,
        pool.connection() as connection,
    ):
        make = await new_realm(connection)
        await connection.execute(
            "UPDATE realms SET subdomain = '', name = 'Analytical Engines' WHERE realm_id = %(id)s",
            id=make.realm_id,
        )
        await make.notification_bot()
        await make.change_settings(enable_spectator_access=True, enable_read_receipts=True)
        settings: dict[str, Any] = {"root_domain": None, "web_client": None, "gravatars": False}
        async with serve(database_url, web_public_channels=True, **settings) as server:
            yield await _furnish(server, make)


async def _furnish(server: Server, make: Make) -> Furnished:
    owner = await make.user("Ada Lovelace", role=OWNER)
    member = await make.user("Grace Hopper")
    guest = await make.user("Charles Babbage", role=GUEST)
    await make.user("Luigi Menabrea", is_active=False)
    people = [owner, member, guest]
    for each in people:
        await give_password(make, each)
    engines = await make.channel("engines", subscribers=people, description="Cogs and cards")
    plans = await make.channel("plans", subscribers=people[:2], is_web_public=True, is_default=True)
    secrets = await make.channel("secrets", subscribers=people[:2], invite_only=True)
    await make.channel("looms", description="Of Jacquard")
    await make.channel("attic", subscribers=people[:2], is_archived=True)
    host = await server.host_of(make.realm_id)
    ada, grace = (Client(server, host, each.email, each.api_key, each) for each in (owner, member))
    group_id = await _organization(ada, engines, secrets, member)
    await _talk(ada, grace, engines, plans)
    asking = await make.user("Valve", bot_type=3, bot_owner=owner)
    await _ask(Client(server, host, asking.email, asking.api_key, asking), engines)
    own_message = await _change_message(ada, grace, engines)
    await _keep_for_later(ada, own_message, engines, member)
    await _set_apart(ada, guest, engines)
    return Furnished(server, make, owner, member, guest, engines, plans, own_message, group_id)


async def _organization(
    ada: Client, engines: ChannelRow, secrets: ChannelRow, member: UserRow
) -> int:
    """What administrators make. Returns the id of a group."""
    group = await ada.post(
        "/user_groups/create",
        name="engineers",
        description="They build",
        members=[member.user_id],
    )
    await ada.patch("/realm", moderation_request_channel_id=secrets.channel_id)
    folder = await ada.post("/channel_folders/create", name="Workshop", description="Machines")
    await ada.patch(f"/streams/{engines.channel_id}", folder_id=folder["channel_folder_id"])
    (await ada.upload("/realm/emoji/cog", file=("cog.png", picture()))).succeeded()
    await ada.post("/realm/domains", domain="example.com", allow_subdomains=True)
    await ada.post("/realm/filters", pattern="#(?P<id>[0-9]+)", url_template="https://e.org/{id}")
    await ada.post(
        "/realm/playgrounds",
        name="Play",
        pygments_language="Python",
        url_template="https://play.example.com/{code}",
    )
    field = await ada.post("/realm/profile_fields", name="Machine", field_type=1, hint="One only")
    await ada.patch("/users/me/profile_data", data=[{"id": field["id"], "value": "Engine"}])
    await ada.post("/bots", full_name="Loom", short_name="loom", bot_type=1)
    await ada.post("/invites/multiuse", stream_ids=[engines.channel_id])
    return int(group["group_id"])


async def _talk(ada: Client, grace: Client, engines: ChannelRow, plans: ChannelRow) -> None:
    file = (await grace.upload("/user_uploads", file=("notes.txt", b"Notes"))).succeeded()
    image = await grace.upload("/user_uploads", file=("engine.png", picture(size=(400, 300))))
    rich = RICH.format(file=file["url"], picture=image.succeeded()["url"])
    notes: dict[str, Any] = {"type": "channel", "to": engines.channel_id, "topic": "notes"}
    sent = await grace.post("/messages", **notes, content=rich)
    for name, _ in PRAISE:
        await ada.post(f"/messages/{sent['id']}/reactions", emoji_name=name)
    await grace.post("/messages", **notes, content="/poll Which one?\nFirst\nSecond")
    await grace.post("/messages", **notes, content="/todo Work\nOil: The cogs")
    await grace.post("/messages", **notes, content="/me waits")
    await ada.post("/messages", **notes | {"topic": "✔ old"}, content="Done.")
    await ada.post("/messages", **notes | {"to": plans.channel_id}, content="For all to read")
    assert ada.user is not None
    await grace.post("/messages", type="direct", to=[ada.user.user_id], content="Good morning")


async def _ask(bot: Client, engines: ChannelRow) -> None:
    """What a bot asks: with buttons, and with choices that are sent as messages."""
    notes: dict[str, Any] = {"type": "channel", "to": engines.channel_id, "topic": "notes"}
    buttons = [
        {"id": "open", "label": "Open the valve", "style": "primary"},
        {"id": "wait", "label": "Wait"},
        {"id": "shut", "label": "Shut it", "style": "danger", "confirm": {"text": "It is hot."}},
    ]
    await bot.post("/messages", **notes, content="Pressure is high.", buttons=buttons)
    choice = {"type": "multiple_choice", "short_name": "A", "long_name": "All", "reply": "all"}
    choices = {"type": "choices", "heading": "How much?", "choices": [choice]}
    widget = json.dumps({"widget_type": "zform", "extra_data": choices})
    await bot.post("/messages", **notes, content="How much?", widget_content=widget)


async def _change_message(ada: Client, grace: Client, engines: ChannelRow) -> MessageId:
    place = {"type": "channel", "to": engines.channel_id, "topic": "notse"}
    sent = await ada.post("/messages", **place, content="Frist")
    message_id = sent["id"]
    path = f"/messages/{message_id}"
    await ada.patch(path, content="First")
    await ada.patch(path, topic="notes", send_notification_to_old_thread=False)
    await ada.post("/messages/flags", messages=[message_id], op="add", flag="starred")
    await grace.post(f"{path}/reactions", emoji_name="smile")
    return MessageId(message_id)


async def _keep_for_later(
    ada: Client, message_id: MessageId, engines: ChannelRow, member: UserRow
) -> None:
    when = {"scheduled_delivery_timestamp": LATER}
    to = {"type": "stream", "to": [engines.channel_id], "topic": "notes"}
    await ada.post("/drafts", drafts=[to | {"content": "Half of", "timestamp": LATER}])
    await ada.post("/saved_snippets", title="Greeting", content="Good morning")
    await ada.post("/reminders", message_id=message_id, **when)
    await ada.post(
        "/scheduled_messages", type="direct", to=[member.user_id], content="Happy birthday", **when
    )


async def _set_apart(ada: Client, guest: UserRow, engines: ChannelRow) -> None:
    """What is a person's own: muted, followed, watched for."""
    await ada.post("/users/me/alert_words", alert_words=["cog"])
    await ada.post(f"/users/me/muted_users/{guest.user_id}")
    for topic, policy in (("quiet", 1), ("notes", 3)):
        await ada.post(
            "/user_topics",
            stream_id=engines.channel_id,
            topic=topic,
            visibility_policy=policy,
        )
    await ada.post("/users/me/status", status_text="At work", emoji_name="smile")
