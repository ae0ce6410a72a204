"""The message dialect: Markdown in, HTML and mentions out, without any input or output."""

from server.domain.markdown.directory import (
    EmptyDirectory,
    MentionDirectory,
    MentionedChannel,
    MentionedGroup,
    MentionedUser,
)
from server.domain.markdown.names import Names, names_in
from server.domain.markdown.rendering import Rendered, render, render_description

__all__ = [
    "EmptyDirectory",
    "MentionDirectory",
    "MentionedChannel",
    "MentionedGroup",
    "MentionedUser",
    "Names",
    "Rendered",
    "names_in",
    "render",
    "render_description",
]
