"""Examples: channels, subscriptions, folders, and groups of users."""

from tests.api.examples.stage import Stage, user_id

PATH = "/users/me/subscriptions"
GROUP = "/user_groups/{user_group_id}"


async def channels(stage: Stage) -> None:
    people = [user_id(stage.olivia), user_id(stage.ravi)]
    made = await stage.see(
        "POST /channels/create",
        name="support",
        description="Questions of customers.",
        subscribers=people,
    )
    support = {"stream_id": made["id"]}
    await stage.see("GET /streams", include_public=True, include_subscribed=False)
    await stage.see("GET /get_stream_id", stream="support")
    await stage.see("GET /streams/{stream_id}", **support)
    await stage.see("GET /streams/{stream_id}/members", **support)
    await stage.see("GET /streams/{stream_id}/email_address", **support)
    described = {"description": "Questions of customers, and answers."}
    await stage.see("PATCH /streams/{stream_id}", **support, **described)
    await stage.see("POST /default_streams", **support)
    await stage.see("DELETE /default_streams", **support)
    await subscriptions(stage, made["id"])
    await stage.see("DELETE /streams/{stream_id}", **support)


async def subscriptions(stage: Stage, support: int) -> None:
    wanted = [{"name": "ideas", "description": "What could be better."}]
    await stage.see(f"POST {PATH}", subscriptions=wanted)
    await stage.see(f"GET {PATH}")
    await stage.see(f"PATCH {PATH}", add=[{"name": "design"}], delete=["ideas"])
    await stage.see(f"DELETE {PATH}", subscriptions=["design"])
    color = {"stream_id": support, "property": "color", "value": "#76ce90"}
    await stage.see(f"POST {PATH}/properties", subscription_data=[color])
    await stage.see(f"PATCH {PATH}/{{stream_id}}", **color)
    ravi = {"user_id": user_id(stage.ravi)}
    await stage.see("GET /users/{user_id}/subscriptions/{stream_id}", **ravi, stream_id=support)
    await stage.see("GET /users/{user_id}/channels", **ravi)


async def folders(stage: Stage) -> None:
    made = await stage.see(
        "POST /channel_folders/create", name="Customers", description="Everything about them."
    )
    one = {"channel_folder_id": made["channel_folder_id"]}
    await stage.see("GET /channel_folders")
    await stage.see("PATCH /channel_folders", order=[made["channel_folder_id"]])
    await stage.see("PATCH /channel_folders/{channel_folder_id}", **one, name="Our customers")


async def default_groups(stage: Stage) -> None:
    path = "/default_stream_groups"
    await stage.see(
        f"POST {path}/create",
        group_name="Designers",
        description="For those who draw.",
        stream_names=["general"],
    )
    fetched = await stage.olivia.post("/register", fetch_event_types=["default_stream_groups"])
    [group] = fetched["realm_default_stream_groups"]
    one = {"group_id": group["id"]}
    await stage.see(f"PATCH {path}/{{group_id}}", **one, new_group_name="Drawing")
    await stage.see(f"PATCH {path}/{{group_id}}/streams", **one, op="add", stream_names=["design"])
    await stage.see(f"DELETE {path}/{{group_id}}", **one)


async def groups(stage: Stage) -> None:
    ravi, mia = user_id(stage.ravi), user_id(stage.mia)
    made = await stage.see(
        "POST /user_groups/create", name="cooks", description="Who cook.", members=[ravi]
    )
    helpers = await stage.olivia.post(
        "/user_groups/create", name="helpers", description="Who help.", members=[]
    )
    one = {"user_group_id": made["group_id"]}
    await stage.see(f"POST {GROUP}/members", **one, add=[mia])
    await stage.see(f"POST {GROUP}/subgroups", **one, add=[helpers["group_id"]])
    await stage.see("GET /user_groups")
    await stage.see(f"GET {GROUP}/members", **one)
    await stage.see(f"GET {GROUP}/members/{{user_id}}", **one, user_id=ravi)
    await stage.see(f"GET {GROUP}/subgroups", **one)
    await stage.see(f"PATCH {GROUP}", **one, description="Who cook for everyone.")
    await stage.see(f"POST {GROUP}/deactivate", **one)
    other = await stage.olivia.post(
        "/user_groups/create", name="tasters", description="Who taste.", members=[]
    )
    await stage.see(f"DELETE {GROUP}", user_group_id=other["group_id"])
