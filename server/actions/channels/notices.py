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
from server.i18n import _, marked, ngettext, translated
from storage.channels import ChannelRow
from storage.ids import GroupId
from storage.users import UserRow

_TOPICS = {
    "inherit": marked("as the organization has it"),
    "allow_empty_topic": marked("messages may go without a topic"),
    "disable_empty_topic": marked("each message needs a topic"),
    "empty_topic_only": marked("no topics but the empty one"),
}


def of_change(
    actor: UserRow, old: ChannelRow, new: ChannelRow, graph: GroupGraph, language: str
) -> list[Notice]:
    """Return one message with all changes, in the language.

    Empty if there is nothing to report, or no topic for it.
    """
    lines = [translated(line, language) for line in _lines(old, new, graph, language)]
    if not lines or new.is_archived:
        return []
    said = translated(_("{person} changed this channel:", person=mention(actor)), language)
    topic = CHANNEL_EVENTS_TOPIC if allows_named_topics(new) else ""
    return [Notice(to=new.channel_id, topic=topic, content="\n".join([said, "", *lines]))]


def _lines(old: ChannelRow, new: ChannelRow, graph: GroupGraph, language: str) -> Iterator[str]:
    if old.is_archived and not new.is_archived:
        yield _("* It is open again, out of the archive.")
    if old.name != new.name:
        link = channel_link(new.channel_id, new.name)
        yield _("* Its name is {now} now. It was **{before}**.", now=link, before=literal(old.name))
    if privacy_differs(old, new):
        now, before = _privacy(new), _privacy(old)
        yield _("* It is **{now}** now. It was **{before}**.", now=now, before=before)
    now, before = _posting(new, graph, language), _posting(old, graph, language)
    if now != before:
        yield _("* Who may post: **{now}**. It was: **{before}**.", now=now, before=before)
    if old.topics_policy != new.topics_policy:
        now, before = _(_TOPICS[new.topics_policy]), _(_TOPICS[old.topics_policy])
        yield _("* Topics: **{now}**. It was: **{before}**.", now=now, before=before)
    if old.message_retention_days != new.message_retention_days:
        now, before = _kept(new), _kept(old)
        yield _("* Messages are kept **{now}** now. It was **{before}**.", now=now, before=before)
    if old.description != new.description:
        if new.description:
            yield _("* It is described so now:")
            yield from _quoted(new.description)
        else:
            yield _("* It is described so now: not at all.")
        if old.description:
            yield _("* It was described so:")
            yield from _quoted(old.description)
        else:
            yield _("* It was described so: not at all.")


def _privacy(channel: ChannelRow) -> str:
    if channel.is_web_public:
        return _("open to the web")
    if not channel.invite_only:
        return _("public")
    if channel.history_public_to_subscribers:
        return _("private, with shared history")
    return _("private, with protected history")


def _posting(channel: ChannelRow, graph: GroupGraph, language: str) -> str:
    setting = setting_of(channel, "can_send_message_group", graph)
    if setting.group_id is not None:
        return _group(graph, setting.group_id, language)
    names = [_group(graph, group_id, language) for group_id in setting.direct_subgroups]
    if setting.direct_members:
        people = ngettext("{count} person", "{count} people", len(setting.direct_members))
        names.insert(0, translated(people, language))
    return ", ".join(names)


def _group(graph: GroupGraph, group_id: GroupId, language: str) -> str:
    names = {known: name for name, known in graph.ids_by_name.items()}
    name = names.get(group_id, "")
    description = DESCRIPTIONS.get(name)
    return translated(_(description), language) if description else literal(name)


def _kept(channel: ChannelRow) -> str:
    days = channel.message_retention_days
    if days is None:
        return _("as long as the organization says")
    if days == KEPT_FOR_EVER:
        return _("for ever")
    return ngettext("for a day", "for {count} days", days)


def _quoted(description: str) -> Iterator[str]:
    runs = re.findall(r"`+|~+", description)
    fence = "`" * max(3, *(len(run) + 1 for run in runs), 0)
    yield f"{fence}quote"
    yield description
    yield fence
