"""Changes of messages: every client ends where register does, and exactly the right people hear."""

import asyncio
import random
from typing import Any

import pytest

from server.domain.access import MODERATOR
from server.domain.errors import DomainError
from storage import message_flags, stepped_work
from storage.ids import MessageId
from storage.users import UserRow
from testkit.factories import Make
from testkit.message_changes import Changes
from testkit.oracles.agreement import Witness
from testkit.realm_with_roles import Hall
from testkit.stage import NEWEST_CLIENT

pytestmark = pytest.mark.asyncio


def types_by_user(seen: list[Witness]) -> dict[str, list[str]]:
    """What the first client of each of them heard of messages, by name."""
    heard: dict[str, list[str]] = {}
    for witness in seen:
        types = [e["type"] for e in witness.events if e["type"].endswith("_message")]
        heard.setdefault(witness.user.full_name, types)
    return heard


def ids_by_user(seen: list[Witness]) -> dict[str, list[list[int]]]:
    """The messages of each event that the first client of each of them heard, by name."""
    heard: dict[str, list[list[int]]] = {}
    for witness in seen:
        told = [e["message_ids"] for e in witness.events if "message_ids" in e]
        heard.setdefault(witness.user.full_name, told)
    return heard


async def star(hall: Hall, row: UserRow, message_id: MessageId) -> None:
    await hall.make.at_position(
        message_flags.change(
            hall.make.realm_id,
            row.user_id,
            [message_id],
            flag="starred",
            operation="add",
            audience=b"",
            write_id="00000000-0000-0000-0000-000000000000",
        )
    )


async def test_an_edit_reaches_subscribers_and_those_who_remember_the_message(
    hall, changes, witnesses
):
    await hall.make.channel("plans", subscribers=[hall.member, hall.guest])
    message_id = await changes.send(hall.member, "plans")
    await star(hall, hall.other, message_id)

    async def change():
        await changes.edit(hall.member, message_id, f"@**{hall.guest.full_name}**")
        await changes.edit(hall.member, message_id, "@**all**")
        await changes.edit(hall.member, message_id, "none")
        await changes.edit(hall.member, message_id, "none")

    seen = await witnesses.watch(change, hall.everyone)

    assert types_by_user(seen) == {
        "Owner": [],
        "Admin": [],
        "Member": ["update_message"] * 4,
        "Other": ["update_message"] * 4,
        "Guest": ["update_message"] * 4,
    }
    flags = {w.user.full_name: [set(e["flags"]) for e in w.events if "flags" in e] for w in seen}
    wildcard = {"stream_wildcard_mentioned", "wildcard_mentioned"}
    assert flags["Guest"] == [{"mentioned"}, wildcard, set(), set()]
    assert flags["Member"] == [{"read"}, {"read", *wildcard}, {"read"}, {"read"}]
    assert flags["Other"] == [{"read", "starred", "historical"}] * 4


@pytest.mark.parametrize(
    ("mode", "topic"),
    [
        ("change_one", "u"),
        ("change_later", ""),
        ("change_all", "u"),
        ("change_all", ""),
        ("change_all", "T"),
    ],
)
async def test_unread_messages_follow_within_a_channel(hall, changes, witnesses, mode, topic):
    await hall.make.channel("plans", subscribers=hall.everyone)
    sent = [await changes.send(hall.member, "plans", content="@**Guest**") for _ in range(3)]
    if topic == "u":
        await changes.send(hall.other, "plans", topic="u")

    async def change():
        await changes.move(hall.member, sent[1], topic=topic, mode=mode)

    await witnesses.watch(change, hall.everyone)


KINDS = {
    "public": {},
    "private": {"invite_only": True, "shares_history": True},
    "protected": {"invite_only": True, "shares_history": False},
    "web": {"is_web_public": True},
}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("public", "private"),
        ("public", "public"),
        ("private", "protected"),
        ("protected", "public"),
        ("protected", "protected"),
        ("web", "private"),
        ("private", "web"),
    ],
)
async def test_unread_messages_follow_to_another_channel_and_back(
    hall, changes, witnesses, old, new
):
    """Member is in both, other and owner in the old one, guest and admin in the new one."""
    source = await hall.make.channel(
        "source", subscribers=[hall.member, hall.other, hall.owner], **KINDS[old]
    )
    target = await hall.make.channel(
        "target", subscribers=[hall.member, hall.guest, hall.admin], **KINDS[new]
    )
    sent = [await changes.send(hall.member, "source", content="@**Other**") for _ in range(2)]
    await hall.unsubscribe(hall.owner, "source")
    await hall.make.subscribe(source, [hall.admin])
    sent.append(await changes.send(hall.member, "source"))
    await star(hall, hall.other, sent[0])

    async def there():
        await changes.move(hall.member, sent[1], channel_id=target.channel_id)

    async def back():
        await changes.move(hall.member, sent[1], channel_id=source.channel_id, topic="v")

    seen = await witnesses.watch(there, hall.everyone)
    heard = types_by_user(seen)
    assert heard["Member"] == ["update_message"]
    loses = new in {"private", "protected"}
    assert heard["Other"] == ["delete_message" if loses else "update_message"]
    await witnesses.watch(back, hall.everyone, views=[NEWEST_CLIENT])


async def test_in_a_protected_channel_users_hear_of_what_they_received(hall, changes, witnesses):
    plans = await hall.make.channel(
        "plans", invite_only=True, shares_history=False, subscribers=[hall.member, hall.other]
    )
    first = await changes.send(hall.member, "plans")
    await hall.make.subscribe(plans, [hall.guest])
    second = await changes.send(hall.member, "plans")

    async def rename():
        await changes.move(hall.member, second, topic="u")

    async def remove():
        await changes.delete(hall.member, first)

    seen = await witnesses.watch(rename, hall.everyone)
    ids = ids_by_user(seen)
    assert (ids["Other"], ids["Guest"], ids["Owner"]) == ([[first, second]], [[second]], [])
    seen = await witnesses.watch(remove, hall.everyone)
    assert types_by_user(seen)["Guest"] == []
    assert types_by_user(seen)["Other"] == ["delete_message"]


@pytest.mark.parametrize("old", ["public", "protected"])
async def test_who_is_in_a_protected_channel_hears_of_what_comes_there(
    hall, changes, witnesses, old
):
    """Guest is there when it comes, and other comes afterwards."""
    await hall.make.channel("source", subscribers=[hall.member, hall.owner], **KINDS[old])
    target = await hall.make.channel(
        "target", subscribers=[hall.member, hall.guest], **KINDS["protected"]
    )
    sent = await changes.send(hall.member, "source")

    async def there():
        await changes.move(hall.member, sent, channel_id=target.channel_id)

    async def change():
        await changes.react(hall.member, sent)
        await changes.edit(hall.member, sent, "hello again")
        await changes.move(hall.guest, sent, topic="u")
        await changes.delete(hall.member, sent)

    seen = await witnesses.watch(there, hall.everyone)
    [guest, *_] = [each for each in seen if each.user == hall.guest]
    [moved] = [e for e in guest.events if e["type"] == "update_message"]
    assert (moved["message_ids"], set(moved["flags"])) == ([sent], {"read", "historical"})
    await hall.make.subscribe(target, [hall.other])
    seen = await witnesses.watch(change, hall.everyone)
    heard = {each.user.full_name: [e["type"] for e in each.events] for each in seen}
    told = ["reaction", "update_message", "update_message", "delete_message"]
    for name, events in {"Member": told, "Guest": told, "Other": [], "Owner": []}.items():
        assert [e for e in heard[name] if e in told] == events, name


async def test_who_has_received_a_part_moves_that_part(hall, changes, witnesses):
    plans = await hall.make.channel(
        "plans", invite_only=True, shares_history=False, subscribers=[hall.member]
    )
    first = await changes.send(hall.member, "plans")
    await hall.make.subscribe(plans, [hall.other])
    second = await changes.send(hall.member, "plans")

    async def change():
        await changes.move(hall.other, second, topic="u")

    seen = await witnesses.watch(change, hall.everyone)
    ids = ids_by_user(seen)
    assert ids["Member"] == [[second]]
    assert first not in ids["Other"][0]


async def test_deleted_messages_are_gone_for_all_users(hall, changes, witnesses):
    await hall.make.channel("plans", subscribers=hall.everyone)
    sent = [await changes.send(hall.member, "plans", content="@**Guest**") for _ in range(2)]
    await star(hall, hall.guest, sent[0])

    async def change():
        for message_id in sent:
            await changes.delete(hall.member, message_id)

    seen = await witnesses.watch(change, hall.everyone)
    assert {*map(tuple, types_by_user(seen).values())} == {("delete_message", "delete_message")}


async def test_a_long_move_goes_in_steps_and_all_clients_follow(hall, changes, witnesses):
    target = await hall.make.channel("target", subscribers=hall.everyone)
    await hall.make.channel("plans", subscribers=hall.everyone)
    sent = [await changes.send(hall.member, "plans") for _ in range(7)]
    changes.steps = 3

    async def change():
        await changes.move(hall.member, sent[4], channel_id=target.channel_id)

    seen = await witnesses.watch(change, hall.everyone)
    assert ids_by_user(seen)["Guest"] == [sent[:3], sent[3:6], sent[6:]]


async def test_what_a_dead_process_left_is_finished_once(hall: Hall, changes: Changes):
    make: Make = hall.make
    target = await make.channel("target", subscribers=hall.everyone)
    await make.channel("plans", subscribers=hall.everyone)
    sent = [await changes.send(hall.member, "plans") for _ in range(5)]
    changes.steps = 2
    work_id = await changes.begin(
        hall.member, sent[0], channel_id=target.channel_id, notify_new=True
    )
    assert work_id is not None
    assert "job" in hall.stage.kinds()
    later = await changes.send(hall.member, "plans")

    await asyncio.gather(*[changes.finish(work_id) for _ in range(3)])

    assert await stepped_work.by_id(make.connection, make.realm_id, work_id) is None
    moved = await make.connection.values(
        """
        SELECT id FROM messages WHERE realm_id = %(realm_id)s AND channel_id = %(channel_id)s
         ORDER BY id
        """,
        realm_id=make.realm_id,
        channel_id=target.channel_id,
    )
    *ids, notice = moved
    assert (ids, notice > later) == (sent, True)


# -- at once


async def settle(*tasks: Any) -> list[Any]:
    """All of them at once; refusals are answers."""
    results = await asyncio.gather(*tasks, return_exceptions=True)
    for result in results:
        assert result is None or isinstance(result, DomainError | int), result
    return results


async def test_an_edit_and_a_deletion_at_once_leave_nothing(hall: Hall, changes: Changes):
    await hall.make.channel("plans", subscribers=hall.everyone)
    for number in range(5):
        message_id = await changes.send(hall.member, "plans", content="secret")
        await settle(
            changes.edit(hall.member, message_id, f"secret {number}"),
            changes.delete(hall.member, message_id),
            changes.edit(hall.member, message_id, f"secret again {number}"),
        )
    bodies = await hall.make.connection.values(
        "SELECT convert_from(body, 'UTF8') FROM event_log WHERE realm_id = %(realm_id)s",
        realm_id=hall.make.realm_id,
    )
    assert not [body for body in bodies if body is not None and "secret" in body]


async def test_moves_against_moves_and_sends_end_where_register_does(
    hall: Hall, changes: Changes, witnesses
):
    moderator = await hall.make.user(role=MODERATOR)
    plans = await hall.make.channel("plans", subscribers=[*hall.everyone, moderator])
    other = await hall.make.channel("other", subscribers=[*hall.everyone[1:], moderator])
    sent = [await changes.send(hall.member, "plans") for _ in range(4)]
    dice = random.Random(4711)

    async def change():
        tasks: list[Any] = []
        for number in range(12):
            message_id = dice.choice(sent)
            channel = dice.choice([plans, other])
            topic = dice.choice(["t", "u", "T", ""])
            mode = dice.choice(["change_one", "change_later", "change_all"])
            tasks.append(
                changes.move(
                    moderator, message_id, channel_id=channel.channel_id, topic=topic, mode=mode
                )
            )
            tasks.append(changes.send(hall.member, channel.name, dice.choice(["t", "u"])))
            if number % 4 == 0:
                tasks.append(changes.delete(hall.admin, message_id))
        await settle(*tasks)

    seen = await witnesses.watch(change, hall.everyone)
    assert any(witness.events for witness in seen)
