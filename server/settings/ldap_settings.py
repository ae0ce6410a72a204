"""Declarations of the settings of the LDAP directory."""

from pathlib import Path
from typing import Annotated

from msgspec import Meta

from server.domain.directory_groups import GroupTable, ProfileTable, RoleTable
from server.settings.descriptions import described
from server.settings.scim_settings import ScimSettings

_ATTRIBUTE = r"^[A-Za-z][A-Za-z0-9;-]*$"


class LdapSettings(ScimSettings, frozen=True, kw_only=True):
    """The settings of the directory that people sign in with, beside those of SCIM."""

    ldap_url: Annotated[
        Annotated[str, Meta(pattern=r"^ldaps?://[^/?#\s,]+/?(,\s*ldaps?://[^/?#\s,]+/?)*$")] | None,
        described("addresses like ldaps://ldap.example.com, separated by commas"),
    ] = None
    """LDAP servers, tried in order. None: there is none."""
    ldap_starttls: Annotated[bool, described("on or off")] = True
    """Whether connections to ldap:// are encrypted before anything is sent."""
    ldap_ca: Annotated[Path | None, described("the path of a file")] = None
    """The certificates of the authority. None: those that this machine trusts."""
    ldap_bind_dn: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        described("the name of an entry, like cn=parley,dc=example,dc=com"),
    ] = None
    """Account that searches the directory. None: anonymous."""
    ldap_bind_password: Annotated[
        Annotated[str, Meta(min_length=1)] | None, described("a password")
    ] = None
    ldap_base: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        described("the name of an entry, like ou=people,dc=example,dc=com"),
    ] = None
    """Base of the search, which uses the filter."""
    ldap_filter: Annotated[
        Annotated[str, Meta(pattern=r"^\(.*%s.*\)$")],
        described("a filter with %s in it, like (uid=%s)"),
    ] = "(|(uid=%s)(mail=%s))"
    ldap_user_dn: Annotated[
        Annotated[str, Meta(pattern=r"^[^%,=]+=%s(,[^%]*)?$")] | None,
        described("a name with %s in it, like uid=%s,ou=people,dc=example,dc=com"),
    ] = None
    """Pattern of a user's entry. None: it is searched for."""
    ldap_name_attribute: Annotated[
        Annotated[str, Meta(pattern=_ATTRIBUTE)], described("an attribute, like cn")
    ] = "cn"
    ldap_email_attribute: Annotated[
        Annotated[str, Meta(pattern=_ATTRIBUTE)], described("an attribute, like mail")
    ] = "mail"
    ldap_id_attribute: Annotated[
        Annotated[str, Meta(pattern=_ATTRIBUTE)] | None, described("an attribute, like entryUUID")
    ] = None
    """Stable id of an entry, even if its name and address change. None: by its address."""
    ldap_email_domain: Annotated[
        Annotated[str, Meta(pattern=r"^[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*$")] | None,
        described("a domain name, like example.com"),
    ] = None
    """Users' addresses are their names in the directory at this domain. None: an attribute."""
    ldap_timeout_seconds: Annotated[int, described("a number from 1 to 60", ge=1, le=60)] = 5
    """Timeout of all directory requests of a sign-in."""
    ldap_connections: Annotated[int, described("a number from 1 to 50", ge=1, le=50)] = 4
    """Of one process to them, at once."""
    ldap_profile_fields: Annotated[
        ProfileTable, described("profile fields by attributes, as docs/sign-in.md says")
    ] = ProfileTable()
    """Attributes that people's profiles show."""
    ldap_picture_attribute: Annotated[
        Annotated[str, Meta(pattern=_ATTRIBUTE)] | None, described("an attribute, like jpegPhoto")
    ] = None
    """None: people's pictures are their own."""
    ldap_groups: Annotated[
        GroupTable,
        described("user groups by names of the directory's groups, as docs/sign-in.md says"),
    ] = GroupTable()
    ldap_roles: Annotated[
        RoleTable, described("roles by names of the directory's groups, as docs/sign-in.md says")
    ] = RoleTable()
    """These two say what the directory's groups are here."""
    ldap_group_attribute: Annotated[
        Annotated[str, Meta(pattern=_ATTRIBUTE)], described("an attribute, like memberOf")
    ] = "memberOf"
    """Attribute of users' entries with the names of their groups."""
    ldap_group_base: Annotated[
        Annotated[str, Meta(min_length=1)] | None,
        described("the name of an entry, like ou=groups,dc=example,dc=com"),
    ] = None
    """Base of a search for groups. None: the attribute has them all."""
    ldap_group_filter: Annotated[
        Annotated[str, Meta(pattern=r"^\(.*%[su].*\)$")],
        described("a filter with %s or %u in it, like (member=%s) or (memberUid=%u)"),
    ] = "(member=%s)"
    """Filter of that search; %s is the name of the user's entry, %u its `uid`."""
