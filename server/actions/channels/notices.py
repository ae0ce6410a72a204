"""Notices of a channel's changes in its own topic."""

import re
from collections.abc import Iterator

from server.actions.messages.notices import Notice
from server.domain.access import GroupGraph
from server.domain.channel_changes import privacy_differs
from server.domain.channel_creation import KEPT_FOR_EVER
from server.domain.channels import CHANNEL_EVENTS_TOPIC, allows_named_topics, setting_of
from server.domain.groups import DESCRIPTIONS
from server.domain.markdown.writing import channel_link, literal, mention
from storage.channels import ChannelRow
from storage.ids import GroupId
from storage.users import UserRow

_TOPICS = {
    "inherit": "as the organization has it",
    "allow_empty_topic": "messages may go without a topic",
    "disable_empty_topic": "each message needs a topic",
    "empty_topic_only": "no topics but the empty one",
}


def of_change(actor: UserRow, old: ChannelRow, new: ChannelRow, graph: GroupGraph) -> list[Notice]:
    """Return one message with all changes.

    Empty if there is nothing to report, or no topic for it.
    """
    lines = list(_lines(old, new, graph))
    if not lines or new.is_archived:
        return []
    said = "\n".join([f"{mention(actor)} changed this channel:", "", *lines])
    topic = CHANNEL_EVENTS_TOPIC if allows_named_topics(new) else ""
    return [Notice(to=new.channel_id, topic=topic, content=said)]


def _lines(old: ChannelRow, new: ChannelRow, graph: GroupGraph) -> Iterator[str]:
    if old.is_archived and not new.is_archived:
        yield "* It is open again, out of the archive."
    if old.name != new.name:
        link = channel_link(new.channel_id, new.name)
        yield f"* Its name is {link} now. It was **{literal(old.name)}**."
    if privacy_differs(old, new):
        yield f"* It is **{_privacy(new)}** now. It was **{_privacy(old)}**."
    if _posting(old, graph) != _posting(new, graph):
        yield f"* Who may post: **{_posting(new, graph)}**. It was: **{_posting(old, graph)}**."
    if old.topics_policy != new.topics_policy:
        now, was = _TOPICS[new.topics_policy], _TOPICS[old.topics_policy]
        yield f"* Topics: **{now}**. It was: **{was}**."
    if old.message_retention_days != new.message_retention_days:
        yield f"* Messages are kept **{_kept(new)}** now. It was **{_kept(old)}**."
    if old.description != new.description:
        yield from _description("It is described so now", new)
        yield from _description("It was described so", old)


def _privacy(channel: ChannelRow) -> str:
    if channel.is_web_public:
        return "open to the web"
    if not channel.invite_only:
        return "public"
    history = "shared" if channel.history_public_to_subscribers else "protected"
    return f"private, with {history} history"


def _posting(channel: ChannelRow, graph: GroupGraph) -> str:
    setting = setting_of(channel, "can_send_message_group", graph)
    if setting.group_id is None:
        count = len(setting.direct_members)
        people = f"{count} {'person' if count == 1 else 'people'}"
        names = [_group(graph, group_id) for group_id in setting.direct_subgroups]
        return ", ".join([*([people] if count else []), *names])
    return _group(graph, setting.group_id)


def _group(graph: GroupGraph, group_id: GroupId) -> str:
    names = {known: name for name, known in graph.ids_by_name.items()}
    name = names.get(group_id, "")
    return DESCRIPTIONS.get(name) or literal(name)


def _kept(channel: ChannelRow) -> str:
    days = channel.message_retention_days
    if days is None:
        return "as long as the organization says"
    if days == KEPT_FOR_EVER:
        return "for ever"
    return "for a day" if days == 1 else f"for {days} days"


def _description(said: str, channel: ChannelRow) -> Iterator[str]:
    if not channel.description:
        yield f"* {said}: not at all."
        return
    runs = re.findall(r"`+|~+", channel.description)
    fence = "`" * max(3, *(len(run) + 1 for run in runs), 0)
    yield f"* {said}:"
    yield f"{fence}quote"
    yield channel.description
    yield fence
