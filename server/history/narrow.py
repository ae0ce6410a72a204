"""Resolve a narrow to a scope: names become ids that the reader may use."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from server.domain.errors import BadNarrowError, UnauthorizedError
from server.domain.narrow import Term
from server.domain.search import SearchTerm, language_of, parse_search
from server.history.operands import (
    Look,
    channel_of,
    companions,
    group_of,
    message_id,
    topic_name,
    users_named,
)
from server.i18n import _
from storage import conversations, message_bits, messages, narrows, pins, search
from storage.history import MANY_CONVERSATIONS, Flag, HistoryScope, Without
from storage.ids import ChannelId, MessageId, UserId
from storage.search import Search

MAX_KEPT_LENGTH: Final = 200
"""Maximum characters of a cached search; longer ones are parsed each time."""
_FLAGS: Final[dict[str, Flag]] = {
    "starred": "starred",
    "mentioned": "mentioned",
    "alerted": "alerted",
    "unread": "unread",
}
_TRAITS: Final = {
    "link": message_bits.HAS_LINK,
    "image": message_bits.HAS_IMAGE,
    "attachment": message_bits.HAS_ATTACHMENT,
}
WEB_PUBLIC: Final = ("channels", "web-public")
_OF_SPECTATORS: Final = frozenset(
    {"channels", "channel", "topic", "sender", "has", "search", "near", "id", "with"}
)
_PLACES: Final = frozenset({"channel", "topic", "dm"})


@dataclass(frozen=True, slots=True)
class Narrowed:
    scope: HistoryScope | None
    """None: no message can match all terms."""
    near: MessageId | None = None
    """The message of a `near` term."""


async def narrowed(look: Look, terms: Sequence[Term]) -> Narrowed:
    """Return the resolved narrow. Raises BadNarrowError."""
    if look.actor.is_spectator:
        _check_spectators(terms)
    near = [message_id(term.operand) for term in terms if term.operator == "near"]
    terms = [term for term in terms if term.operator != "near"]
    if any(term.operator == "with" for term in terms):
        found = await _with_conversation(look, terms)
        if found is None:
            return Narrowed(None, near[0] if near else None)
        terms = found
    conversation = None if look.sees_everything else await _conversation(look, terms)
    if conversation is not None:
        return Narrowed(conversation, near[0] if near else None)
    gathered = _Gathered()
    for term in sorted(terms, key=_comes_first):
        await _ADD[term.operator](look, gathered, term)
    return Narrowed(await _scope(look, gathered), near[0] if near else None)


def _check_spectators(terms: Sequence[Term]) -> None:
    """Raise UnauthorizedError unless spectators may use the terms."""
    keeps_to_channels = any(
        not term.negated
        and (term.operator == "channel" or (term.operator, term.operand) == WEB_PUBLIC)
        for term in terms
    )
    if not keeps_to_channels or not all(
        term.operator in _OF_SPECTATORS or (term.operator, term.operand) == ("is", "resolved")
        for term in terms
    ):
        raise UnauthorizedError(_("Not logged in: API authentication or user session required"))


def _comes_first(term: Term) -> int:
    """Return the sort key: topics are resolved after channels."""
    return 0 if term.operator in {"channel", "channels"} else 1


async def _with_conversation(look: Look, terms: Sequence[Term]) -> list[Term] | None:
    """Return the terms with the message's conversation in place of the one they name.

    A message that the reader may not read is ignored: the named conversation stays, if there is
    one; without it there is nothing to show.
    """
    withs = [term for term in terms if term.operator == "with"]
    if len(withs) > 1 or withs[0].negated:
        raise BadNarrowError("Invalid 'with' operator")
    rest = [term for term in terms if term.operator != "with"]
    realm_id, user_id = look.actor.realm_id, look.actor.user_id
    [wanted] = [message_id(term.operand) for term in withs]
    rows = await messages.for_reader(look.connection, realm_id, user_id, [wanted], rendered=False)
    if not rows:
        named = {term.operator for term in rest if not term.negated}
        return rest if "dm" in named or {"channel", "topic"} <= named else None
    [row] = rows
    others = [term for term in rest if term.operator not in _PLACES or term.negated]
    if row.channel_id is None:
        return [*others, Term("dm", tuple(row.user_ids or ()))]
    return [*others, Term("channel", row.channel_id), Term("topic", row.topic or "")]


async def _conversation(look: Look, terms: Sequence[Term]) -> HistoryScope | None:
    """Return the scope of one whole conversation, as most narrows are; None for any other.

    The conversation need not exist: then the result is empty.
    """
    said = {term.operator: term.operand for term in terms if not term.negated}
    if len(said) < len(terms):
        return None
    if said.keys() == {"channel", "topic"}:
        channel = await channel_of(look, said["channel"])
        name = await topic_name(look, said["topic"])
        return HistoryScope(channel_ids=[channel.channel_id], topic=name)
    if said.keys() == {"dm"}:
        return HistoryScope(only_direct=True, people=await group_of(look, said["dm"]))
    return None


@dataclass(slots=True)
class _Gathered:
    """The conjunction of the terms so far."""

    channel_ids: set[ChannelId] | None = None
    conversation_ids: set[int] | None = None
    only_direct: bool = False
    senders: set[UserId] = field(default_factory=set)
    ids: set[MessageId] | None = None
    flags: list[Flag] = field(default_factory=list)
    mentioned: list[UserId] = field(default_factory=list)
    traits: int = 0
    reacted: bool = False
    wanted: list[SearchTerm] = field(default_factory=list)
    not_wanted: list[tuple[SearchTerm, ...]] = field(default_factory=list)
    not_channel_ids: set[ChannelId] = field(default_factory=set)
    not_conversation_ids: set[int] = field(default_factory=set)
    not_senders: set[UserId] = field(default_factory=set)
    not_ids: set[MessageId] = field(default_factory=set)
    not_flags: list[Flag] = field(default_factory=list)
    not_mentioned: list[UserId] = field(default_factory=list)
    not_traits: int = 0
    not_reacted: bool = False
    not_direct: bool = False

    def in_channels(self, ids: Iterable[ChannelId], *, negated: bool) -> None:
        if negated:
            self.not_channel_ids.update(ids)
        else:
            found = set(ids)
            self.channel_ids = found if self.channel_ids is None else self.channel_ids & found

    def in_conversations(self, ids: Iterable[int], *, negated: bool) -> None:
        if negated:
            self.not_conversation_ids.update(ids)
        else:
            found = set(ids)
            known = self.conversation_ids
            self.conversation_ids = found if known is None else known & found

    @property
    def is_impossible(self) -> bool:
        """Whether the terms contradict each other."""
        return (
            any(each == set() for each in (self.channel_ids, self.conversation_ids, self.ids))
            or len(self.senders) > 1
            or (self.only_direct and (self.channel_ids is not None or self.not_direct))
            or bool(self.senders & self.not_senders)
            or bool(self.traits & self.not_traits)
            or (self.reacted and self.not_reacted)
            or not set(self.flags).isdisjoint(self.not_flags)
            or not set(self.mentioned).isdisjoint(self.not_mentioned)
        )


async def _scope(look: Look, said: _Gathered) -> HistoryScope | None:
    if said.is_impossible:
        return None
    channel_ids = said.channel_ids
    conversation_ids = said.conversation_ids
    in_feed = (
        conversation_ids is not None
        and channel_ids is None
        and not said.only_direct
        and not look.sees_everything
    )
    if in_feed and conversation_ids is not None and len(conversation_ids) > MANY_CONVERSATIONS:
        # So that a name of many topics is not looked up in all of the feed.
        conversation_ids = set(
            await narrows.topics_of_feed(
                look.connection, look.actor.realm_id, look.actor.user_id, sorted(conversation_ids)
            )
        )
    return HistoryScope(
        channel_ids=None if channel_ids is None else sorted(channel_ids),
        conversation_ids=_sorted(conversation_ids),
        in_feed=in_feed,
        only_direct=said.only_direct,
        sender_id=next(iter(said.senders), None),
        flags=tuple(dict.fromkeys(said.flags)),
        ids=None if said.ids is None else sorted(said.ids),
        mentioned=tuple(said.mentioned),
        traits=said.traits,
        reacted=said.reacted,
        search=await _planned(look, said, channel_ids),
        without=Without(
            channel_ids=tuple(sorted(said.not_channel_ids)),
            conversation_ids=tuple(sorted(said.not_conversation_ids)),
            sender_ids=tuple(sorted(said.not_senders)),
            ids=tuple(sorted(said.not_ids)),
            flags=tuple(said.not_flags),
            mentioned=tuple(said.not_mentioned),
            searches=tuple([await _search(look, each) for each in said.not_wanted]),
            traits=said.not_traits,
            reaction=said.not_reacted,
            # Messages in a channel are not direct anyway.
            direct=said.not_direct and channel_ids is None,
        ),
    )


async def _planned(
    look: Look, said: _Gathered, channel_ids: Collection[ChannelId] | None
) -> Search | None:
    if not said.wanted:
        return None
    wanted = await _search(look, list(dict.fromkeys(said.wanted)))
    places = None if channel_ids is None else sorted(channel_ids)
    return await search.planned(look.connection, look.actor.realm_id, wanted, places)


async def _search(look: Look, wanted: Sequence[SearchTerm]) -> Search:
    """Return the parsed search, cached: it depends on the text and the language only."""
    language = language_of((await look.realm_cache.settings()).default_language)
    texts = tuple((each.text, each.is_phrase) for each in wanted)
    key = ("search", language, texts)
    known: Search | None = look.realm_cache.recall(key)
    if known is None:
        known = await search.words_of(look.connection, language, texts)
        if sum(len(text) for text, _ in texts) <= MAX_KEPT_LENGTH:
            look.realm_cache.remember(key, known)
    return known


def _sorted(ids: Collection[int] | None) -> list[int] | None:
    return None if ids is None else sorted(ids)


# -- operators


async def _add_channel(look: Look, said: _Gathered, term: Term) -> None:
    found = await channel_of(look, term.operand)
    said.in_channels([found.channel_id], negated=term.negated)


async def _add_channels(look: Look, said: _Gathered, term: Term) -> None:
    found = await narrows.channels_that_are(look.connection, look.actor.realm_id, str(term.operand))
    said.in_channels(found, negated=term.negated)


async def _add_topic(look: Look, said: _Gathered, term: Term) -> None:
    name = await topic_name(look, term.operand)
    ids = await conversations.topic_ids_named(
        look.connection, look.actor.realm_id, name, _sorted(said.channel_ids)
    )
    said.in_conversations(ids, negated=term.negated)
    said.not_direct |= not term.negated


async def _add_dm(look: Look, said: _Gathered, term: Term) -> None:
    people = await group_of(look, term.operand)
    group = await conversations.dm_group_of(look.connection, look.actor.realm_id, people)
    said.in_conversations([] if group is None else [group], negated=term.negated)
    said.only_direct |= not term.negated


async def _add_dm_including(look: Look, said: _Gathered, term: Term) -> None:
    people = sorted({row.user_id for row in await companions(look, term.operand)})
    ids = await narrows.dm_groups_including(
        look.connection,
        look.actor.realm_id,
        people[0] if look.sees_everything and people else look.actor.user_id,
        people,
        at_least=3 if term.operator == "group-pm-with" else 1,
    )
    said.in_conversations(ids, negated=term.negated)
    said.only_direct |= not term.negated


async def _add_sender(look: Look, said: _Gathered, term: Term) -> None:
    [sender] = await users_named(look, term.operand, only=1)
    (said.not_senders if term.negated else said.senders).add(sender.user_id)


async def _add_id(look: Look, said: _Gathered, term: Term) -> None:
    del look
    wanted = message_id(term.operand)
    if term.negated:
        said.not_ids.add(wanted)
    else:
        said.ids = {wanted} if said.ids is None else said.ids & {wanted}


async def _add_mentions(look: Look, said: _Gathered, term: Term) -> None:
    [person] = await users_named(look, term.operand, only=1)
    (said.not_mentioned if term.negated else said.mentioned).append(person.user_id)


async def _add_has(look: Look, said: _Gathered, term: Term) -> None:
    del look
    what = str(term.operand).removesuffix("s")
    if what == "reaction":
        said.not_reacted |= term.negated
        said.reacted |= not term.negated
    elif term.negated:
        said.not_traits |= _TRAITS[what]
    else:
        said.traits |= _TRAITS[what]


async def _add_search(look: Look, said: _Gathered, term: Term) -> None:
    del look
    wanted = parse_search(str(term.operand))
    if term.negated:
        said.not_wanted.append(wanted)
    else:
        said.wanted.extend(wanted)


async def _add_is(look: Look, said: _Gathered, term: Term) -> None:
    operand = str(term.operand)
    if operand in ("dm", "private"):
        said.not_direct |= term.negated
        said.only_direct |= not term.negated
    elif operand == "pinned":
        await _add_pinned(look, said, negated=term.negated)
    elif operand in _FLAGS:
        (said.not_flags if term.negated else said.flags).append(_FLAGS[operand])
    else:
        topics = {
            "resolved": narrows.resolved_topics,
            "followed": narrows.followed_topics,
            "muted": narrows.muted_topics,
        }[operand]
        ids = await topics(
            look.connection, look.actor.realm_id, look.actor.user_id, _sorted(said.channel_ids)
        )
        said.in_conversations(ids, negated=term.negated)
        said.not_direct |= not term.negated


async def _add_pinned(look: Look, said: _Gathered, *, negated: bool) -> None:
    if negated:
        said.not_traits |= message_bits.PINNED
        return
    said.traits |= message_bits.PINNED
    channel_ids = None if said.channel_ids is None else sorted(said.channel_ids)
    found = {*await pins.message_ids(look.connection, look.actor.realm_id, channel_ids)}
    said.ids = found if said.ids is None else said.ids & found


_ADD: Final = {
    "channel": _add_channel,
    "channels": _add_channels,
    "topic": _add_topic,
    "dm": _add_dm,
    "dm-including": _add_dm_including,
    "group-pm-with": _add_dm_including,
    "sender": _add_sender,
    "id": _add_id,
    "mentions": _add_mentions,
    "search": _add_search,
    "has": _add_has,
    "is": _add_is,
}


def among(scope: HistoryScope, ids: Iterable[MessageId]) -> HistoryScope:
    """Return the scope limited to these messages."""
    wanted = set(ids)
    return replace(scope, ids=sorted(wanted if scope.ids is None else wanted & set(scope.ids)))
