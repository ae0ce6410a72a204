"""Failing again and again is told of once."""

import pytest
import structlog
from structlog.testing import capture_logs

from server.messaging.backoff import Backoff


@pytest.mark.asyncio
async def test_only_the_first_failure_since_something_succeeded_is_told_of():
    backoff = Backoff(first=0.001, longest=0.002)
    logger = structlog.get_logger()
    with capture_logs() as logs:
        for reason in ("one", "two", "three"):
            backoff.log_once(logger, "away", reason=reason)
            await backoff.pause()
        backoff.succeeded()
        backoff.log_once(logger, "away", reason="four")
    assert [each["reason"] for each in logs] == ["one", "four"]
