"""Three server processes on each bus: delivery is complete whatever share of the hints is lost.

Where none is lost, test_faults.py says so.
"""

import pytest

from testkit.faults.plan import Plan
from testkit.faults.run import run
from tests.acceptance.faults import launcher


@pytest.mark.parametrize("percent", [10, 100])
@pytest.mark.parametrize("bus", ["postgres", "rabbitmq"])
def test_delivery_is_complete_whatever_the_bus_loses(bus, percent, request):
    report = run(
        Plan(
            seconds=2,
            seed=percent,
            bus=bus,
            amqp_url=request.getfixturevalue("amqp_url") if bus == "rabbitmq" else None,
            users=24,
            queues=32,
            senders=16,
            workers=0,  # what they leave in the broker would reach the tests that follow
            away=0,
            think_seconds=0.3,
            drain_seconds=30,
            faults=(),
            serve=launcher.command(f"lose-{percent}"),
        ),
        print,
    )
    print("\n".join(report.lines()))
    assert report.violations == []
    assert report.evidence.events > 200
