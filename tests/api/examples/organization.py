"""Examples: the organization and its settings."""

from urllib.parse import urlsplit

from queue_processors.deferred_work import handle
from server.actions.imports import finish, note_contents
from server.actions.realm_exports import STEP, ExportArguments
from server.imports.report import ImportReport
from server.jobs import DeferredWork
from storage import compliance as compliance_rows
from storage import import_requests
from storage import imports as import_rows
from storage import second_factors as rows
from storage.blobs import new_key
from storage.compliance import CaseRow
from storage.ids import ComplianceCaseId, Position, UserId
from storage.imports import ImportRow
from testkit.images import picture
from tests.api.examples.stage import PASSWORD, Stage, user_id

PATTERN = {"pattern": "#(?P<id>[0-9]+)", "url_template": "https://tracker.example.com/{id}"}


async def settings(stage: Stage) -> None:
    await stage.see("PATCH /realm", description="Where we cook.", enable_read_receipts=True)
    await stage.see("PATCH /realm/user_settings_defaults", enter_sends=True)
    greeting = "The menu is in #**general**."
    await stage.see(
        "POST /realm/test_welcome_bot_custom_message", welcome_message_custom_text=greeting
    )
    await stage.see("GET /realm/audit_log", limit=2)
    await stage.see("GET /emoji_data", stage.visitor)
    await stage.see("GET /openapi.json", stage.visitor)
    example = stage.recorder.examples["GET /openapi.json"]
    example["answer"] = {name: example["answer"][name] for name in ("openapi", "info", "servers")}


async def pictures(stage: Stage) -> None:
    square, wide = picture(size=(50, 50)), picture(size=(200, 50))
    await stage.see("POST /realm/icon", file=("icon.png", square))
    await stage.see("GET /realm/icon")
    await stage.see("DELETE /realm/icon")
    await stage.see("POST /realm/logo", file=("logo.png", wide), night=False)
    await stage.see("GET /realm/logo", night=False)
    await stage.see("DELETE /realm/logo", night=False)
    one = {"emoji_name": "soup"}
    await stage.see("POST /realm/emoji/{emoji_name}", **one, file=("soup.png", square))
    await stage.see("GET /realm/emoji")
    await stage.see("DELETE /realm/emoji/{emoji_name}", **one)


async def text_rules(stage: Stage) -> None:
    """Linkifiers and playgrounds."""
    made = await stage.see("POST /realm/filters", **PATTERN)
    one = {"filter_id": made["id"]}
    await stage.see("GET /realm/linkifiers")
    await stage.see("PATCH /realm/linkifiers", ordered_linkifier_ids=[made["id"]])
    await stage.see("PATCH /realm/filters/{filter_id}", **one, **PATTERN)
    await stage.see("DELETE /realm/filters/{filter_id}", **one)
    made = await stage.see(
        "POST /realm/playgrounds",
        name="Python playground",
        pygments_language="Python",
        url_template="https://python.example.com/?code={code}",
    )
    await stage.see("DELETE /realm/playgrounds/{playground_id}", playground_id=made["id"])


async def domains(stage: Stage) -> None:
    one = {"domain": "example.com"}
    await stage.see("POST /realm/domains", **one, allow_subdomains=False)
    await stage.see("GET /realm/domains")
    await stage.see("PATCH /realm/domains/{domain}", **one, allow_subdomains=True)
    await stage.see("DELETE /realm/domains/{domain}", **one)


async def unconfirmed_addresses(stage: Stage) -> None:
    made = await stage.make.user("Nina", email="nina@example.com")
    await stage.make.connection.execute(
        "UPDATE users SET email_confirmed = false WHERE user_id = %(u)s", u=made.user_id
    )
    await stage.see("GET /realm/unconfirmed_addresses")
    await stage.see("DELETE /realm/unconfirmed_addresses/{user_id}", user_id=made.user_id)


async def second_factors(stage: Stage) -> None:
    made = await stage.make.user("Otto", email="otto@example.com")
    await rows.insert_totp(
        stage.make.connection,
        stage.make.realm_id,
        made.user_id,
        name="Phone",
        secret=b"sealed",
        step=0,
    )
    await stage.see("DELETE /users/{user_id}/second_factors", user_id=made.user_id)


async def directories(stage: Stage) -> None:
    made = await stage.see("POST /realm/scim/tokens", name="Okta")
    await stage.see("GET /realm/scim/tokens")
    await stage.see("DELETE /realm/scim/tokens/{token_id}", token_id=made["id"])
    await stage.see("POST /realm/scim/closures")


async def legal_holds(stage: Stage) -> None:
    made = await stage.see(
        "POST /compliance/legal_holds",
        name="Smith v. Jones",
        reason="Case 4711, asked for by our lawyers",
        channel_ids=[stage.general.channel_id],
        sent_from=1_700_000_000,
    )
    await stage.see("GET /compliance/legal_holds")
    await stage.see("GET /realm/retention_preview", days=30)
    await stage.see(
        "POST /compliance/legal_holds/{hold_id}/release",
        hold_id=made["id"],
        reason="The case is closed",
    )


async def compliance(stage: Stage) -> None:
    proof = {"old_password": PASSWORD}
    own_id = user_id(stage.olivia)
    await stage.see("POST /compliance/officers", user_id=own_id, **proof)
    await stage.see("GET /compliance/officers")
    other = await stage.make.user("Quinn", email="quinn@example.com")
    await compliance_rows.appoint(
        stage.make.connection,
        stage.make.realm_id,
        other.user_id,
        creator_id=UserId(own_id),
        now=stage.server.app.clock.now(),
    )
    await stage.see("PATCH /compliance/rules", needs_two_persons=False, **proof)
    made = await stage.see("POST /compliance/cases", reason="Case 4711", hours=8, **proof)
    await stage.see(
        "POST /compliance/cases/{case_id}/search",
        case_id=made["id"],
        narrow=[{"operator": "channel", "operand": "general"}],
        limit=1,
    )
    await stage.see("POST /compliance/cases/{case_id}/close", case_id=made["id"])
    waiting = await compliance_rows.insert_case(
        stage.make.connection, stage.make.realm_id, waiting_case(stage, other.user_id)
    )
    await stage.see("POST /compliance/cases/{case_id}/approve", case_id=waiting, **proof)
    await stage.see("GET /compliance/cases")
    await stage.see("DELETE /compliance/officers/{user_id}", user_id=own_id)


def waiting_case(stage: Stage, creator_id: UserId) -> CaseRow:
    """A case that waits for the approval of another officer."""
    return CaseRow(
        case_id=ComplianceCaseId(0),
        creator_id=creator_id,
        reason="Case 4712",
        hours=24,
        needs_approval=True,
        opened_at=stage.server.app.clock.now(),
        approver_id=None,
        ends_at=None,
        closed_at=None,
        searches=0,
    )


async def profile_fields(stage: Stage) -> None:
    made = await stage.see(
        "POST /realm/profile_fields", field_type=1, name="Favorite dish", hint="In a few words"
    )
    field = {"field_id": made["id"]}
    await stage.see("GET /realm/profile_fields")
    await stage.see("PATCH /realm/profile_fields", order=[made["id"]])
    await stage.see("PATCH /realm/profile_fields/{field_id}", **field, required=True)
    answer = {"id": made["id"], "value": "Soup"}
    await stage.see("PATCH /users/me/profile_data", data=[answer])
    await stage.see("DELETE /users/me/profile_data", data=[made["id"]])
    await stage.see("DELETE /realm/profile_fields/{field_id}", **field)


async def invitations(stage: Stage) -> None:
    general = [stage.general.channel_id]
    await stage.see("POST /invites", invitee_emails="sam@example.com", stream_ids=general)
    made = await stage.see("POST /invites/multiuse", stream_ids=general)
    stage.recorder.secrets[made["invite_link"].rpartition("/")[2]] = "YOUR-SECRET"
    listed = (await stage.see("GET /invites"))["invites"]
    by_kind = {each["is_multiuse"]: each["id"] for each in listed}
    await stage.see("POST /invites/{invite_id}/resend", invite_id=by_kind[False])
    await stage.see("DELETE /invites/{invite_id}", invite_id=by_kind[False])
    await stage.see("DELETE /invites/multiuse/{invite_id}", invite_id=by_kind[True])


async def exports(stage: Stage) -> None:
    made = await stage.see("POST /export/realm", export_type="public")
    work = DeferredWork.of(stage.make.realm_id, STEP, ExportArguments(made["id"]))
    await handle(stage.server.app, work)
    [export] = (await stage.olivia.get("/export/realm"))["exports"]
    _, folder, secret, _ = urlsplit(export["export_url"]).path.rsplit("/", 3)
    stage.recorder.secrets[f"{folder}/{secret}"] = "YOUR/SECRET"
    await stage.see("GET /export/realm")
    await stage.see("GET /export/realm/consents")
    await stage.see("DELETE /export/realm/{export_id}", export_id=made["id"])


async def imports(stage: Stage) -> None:
    realm_id, services = stage.make.realm_id, stage.server.app.realm_services(stage.make.realm_id)
    request_id = await import_requests.insert(
        stage.make.connection,
        realm_id,
        acting_user_id=UserId(user_id(stage.olivia)),
        file_name="slack-export.zip",
        size=1_234_567,
        blob_key=new_key("imports", realm_id),
        requested_at=stage.server.app.clock.now(),
    )
    report = ImportReport({"people and bots": 12, "channels": 5, "messages": 48_210})
    report.remark("pinned messages were left out", "design", count=3)
    await services.write(
        lambda tx: note_contents(
            tx, request_id, source="Slack", fingerprint=b"slack", report=report.as_json()
        )
    )
    await stage.see("GET /imports")
    await stage.see("GET /imports/{request_id}", request_id=request_id)
    await stage.see("POST /imports/{request_id}/start", request_id=request_id)
    now = stage.server.app.clock.now()
    await services.write(lambda tx: finish(tx, request_id, report.as_json(), now))
    await stage.see("POST /imports/invitations")
    await stage.see("DELETE /imports/{request_id}", request_id=request_id)
    row = ImportRow(
        import_id=0,
        source="Slack",
        options={},
        phase="messages",
        done=1_200,
        total=48_210,
        first_position=Position(0),
        report=ImportReport({"people and bots": 12, "messages": 1_200}).as_json(),
        ended_at=None,
    )
    import_id = await import_rows.insert(
        stage.make.connection, realm_id, row, fingerprint=b"lost", now=now
    )
    await stage.see("POST /imports/abandon", import_id=import_id)


async def ending(stage: Stage) -> None:
    assert user_id(stage.olivia)
    await stage.see("POST /realm/deactivate")
