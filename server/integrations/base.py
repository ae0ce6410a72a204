"""What an integration is: its declaration, what it receives, and its outcomes."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fnmatch import fnmatchcase
from typing import Any, Final, TypeAlias

import msgspec

from server.integrations.payload import Payload
from server.integrations.signatures import UNSIGNED, Scheme

PREFIX: Final = "/external/"
_LIST: Final = re.compile(r"[,\s]+")


class Category(Enum):
    """The groups in which integrations are listed."""

    VERSION_CONTROL = "Version control"
    CONTINUOUS_INTEGRATION = "Continuous integration and deployment"
    MONITORING = "Monitoring and alerts"
    PROJECT_MANAGEMENT = "Project management"
    SUPPORT = "Customer support and payments"
    AUTOMATION = "Automation and other"


class Stage(Enum):
    """What a message says of a build or an alert, of which there are several messages."""

    STARTED = "started"
    ENDED = "ended"
    FAILED = "failed"
    FIRING = "firing"
    RESOLVED = "resolved"

    @property
    def is_open(self) -> bool:
        """Whether another message about the same follows."""
        return self in (Stage.STARTED, Stage.FIRING)


class Message(msgspec.Struct, frozen=True, tag="message"):
    """A message to post. Topic and content are cut to what a message may hold."""

    topic: str
    content: str
    event: str = ""
    """The event as `only_events` and `exclude_events` name it."""
    delivery_id: str = ""
    """The delivery's id, if the payload has one rather than a header."""
    about: str = ""
    """Identity of the build or the alert, unique for the service; empty if it has none."""
    stage: Stage | None = None
    """Its stage: what an earlier message about the same says may be replaced or marked by it."""


class Ignored(msgspec.Struct, frozen=True, tag="ignored"):
    """A known event of which there is nothing to say."""

    event: str
    reason: str


class Unknown(msgspec.Struct, frozen=True, tag="unknown"):
    """An event that the integration does not know."""

    event: str


class Malformed(msgspec.Struct, frozen=True, tag="malformed"):
    """A payload that is not what the service sends."""

    reason: str


Outcome: TypeAlias = Message | Ignored | Unknown | Malformed


@dataclass(frozen=True, slots=True)
class Option:
    """A parameter of the address, beside those of all integrations."""

    key: str
    label: str
    """What it does, as a sentence."""
    is_flag: bool = False
    is_on: bool = False
    """Whether a flag that the address does not have is on."""


BRANCHES: Final = Option("branches", "Branches of which pushes are posted, separated by commas.")
IGNORE_PRIVATE: Final = Option(
    "ignore_private_repositories", "Post nothing about private repositories.", is_flag=True
)
PULL_REQUEST_TOPICS: Final = Option(
    "map_pull_request_topics",
    "Give each pull request a topic of its own, rather than one topic to all of a repository.",
    is_flag=True,
    is_on=True,
)


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a service has sent."""

    payload: Payload
    headers: Mapping[str, str] = field(default_factory=dict)
    """Those that the integration declares, by lower-case name."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Those that the integration declares, and that the address has."""

    def header(self, header: str) -> str:
        """Return the value of the header, or an empty text."""
        return self.headers.get(header.lower(), "")

    def flag(self, option: Option) -> bool:
        """Return whether the option is on."""
        given = self.options.get(option.key, str(option.is_on))
        return given.lower() in ("true", "1", "yes", "on")

    def wants_branch(self, branch: str) -> bool:
        """Return whether the address asks for pushes of this branch; patterns may have `*`."""
        wanted = [each for each in _LIST.split(self.options.get(BRANCHES.key, "")) if each]
        return not wanted or any(fnmatchcase(branch, each) for each in wanted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Integration:
    """A service whose webhooks are understood."""

    name: str
    """The last part of the path; clients build addresses from it."""
    display_name: str
    category: Category
    read: Callable[[Delivery], Outcome]
    """Raises MalformedPayloadError. Any payload must lead to an outcome or that error."""
    setup: str
    """How to connect it: steps in Markdown, each a line. `{url}` stands for the address."""
    events: tuple[str, ...] = ()
    """Names that `only_events` and `exclude_events` may have; empty if there is one event alone."""
    headers: tuple[str, ...] = ()
    """Headers that `read` looks at."""
    options: tuple[Option, ...] = ()
    delivery_id: str = ""
    """A header that is the same when a delivery is repeated."""
    has_unique_bodies: bool = False
    """Whether no two deliveries have the same body: each has an id, or a time.

    A signed one that comes again is a repeated delivery then, whatever its headers are.
    """
    handshake: str = ""
    """A header with which the service checks the address.

    Its value is returned as the same header, and as `challenge` in the body.
    """
    signatures: tuple[Scheme, ...] = ()
    """How the service signs its deliveries with a secret."""
    signing_step: str = ""
    """Where the service has the secret: a step in Markdown; empty if it does not sign."""

    @property
    def path(self) -> str:
        return PREFIX + self.name

    @property
    def schemes(self) -> tuple[Scheme, ...]:
        """How deliveries to a bot with a secret may prove their origin."""
        return (*self.signatures, *UNSIGNED)

    @property
    def steps(self) -> list[str]:
        """The lines of `setup`."""
        return [line for line in self.setup.splitlines() if line.strip()]

    def wire(self) -> dict[str, Any]:
        """Return its description in register."""
        kinds = {
            option.key: "check_bool" if option.is_flag else "check_string"
            for option in self.options
        }
        return {
            "name": self.name,
            "display_name": self.display_name,
            "all_event_types": list(self.events) or None,
            "config_options": [],
            "url_options": [
                {"key": option.key, "label": option.label, "validator": kinds[option.key]}
                for option in self.options
            ],
        }
