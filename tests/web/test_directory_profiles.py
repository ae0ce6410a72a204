"""Profile fields and pictures follow a directory's attributes at each sign-in."""

import asyncio
import json

import pytest
import pytest_asyncio

from server.domain.access import OWNER
from server.domain.profile_fields import FieldType
from storage import profile_data, users
from storage.ids import ProfileFieldId
from testkit.clients.ldap_server import SECRET
from testkit.images import picture

pytestmark = pytest.mark.asyncio

FIELDS = {
    "telephoneNumber": "phone",
    "ou": "Team",
    "labeledURI": "Page",
    "st": "no such field",
}


@pytest_asyncio.fixture
async def fields(make) -> dict[str, ProfileFieldId]:
    """A short text, a choice and a link, which people may not change themselves."""
    team = '{"0": {"text": "Kitchen", "order": "1"}}'
    return {
        "Phone": await make.profile_field("Phone"),
        "Team": await make.profile_field("Team", FieldType.SELECT, team),
        "Page": await make.profile_field("Page", FieldType.URL),
    }


async def values(make, fields, user_id) -> dict[str, str]:
    found = await profile_data.of_users(make.connection, make.realm_id, [user_id])
    names = {field_id: name for name, field_id in fields.items()}
    return {names[field_id]: row.value for field_id, row in found.get(user_id, {}).items()}


async def test_profile_fields_follow_attributes(
    asking, ldap_search, of_directory, people, make, fields, capfd
):
    await make.user(role=OWNER)
    person = {"mail": "ada@example.com", "telephoneNumber": "+44 1", "ou": "kitchen"}
    people.put("ada", SECRET, **person)
    async with asking({**ldap_search, "ldap_profile_fields": json.dumps(FIELDS)}) as ask:
        user_id = (await ask("ada", SECRET)).succeeded()["user_id"]
        assert await values(make, fields, user_id) == {"Phone": "+44 1", "Team": "0"}
        own = {"labeledURI": "no address", "ou": "Cellar", "telephoneNumber": "+44 2"}
        people.change("ada", **own)
        (await ask("ada", SECRET)).succeeded()
        assert await values(make, fields, user_id) == {"Phone": "+44 2", "Team": "0"}
        people.change("ada", telephoneNumber=[])
        (await ask("ada", SECRET)).succeeded()
        (await ask("ada", SECRET)).succeeded()
    assert await values(make, fields, user_id) == {"Team": "0"}
    changes = await make.connection.value(
        "SELECT count(*) FROM audit_log WHERE realm_id = %(r)s AND action = 'profile_data_changed'"
        " AND subject_id = %(u)s AND actor_id <> %(u)s",
        r=make.realm_id,
        u=user_id,
    )
    assert changes == 3
    logged = "".join(capfd.readouterr())
    for reason in ("Page is not a URL", "'Cellar' is not a valid choice", "there is no such field"):
        assert reason in logged


async def test_pictures_follow_the_entry(asking, ldap_search, of_directory, people, make, capfd):
    await make.user(role=OWNER)
    red, blue = picture("JPEG", color="red"), picture("JPEG", color="blue")
    people.put("ada", SECRET, mail="ada@example.com", jpegPhoto=red)
    ada = await make.user("Ada", email="ada@example.com")
    async with asking({**ldap_search, "ldap_picture_attribute": "jpegPhoto"}) as ask:
        shown = []
        contents: list[bytes | list[bytes]] = [red, red, blue, b"no picture", [], red]
        for content in contents:
            people.change("ada", jpegPhoto=content)
            (await ask("ada", SECRET)).succeeded()
            [row] = await users.by_ids(make.connection, make.realm_id, [ada.user_id])
            assert row.avatar_key is not None
            assert await ask.server.app.blobs.size(row.avatar_key)
            shown.append((row.avatar_version, row.avatar_key))
        people.change("ada", jpegPhoto=blue)
        for answer in await asyncio.gather(*(ask("ada", SECRET) for _ in range(3))):
            answer.succeeded()
        [row] = await users.by_ids(make.connection, make.realm_id, [ada.user_id])
        assert row.avatar_version == shown[-1][0] + 1
    first, again, second, still, kept, third = shown
    assert first == again
    assert second == still == kept
    assert len({first, second, third}) == 3
    assert [version for version, _ in (second, third)] == [first[0] + 1, first[0] + 2]
    assert "directory.picture_refused" in "".join(capfd.readouterr())
