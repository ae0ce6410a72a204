"""Descriptions of imported channels."""

from server.domain.channels import MAX_DESCRIPTION_LENGTH, clean_description
from server.i18n import marked
from server.imports.records import Channel
from server.imports.report import ImportReport


def imported_description(channel: Channel, report: ImportReport) -> str:
    """Return the channel's description, cut to what descriptions may have."""
    if len(channel.description) > MAX_DESCRIPTION_LENGTH:
        report.remark(marked("descriptions of channels were cut"), channel.name)
    return clean_description(channel.description[:MAX_DESCRIPTION_LENGTH])
