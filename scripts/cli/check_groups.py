"""What `parley check` says of groups of providers and directories that are mapped to ours."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from server.settings import Settings


def unknown_groups(settings: "Settings", url: str) -> Iterator[str]:
    """Return a sentence for each organization that lacks mapped user groups, by its provider.

    The database has all migrations.
    """
    from server.domain.realm_settings import RealmSettings
    from server.domain.sign_in import LDAP
    from storage.mapped_groups import lacked_groups
    from storage.migrate import connected

    providers = settings.sign_in_providers
    mapped = {name: (providers.method_of(name), providers[name].groups) for name in providers}
    mapped["LDAP"] = (LDAP, settings.ldap_groups.by_name)
    with connected(url) as connection:
        for provider, (method, groups) in mapped.items():
            for lacking in lacked_groups(connection, sorted(set(groups.values()))):
                if RealmSettings.of(lacking.settings).wants_method(method):
                    where = lacking.subdomain or "at the server's own address"
                    yield (
                        f"{provider} maps groups to {', '.join(lacking.names)}, and the"
                        f" organization {where} has no such active user group."
                    )
