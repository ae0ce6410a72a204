"""Count each channel's messages once a day, for clients that sort by traffic."""

from datetime import timedelta
from typing import Final

from queue_processors.periodic import now_and_then
from server.domain.channels import TRAFFIC_WEEKS
from server.domain.clock import Clock
from storage import channel_traffic
from storage.database import Database

START_DELAY_SECONDS: Final = 60.0
INTERVAL_SECONDS: Final = 3600.0


class TrafficKeeper:
    """Run soon after start, then once an hour. Instances may run concurrently."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def run(self) -> None:
        """Run until cancelled."""
        await now_and_then(
            self.count,
            what="count the traffic of channels",
            seconds=INTERVAL_SECONDS,
            first_seconds=START_DELAY_SECONDS,
        )

    async def count(self) -> None:
        """Count in each organization without a count of today."""
        now = self._clock.now()
        async with self._database.connection() as connection:
            realm_ids = await channel_traffic.realms_to_count(connection, now.date())
        for realm_id in realm_ids:
            async with self._database.transaction() as connection:
                await channel_traffic.count(
                    connection,
                    realm_id,
                    since=now - timedelta(weeks=TRAFFIC_WEEKS),
                    day=now.date(),
                )
