"""A realm with a user of each role, in which people join and leave channels."""

from dataclasses import dataclass
from typing import Any

import pytest_asyncio

from server.actions.channels.create import ChannelSpec
from server.actions.realm_services import RealmServices
from server.actions.subscriptions.subscribe import Subscribed, SubscriptionRequest, subscribe
from server.actions.subscriptions.unsubscribe import Unsubscribed, unsubscribe
from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, OWNER
from server.domain.actor import Actor
from server.domain.channel_creation import ChannelTerms
from storage import subscriptions
from storage.channels import ChannelRow
from storage.users import UserRow
from testkit.factories import Make, user_ids
from testkit.stage import Stage


@dataclass(frozen=True, slots=True)
class Hall:
    """Actions are run as one of the people; the others watch."""

    stage: Stage
    make: Make
    owner: UserRow
    admin: UserRow
    member: UserRow
    other: UserRow
    guest: UserRow

    @property
    def everyone(self) -> list[UserRow]:
        return [self.owner, self.admin, self.member, self.other, self.guest]

    def actor(self, row: UserRow) -> Actor:
        return Actor(self.make.realm_id, row, "website")

    async def subscribe(
        self,
        actor: UserRow,
        *names: str,
        people: list[UserRow] | None = None,
        fatal: bool = True,
        announce: bool = False,
        notify: bool = False,
        description: str = "",
        web_public_enabled: bool = False,
        pairs_per_step: int = 500,
        **terms: Any,
    ) -> Subscribed:
        request = SubscriptionRequest(
            wanted=[ChannelSpec(name, description) for name in names],
            principals=None if people is None else user_ids(people),
            authorization_errors_fatal=fatal,
            announce=announce,
            notify=notify,
            pairs_per_step=pairs_per_step,
            terms=ChannelTerms(**terms),
        )
        done: Subscribed = await self.stage.run(
            subscribe, self.actor(actor), request, web_public_enabled=web_public_enabled
        )
        return done

    async def unsubscribe(
        self, actor: UserRow, *names: str, people: list[UserRow] | None = None
    ) -> Unsubscribed:
        principals = None if people is None else user_ids(people)
        done: Unsubscribed = await self.stage.run(
            unsubscribe, self.actor(actor), list(names), principals
        )
        return done

    async def subscribers(self, channel: ChannelRow) -> list[int]:
        return list(
            await subscriptions.active_user_ids(
                self.make.connection, self.make.realm_id, channel.channel_id
            )
        )

    def realm_services(self) -> RealmServices:
        return self.stage.realm_services(self.make.realm_id)

    def told(self, kind: str) -> list[Any]:
        """The log entries of this kind that the last action appended."""
        return [each for each in self.stage.happened if each.event.kind == kind]


@pytest_asyncio.fixture
async def hall(stage: Stage, make: Make) -> Hall:
    """Five people, in no channel yet."""
    return Hall(
        stage,
        make,
        owner=await make.user("Owner", role=OWNER),
        admin=await make.user("Admin", role=ADMINISTRATOR),
        member=await make.user("Member", role=MEMBER),
        other=await make.user("Other", role=MEMBER),
        guest=await make.user("Guest", role=GUEST),
    )
