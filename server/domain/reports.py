"""Reports of messages to the moderators."""

from collections.abc import Mapping
from typing import Final, Literal

from server.i18n import marked

ReportType = Literal["spam", "harassment", "inappropriate", "norms", "other"]

REPORT_TYPES: Final[Mapping[ReportType, str]] = {
    "spam": marked("Spam"),
    "harassment": marked("Harassment"),
    "inappropriate": marked("Inappropriate content"),
    "norms": marked("It breaks the rules of the organization"),
    "other": marked("Something else"),
}
"""Reasons to report a message, by their keys."""
