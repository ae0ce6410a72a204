"""Read what an organization has set up from an export of Zulip, and tell what is not imported."""

import re
from collections.abc import Iterator
from typing import Final

from server.i18n import marked
from server.imports.records import LinkifierRecord, PlaygroundRecord
from server.imports.report import ImportReport
from server.imports.zulip_files import ZulipFiles, id_of, text_of

_FORMAT: Final = re.compile(r"%\(([^()]*)\)s")
"""A variable in URLs of older exports."""
_IMPORTED: Final = frozenset(
    {
        "zerver_realmplayground",
        "zerver_realmfilter",
        "zerver_muteduser",
        "zerver_alertword",
        "zerver_customprofilefield",
        "zerver_customprofilefieldvalue",
        "zerver_defaultstream",
        "zerver_groupgroupmembership",
        "zerver_namedusergroup",
        "zerver_reaction",
        "zerver_realmemoji",
        "zerver_stream",
        "zerver_subscription",
        "zerver_usergroup",
        "zerver_usergroupmembership",
        "zerver_userprofile",
        "zerver_userprofile_crossrealm",
        "zerver_userprofile_mirrordummy",
        "zerver_userstatus",
        "zerver_usertopic",
        "zerver_mutedtopic",
    }
)
_MEANINGLESS: Final = frozenset(
    {
        "zerver_client",
        "zerver_directmessagegroup",
        "zerver_huddle",
        "zerver_presencesequence",
        "zerver_recipient",
    }
)
"""Tables that only say how others belong together."""
_ACTIVITY: Final = marked(
    "records of activity were left out: presence, audit log, what was shown once"
)
_BOTS: Final = marked("services, configurations and data of bots were left out")
_REASONS: Final = {
    "zerver_botconfigdata": _BOTS,
    "zerver_botstoragedata": _BOTS,
    "zerver_channelfolder": marked("folders of channels were left out"),
    "zerver_externalauthid": marked("links to accounts of identity providers were left out"),
    "zerver_navigationview": marked("own views in the left column were left out"),
    "zerver_onboardingstep": _ACTIVITY,
    "zerver_onboardingusermessage": _ACTIVITY,
    "zerver_realm": marked("settings of the organization were left out: choose them here"),
    "zerver_realmauditlog": _ACTIVITY,
    "zerver_realmauthenticationmethod": marked(
        "methods to sign in were left out: the server has its own"
    ),
    "zerver_realmdomain": marked("domains of the organization were left out"),
    "zerver_realmexport": _ACTIVITY,
    "zerver_realmuserdefault": marked("default settings of newcomers were left out"),
    "zerver_savedsnippet": marked("saved snippets were left out"),
    "zerver_scheduledmessage": marked("scheduled messages were left out"),
    "zerver_service": _BOTS,
    "zerver_useractivity": _ACTIVITY,
    "zerver_useractivityinterval": _ACTIVITY,
    "zerver_userhotspot": _ACTIVITY,
    "zerver_userpresence": _ACTIVITY,
}


def remark_on_rest(files: ZulipFiles, report: ImportReport) -> None:
    """Count the rows of tables that nothing is imported from. Raises FileRefusedError."""
    for table, count in files.counts().items():
        if table not in _IMPORTED and table not in _MEANINGLESS:
            unknown = marked("records of tables that are not known were left out")
            example = "" if table in _REASONS else table
            report.remark(_REASONS.get(table, unknown), example, count)
    for record in files.records("realm_icons"):
        reason = marked("icons and logos of the organization were left out: upload them here")
        report.remark(reason, text_of(record.get("path")))


def linkifiers_in(files: ZulipFiles) -> Iterator[LinkifierRecord]:
    """Yield the linkifiers, in their order."""
    rows = [row for _, row in files.realm("zerver_realmfilter")]
    for row in sorted(rows, key=lambda each: id_of(each.get("order")) or 0):
        old = _FORMAT.sub(r"{\1}", text_of(row.get("url_format_string"))).replace("%%", "%")
        template = text_of(row.get("url_template")) or old
        yield LinkifierRecord(pattern=text_of(row.get("pattern")), url_template=template)


def playgrounds_in(files: ZulipFiles) -> Iterator[PlaygroundRecord]:
    for _, row in files.realm("zerver_realmplayground"):
        prefix = text_of(row.get("url_prefix"))
        yield PlaygroundRecord(
            name=text_of(row.get("name")),
            language=text_of(row.get("pygments_language")),
            url_template=text_of(row.get("url_template")) or (prefix and prefix + "{code}"),
        )
