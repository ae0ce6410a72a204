"""An administrator resets the second factors of a person, in the browser client."""

import pytest
from playwright.async_api import expect

from server.domain.access import ADMINISTRATOR
from storage import second_factors

pytestmark = pytest.mark.asyncio


async def test_an_administrator_resets_the_second_factors_of_a_person(sign_in, make):
    iago = await make.user("Iago", role=ADMINISTRATOR)
    cook = await make.user("Cook")
    await second_factors.insert_totp(
        make.connection, make.realm_id, cook.user_id, name="Phone", secret=b"sealed", step=0
    )
    person = await sign_in(iago)
    await person.go(f"#user/{cook.user_id}")
    await person.page.get_by_role("button", name="Reset second factors").click()
    dialog = person.page.get_by_role("dialog", name="Reset the second factors of Cook?")
    await dialog.get_by_role("button", name="Reset second factors").click()
    await expect(person.page.get_by_text("The second factors have been removed.")).to_be_visible()
    assert not await second_factors.has_any(make.connection, make.realm_id, cook.user_id)
