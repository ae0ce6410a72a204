"""Links to calls over HTTP, where this server is told of no service for them."""

import pytest

from server.domain.access import ADMINISTRATOR

pytestmark = pytest.mark.asyncio


async def test_without_a_service_there_is_no_link_and_no_choice(log_in):
    member, boss = await log_in(), await log_in(role=ADMINISTRATOR)
    refused = await member.call("GET", "/calls/bigbluebutton/create", meeting_name="Lunch")
    assert refused.refused()["msg"] == "BigBlueButton is not configured."
    refused = await member.call("POST", "/calls/zoom/create", is_video_call=True)
    assert refused.refused()["msg"] == "Zoom is not configured."
    refused = await member.call("POST", "/calls/webex/create")
    assert refused.refused()["msg"] == "Webex is not configured."
    state = (await boss.register(fetch_event_types=["realm"])).state
    assert set(state["realm_available_video_chat_providers"]) == {"disabled", "jitsi_meet"}
    refused = await boss.call("PATCH", "/realm", video_chat_provider=4)
    assert refused.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "video_chat_provider"
