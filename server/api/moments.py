"""Moments in parameters and responses: seconds since 1970."""

from datetime import UTC, datetime
from typing import Annotated

from server.api.params import Field

Moment = Annotated[int, Field(ge=0, le=253_402_300_799)]
"""A parameter: a moment until the end of the year 9999."""


def seconds_of(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.timestamp())


def moment_of(seconds: int | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
