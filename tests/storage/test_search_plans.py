"""What a search in a channel asks of topics is planned a few times, and not at each search."""

import pytest

from storage import conversations, search

pytestmark = pytest.mark.asyncio

TIMES = 12
TOPICS = 700
HERE = 7
PLANNED_ANEW = 5
"""So often Postgres tries before it keeps a plan, if that is as good."""


async def test_topics_of_a_channel_are_looked_for_by_a_plan_that_is_kept(make):
    channel, other = await make.channel("plans"), await make.channel("others")
    await make.connection.execute(
        """
        INSERT INTO topics (realm_id, channel_id, name)
        SELECT %(realm_id)s, CASE WHEN n <= %(here)s THEN %(channel)s ELSE %(other)s END, n::text
          FROM generate_series(1, %(count)s) AS n
        """,
        realm_id=make.realm_id,
        channel=channel.channel_id,
        other=other.channel_id,
        here=HERE,
        count=TOPICS,
    )
    await make.connection.execute("ANALYZE topics")
    make.connection.raw.plans.after = 0
    words = await search.words_of(make.connection, "english", [("needle", False)])
    for _ in range(TIMES):
        await search.planned(make.connection, make.realm_id, words, [channel.channel_id])
        await conversations.topic_ids_named(
            make.connection, make.realm_id, "needle", [channel.channel_id]
        )
    plans = await make.connection.tuples(
        """
        SELECT custom_plans, generic_plans FROM pg_prepared_statements
         WHERE statement LIKE '%%FROM topics%%' AND statement NOT LIKE '%%prepared%%'
        """
    )
    assert plans == [(PLANNED_ANEW, TIMES - PLANNED_ANEW)] * 2
