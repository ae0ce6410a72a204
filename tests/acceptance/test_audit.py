"""`parley audit`: an operator sees who changed what."""

import asyncio
import json

import pytest

from server.actions.user_settings import OwnChange, change_own_settings
from tests.acceptance.test_operations import parley


async def change(stage, make, row, **settings):
    actor = await make.actor(row)
    await stage.write(change_own_settings, actor, OwnChange(settings=settings))


@pytest.mark.asyncio
async def test_an_operator_sees_who_changed_what(stage, make, database_url):
    cook, baker = [await make.user(email=f"{n}@example.com") for n in ("cook", "baker")]
    await change(stage, make, cook, color_scheme=2)
    await change(stage, make, baker, enter_sends=True)
    subdomain = await make.connection.value(
        "SELECT subdomain FROM realms WHERE realm_id = %(realm_id)s", realm_id=make.realm_id
    )

    def audit(*options):
        # In a thread: the command runs an event loop of its own.
        return parley("audit", "--realm", subdomain, *options, DATABASE_URL=database_url)

    done = await asyncio.to_thread(audit, "--json")
    newest, oldest = json.loads(done.out)
    assert (newest["who"], newest["after"]) == ("baker@example.com", '{"enter_sends": true}')
    assert (oldest["what"], oldest["of"]) == ("user_setting_changed", cook.user_id)
    assert oldest["before"] == '{"color_scheme": 1}'

    done = await asyncio.to_thread(audit, "--by", "COOK@example.com")
    assert "cook@example.com" in done.out
    assert "baker@example.com" not in done.out
    done = await asyncio.to_thread(audit, "--action", "realm_changed")
    assert done.out.strip() == "Nothing has been changed."
    done = await asyncio.to_thread(audit, "--by", "nobody@example.com")
    assert done.status == 1
    assert "No account has the address" in str(done)
