"""The browser client's model: register and events together are the state of a new registration."""

import secrets

import uvloop

from testkit.database import new_database
from testkit.leaks.world import serve
from testkit.web_histories import Tally, WebHistory
from testkit.web_model import WebModel, web_model

STEPS = 200


async def _live(web: WebModel, database_url: str, seed: str) -> tuple[list[str], Tally]:
    tally = Tally()
    async with serve(database_url) as place:
        return await WebHistory(place, web, seed, tally).live("web", STEPS), tally


def test_events_lead_to_the_state_of_a_new_registration(server_url, template_database, tmp_path):
    seed = secrets.token_hex(4)
    with new_database(server_url, template_database) as url, web_model(tmp_path) as web:
        problems, tally = uvloop.run(_live(web, url, seed))
    assert not problems, "\n".join([f"seed {seed}", *problems])
    assert tally.steps >= STEPS
    assert tally.comparisons > STEPS / 5
    assert tally.messages > 0
    # Both must occur for the comparisons to show that the choice between them is right.
    assert tally.taken > 0
    assert tally.dropped > 0
