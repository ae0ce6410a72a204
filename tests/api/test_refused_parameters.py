"""Parameters of later levels that choose the object of a request are refused by name."""

import pytest

from server.api.routes import ROUTES
from server.domain.access import ADMINISTRATOR

pytestmark = pytest.mark.asyncio

REFUSED = [
    (endpoint.method, endpoint.path, name) for endpoint in ROUTES for name in endpoint.refuses
]


async def test_settings_of_others_are_not_ones_own(log_in, make):
    boss, other = await log_in(role=ADMINISTRATOR), await make.user("Grace")
    before = (await boss.post("/register"))["user_settings"]
    answer = await boss.call(
        "PATCH", "/settings", enter_sends=True, target_users={"user_ids": [other.user_id]}
    )
    assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "target_users"
    assert (await boss.post("/register"))["user_settings"] == before


async def test_an_account_whose_messages_were_to_go_stays_open(log_in, make):
    boss, other = await log_in(role=ADMINISTRATOR), await make.user("Grace")
    path = f"/users/{other.user_id}"
    answer = await boss.call("DELETE", path, actions={"delete_profile": True})
    assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "actions"
    assert (await boss.get(path))["user"]["is_active"]
    await boss.delete(path)


@pytest.mark.parametrize(("method", "path", "name"), REFUSED)
async def test_no_declared_parameter_is_refused(method, path, name):
    [endpoint] = [each for each in ROUTES if (each.method, each.path) == (method, path)]
    assert name not in endpoint.params.model_fields
