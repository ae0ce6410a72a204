"""The message dialect: Markdown to HTML and mentions, without any I/O."""

from server.domain.markdown.linkifiers import NO_LINKIFIERS, Linkifier, Linkifiers
from server.domain.markdown.media import MediaPolicy
from server.domain.markdown.names import Names, names_in
from server.domain.markdown.rendering import (
    Rendered,
    Style,
    jobs_in,
    render,
    render_description,
)
from server.domain.markdown.resolver import (
    EmptyResolver,
    MentionedChannel,
    MentionedGroup,
    MentionedUser,
    MentionResolver,
)
from server.domain.markdown.serializer import mentioned_groups_in
from server.domain.markdown.typesetting import PlainTypesetter, Typesetter

__all__ = [
    "NO_LINKIFIERS",
    "EmptyResolver",
    "Linkifier",
    "Linkifiers",
    "MediaPolicy",
    "MentionResolver",
    "MentionedChannel",
    "MentionedGroup",
    "MentionedUser",
    "Names",
    "PlainTypesetter",
    "Rendered",
    "Style",
    "Typesetter",
    "jobs_in",
    "mentioned_groups_in",
    "names_in",
    "render",
    "render_description",
]
