"""No user sees more than they may, or less: random histories beside a model of the rules."""

import os
import secrets

from testkit.database import new_database
from testkit.leaks.run import Plan, run

CHECKS = 100_000 if os.environ.get("CI") else 10_000  # noqa: TID251 - not a setting


def test_no_user_sees_more_or_less_than_they_may(server_url, template_database, capsys):
    plan = Plan(checks=CHECKS, seed=secrets.randbelow(10**9))
    with new_database(server_url, template_database) as url:
        report = run(plan, url)
    lines = "\n".join(report.lines())
    with capsys.disabled():
        print(f"\n{lines.splitlines()[0]}")
    assert report.failure is None, f"`python -m benchmarks.leaks --seed {plan.seed}`\n{lines}"
    assert report.tally.total >= CHECKS


def test_a_seed_says_what_happens(server_url, template_database):
    tallies = []
    for _ in range(2):
        with new_database(server_url, template_database) as url:
            tallies.append(run(Plan(checks=1, seed=1, operations=30), url).tally)
    assert tallies[0].operations == tallies[1].operations
    assert tallies[0].checks == tallies[1].checks
