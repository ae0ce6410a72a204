"""Descriptions of topics: limits and form."""

from typing import Final

from server.domain.channels import one_paragraph
from server.domain.markdown import render_description
from storage.topic_descriptions import TopicDescription

MAX_TOPIC_DESCRIPTION_LENGTH: Final = 1_000
"""In code points."""
MAX_DESCRIBED_TOPICS: Final = 100
"""Number in a channel that more descriptions are refused for; moves may exceed it."""


def described(text: str) -> TopicDescription | None:
    """Return the description that this Markdown makes; None if it is blank."""
    cleaned = one_paragraph(text)
    return TopicDescription(cleaned, render_description(cleaned)) if cleaned else None
