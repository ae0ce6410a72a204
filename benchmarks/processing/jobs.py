"""Jobs of each kind, with real work to do."""

import hashlib
import json
import tempfile
import uuid
from collections.abc import Awaitable, Callable
from io import BytesIO
from pathlib import Path
from typing import Final

from PIL import Image

from benchmarks import world as worlds
from benchmarks.processing.environment import COUNT, SUBSCRIBERS, JobEnvironment
from server.actions.access.deferred import ACCESS_CHANGE
from server.actions.stepped_work import Finish
from server.domain.account_news import PasswordChanged
from server.domain.confirmations import RESET_PASSWORD
from server.domain.notifications import Reason
from server.jobs import (
    AccountEmail,
    BlobRemoval,
    ButtonClick,
    ConfirmationEmail,
    DeferredWork,
    DigestEmails,
    EmailNotifications,
    EmbedLinks,
    Greeting,
    Imports,
    InvitationEmail,
    Job,
    MessageFanout,
    OutgoingWebhook,
    PushNotification,
    PushRegistration,
    ReactionPush,
    SlashCommandCall,
    Thumbnails,
)
from storage.blobs import new_key
from storage.ids import (
    AttachmentId,
    ButtonClickId,
    ImportRequestId,
    InvitationId,
    MessageId,
    Position,
    PushDeviceId,
    UserId,
)
from testkit.slack_exports import write_large_export

IMPORTS: Final = 5
IMPORTED: Final = 1_000
"""Messages in each file."""
PICTURES: Final = 30
PICTURE: Final = (1_600, 1_200)


async def _fanout(env: JobEnvironment) -> list[Job]:
    return [MessageFanout(realm_id=env.realm_id, sent=(each,)) for each in env.message_ids]


async def _pushes(env: JobEnvironment) -> list[Job]:
    worlds.phones(env.database, env.world, SUBSCRIBERS)
    env.database.execute("UPDATE subscriptions SET push_notifications = true")
    return [
        PushNotification(
            realm_id=env.realm_id,
            user_id=user_id,
            message_ids=(message_id,),
            reason=Reason.CHANNEL_BY_PUSH,
        )
        for message_id, user_id in _readers(env)
    ]


async def _reactions(env: JobEnvironment) -> list[Job]:
    """Reactions of one user to messages of others; each of these has a browser."""
    env.database.execute(
        "UPDATE users SET settings = settings || %s::jsonb",
        [json.dumps({"enable_reaction_notifications": True})],
    )
    positions = env.rows(
        "INSERT INTO reactions (realm_id, message_id, user_id, reaction_type, emoji_code,"
        " emoji_name, position) SELECT %s, m, %s, 'unicode_emoji', '1f44d', 'thumbs_up',"
        " 10^9::bigint + m FROM unnest(%s::bigint[]) AS m RETURNING message_id, position",
        *(env.realm_id, env.user_id(0), list(env.message_ids)),
    )
    senders = dict(env.rows("SELECT id, sender_id FROM messages WHERE realm_id = %s", env.realm_id))
    return [
        ReactionPush(
            realm_id=env.realm_id,
            user_id=UserId(senders[message_id]),
            message_id=MessageId(message_id),
            since=Position(position),
            until=Position(position),
        )
        for message_id, position in positions
    ]


async def _registrations(env: JobEnvironment) -> list[Job]:
    rows = env.rows(
        "INSERT INTO push_devices (realm_id, user_id, kind, token, created_at)"
        " SELECT %s, %s + g %% %s, 'fcm', 'new-' || g, now() FROM generate_series(1, %s) AS g"
        " RETURNING user_id, device_id",
        *(env.realm_id, env.world.first_user_id, SUBSCRIBERS, COUNT),
    )
    return [
        PushRegistration(
            realm_id=env.realm_id,
            user_id=UserId(user_id),
            device_id=PushDeviceId(device_id),
        )
        for user_id, device_id in rows
    ]


async def _missed(env: JobEnvironment) -> list[Job]:
    env.database.execute("UPDATE subscriptions SET email_notifications = true")
    jobs: list[Job] = []
    for batch_id, (message_id, user_id) in enumerate(_readers(env), start=10**6):
        env.database.execute(
            "INSERT INTO notifications (realm_id, user_id, message_id, email_reason,"
            " email_batch_id) VALUES (%s, %s, %s, %s, %s)"
            " ON CONFLICT (realm_id, user_id, message_id) DO UPDATE"
            " SET email_reason = excluded.email_reason, email_batch_id = excluded.email_batch_id",
            [env.realm_id, user_id, message_id, Reason.CHANNEL_BY_EMAIL, batch_id],
        )
        jobs.append(EmailNotifications(realm_id=env.realm_id, user_id=user_id, batch_id=batch_id))
    return jobs


async def _embeds(env: JobEnvironment) -> list[Job]:
    return [EmbedLinks(realm_id=env.realm_id, message_id=each) for each in env.message_ids]


def _service(env: JobEnvironment) -> UserId:
    """Return an outgoing webhook bot with a service to call."""
    [[bot_id]] = env.rows(
        "INSERT INTO users (realm_id, email, full_name, role, api_key, date_joined, bot_type,"
        " bot_owner_id) VALUES (%s, %s, 'SentRequest', 400, %s, now(), 3, %s) RETURNING user_id",
        *(env.realm_id, f"{uuid.uuid4().hex}-bot@example.com", uuid.uuid4().hex, env.user_id(0)),
    )
    env.database.execute(
        "INSERT INTO bot_services (realm_id, bot_id, interface, base_url, token)"
        " VALUES (%s, %s, 1, %s, 'token')",
        [env.realm_id, bot_id, f"http://127.0.0.1:{env.web_port}/bot"],
    )
    return UserId(bot_id)


async def _calls(env: JobEnvironment) -> list[Job]:
    bot_id = _service(env)
    env.database.execute(
        "INSERT INTO webhook_calls (realm_id, message_id, bot_id, trigger, is_handed)"
        " SELECT %s, m, %s, 'mention', true FROM unnest(%s::bigint[]) AS m",
        [env.realm_id, bot_id, list(env.message_ids)],
    )
    return [
        OutgoingWebhook(realm_id=env.realm_id, message_id=each, bot_id=bot_id)
        for each in env.message_ids
    ]


async def _commands(env: JobEnvironment) -> list[Job]:
    bot_id, caller_id = _service(env), UserId(env.user_id(0))
    return [
        SlashCommandCall(
            realm_id=env.realm_id,
            call_id=uuid.uuid4().hex,
            caller_id=caller_id,
            bot_id=bot_id,
            command="deploy",
            text="web 7",
            user_ids=(caller_id,),
        )
        for _ in range(COUNT)
    ]


async def _clicks(env: JobEnvironment) -> list[Job]:
    """Clicks of one user on the buttons of as many messages as there are."""
    bot_id, user_id = _service(env), env.user_id(0)
    button = '{"id": "yes", "label": "Yes"}'
    found = env.rows(
        "INSERT INTO button_clicks (realm_id, message_id, bot_id, user_id, local_id, button,"
        " button_id, clicked_at, answer_token, answers_left)"
        " SELECT %s, m, %s, %s, '1', %s, 'yes', now(), m::text, 5 FROM unnest(%s::bigint[]) AS m"
        " RETURNING message_id, click_id",
        *(env.realm_id, bot_id, user_id, button, list(env.message_ids)),
    )
    return [
        ButtonClick(
            realm_id=env.realm_id, message_id=MessageId(each), click_id=ButtonClickId(click_id)
        )
        for each, click_id in found
    ]


async def _rests(env: JobEnvironment) -> list[Job]:
    channel_id = worlds.channel(env.database, env.world, "left behind", SUBSCRIBERS)
    jobs: list[Job] = []
    for number in range(COUNT):
        work_id = str(uuid.uuid4())
        plan = {"readers": [[env.user_id(number), channel_id]], "notices": []}
        env.database.execute(
            "INSERT INTO stepped_work (realm_id, work_id, plan, done) VALUES (%s, %s, %s, 0)",
            [env.realm_id, work_id, json.dumps(plan)],
        )
        jobs.append(DeferredWork.of(env.realm_id, ACCESS_CHANGE.step, Finish(work_id)))
    return jobs


async def _news(env: JobEnvironment) -> list[Job]:
    return [
        AccountEmail(
            realm_id=env.realm_id,
            address=f"person{number}@example.com",
            full_name="A person",
            news=PasswordChanged(),
        )
        for number in range(COUNT)
    ]


async def _confirmations(env: JobEnvironment) -> list[Job]:
    rows = env.rows(
        "INSERT INTO confirmations (realm_id, purpose, email, user_id, ends_at)"
        " SELECT %s, %s, 'person' || g || '@example.com', %s, now() + interval '1 day'"
        " FROM generate_series(1, %s) AS g RETURNING confirmation_id",
        *(env.realm_id, RESET_PASSWORD, env.user_id(0), COUNT),
    )
    return [ConfirmationEmail(realm_id=env.realm_id, confirmation_id=number) for [number] in rows]


async def _invitations(env: JobEnvironment) -> list[Job]:
    rows = env.rows(
        "INSERT INTO invitations (realm_id, inviter_id, email, role, channel_ids, group_ids,"
        " includes_defaults, tells_inviter, invited_at, ends_at)"
        " SELECT %s, %s, 'asked' || g || '@example.com', 400, '{}', '{}', true, true, now(),"
        " now() + interval '1 day' FROM generate_series(1, %s) AS g RETURNING invitation_id",
        *(env.realm_id, env.user_id(0), COUNT),
    )
    return [
        InvitationEmail(realm_id=env.realm_id, invitation_id=InvitationId(number))
        for [number] in rows
    ]


async def _digests(env: JobEnvironment) -> list[Job]:
    """One for each person, who has read nothing."""
    day = env.app.clock.now().date()
    env.database.execute(
        "INSERT INTO digests (realm_id, user_id, day)"
        " SELECT %s, %s + g, %s FROM generate_series(0, %s - 1) AS g",
        [env.realm_id, env.world.first_user_id, day, SUBSCRIBERS],
    )
    return [
        DigestEmails(realm_id=env.realm_id, user_ids=(env.user_id(number),), day=day)
        for number in range(SUBSCRIBERS)
    ]


async def _greetings(env: JobEnvironment) -> list[Job]:
    """One job for each invited person: two messages."""
    return [
        Greeting(
            realm_id=env.realm_id,
            user_id=env.user_id(number),
            inviter_id=env.user_id(number + 1),
        )
        for number in range(SUBSCRIBERS)
    ]


async def _removals(env: JobEnvironment) -> list[Job]:
    keys = [await _kept(env, "uploads", b"x" * 1_024) for _ in range(COUNT)]
    return [BlobRemoval(realm_id=env.realm_id, keys=(key,)) for key in keys]


async def _thumbnails(env: JobEnvironment) -> list[Job]:
    target = BytesIO()
    Image.effect_noise(PICTURE, 60).convert("RGB").save(target, "JPEG")
    jobs: list[Job] = []
    for _ in range(PICTURES):
        key = await _kept(env, "uploads", target.getvalue())
        [[attachment_id]] = env.rows(
            "INSERT INTO attachments (realm_id, path_id, name, content_type, size, digest,"
            " owner_id, created_at) VALUES (%s, %s, 'a.jpg', 'image/jpeg', %s, %s, %s, now())"
            " RETURNING attachment_id",
            *(env.realm_id, f"{key.partition('/')[2]}/a.jpg", len(target.getvalue())),
            *(hashlib.sha256(key.encode()).digest(), env.user_id(0)),
        )
        jobs.append(Thumbnails(realm_id=env.realm_id, attachment_id=AttachmentId(attachment_id)))
    return jobs


async def _imports(env: JobEnvironment) -> list[Job]:
    jobs: list[Job] = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(IMPORTS):
            path = write_large_export(Path(folder) / f"{number}.zip", messages=IMPORTED + number)
            content = path.read_bytes()
            key = await _kept(env, "imports", content)
            [[request_id]] = env.rows(
                "INSERT INTO import_requests (realm_id, acting_user_id, file_name, size, blob_key,"
                " state, requested_at) VALUES (%s, %s, 'slack.zip', %s, %s, 'reading', now())"
                " RETURNING request_id",
                *(env.realm_id, env.user_id(0), len(content), key),
            )
            jobs.append(Imports(realm_id=env.realm_id, request_id=ImportRequestId(request_id)))
    return jobs


JOBS: Final[dict[type[Job], Callable[[JobEnvironment], Awaitable[list[Job]]]]] = {
    AccountEmail: _news,
    BlobRemoval: _removals,
    ConfirmationEmail: _confirmations,
    DeferredWork: _rests,
    DigestEmails: _digests,
    EmailNotifications: _missed,
    EmbedLinks: _embeds,
    Greeting: _greetings,
    Imports: _imports,
    InvitationEmail: _invitations,
    MessageFanout: _fanout,
    ButtonClick: _clicks,
    OutgoingWebhook: _calls,
    PushNotification: _pushes,
    PushRegistration: _registrations,
    ReactionPush: _reactions,
    SlashCommandCall: _commands,
    Thumbnails: _thumbnails,
}
"""Jobs of each kind, which are really something to do. A test holds that none is left out."""


def _readers(env: JobEnvironment) -> list[tuple[MessageId, UserId]]:
    """Each message, and one of its readers who has not written it."""
    senders = dict(
        env.rows(
            "SELECT id, sender_id FROM messages WHERE realm_id = %s AND id = ANY (%s)",
            *(env.realm_id, list(env.message_ids)),
        )
    )
    return [
        (each, env.user_id(senders[each] - env.world.first_user_id + 1)) for each in env.message_ids
    ]


async def _kept(env: JobEnvironment, kind: str, content: bytes) -> str:
    key = new_key(kind, env.realm_id)
    incoming = await env.app.blobs.receive()
    await incoming.write(content)
    await incoming.keep(key)
    return key
