"""The settings of organizations and people: defaults, what is stored, permissions."""

import msgspec
import pytest

from server.domain import permission_settings
from server.domain.access import GroupSetting
from server.domain.permission_settings import REALM_PERMISSIONS
from server.domain.realm_settings import DirectGroup, RealmSettings
from server.domain.user_settings import UserSettings
from testkit.oracles import contract
from tests.unit.test_access import IDS, graph


def test_only_what_differs_from_the_defaults_is_stored():
    settings = RealmSettings(waiting_period_threshold=3, can_create_groups=21)

    assert settings.stored() == {"waiting_period_threshold": 3, "can_create_groups": 21}
    assert RealmSettings.of(settings.stored()) == settings
    assert RealmSettings().stored() == {}


def test_personal_settings_are_stored_the_same_way():
    settings = UserSettings(color_scheme=2)

    assert settings.stored() == {"color_scheme": 2}
    assert UserSettings.of({"color_scheme": 2}) == settings


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (RealmSettings, {"org_type": 11}),
        (RealmSettings, {"topics_policy": "none"}),
        (UserSettings, {"color_scheme": 4}),
        (UserSettings, {"emojiset": "other"}),
    ],
)
def test_a_value_that_is_not_allowed_is_refused(kind, stored):
    with pytest.raises(msgspec.ValidationError):
        kind.of(stored)


def test_every_permission_starts_with_the_group_that_its_rule_names():
    assert {name: getattr(RealmSettings(), name) for name in REALM_PERMISSIONS} == {
        name: rule.default for name, rule in REALM_PERMISSIONS.items()
    }


def test_a_permission_is_given_by_the_ids_of_groups():
    realm = graph()
    chosen = RealmSettings(can_create_groups=21, can_invite_users_group=DirectGroup((7,), (21, 22)))

    assert chosen.permission("can_manage_all_groups", realm).group_id == IDS["role:owners"]
    assert chosen.permission("can_create_groups", realm).group_id == 21
    assert chosen.permission("can_invite_users_group", realm) == GroupSetting.parse(
        {"direct_members": [7], "direct_subgroups": [21, 22]}
    )


def test_the_defaults_are_those_of_the_contract():
    limits = contract.limits()
    if not limits:
        return
    of_realms = msgspec.structs.asdict(RealmSettings())
    of_users = msgspec.structs.asdict(UserSettings())

    for ours, theirs in (
        (of_realms, limits["new_realm_defaults"]),
        (of_users, limits["new_user_settings_defaults"]),
    ):
        both = ours.keys() & theirs.keys()
        assert {name: ours[name] for name in both} == {name: theirs[name] for name in both}
    assert limits["new_user_settings_defaults"].keys() - of_users.keys() == {"timezone"}


def test_the_permission_rules_are_those_of_the_contract():
    rules = contract.limits().get("permission_settings", {})
    ours = permission_settings.supported_permission_settings(pins=False)
    for kind in ("realm", "stream"):
        for name, rule in rules.get(kind, {}).items():
            if name == "can_create_topic_group":
                continue
            default = rule.pop("default")
            assert ours[kind][name]["default_group_name"] == default, name
            assert rule.items() <= ours[kind][name].items(), name
