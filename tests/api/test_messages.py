"""POST /messages: every parameter, in every form in which clients send it."""

import json
from typing import Any

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR, GUEST
from testkit.factories import Make, new_realm

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def people(make: Make):
    return [await make.user(name) for name in ("Alice", "Bob", "Carol")]


async def shown(client, message_id, **view):
    """The message, as this client sees it."""
    return (await client.get(f"/messages/{message_id}", **view))["message"]


def say(client, /, **fields):
    """A call that sends to the channel, unless the fields say something else."""
    sent = {"type": "channel", "to": "general", "topic": "t", "content": "hello", **fields}
    return client.call("POST", "/messages", **sent)


# -- where it goes


async def test_a_channel_is_named_in_many_ways(alice, channel):
    number = channel.channel_id
    for to in ("general", '"General"', '["general"]', str(number), f"[{number}]"):
        for kind in ("channel", "stream"):
            sent = (await say(alice, type=kind, to=to)).succeeded()
            message = await shown(alice, sent["id"])
            assert message["type"] == "stream"
            assert message["stream_id"] == number
            assert message["display_recipient"] == "general"


async def test_a_name_of_digits_needs_quotes(alice, make, people):
    number = await make.channel("2026", subscribers=people)
    sent = (await say(alice, to='"2026"')).succeeded()
    assert (await shown(alice, sent["id"]))["stream_id"] == number.channel_id
    (await say(alice, to="2026")).refused("STREAM_DOES_NOT_EXIST")


async def test_a_name_that_looks_like_something_else_is_a_name(alice, make, people):
    for name in ("null", "true", "1.5", '"', "[x", "a, b"):
        odd = await make.channel(name, subscribers=people)
        sent = (await say(alice, to=name)).succeeded()
        assert (await shown(alice, sent["id"]))["stream_id"] == odd.channel_id


async def test_people_are_named_in_many_ways(alice, bob, people):
    _, other, third = people
    for to, wanted in (
        ([other.user_id, third.user_id], people),
        ([other.email, third.email], people),
        (f"{other.email}, {third.email}", people),
        (json.dumps(f"{other.email},{third.email}"), people),
        (str(other.user_id), people[:2]),
        (other.email.upper(), people[:2]),
    ):
        for kind in ("direct", "private"):
            sent = (await say(alice, type=kind, to=to, topic=None)).succeeded()
            message = await shown(bob, sent["id"])
            assert message["type"] == "private"
            named = [each["id"] for each in message["display_recipient"]]
            assert named == [person.user_id for person in wanted]


async def test_naming_oneself_or_a_user_twice_changes_nothing(alice, people):
    one, other, _ = people
    recipients = []
    for to in ([other.user_id], [other.user_id, other.user_id], [one.user_id, other.user_id]):
        sent = (await say(alice, type="direct", to=to, topic=None)).succeeded()
        recipients.append((await shown(alice, sent["id"]))["recipient_id"])
    assert len(set(recipients)) == 1


async def test_one_writes_to_oneself(alice, people):
    sent = (await say(alice, type="direct", to=[people[0].user_id], topic=None)).succeeded()
    message = await shown(alice, sent["id"])
    assert [each["id"] for each in message["display_recipient"]] == [people[0].user_id]


async def test_the_topic_of_a_direct_message_is_ignored(alice, people):
    for topic in ("", "x" * 100, "(no topic)", "a\nb"):
        sent = await say(alice, type="direct", to=[people[1].user_id], topic=topic)
        assert (await shown(alice, sent.succeeded()["id"]))["subject"] == ""


async def test_a_direct_message_without_recipients_is_refused(alice):
    for to in ("[]", '""', "0", "-1", "[0]", '["nobody@example.com"]', "nobody", " , "):
        (await say(alice, type="direct", to=to, topic=None)).refused("BAD_REQUEST")


async def test_what_names_neither_people_nor_channels_is_refused(alice):
    for to in ('[1, "a"]', "[true]", "[null]", "{}", "[[1]]", "[1.5]"):
        for kind in ("direct", "channel"):
            (await say(alice, type=kind, to=to)).refused("REQUEST_VARIABLE_INVALID")


async def test_a_message_goes_to_one_channel(alice):
    for to in ("[]", '["general", "general"]'):
        (await say(alice, to=to)).refused("BAD_REQUEST")


async def test_a_channel_that_is_not_there_is_named_in_the_refusal(alice, make):
    for name in ("nowhere", "nowhere else"):
        body = (await say(alice, to=name)).refused("STREAM_DOES_NOT_EXIST")
        assert body["stream"] == name
        assert "stream_id" not in body
    body = (await say(alice, to="999999")).refused("STREAM_DOES_NOT_EXIST")
    assert body["stream_id"] == 999999
    assert "stream" not in body


async def test_other_realms_are_not_there(alice, make):
    elsewhere = await new_realm(make.connection)
    person = await elsewhere.user()
    channel = await elsewhere.channel("elsewhere", subscribers=[person])
    (await say(alice, to=channel.name)).refused("STREAM_DOES_NOT_EXIST")
    (await say(alice, to=channel.channel_id)).refused("STREAM_DOES_NOT_EXIST")
    for to in ([person.user_id], [person.email]):
        (await say(alice, type="direct", to=to, topic=None)).refused("BAD_REQUEST")


async def test_a_guest_posts_only_where_they_are(log_in, make, channel):
    guest = await make.user(role=GUEST)
    own = await make.channel("own", subscribers=[guest])
    client = await log_in(guest)
    (await say(client, to=own.name)).succeeded()
    (await say(client)).refused("STREAM_DOES_NOT_EXIST")


async def test_an_administrator_knows_of_a_private_channel_and_may_not_post(log_in, make):
    await make.channel("closed", invite_only=True)
    admin = await log_in(role=ADMINISTRATOR)
    (await say(admin, to="closed")).refused("BAD_REQUEST")
    (await say(await log_in(), to="closed")).refused("STREAM_DOES_NOT_EXIST")


# -- the topic


async def test_subject_is_an_older_name_of_topic(alice):
    sent = (await say(alice, topic=None, subject="Plans")).succeeded()
    assert (await shown(alice, sent["id"]))["subject"] == "Plans"


async def test_topic_and_subject_together_are_refused(alice):
    body = (await say(alice, subject="other")).refused("REQUEST_CONFUSING_VAR")
    assert {body["var_name1"], body["var_name2"]} == {"topic", "subject"}


async def test_a_channel_message_needs_a_topic(alice):
    body = (await say(alice, topic=None)).refused("REQUEST_VARIABLE_MISSING")
    assert body["var_name"] == "topic"


async def test_the_empty_topic_is_shown_as_each_client_knows_it(alice):
    for empty in ("", " ", "(no topic)", "general chat"):
        sent = (await say(alice, topic=empty)).succeeded()
        assert (await shown(alice, sent["id"], allow_empty_topic_name=True))["subject"] == ""
        assert (await shown(alice, sent["id"]))["subject"] == "general chat"


async def test_a_topic_is_text_even_if_it_is_json(alice):
    for topic in ('"quoted"', "17", "null", "[1]"):
        sent = (await say(alice, topic=topic)).succeeded()
        assert (await shown(alice, sent["id"]))["subject"] == topic


# -- the content


async def test_what_is_missing_is_named(alice):
    for name in ("type", "to", "content"):
        body = (await say(alice, **{name: None})).refused("REQUEST_VARIABLE_MISSING")
        assert body["var_name"] == name


async def test_there_are_four_types(alice):
    for kind in ("", "Channel", "huddle", '"channel"'):
        body = (await say(alice, type=kind)).refused("REQUEST_VARIABLE_INVALID")
        assert body["var_name"] == "type"


async def test_content_keeps_its_beginning_and_loses_its_blank_end(alice):
    sent = (await say(alice, content="  ü \U0001f600 & <b> %41\r\n \n")).succeeded()
    body = await alice.get(f"/messages/{sent['id']}")
    assert body["raw_content"] == "  ü \U0001f600 & <b> %41"


async def test_content_that_is_none_or_too_much_is_refused(alice):
    for content in ("", " \n ", "x" * 10_001):
        (await say(alice, content=content)).refused("BAD_REQUEST")
    page = await alice.get("/messages", anchor="newest", num_before=1, num_after=0)
    assert page["messages"] == []


async def test_what_the_server_does_not_know_is_said(alice):
    body = (await say(alice, realm_str="x", dense_mode=True)).succeeded()
    assert sorted(body["ignored_parameters_unsupported"]) == ["dense_mode", "realm_str"]


async def test_spectators_cannot_send(spectator, channel):
    (await say(await spectator())).refused("UNAUTHORIZED", 401)


# -- how it is sent


async def test_senders_say_whether_they_have_read_it(alice):
    for value in (True, False):
        sent = (await say(alice, read_by_sender=value)).succeeded()
        assert ("read" in (await shown(alice, sent["id"]))["flags"]) is value


async def test_what_is_no_boolean_is_refused(alice):
    for value in ("yes", "1", '"true"', "[]"):
        answer = await say(alice, read_by_sender=value)
        assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "read_by_sender"


async def test_the_client_is_named_by_parameter_or_program(alice):
    by_program = (await say(alice)).succeeded()
    by_name = (await say(alice, client="Gate")).succeeded()
    assert (await shown(alice, by_program["id"]))["client"] == "ParleyTests"
    assert (await shown(alice, by_name["id"]))["client"] == "Gate"


async def test_a_queue_is_named_together_with_a_local_id(alice):
    (await say(alice, queue_id="q")).refused("BAD_REQUEST")
    (await say(alice, local_id="1.01")).succeeded()


async def test_a_key_has_a_length(alice):
    for key in ("", "x" * 201):
        (await say(alice, headers={"Idempotency-Key": key})).refused("BAD_REQUEST")


async def test_a_key_is_its_senders_own(alice, bob):
    headers = {"Idempotency-Key": "the same"}
    one = await say(alice, headers=headers)
    other = await say(bob, headers=headers)
    assert one.succeeded()["id"] != other.succeeded()["id"]


async def test_a_refused_send_leaves_its_key_free(alice, make, people):
    headers = {"Idempotency-Key": "k"}
    (await say(alice, to="later", headers=headers)).refused("STREAM_DOES_NOT_EXIST")
    await make.channel("later", subscribers=people)
    alice.server.forget(make.realm_id)
    (await say(alice, to="later", headers=headers)).succeeded()


async def leave(client, make, people, channel):
    await make.unsubscribe(channel, people[:1])
    client.server.forget(make.realm_id)


async def test_a_send_that_took_place_is_told_so_to_who_may_send_there_no_more(
    alice, bob, make, people
):
    """The first answer was lost; when the sender asks again they have been removed."""
    channel = await make.channel("closed", subscribers=people, invite_only=True)
    named: dict[str, Any] = {"to": "closed", "headers": {"Idempotency-Key": "k"}}
    first = (await say(alice, **named)).succeeded()
    await leave(alice, make, people, channel)
    again = (await say(alice, **named)).succeeded()
    links = {name: first.pop(name) for name in ("message_url", "message_link")}
    assert again == first, "but for links to where the sender may not send any more"
    assert str(first["id"]) in links["message_url"]
    assert "automatic_new_visibility_policy" in first
    form = {**named["headers"], "Content-Type": "application/x-www-form-urlencoded"}
    another = b"type=channel&to=closed&topic=t&content=another"
    assert (await alice.send("POST", "/messages", body=another, headers=form)).status == 422
    (await say(alice, to="closed")).refused("STREAM_DOES_NOT_EXIST")
    history = await bob.get("/messages", anchor="newest", num_before=10, num_after=0)
    assert [m["id"] for m in history["messages"]] == [first["id"]]


async def test_a_local_id_names_a_send_also_where_one_may_send_no_more(alice, make, people):
    channel = await make.channel("closed", subscribers=people, invite_only=True)
    queue = (await alice.post("/register"))["queue_id"]
    named: dict[str, Any] = {"to": "closed", "queue_id": queue, "local_id": "7"}
    first = (await say(alice, **named)).succeeded()
    await leave(alice, make, people, channel)
    again = (await say(alice, **named)).succeeded()
    links = {name: first.pop(name) for name in ("message_url", "message_link")}
    assert again == first, "but for links to where the sender may not send any more"
    assert str(first["id"]) in links["message_url"]
    (await say(alice, content="another", **named)).refused("STREAM_DOES_NOT_EXIST")


async def test_a_policy_is_told_when_this_send_sets_it(alice, bob):
    started = (await say(alice, topic="mine")).succeeded()
    again = (await say(alice, topic="mine")).succeeded()
    joined = (await say(bob, topic="mine")).succeeded()
    assert started["automatic_new_visibility_policy"] == 3
    assert "automatic_new_visibility_policy" not in again
    assert "automatic_new_visibility_policy" not in joined


async def test_a_wildcard_mention_in_a_large_channel_needs_a_permission(log_in, make):
    crowd = await make.users(16)
    await make.channel("large", subscribers=crowd)
    client = await log_in(crowd[0])
    answer = await say(client, to="large", content="@**all**")
    answer.refused("STREAM_WILDCARD_MENTION_NOT_ALLOWED")
    (await say(client, to="large", content="@_**all** and `@**all**`")).succeeded()


async def test_a_wildcard_mention_in_a_direct_message_is_allowed(alice, bob, people):
    flags = {"stream_wildcard_mentioned", "wildcard_mentioned"}
    queue = await bob.register(event_types=["message"])
    sent = await alice.post(
        "/messages", type="direct", to=[people[1].user_id], content="@**all** hello"
    )
    event = await queue.until("message")
    assert flags <= set(event["flags"])
    found = await bob.get(f"/messages/{sent['id']}")
    assert set(event["flags"]) == set(found["message"]["flags"])
