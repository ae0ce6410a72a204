"""The organization's domains over HTTP."""

import pytest

from server.domain.access import ADMINISTRATOR, GUEST, OWNER

pytestmark = pytest.mark.asyncio


async def test_they_are_added_changed_and_removed(log_in):
    owner, guest = await log_in(role=OWNER), await log_in(role=GUEST)
    queue = await guest.register(event_types=["realm_domains"])

    added = await owner.post("/realm/domains", domain="Example.com", allow_subdomains=True)
    await owner.post("/realm/domains", domain="example.org", allow_subdomains=False)
    await owner.patch("/realm/domains/example.com", allow_subdomains=False)

    assert added["new_domain"][1] == "example.com"
    listed = [
        {"domain": "example.com", "allow_subdomains": False},
        {"domain": "example.org", "allow_subdomains": False},
    ]
    assert (await guest.get("/realm/domains"))["domains"] == listed
    state = (await guest.register(fetch_event_types=["realm_domains"])).state
    assert state["realm_domains"] == listed
    await owner.delete("/realm/domains/example.com")
    ops = [(await queue.until("realm_domains"))["op"] for _ in range(4)]
    assert ops == ["add", "add", "change", "remove"]
    assert (await guest.get("/realm/domains"))["domains"] == listed[1:]


async def test_what_cannot_be_is_refused(log_in):
    owner, boss = await log_in(role=OWNER), await log_in(role=ADMINISTRATOR)
    wrong = await owner.call("POST", "/realm/domains", domain="localhost", allow_subdomains=True)
    assert wrong.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "domain"
    (await owner.call("POST", "/realm/domains", domain="example.com")).refused(
        "REQUEST_VARIABLE_MISSING"
    )
    (await owner.call("PATCH", "/realm/domains/example.com", allow_subdomains=True)).refused()
    (await owner.call("DELETE", "/realm/domains/example.com")).refused()
    fields = {"domain": "example.com", "allow_subdomains": True}
    (await boss.call("POST", "/realm/domains", **fields)).refused()
