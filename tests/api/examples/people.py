"""Examples: one's own account, other users, bots and phones."""

import msgspec
from joserfc import jwt
from joserfc.jwk import OctKey

from queue_processors.deferred_work import handle
from queue_processors.push_registrations import handle as register_devices
from server.actions import account_exports
from server.actions.account_exports import AccountExportArguments
from server.domain.unsubscribing import PURPOSE, Subscriber, token_for
from server.jobs import DeferredWork, PushRegistration
from storage import command_calls, server_keys
from storage.command_calls import CommandCallRow
from storage.ids import UserId
from testkit.clients.phone import Key, Phone
from testkit.images import picture
from tests.api.examples.stage import JWT_KEY, PASSWORD, Stage, user_id

PHONE = {"token": "ab" * 32}


async def own_account(stage: Stage) -> None:
    await stage.see("GET /users/me")
    await stage.see("PATCH /settings", enter_sends=True)
    await stage.see("PATCH /settings/display", twenty_four_hour_time=True)
    await stage.see("PATCH /settings/notifications", enable_sounds=False)
    await stage.see("POST /users/me/status", status_text="At lunch", emoji_name="hamburger")
    await stage.see("POST /users/me/presence", status="active", last_update_id=-1)
    await stage.see("POST /users/me/avatar", file=("olivia.png", picture(size=(50, 50))))
    await stage.see("DELETE /users/me/avatar")
    await stage.see("POST /users/me/onboarding_steps", onboarding_step="visibility_policy_banner")
    words = {"alert_words": ["soup"]}
    await stage.see("POST /users/me/alert_words", **words)
    await stage.see("GET /users/me/alert_words")
    await stage.see("DELETE /users/me/alert_words", **words)
    view = {"fragment": "narrow/is/starred"}
    await stage.see("POST /navigation_views", **view, is_pinned=True)
    await stage.see("GET /navigation_views")
    await stage.see("PATCH /navigation_views/{fragment}", **view, is_pinned=False)
    await stage.see("DELETE /navigation_views/{fragment}", **view)


async def own_data(stage: Stage) -> None:
    made = await stage.see("POST /users/me/exports")
    work = DeferredWork.of(
        stage.make.realm_id, account_exports.STEP, AccountExportArguments(made["id"])
    )
    await handle(stage.server.app, work)
    await stage.see("GET /users/me/exports")
    await stage.see("DELETE /users/me/exports/{export_id}", export_id=made["id"])


async def keys(stage: Stage) -> None:
    ravi = stage.ravi
    wanted = {"name": "Statistics", "scopes": ["read"], "expires_at": 4102444800}
    made = await stage.see("POST /users/me/api_keys", ravi, **wanted, old_password=PASSWORD)
    await stage.see("GET /users/me/api_keys", ravi)
    await stage.see("DELETE /users/me/api_keys/{key_id}", ravi, key_id=made["key_id"])
    theirs = await stage.client(await stage.make.user("Lena", email="lena@example.com"))
    await stage.see("POST /users/me/api_key/regenerate", theirs)


async def signing_in(stage: Stage) -> None:
    visitor = stage.visitor
    who = {"username": "ravi@example.com"}
    await stage.see("GET /server_settings", visitor)
    await stage.see("POST /fetch_api_key", visitor, **who, password=PASSWORD)
    token = jwt.encode({"alg": "HS256"}, {"email": "ravi@example.com"}, OctKey.import_key(JWT_KEY))
    stage.recorder.secrets[token] = "YOUR-TOKEN"
    await stage.see("POST /jwt/fetch_api_key", visitor, token=token)
    await stage.see("POST /dev_fetch_api_key", visitor, **who)
    await stage.see("GET /dev_list_users", visitor)
    key = await server_keys.key_for(stage.make.connection, PURPOSE)
    subscriber = Subscriber(stage.make.realm_id, UserId(user_id(stage.mia)))
    link = {"token": token_for(key, subscriber)}
    stage.recorder.secrets[link["token"]] = "YOUR-TOKEN"
    for method in ("GET", "POST"):
        await stage.see(f"{method} /email_notifications/unsubscribe/{{token}}", visitor, **link)


async def users(stage: Stage) -> None:
    ravi = user_id(stage.ravi)
    one = {"user_id": ravi}
    await stage.see("GET /users", client_gravatar=False)
    await stage.see("GET /users/{user_id_or_email}", user_id_or_email=ravi)
    await stage.ravi.post("/users/me/presence", status="active")
    await stage.see("GET /users/{user_id_or_email}/presence", user_id_or_email=ravi)
    await stage.see("GET /realm/presence")
    await stage.see("POST /users/{user_id}/status", **one, status_text="On holiday")
    await stage.see("GET /users/{user_id}/status", **one)
    await stage.make.connection.execute(
        "UPDATE users SET can_create_users = true WHERE user_id = %(id)s",
        id=user_id(stage.olivia),
    )
    stage.server.forget(stage.make.realm_id)
    made = await stage.see(
        "POST /users", email="noor@example.com", full_name="Noor", password="a long pass phrase"
    )
    noor = {"user_id_or_email": made["user_id"]}
    await stage.see("PATCH /users/{user_id_or_email}", **noor, role=300)
    await stage.see("DELETE /users/{user_id_or_email}", **noor)
    await stage.see("POST /users/{user_id}/reactivate", user_id=made["user_id"])
    await stage.see("DELETE /users/me", await stage.person(made["user_id"]))


async def bots(stage: Stage) -> None:
    made = await stage.see("POST /bots", full_name="Helper", short_name="helper", bot_type=1)
    one = {"bot_id": made["user_id"]}
    bot = await stage.person(made["user_id"])
    await stage.see("GET /bots")
    await stage.see("PATCH /bots/{bot_id}", **one, full_name="Kitchen helper")
    await stage.see("GET /bots/{bot_id}/api_key", **one)
    stored = {"storage": {"last_menu": "soup"}}
    await stage.see("PUT /bot_storage", bot, **stored)
    await stage.see("GET /bot_storage", bot, keys=["last_menu"])
    await stage.see("DELETE /bot_storage", bot, keys=["last_menu"])
    await stage.see("POST /bots/{bot_id}/api_key/regenerate", **one)
    await stage.see("DELETE /bots/{bot_id}", **one)
    made = await stage.olivia.post("/bots", full_name="Tests", short_name="tests", bot_type=2)
    one = {"bot_id": made["user_id"]}
    await stage.see("PUT /bots/{bot_id}/webhook_secret", **one, secret="a long secret")
    await stage.see("GET /bots/{bot_id}/webhook_secret", **one)
    await stage.see("DELETE /bots/{bot_id}/webhook_secret", **one)
    await stage.see("GET /bots/{bot_id}/last_delivery", **one)


async def slash_commands(stage: Stage) -> None:
    bot = await stage.olivia.post(
        "/bots",
        full_name="Deployer",
        short_name="deployer",
        bot_type=3,
        payload_url="https://deploy.example.com/parley",
    )
    made = await stage.see(
        "POST /realm/slash_commands",
        bot_id=bot["user_id"],
        name="deploy",
        description="Deploy a service",
        parameter_hint="[service] [version]",
    )
    one = {"command_id": made["id"]}
    await stage.see("GET /realm/slash_commands")
    await stage.see("PATCH /realm/slash_commands/{command_id}", **one, parameter_hint="[service]")
    await stage.see(
        "POST /realm/slash_commands/call",
        command="/deploy web",
        type="direct",
        to=[user_id(stage.ravi)],
    )
    caller_id = UserId(user_id(stage.olivia))
    call = CommandCallRow(
        call_id="0f2b",
        bot_id=bot["user_id"],
        caller_id=caller_id,
        command="deploy",
        channel_id=None,
        topic="",
        user_ids=(caller_id, UserId(user_id(stage.ravi))),
        answers_left=5,
    )
    token, now = "token-of-the-call", stage.server.app.clock.now()
    here = (stage.make.connection, stage.make.realm_id)
    await command_calls.open_address(*here, call, token=token, now=now)
    await stage.see(
        "POST /slash_commands/answers/{answer_token}",
        stage.visitor,
        answer_token=token,
        payload={"text": "The website is deployed."},
    )
    await stage.see("DELETE /realm/slash_commands/{command_id}", **one)


async def calls(stage: Stage) -> None:
    await stage.see("GET /calls/bigbluebutton/create", meeting_name="Lunch")
    await stage.see("POST /calls/constructorgroups/create")
    await stage.see("POST /calls/nextcloud_talk/create", room_name="Lunch")
    await stage.see("POST /calls/webex/create")
    await stage.see("POST /calls/zoom/create")


async def phones(stage: Stage) -> None:
    ravi = stage.ravi
    await stage.see("POST /users/me/android_gcm_reg_id", ravi, **PHONE)
    await stage.see("POST /mobile_push/test_notification", ravi, **PHONE)
    await stage.see("DELETE /users/me/android_gcm_reg_id", ravi, **PHONE)
    await stage.see("POST /users/me/apns_device_token", ravi, **PHONE, appid="com.example.app")
    await stage.see("DELETE /users/me/apns_device_token", ravi, **PHONE)


async def client_devices(stage: Stage) -> None:
    ravi = stage.ravi
    made = await stage.see("POST /register_client_device", ravi)
    one = {"device_id": made["device_id"]}
    phone = Phone(ravi, stage.bouncer.public_key, stage.server.app.clock.now().timestamp)
    key = Key(0.0)
    registration = {"push_key": key.text, "push_key_id": key.key_id, **phone.token_fields("secret")}
    await stage.see("POST /mobile_push/register", ravi, **one, **registration)
    await _register_waiting(stage)
    await stage.see("POST /mobile_push/e2ee/test_notification", ravi, **one)
    await stage.see("POST /remove_client_device", ravi, **one)


async def browsers(stage: Stage) -> None:
    browser = stage.push_service.browser()
    await stage.see("GET /web_push/key", stage.ravi)
    made = await stage.see(
        "POST /web_push/subscriptions", stage.ravi, **browser.subscription, user_agent="Firefox"
    )
    await stage.see("GET /web_push/subscriptions", stage.ravi)
    one = {"subscription_id": made["subscription_id"]}
    await stage.see("POST /web_push/test_notification", stage.ravi, **one)
    await stage.see("DELETE /web_push/subscriptions/{subscription_id}", stage.ravi, **one)


async def _register_waiting(stage: Stage) -> None:
    """Do what a worker does of new devices."""
    bodies = await stage.make.connection.tuples(
        """
        SELECT body FROM event_log WHERE realm_id = %(realm_id)s AND kind = 'job'
         ORDER BY position
        """,
        realm_id=stage.make.realm_id,
    )
    found = [msgspec.json.decode(bytes(body)) for (body,) in bodies]
    jobs = [each["job"] for each in found if each["queue"] == PushRegistration.queue]
    await register_devices(stage.server.app, msgspec.convert(jobs[-1], PushRegistration))
