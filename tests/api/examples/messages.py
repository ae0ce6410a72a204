"""Examples: messages, what belongs to them, and what follows them."""

from base64 import b64encode
from datetime import timedelta

from testkit.clients.api import Client
from testkit.images import picture
from tests.api.examples.stage import TUS, Stage, user_id

ONE = "/messages/{message_id}"
A_DAY = timedelta(days=1)


async def messages(stage: Stage) -> None:
    sent = await stage.see(
        "POST /messages", type="channel", to="general", topic="lunch", content="Soup at **noon**?"
    )
    lunch, ravi = sent["id"], stage.ravi
    answer = await stage.say("Yes, please! :tada:")
    narrow = [
        {"operator": "channel", "operand": "general"},
        {"operator": "topic", "operand": "lunch"},
    ]
    await stage.see("GET /messages", anchor="newest", num_before=2, num_after=0, narrow=narrow)
    await stage.see(f"GET {ONE}", message_id=lunch)
    await stage.see("POST /messages/render", content="Soup at **noon**?")
    search = [{"operator": "search", "operand": "soup"}]
    await stage.see("GET /messages/matches_narrow", msg_ids=[lunch, answer], narrow=search)
    await stage.see(f"POST {ONE}/reactions", message_id=answer, emoji_name="tada")
    await stage.see(f"DELETE {ONE}/reactions", message_id=answer, emoji_name="tada")
    await stage.see(f"POST {ONE}/typing", message_id=lunch, op="start")
    await stage.see(f"PATCH {ONE}", message_id=lunch, content="Soup at **one**?")
    await stage.see(f"GET {ONE}/history", message_id=lunch)
    await flags(stage, lunch)
    await stage.see(f"GET {ONE}/read_receipts", message_id=lunch)
    reported = {"report_type": "spam", "description": "The third advertisement today."}
    await stage.see(f"POST {ONE}/report", ravi, message_id=lunch, **reported)
    await stage.see(f"DELETE {ONE}", message_id=await stage.say("Never mind.", stage.olivia))
    off_topic = [await stage.say(text) for text in ("Is the lift broken?", "Yes, since noon.")]
    await stage.see("PATCH /messages", message_ids=off_topic, topic="lift")
    twice = [await stage.say("Hello?", stage.olivia) for _ in range(2)]
    await stage.see("POST /messages/delete", message_ids=twice)
    await widgets(stage)
    await pins(stage, answer)
    await descriptions(stage)
    topic = {"stream_id": stage.general.channel_id, "topic_name": "old news"}
    await stage.say("Yesterday", topic="old news")
    await stage.see("POST /streams/{stream_id}/delete_topic", **topic)


async def pins(stage: Stage, message_id: int) -> None:
    general = stage.general.channel_id
    topic = {"stream_id": general, "topic": "lunch"}
    await stage.see(f"PUT {ONE}/pin", stage.olivia, message_id=message_id)
    await stage.see("PUT /streams/{stream_id}/pinned_topics", stage.olivia, **topic)
    await stage.see("GET /streams/{stream_id}/pins", stream_id=general)
    await stage.see("DELETE /streams/{stream_id}/pinned_topics", stage.olivia, **topic)
    await stage.see(f"DELETE {ONE}/pin", stage.olivia, message_id=message_id)


async def descriptions(stage: Stage) -> None:
    here = {"stream_id": stage.general.channel_id}
    text = "Where we eat, **today** and tomorrow"
    path = "/streams/{stream_id}/topic_descriptions"
    await stage.see(f"PUT {path}", **here, topic="lunch", description=text)
    await stage.see(f"GET {path}", **here)


async def flags(stage: Stage, message_id: int) -> None:
    ravi, general = stage.ravi, stage.general.channel_id
    await stage.see("POST /messages/flags", messages=[message_id], op="add", flag="starred")
    narrow = [{"operator": "channel", "operand": "general"}]
    around = {"anchor": "newest", "num_before": 100, "num_after": 0}
    await stage.see(
        "POST /messages/flags/narrow", ravi, **around, narrow=narrow, op="add", flag="read"
    )
    await stage.see("POST /mark_topic_as_read", ravi, stream_id=general, topic_name="lunch")
    await stage.see("POST /mark_stream_as_read", ravi, stream_id=general)
    await stage.see("POST /mark_all_as_read", ravi)


async def widgets(stage: Stage) -> None:
    poll = await stage.say("/poll Where do we eat?\nCanteen\nPark", stage.olivia)
    vote = '{"type":"vote","key":"canned,0","vote":1}'
    await stage.see("POST /submessage", message_id=poll, msg_type="widget", content=vote)
    general = {"type": "channel", "stream_id": stage.general.channel_id, "topic": "lunch"}
    await stage.see("POST /typing", op="start", **general)
    await stage.see("POST /zcommand", command="/dark")


async def later(stage: Stage) -> None:
    """Drafts, snippets, scheduled messages and reminders."""
    now = stage.server.app.clock.now()
    tomorrow, general = int((now + A_DAY).timestamp()), stage.general.channel_id
    draft = {"type": "stream", "to": [general], "topic": "lunch", "content": "What about"}
    [draft_id] = (await stage.see("POST /drafts", drafts=[draft]))["ids"]
    await stage.see("GET /drafts")
    changed = {**draft, "content": "What about tea?"}
    await stage.see("PATCH /drafts/{draft_id}", draft_id=draft_id, draft=changed)
    await stage.see("DELETE /drafts/{draft_id}", draft_id=draft_id)

    snippet = {"title": "Thanks", "content": "Thank you for the report!"}
    made = await stage.see("POST /saved_snippets", **snippet)
    one = {"saved_snippet_id": made["saved_snippet_id"]}
    await stage.see("GET /saved_snippets")
    await stage.see("PATCH /saved_snippets/{saved_snippet_id}", **one, title="Thank you")
    await stage.see("DELETE /saved_snippets/{saved_snippet_id}", **one)

    message = {"type": "channel", "to": general, "topic": "lunch", "content": "It is ready."}
    made = await stage.see(
        "POST /scheduled_messages", **message, scheduled_delivery_timestamp=tomorrow
    )
    one = {"scheduled_message_id": made["scheduled_message_id"]}
    await stage.see("GET /scheduled_messages")
    await stage.see(
        "PATCH /scheduled_messages/{scheduled_message_id}", **one, content="Lunch is ready."
    )
    await stage.see("DELETE /scheduled_messages/{scheduled_message_id}", **one)

    message_id = await stage.say("Please look at the menu.")
    made = await stage.see(
        "POST /reminders",
        message_id=message_id,
        note="Before Friday",
        scheduled_delivery_timestamp=tomorrow,
    )
    await stage.see("GET /reminders")
    await stage.see("DELETE /reminders/{reminder_id}", reminder_id=made["reminder_id"])


async def events(stage: Stage) -> None:
    asked = {"event_types": ["message"], "fetch_event_types": ["message", "alert_words"]}
    queue = await stage.see("POST /register", **asked)
    await stage.say("Is anyone there?")
    one = {"queue_id": queue["queue_id"]}
    await stage.see("GET /events", **one, last_event_id=queue["last_event_id"], dont_block=True)
    await stage.see("DELETE /events", **one)


async def uploads(stage: Stage) -> None:
    menu = ("menu.png", picture())
    stored = await stage.see("POST /user_uploads", file=menu)
    _, _, realm_id, name = stored["url"].split("/", 3)
    await stage.say(f"[menu]({stored['url']})", stage.olivia)
    file = {"realm_id_str": realm_id, "filename": name}
    await stage.see("GET /user_uploads/{realm_id_str}/{filename}", **file)
    await stage.see("GET /thumbnail/status/{realm_id_str}/{filename}", **file)
    [attachment] = (await stage.see("GET /attachments"))["attachments"]
    await resumable(stage)
    await stage.see("DELETE /attachments/{attachment_id}", attachment_id=attachment["id"])


async def resumable(stage: Stage) -> None:
    await stage.see("OPTIONS /tus", stage.visitor)
    first, rest = b"<" * 10, b">" * 10
    name = b64encode(b"notes.txt").decode()
    begun = {**TUS, "Upload-Length": "20", "Upload-Metadata": f"filename {name}"}
    ids = [await _begun(stage, stage.olivia, begun, first) for _ in range(2)]
    version = {"Tus-Resumable": "1.0.0"}
    await stage.see("HEAD /tus/{upload}", upload=ids[0], headers=version)
    offset = {**TUS, "Upload-Offset": "10"}
    await stage.see("PATCH /tus/{upload}", upload=ids[0], headers=offset, raw=rest)
    await stage.see("DELETE /tus/{upload}", upload=ids[1], headers=version)


async def _begun(stage: Stage, client: Client, headers: dict[str, str], content: bytes) -> str:
    answer = await stage.recorder.call(client, "POST /tus", headers=headers, raw=content)
    return answer.headers["Location"].rpartition("/")[2]


async def webhooks(stage: Stage) -> None:
    made = await stage.olivia.post("/bots", full_name="Builds", short_name="builds", bot_type=2)
    bot = await stage.person(made["user_id"])
    where = {"api_key": bot.api_key, "stream": "general", "topic": "builds"}
    slack = {"text": "Build *42* has passed."}
    await stage.see("POST /external/slack_incoming", stage.visitor, payload=slack, **where)
    plain = {"build": 42, "passed": True}
    await stage.see("POST /external/json", stage.visitor, payload=plain, **where)
    await stage.see("GET /integrations")
    starred = {
        "action": "created",
        "sender": {"login": "ada"},
        "repository": {"name": "engine", "full_name": "ada/engine"},
    }
    await stage.see(
        "POST /external/{integration}",
        stage.visitor,
        payload=starred,
        headers={"X-GitHub-Event": "star"},
        integration="github",
        **where,
    )
    await stage.see(
        "GET /external/{integration}",
        stage.visitor,
        integration="dropbox",
        challenge="5e1c",
        api_key=bot.api_key,
    )


async def buttons(stage: Stage) -> None:
    """A bot's message with buttons, a click, and a later answer of the service."""
    made = await stage.olivia.post(
        "/bots",
        full_name="Releases",
        short_name="releases",
        bot_type=3,
        payload_url="https://deploy.example.com/parley",
    )
    bot = await stage.person(made["user_id"])
    asked = await stage.say("Deploy version 7?", bot)
    question = {"title": "Deploy?", "text": "People notice.", "confirm": "Deploy", "deny": "Wait"}
    given = [
        {"id": "yes", "label": "Yes", "value": "7", "style": "primary", "confirm": question},
        {"id": "no", "label": "No"},
    ]
    await stage.see(f"PUT {ONE}/buttons", bot, message_id=asked, buttons=given)
    await stage.see(f"POST {ONE}/buttons/click", stage.ravi, message_id=asked, button_id="yes")
    token = await stage.make.connection.value(
        "SELECT answer_token FROM button_clicks WHERE realm_id = %(r)s AND message_id = %(m)s",
        r=stage.make.realm_id,
        m=asked,
    )
    stage.recorder.secrets[token] = "TOKEN-OF-THE-CLICK"
    await stage.see(
        "POST /message_buttons/answers/{answer_token}",
        stage.visitor,
        answer_token=token,
        payload={"replace_original": True, "text": "Version 7 is deployed."},
    )


async def conversations(stage: Stage) -> None:
    """Topics and people that are muted or followed."""
    general = stage.general.channel_id
    await stage.say("Soup")
    await stage.see("GET /users/me/{stream_id}/topics", stream_id=general)
    await stage.see("POST /user_topics", stream_id=general, topic="lunch", visibility_policy=3)
    await stage.see(
        "PATCH /users/me/subscriptions/muted_topics", op="add", topic="lunch", stream_id=general
    )
    one = {"muted_user_id": user_id(stage.mia)}
    await stage.see("POST /users/me/muted_users/{muted_user_id}", **one)
    await stage.see("DELETE /users/me/muted_users/{muted_user_id}", **one)
