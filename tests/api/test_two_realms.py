"""Ids of another organization: they are treated like ids that do not exist."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from types import NoneType
from typing import Any, get_args

import pytest
import pytest_asyncio
from psycopg import sql

from server.api.params import Params, readers
from server.api.routes import ROUTES
from storage.database import Connection
from storage.ids import RealmId
from testkit.clients.api import Answer
from testkit.factories import new_realm
from tests.api.permissions import world
from tests.api.permissions.asking import ask
from tests.api.permissions.expectations import ROWS
from tests.api.permissions.references import (
    LENIENT,
    NAMES_NOTHING,
    NOT_EVEN_ONES_OWN,
    REFERENCES,
    SWAPS,
    TEXTS,
)
from tests.api.permissions.world import Values, World

CANARY = "Kanarienvogel"
FAR = 1_000_000
"""Where the other realm's clock begins: message ids are positions, and repeat."""
UNKNOWN_OFFSET = 10**9
"""To be added to an id: there is none."""
REFUSED = {400, 403, 404}
CALLED_LIKE_AN_ID = re.compile(
    r"(^|_)(ids?|groups?|users?|members?|principals|subscribers|subgroups|streams?|channels?|"
    r"messages|to|add|delete|narrow|anchor|email|queue|fragment|drafts?|subscriptions|data)$"
)


@dataclass(frozen=True, slots=True)
class Trial:
    """A request of one realm with an id of the other in it, and the same with an unknown id."""

    endpoint: str
    parameter: str
    sound: Values
    foreign: Any
    fields: Values = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.endpoint} {self.parameter}"

    def with_value(self, value: Any) -> Values:
        return {**self.sound, **self.fields, self.parameter: value}

    @property
    def with_unknown_ids(self) -> Any:
        return with_unknown_ids(
            self.foreign, texts=self.parameter in TEXTS or isinstance(self.foreign, str)
        )


def with_unknown_ids(value: Any, *, texts: bool) -> Any:
    """The same, with ids that do not exist, and names where those name something."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value + UNKNOWN_OFFSET
    if isinstance(value, str):
        return f"no{value}" if texts or "@" in value or CANARY in value else value
    if isinstance(value, list):
        return [with_unknown_ids(each, texts=texts) for each in value]
    assert isinstance(value, dict)
    return {name: with_unknown_ids(each, texts=texts) for name, each in value.items()}


@pytest_asyncio.fixture
async def worlds(serving_with, make, connect) -> AsyncIterator[tuple[World, World]]:
    """Two realms on one server, alike to a hair."""
    elsewhere = await new_realm(make.connection)
    await make.connection.execute(
        "UPDATE realm_clock SET position = %(far)s WHERE realm_id = %(realm_id)s",
        far=FAR,
        realm_id=elsewhere.realm_id,
    )
    async with serving_with(web_public_channels=True, smtp_host="127.0.0.1") as server:
        here = await World.of(server, make, connect, "here")
        yield here, await World.of(server, elsewhere, connect, CANARY)


async def trials(here: World, there: World) -> AsyncIterator[Trial]:
    """Every parameter of the table that names something, with each kind of object.

    The request is one that the owner may make; only what it names is the other realm's.
    """
    for row in ROWS:
        sound_kind = next((kind for kind, who in row.allowed.items() if "O" in who), None)
        if sound_kind is None:
            continue
        for kind in row.allowed:
            sound = await row.objects(here, "O", sound_kind)
            foreign = await row.objects(there, "O", kind)
            for parameter in filter(is_reference, foreign):
                trial = Trial(row.endpoint, parameter, sound, foreign[parameter], {**row.fields})
                if trial.name not in NAMES_NOTHING:
                    yield trial
    for swap in SWAPS:
        sound = await swap.base(here, "O", "own")
        foreign = await swap.value(there)
        yield Trial(swap.endpoint, swap.parameter, sound, foreign, {**swap.fields})


def is_reference(parameter: str) -> bool:
    is_id = parameter.endswith(("_id", "_ids")) and parameter != "last_event_id"
    return is_id or parameter in REFERENCES


async def rows_of(connection: Connection, realm_id: RealmId) -> dict[str, str]:
    """A digest of each table's rows of the realm."""
    tables = await connection.values(
        """
        SELECT c.relname FROM pg_class c
          JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'realm_id'
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
           AND NOT c.relispartition ORDER BY 1
        """
    )
    digest = sql.SQL(
        "SELECT {name}, md5(coalesce(string_agg(t::text, '|' ORDER BY t::text), ''))"
        " FROM {table} t WHERE realm_id = {realm_id}"
    )
    query = sql.SQL(" UNION ALL ").join(
        digest.format(
            name=sql.Literal(table), table=sql.Identifier(table), realm_id=sql.Literal(realm_id)
        )
        for table in tables
    )
    cursor = await connection.raw.execute(query)
    return dict(await cursor.fetchall())


async def wrong(here: World, trial: Trial) -> list[str]:
    """What is not as it should be."""
    found = []
    foreign = await ask(here.clients["O"], trial.endpoint, trial.with_value(trial.foreign))
    unknown = await ask(here.clients["O"], trial.endpoint, trial.with_value(trial.with_unknown_ids))
    said = f"{trial.name} {trial.foreign}: {foreign.status} {foreign.content[:200]!r}"
    refused = REFUSED | ({401} if trial.parameter == "username" else set())
    if foreign.status not in refused and trial.name not in LENIENT:
        found.append(f"not refused: {said}")
    if told(trial.foreign, foreign) != told(trial.with_unknown_ids, unknown):
        found.append(f"otherwise than for unknown ids ({unknown.content[:200]!r}): {said}")
    if CANARY in told(trial.foreign, foreign):
        found.append(f"tells of the other realm: {said}")
    return found


def told(asked: Any, answer: Answer) -> str:
    """The answer, without what was asked, and without numbers: ids, positions and times."""
    text = answer.content.decode()
    if answer.status == 200 and '"queue_id":"' in text:
        return "a queue"
    for name in texts_in(asked):
        text = text.replace(name, "?")
    return f"{answer.status} {re.sub('[0-9]+', '#', text)}"


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)


@pytest.mark.asyncio
async def test_ids_of_another_realm_do_not_exist(worlds):
    here, there = worlds
    found: list[str] = []
    every = [trial async for trial in trials(here, there)]
    await there.server.app.activity.write()  # what it took to make all that
    before = await rows_of(there.make.connection, there.make.realm_id)
    for trial in every:
        found += await wrong(here, trial)
    after = await rows_of(there.make.connection, there.make.realm_id)

    assert not found, "\n".join(found)
    assert {name for name in after if after[name] != before[name]} == set()
    assert untried({trial.name for trial in every}) == set()


def untried(tried: set[str]) -> set[str]:
    """Parameters called like what names something: give them values in references.py.

    Or say there that they name nothing.
    """
    assert LENIENT.keys() <= tried
    named = {
        f"{route.method} {route.path} {name}" for route in ROUTES for name in named_in(route.params)
    }
    return named - tried - NAMES_NOTHING.keys()


def named_in(model: type[Params]) -> Iterator[str]:
    for reader in readers(model):
        is_switch = kinds_of(model.model_fields[reader.name].annotation) == {bool}
        if CALLED_LIKE_AN_ID.search(reader.name) and not is_switch:
            yield reader.name


def kinds_of(annotation: Any) -> set[Any]:
    """The types that a parameter may have, None aside."""
    options = get_args(annotation) or (annotation,)
    return {each for each in options if each is not NoneType}


@pytest.mark.asyncio
async def test_the_same_requests_with_ones_own_are_accepted(worlds):
    """So that the owner is the only reason for a refusal of the others."""
    here, _ = worlds
    found = []
    for swap in SWAPS:
        if f"{swap.endpoint} {swap.parameter}" in NOT_EVEN_ONES_OWN:
            continue
        sound = await swap.base(here, "O", "own")
        given = {**sound, **swap.fields, swap.parameter: await swap.value(here)}
        answer = await ask(here.clients["O"], swap.endpoint, given)
        if answer.status != 200:
            found.append(f"{swap.endpoint} with {given}: {answer.content!r}")

    assert not found, "\n".join(found)


@pytest.mark.asyncio
async def test_the_digest_of_rows_sees_each_change(worlds):
    _, there = worlds
    before = await rows_of(there.make.connection, there.make.realm_id)
    await world.message(there, "m", "own")
    after = await rows_of(there.make.connection, there.make.realm_id)
    assert {"messages", "realm_clock", "event_log"} <= {n for n in after if after[n] != before[n]}
