"""`parley directory sync` brings accounts to the state of a real directory."""

import asyncio
import json

import pytest
import pytest_asyncio

from server.domain.access import MODERATOR, OWNER
from storage import directory_ids, groups, users
from testkit.images import picture
from testkit.services.ldap import GROUPS, LISTER, PEOPLE, READER, READER_PASSWORD
from tests.acceptance.test_operations import parley

pytestmark = pytest.mark.asyncio

NAMES = ("ada", "bob", "cem", "dan", "eva")


@pytest_asyncio.fixture
async def sync(make, database_url, people, certificate, tmp_path):
    """`parley directory sync` with five people, all of which have signed in before."""
    await make.change_settings(authentication_methods=["LDAP"])
    await make.user("Owner", role=OWNER, email="owner@example.com")
    for number, name in enumerate(NAMES):
        row = await make.user(name.title(), email=f"{name}@example.com")
        people.put(name, "secret", mail=row.email, employeeNumber=str(number))
        await directory_ids.insert(make.connection, make.realm_id, row.user_id, str(number))
    subdomain = await make.connection.value(
        "SELECT subdomain FROM realms WHERE realm_id = %(realm_id)s", realm_id=make.realm_id
    )
    settings = {
        "DATABASE_URL": database_url,
        "PARLEY_DATA": str(tmp_path),
        "PARLEY_LDAP_URL": people.url,
        "PARLEY_LDAP_CA": str(certificate.folder / "certificate.pem"),
        "PARLEY_LDAP_BIND_DN": READER,
        "PARLEY_LDAP_BIND_PASSWORD": READER_PASSWORD,
        "PARLEY_LDAP_BASE": PEOPLE,
        "PARLEY_LDAP_ID_ATTRIBUTE": "employeeNumber",
        "PARLEY_LDAP_GROUPS": json.dumps({f"cn=engineers,{GROUPS}": "engineers"}),
        "PARLEY_LDAP_ROLES": json.dumps({f"cn=leads,{GROUPS}": "moderator"}),
    }

    async def run(*options, **changes):
        arguments = ("directory", "sync", "--realm", subdomain, *options)
        wanted = {n: v for n, v in {**settings, **changes}.items() if v is not None}
        return await asyncio.to_thread(parley, *arguments, **wanted)

    return run


async def active(make) -> set[str]:
    rows = await users.all_of_realm(make.connection, make.realm_id)
    return {row.full_name for row in rows if row.is_active and row.bot_type is None}


async def test_accounts_follow_their_entries(sync, make, people):
    everyone = await active(make)
    group_id = await make.group("engineers")
    people.put_group("engineers", "ada")
    people.put_group("leads", "ada")
    people.change("bob", cn="Robert", mail="robert@example.com", telephoneNumber="+44 1")
    await make.profile_field("Phone")
    people.remove("cem")
    expected = [
        "deactivate  cem@example.com",
        "change      ada@example.com: into engineers, role moderator",
        "change      bob@example.com: name Robert, address robert@example.com, 1 profile field",
    ]
    fields = {"PARLEY_LDAP_PROFILE_FIELDS": '{"telephoneNumber": "phone", "st": "State"}'}
    trial = await sync("--dry-run", **fields)
    assert trial.err == "note: profile field State: there is no such field\n"
    last = "deactivate 1 and change 2 of 5 accounts."
    assert trial.out.splitlines() == [*expected, f"Would {last}"], trial
    assert await active(make) == everyone
    done = await sync(**fields)
    assert done.out.splitlines() == [*expected, f"Done: {last}"], done
    assert await active(make) == {"Owner", "Ada", "Robert", "Dan", "Eva"}
    [ada] = await users.by_emails(make.connection, make.realm_id, ["ada@example.com"])
    group = await groups.by_id(make.connection, make.realm_id, group_id)
    assert group is not None
    assert (ada.role, group.member_ids) == (MODERATOR, [ada.user_id])
    again = await sync(**fields)
    assert again.out == "Done: deactivate 0 and change 0 of 5 accounts.\n"


async def test_only_what_the_directory_closed_is_opened(sync, make, people):
    people.put("cem", "secret", mail="cem@example.com", employeeNumber="2")
    people.remove("cem")
    await sync()
    [dan] = await users.by_emails(make.connection, make.realm_id, ["dan@example.com"])
    await make.connection.execute(
        "UPDATE users SET is_active = false WHERE user_id = %(u)s", u=dan.user_id
    )
    people.put("cem", "secret", mail="cem@example.com", employeeNumber="2")
    answer = await sync()
    assert answer.out.splitlines()[0] == "reactivate  cem@example.com", answer
    assert await active(make) == {"Owner", "Ada", "Bob", "Cem", "Eva"}


async def test_many_closures_are_confirmed(sync, make, people):
    everyone = await active(make)
    for name in NAMES[:4]:
        people.remove(name)
    for answer in (
        await sync(),
        await sync("--dry-run"),
        await sync("--max-closures", "3"),
        await sync(PARLEY_LDAP_FILTER="(&(cn=Unknown)(uid=%s))"),
        await sync("--yes", PARLEY_LDAP_FILTER="(&(cn=Unknown)(uid=%s))"),
        await sync("--yes", PARLEY_LDAP_URL="ldap://127.0.0.1:1"),
        await sync("--yes", PARLEY_LDAP_BASE=f"ou=nowhere,{PEOPLE}"),
    ):
        assert answer.status == 1, answer
        assert "othing was changed" in answer.err
        assert len(answer.err.strip().splitlines()) == 1
    assert await active(make) == everyone
    assert (await sync("--max-closures", "4")).status == 0
    assert await active(make) == {"Owner", "Eva"}


async def test_the_last_owner_stays(sync, make, people):
    await make.connection.execute(
        "UPDATE users SET role = CASE email WHEN 'bob@example.com' THEN 100 ELSE 400 END"
        " WHERE realm_id = %(r)s AND bot_type IS NULL",
        r=make.realm_id,
    )
    people.remove("bob")
    answer = await sync()
    assert answer.out.splitlines()[0].startswith("keep        bob@example.com"), answer
    assert "Bob" in await active(make)


async def test_a_part_of_the_people_is_not_taken_for_all(sync, make, people):
    """The limit of size of this directory is 500."""
    people.put_many({f"n{number}": {"employeeNumber": f"n{number}"} for number in range(501)})
    answer = await sync("--yes")
    assert "Nothing was changed. The directory failed: it does not list all people" in answer.err
    for number in range(10):
        people.remove(f"n{number}")
    people.remove("ada")
    answer = await sync()
    assert answer.out.splitlines()[0] == "deactivate  ada@example.com", answer


async def test_all_pages_of_a_large_directory_are_read(sync, make, people):
    """Where the account that searches has no limit of size."""
    people.put_many({f"n{number}": {"employeeNumber": f"n{number}"} for number in range(1_100)})
    people.remove("bob")
    last = await make.user("Last", email="last@example.com")
    people.put("zz", None, mail="last@example.com", cn="Zoe", employeeNumber="zz")
    await directory_ids.insert(make.connection, make.realm_id, last.user_id, "zz")
    answer = await sync(PARLEY_LDAP_BIND_DN=LISTER)
    assert answer.out.splitlines() == [
        "deactivate  bob@example.com",
        "change      last@example.com: name Zoe",
        "Done: deactivate 1 and change 1 of 6 accounts.",
    ], answer


async def test_groups_that_list_names_put_people_into_groups(sync, make, people):
    group_id = await make.group("engineers")
    people.put_posix_group("engineers", 1, "ada", "dan")
    answer = await sync(PARLEY_LDAP_GROUP_BASE=GROUPS, PARLEY_LDAP_GROUP_FILTER="(memberUid=%u)")
    assert answer.out.splitlines()[-1] == "Done: deactivate 0 and change 2 of 5 accounts.", answer
    group = await groups.by_id(make.connection, make.realm_id, group_id)
    members = await users.by_emails(
        make.connection, make.realm_id, ["ada@example.com", "dan@example.com"]
    )
    assert group is not None
    assert sorted(group.member_ids) == sorted(each.user_id for each in members)


async def test_pictures_follow_their_entries(sync, make, people):
    async def picture_of(name: str) -> tuple[int, str | None]:
        [row] = await users.by_emails(make.connection, make.realm_id, [f"{name}@example.com"])
        return row.avatar_version, row.avatar_key

    attribute = {"PARLEY_LDAP_PICTURE_ATTRIBUTE": "jpegPhoto"}
    people.change("ada", jpegPhoto=picture("JPEG", color="red"))
    people.change("bob", jpegPhoto=b"no picture")
    expected = [f"change      {name}@example.com: picture" for name in ("ada", "bob")]
    before = await picture_of("ada")
    trial = await sync("--dry-run", **attribute)
    assert trial.out.splitlines()[:2] == expected, trial
    assert await picture_of("ada") == before
    done = await sync(**attribute)
    assert done.out.splitlines()[:2] == expected, done
    assert "note: bob@example.com: the picture was refused" in done.err
    version, key = await picture_of("ada")
    assert (version, bool(key)) == (before[0] + 1, True)
    again = await sync(**attribute)
    assert again.out.splitlines()[:-1] == expected[1:], again
    assert await picture_of("ada") == (version, key)


async def test_operators_are_told_what_is_missing(sync, make):
    assert "PARLEY_LDAP_ID_ATTRIBUTE is not set" in (await sync(PARLEY_LDAP_ID_ATTRIBUTE=None)).err
    await make.change_settings(authentication_methods=["Email"])
    assert "does not use the directory" in (await sync()).err
