"""Send a message: decided on cached rows, verified and written at its position."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

import msgspec
from typing_extensions import override

from server.actions.messages.content import typeset_ahead
from server.actions.messages.decide import OutgoingMessage, SendDecision, decide
from server.actions.realm_services import Reading
from server.domain.actor import Actor
from server.domain.addresses import RealmAddress
from server.domain.errors import DomainError, IdempotencyKeyReusedError
from server.domain.message_buttons import encode_buttons, shown_buttons
from server.domain.shown_people import EVERYTHING
from server.domain.topic_policies import policy_gained
from server.domain.user_settings import DEFAULTS, UserSettings
from server.events.base import Audience, LogEntry, decode_audience
from server.events.messages import MessageSent, Recipient, Sender, ShownMessage
from server.events.user_topics import UserTopicChanged
from server.i18n import _
from server.realm_cache import RealmCache
from server.transactions import (
    Clocked,
    ClockedWrite,
    PortableWrite,
    StaleDecisionError,
    Turn,
    Turned,
    Tx,
)
from storage import message_bits, message_buttons, message_flags, sends
from storage.database import Statement
from storage.ids import MessageId, Position, QueueId, RealmId, UserId


@dataclass(frozen=True, slots=True)
class Sent:
    message_id: MessageId
    new_visibility_policy: int | None


async def prepare(
    realm_cache: RealmCache, actor: Actor, draft: OutgoingMessage, read: Reading
) -> SendDecision | None:
    """Decide before the write, on cached rows: rendering and look-ups then delay no other write.

    Return None if the cached rows refuse it: a refusal has to be exact, so the write decides.
    """
    await typeset_ahead(realm_cache, draft.content, share=actor.user_id)
    try:
        return await decide(realm_cache, actor, draft, read)
    except DomainError:
        return None


async def send_message(
    tx: Tx,
    actor: Actor,
    draft: OutgoingMessage,
    decision: SendDecision | None,
    sent_at: datetime,
    then: Statement | None = None,
) -> Clocked[Sent]:
    """Send the message; the result's position is its id.

    `then` runs with it, if it is sent (storage/sends.py).
    """
    if decision is None or decision.place.rests_on_owner or tx.exact:
        tx.must_be_exact()
        try:
            decision = await decide(await tx.realm_cache(), actor, draft, tx.reading)
        except DomainError:
            known = await sent_before(tx, actor, draft)
            if known is None:
                raise
            return known
    if draft.buttons:
        assert then is None, "a message with buttons has no other effects"
        then = message_buttons.with_send(tx.realm_id, actor.user_id, encode_buttons(draft.buttons))
    address = await (await tx.realm_cache()).address()
    send = _send_of(tx, actor, draft, decision, sent_at, address)
    if then is None and send.is_plain and not tx.exact:
        return tx.clocked(PlainSend(send))
    return tx.clocked(_SendWrite(send, then))


@dataclass(frozen=True, slots=True)
class _Known(Clocked[Sent]):
    """A send that took place before, under the same key."""

    sent: Sent

    @property
    @override
    def result(self) -> Sent:
        return self.sent


async def sent_before(tx: Tx, actor: Actor, draft: OutgoingMessage) -> Clocked[Sent] | None:
    """Return the result of an earlier send with this key, if it is not to be sent now.

    A client that has lost a response retries, and may have lost the permission meanwhile: that the
    message was sent stays true. Raises IdempotencyKeyReusedError.
    """
    if draft.idempotency_key is None:
        return None
    row = await sends.known(
        await tx.connection(), actor.realm_id, actor.user_id, draft.idempotency_key
    )
    if row is None:
        return None
    _check_digest(draft.idempotency_digest, row.digest)
    return _Known(Sent(row.message_id, row.visibility_policy))


def _check_digest(own: bytes | None, known: bytes) -> None:
    if bytes(known) != own:
        raise IdempotencyKeyReusedError(_("This Idempotency-Key was used with another request."))


@dataclass(frozen=True, slots=True)
class PlainSend(PortableWrite[Sent]):
    """A send that shares its statement with concurrent ones."""

    portable_as = "send"
    result_type = Sent

    send: sends.Send

    @property
    @override
    def write_id(self) -> str:
        return self.send.write_id

    @override
    def encoded(self, valid_below: Position) -> bytes:
        return msgspec.json.encode(msgspec.structs.replace(self.send, valid_below=valid_below))

    @classmethod
    @override
    def decoded(cls, encoded: bytes) -> Self:
        return cls(msgspec.json.decode(encoded, type=sends.Send))

    @classmethod
    @override
    def together(cls, writes: Sequence[Self], realm_id: RealmId, write_id: str) -> Statement:
        return sends.together(realm_id, [write.send for write in writes])

    @classmethod
    @override
    def results(
        cls, writes: Sequence[Self], rows: Sequence[tuple[Any, ...]]
    ) -> list[Sent | StaleDecisionError | DomainError]:
        results: list[Sent | StaleDecisionError | DomainError] = []
        for write, row in zip(writes, rows, strict=True):
            try:
                results.append(_sent(write.send, row))
            except (StaleDecisionError, DomainError) as refusal:
                results.append(refusal)
        return results

    @classmethod
    @override
    def turn(cls, writes: Sequence[Self], realm_id: RealmId) -> Turn:
        own = [write.send for write in writes]
        return Turn(sends.in_turn(realm_id, own), lambda rows: _turned(own, rows))

    @classmethod
    @override
    def recovered(cls, writes: Sequence[Self], entries: Sequence[LogEntry]) -> list[Sent]:
        return [
            _recovered(write.send, [e for e in entries if e.write_id == write.send.write_id])
            for write in writes
        ]


@dataclass(frozen=True, slots=True)
class _SendWrite(ClockedWrite[Sent]):
    """A send with additional effects, or that is decided on rows it has locked."""

    send: sends.Send
    then: Statement | None

    @property
    @override
    def statement(self) -> Statement:
        return self.send.statement(self.then)

    @override
    def result(self, rows: Sequence[tuple[Any, ...]]) -> Sent:
        return _sent(self.send, rows[0])

    @override
    def recovered(self, entries: Sequence[LogEntry]) -> Sent:
        return _recovered(self.send, entries)


def _turned(own: Sequence[sends.Send], rows: Sequence[tuple[Any, ...]]) -> Turned:
    """Return the results of `sends.in_turn`; the messages' entries are built from the sends."""
    given, others = rows[: len(own)], rows[len(own) :]
    entries = [
        LogEntry(
            Position(message_id),
            MessageSent.kind,
            bytes(send.audience),
            bytes(send.body),
            send.write_id,
        )
        for send, (_, outcome, message_id, *_) in zip(own, given, strict=True)
        if outcome == "sent"
    ]
    entries += [LogEntry(Position(p), k, a, b, w) for *_, p, k, a, b, w in others]
    return Turned(
        epoch=given[0][0],
        entries=entries,
        rows=[(o, i, None, policy, digest) for _, o, i, policy, digest, *_ in given],
    )


def _sent(send: sends.Send, row: tuple[Any, ...]) -> Sent:
    """Return the result of a send. Raises StaleDecisionError, IdempotencyKeyReusedError."""
    outcome, message_id, _, policy, digest, *_ = row
    if outcome == "stale":
        raise StaleDecisionError
    if outcome == "known":
        _check_digest(send.idempotency_digest, digest)
    return Sent(MessageId(message_id), policy)


def _recovered(send: sends.Send, entries: Sequence[LogEntry]) -> Sent:
    policy = None
    for entry in entries[1:]:
        own = decode_audience(entry.audience).users == (send.sender_id,)
        if own and entry.kind == UserTopicChanged.kind:
            assert entry.body is not None
            policy = msgspec.json.decode(entry.body, type=UserTopicChanged).visibility_policy
    return Sent(MessageId(entries[0].position), policy)


def _send_of(
    tx: Tx,
    actor: Actor,
    draft: OutgoingMessage,
    decision: SendDecision,
    sent_at: datetime,
    address: RealmAddress,
) -> sends.Send:
    place = decision.place
    is_read = actor.has_person_at_client if draft.read_by_sender is None else draft.read_by_sender
    flags = decision.written.flags()
    started, by_sending = _visibility_policies(decision)
    mentioned = sorted(decision.written.rendered.mentioned_user_ids) if place.channel else []
    audience = tx.traced(_audience(actor, draft, decision, flags, is_read=is_read))
    return sends.Send(
        realm_id=actor.realm_id,
        sender_id=actor.user_id,
        sender_version=decision.sender.changed_at,
        realm_version=decision.realm.changed_at,
        groups_version=decision.realm.groups_changed_at,
        channel_id=place.channel.channel_id if place.channel else None,
        channel_version=place.channel.changed_at if place.channel else None,
        subscription_version=place.subscription.changed_at if place.subscription else None,
        topic_id=place.topic.topic_id if place.topic else None,
        topic_name=place.topic_name if place.channel else None,
        dm_group_id=place.dm_group_id,
        dm_user_ids=[p.user_id for p in place.people],
        dm_versions=[p.changed_at for p in place.people],
        sent_at=sent_at,
        traits=decision.written.traits
        | (message_bits.READ_BY_SENDER if is_read else 0)
        | (message_bits.TELLS_OF_RESOLVING if draft.tells_of_resolving else 0)
        | (message_bits.HAS_BUTTONS if draft.buttons else 0),
        client=actor.client,
        content=decision.written.content,
        rendered=decision.written.rendered.html,
        flagged_user_ids=list(flags),
        flags=list(flags.values()),
        audience=msgspec.Raw(audience.encode()),
        body=msgspec.Raw(msgspec.json.encode(_event(actor, draft, decision, sent_at, address))),
        write_id=tx.write_id,
        idempotency_key=draft.idempotency_key,
        idempotency_digest=draft.idempotency_digest,
        policy_started=started,
        policy_sent=by_sending,
        policy_mentioned=mentioned,
        follows_by_default=DEFAULTS.automatically_follow_topics_where_mentioned,
        empty_topic_name=decision.settings.empty_topic_display_name,
        widget=decision.written.widget,
        attachment_ids=[row.attachment_id for row in decision.written.attachments],
    )


def _audience(
    actor: Actor,
    draft: OutgoingMessage,
    decision: SendDecision,
    flags: dict[UserId, int],
    *,
    is_read: bool,
) -> Audience:
    place = decision.place
    shown = {user_id: message_flags.names(bits) for user_id, bits in flags.items()}
    if is_read:
        shown[actor.user_id] = ("read", *shown.get(actor.user_id, ()))
    wildcard = decision.written.rendered.channel_wildcard
    return Audience(
        channel_id=place.channel.channel_id if place.channel else None,
        public=place.channel is not None and not place.channel.invite_only,
        users=tuple(p.user_id for p in place.people),
        mentioned_bots=decision.mentioned_bots,
        flags=shown,
        all_flags=("stream_wildcard_mentioned", "wildcard_mentioned") if wildcard else (),
        local_user_id=actor.user_id if draft.queue_id else None,
        local_queue_id=QueueId(draft.queue_id) if draft.queue_id else None,
        local_id=draft.local_id,
    )


def _event(
    actor: Actor,
    draft: OutgoingMessage,
    decision: SendDecision,
    sent_at: datetime,
    address: RealmAddress,
) -> MessageSent:
    place = decision.place
    empty = place.channel is not None and place.topic_name == ""
    shown = ShownMessage(
        sender=Sender.of(EVERYTHING.shown(decision.sender, address), decision.realm.subdomain),
        client=actor.client,
        timestamp=int(sent_at.timestamp()),
        is_me_message=decision.written.rendered.is_me_message,
        channel_id=place.channel.channel_id if place.channel else None,
        channel_name=place.channel.name if place.channel else "",
        topic=place.topic_name,
        empty_topic_display_name=decision.settings.empty_topic_display_name if empty else "",
        dm_group_id=place.dm_group_id,
        recipients=tuple(
            Recipient.of(EVERYTHING.shown(person, address)) for person in place.people
        ),
        topic_links=decision.topic_links,
    )
    return MessageSent(
        message=shown,
        content=decision.written.content,
        rendered_content=decision.written.rendered.html,
        widget=decision.written.widget or "",
        buttons=tuple(shown_buttons(draft.buttons)),
    )


def _visibility_policies(decision: SendDecision) -> tuple[int | None, int | None]:
    """Return the policies that the sender's settings give for topics they start, and send to."""
    if decision.sender.bot_type is not None or decision.place.channel is None:
        return None, None
    settings = UserSettings.of(decision.sender.settings)
    subscription = decision.place.subscription
    in_muted = subscription is not None and subscription.is_muted
    return (
        policy_gained(settings, "start", in_muted=in_muted),
        policy_gained(settings, "send", in_muted=in_muted),
    )
