"""SCIM resources: users and groups as directories see them, and what the service supports."""

from typing import Annotated, Any, Final

from scim2_models import (
    URN,
    AuthenticationScheme,
    Bulk,
    ChangePassword,
    ComplexAttribute,
    ETag,
    ExtensibleStringEnum,
    Filter,
    Group,
    GroupMembership,
    Mutability,
    Patch,
    Required,
    Resource,
    ScimPolicy,
    ScimProvider,
    ServiceProviderConfig,
    Sort,
    Uniqueness,
)

MAX_RESULTS: Final = 200
"""Maximum number of resources on a page."""


class ScimName(ComplexAttribute):
    formatted: str | None = None
    """The full name."""
    family_name: str | None = None
    """The family name, or last name."""
    given_name: str | None = None
    """The given name, or first name."""


class ScimEmail(ComplexAttribute):
    value: str | None = None
    """The address."""
    type: str | None = None
    """A label, such as 'work' or 'home'."""
    primary: bool | None = None
    """Whether it is the account's address."""


class RoleName(ExtensibleStringEnum):
    """The names that are shown; others may be given."""

    owner = "owner"
    administrator = "administrator"
    moderator = "moderator"
    member = "member"
    guest = "guest"


class ScimRole(ComplexAttribute):
    value: RoleName | None = None
    """The name of a role."""
    primary: bool | None = None
    """Whether it is the account's role."""


class ScimUser(Resource[Any]):
    __schema__ = URN("urn:ietf:params:scim:schemas:core:2.0:User")

    user_name: Annotated[str | None, Uniqueness.server, Required.true] = None
    """The directory's name of the account."""
    name: ScimName | None = None
    """The parts of the person's name."""
    display_name: str | None = None
    """The name of the account."""
    active: bool | None = None
    """Whether the account is active."""
    emails: list[ScimEmail] | None = None
    """Addresses: the account has the primary one, or else the first."""
    roles: list[ScimRole] | None = None
    """Roles: the account has the primary one, or else the first."""
    groups: Annotated[list[GroupMembership] | None, Mutability.read_only] = None
    """The user groups with the account as a direct member."""


ScimUser.__name__ = "User"  # of the schema


CONFIG: Final = ServiceProviderConfig(
    patch=Patch(supported=True),
    bulk=Bulk(supported=False, max_operations=0, max_payload_size=0),
    filter=Filter(supported=True, max_results=MAX_RESULTS),
    change_password=ChangePassword(supported=False),
    sort=Sort(supported=False),
    etag=ETag(supported=True),
    authentication_schemes=[
        AuthenticationScheme(
            type=AuthenticationScheme.Type.oauthbearertoken,
            name="Bearer token",
            description="A token that an owner of the organization has created",
            primary=True,
        )
    ],
)
PROVIDER: Final = ScimProvider(
    models=[ScimUser, Group],
    config=CONFIG,
    # What Okta and Entra send beyond the specification.
    policy=ScimPolicy(
        unknown=ScimPolicy.Unknown.ignore,
        remove_value_as_filter=ScimPolicy.RemoveValue.apply,
        unmatched_path_filter=ScimPolicy.UnmatchedPathFilter.create,
    ),
)
