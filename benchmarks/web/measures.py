"""Each row of the browser client's budgets."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

from benchmarks.client import Client
from benchmarks.figures import Figures, percentile
from benchmarks.web import budgets
from benchmarks.web.scene import Scene
from benchmarks.web.tab import UNLIMITED, Tab, signed_in

OPENINGS = 12
ARRIVALS = 150
ARRIVAL_EVERY_SECONDS = 0.1
ECHOES = 40
NARROWS = 15
"""Fewer than the client holds."""
SCROLLED_MESSAGES = 10_000
SCROLLED_PIXELS = 240
"""A frame: more than one page of the screen in four frames."""
SCROLLING_SECONDS = 300
IDLE_SECONDS = 60
IDLE_PINGS = 100
"""Presence pings of other people that arrive while the tab is idle."""
KEY_EVERY_MS = 60
TYPED = ("Dear all, ", "@person 12", " and @pers", "on 999 said that @p 34", " was here. ")

FIRST_LOAD = """async () => {
    await probe.until(() => document.querySelector("[data-message-id]"));
    const first = Math.min(...[...probe.shown.values()].map((each) => each.changed));
    const before = performance.getEntriesByType("resource")
        .filter((each) => each.responseEnd <= first);
    const page = await (await fetch(location.pathname)).text();
    const size = (ending, isNeeded) => before.map((each) => [new URL(each.name).pathname, each])
        .filter(([path]) => path.endsWith(ending) && (!isNeeded || page.includes(path)))
        .reduce((sum, [, each]) => sum + each.encodedBodySize, 0);
    return [size(".js", true), size(".css", false), size(".js", false)];
}"""
"""Bytes loaded before the first message: scripts that the page names, styles, all scripts."""

SHOWN_AFTER = """(id) =>
    probe.until(() => document.querySelector(`[data-message-id="${id}"]`), 0)"""
SHOWN = """() => probe.until(() => document.querySelector("[data-message-id]"))"""
ARRIVED = """(ids) => {
    const ends = performance.getEntriesByType("resource")
        .filter((each) => new URL(each.name).pathname === "/json/events")
        .map((each) => each.responseEnd);
    return ids.map((id) => {
        const { changed, painted } = probe.shown.get(id);
        return painted - Math.max(...ends.filter((each) => each <= changed));
    });
}"""
SWITCH = """([address, id]) => {
    const from = performance.now();
    location.hash = address;
    return probe.until(() => document.querySelector(`[data-message-id="${id}"]`), from);
}"""
WATCH_KEYS = """() => {
    probe.keys = [];
    addEventListener("keydown", (event) => {
        if (event.key === "Control") return;
        const from = event.timeStamp;
        probe.painted((now) => probe.keys.push(now - from));
    }, { capture: true });
}"""
SCROLL = """([messages, pixels, seconds]) => new Promise((resolve) => {
    const scroller = document.querySelector(".feed-scroller");
    const frames = [];
    const ends = performance.now() + seconds * 1000;
    let last = performance.now();
    const step = (now) => {
        frames.push(now - last);
        last = now;
        if (probe.shown.size >= messages || now > ends) {
            const all = document.querySelectorAll("[role=feed] *").length;
            const insides = document.querySelectorAll("[role=feed] .message-body *").length;
            resolve({ frames, passed: probe.shown.size, nodes: all - insides });
            return;
        }
        scroller.dispatchEvent(new WheelEvent("wheel", { deltaY: -pixels }));
        scroller.scrollTop -= pixels;
        requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
})"""
FORGET = "() => { probe.shown = new Map(); performance.clearResourceTimings(); }"

LATE_FRAME_MS = 32


async def weight(tab: Tab) -> Figures:
    """The bytes loaded before the first message shows, with nothing cached."""
    await tab.session.send("Network.enable")
    await tab.session.send("Network.setCacheDisabled", {"cacheDisabled": True})
    await tab.open(tab.scene.topic(1))
    script, style, every_script = await tab.run(FIRST_LOAD)
    await tab.session.send("Network.setCacheDisabled", {"cacheDisabled": False})
    return {
        budgets.SCRIPT: script / 1000,
        budgets.STYLE: style / 1000,
        "web, JavaScript that has come when it shows, compressed KB": every_script / 1000,
    }


async def opening(tab: Tab) -> Figures:
    """From the navigation to the newest messages of a conversation."""
    taken = []
    for number in range(OPENINGS):
        await tab.open(tab.scene.topic(1 + number % 2))
        taken.append(await tab.run(SHOWN_AFTER, tab.scene.newest[number % 2]))
    return {budgets.OPENING: percentile(taken[2:], 0.5)}


async def arrivals(tab: Tab) -> Figures:
    """Messages of another user that arrive in the open conversation."""
    await tab.open(tab.scene.topic(3))
    await tab.run(SHOWN_AFTER, tab.scene.newest[2])
    other = tab.scene.client(2)
    ids: list[int] = []
    used: Figures = {}
    async with main_thread(tab, "an arrival", ARRIVALS, used):
        for number in range(ARRIVALS):
            ids.append(await _send(tab, other, f"Arrival {number}"))
            await asyncio.sleep(ARRIVAL_EVERY_SECONDS)
        await tab.run(SHOWN_AFTER, ids[-1])
    taken = await tab.run(ARRIVED, ids[5:])
    return used | {
        budgets.ARRIVAL_P50: percentile(taken, 0.5),
        budgets.ARRIVAL_P99: percentile(taken, 0.99),
    }


async def _send(tab: Tab, client: Client, text: str) -> int:
    answer = await client.post(
        "/messages", type="channel", to=tab.scene.channel_id, topic="topic 3", content=text
    )
    return int(json.loads(answer)["id"])


async def echoes(tab: Tab) -> Figures:
    """From the key that sends to one's own message."""
    taken = [each["taken"] async for each in _echoes(tab)]
    return {"web, from the key to one's own message p50 ms": percentile(taken[2:], 0.5)}


async def echo_frames(tab: Tab) -> Figures:
    """Which frame after the key that sends has one's own message: 1 is the next one."""
    return {budgets.ECHO_FRAMES: max([each["frames"] async for each in _echoes(tab)])}


async def _echoes(tab: Tab) -> AsyncIterator[dict[str, float]]:
    await tab.open(tab.scene.topic(4))
    await tab.run(SHOWN)
    await tab.run(WATCH_KEYS)
    box = tab.page.get_by_role("textbox", name="Message", exact=True)
    for number in range(ECHOES):
        text = f"My own message {number} at {time.monotonic_ns()}"
        await box.fill(text)
        await tab.run(ECHO, text)
        await tab.page.keyboard.press("Control+Enter")
        yield await tab.run("() => probe.echo")


ECHO = """(text) => {
    probe.echo = new Promise((resolve) => {
        const onKey = (event) => {
            if (event.key !== "Enter") return;
            removeEventListener("keydown", onKey, { capture: true });
            const feed = document.querySelector(".feed-content");
            const isShown = () => feed.textContent.includes(text);
            let frames = 0;
            const count = () => {
                frames += 1;
                if (!isShown()) requestAnimationFrame(count);
            };
            requestAnimationFrame(count);
            probe.until(isShown, event.timeStamp).then((taken) => resolve({ taken, frames }));
        };
        addEventListener("keydown", onKey, { capture: true });
    });
}"""


async def switches(tab: Tab) -> Figures:
    """From one conversation to another: at first they are fetched, then they are held."""
    await tab.open("#inbox")
    await tab.page.get_by_role("navigation", name="Conversations").wait_for()
    taken: dict[str, list[float]] = {budgets.FETCHED: [], budgets.HELD: []}
    used: Figures = {}
    for name, what in ((budgets.FETCHED, "fetching a narrow"), (budgets.HELD, "a held narrow")):
        async with main_thread(tab, what, NARROWS, used):
            for number in range(NARROWS):
                address, newest = tab.scene.topic(number + 10), tab.scene.newest[number + 9]
                taken[name].append(await tab.run(SWITCH, [address, newest]))
                await asyncio.sleep(0.2)
    return used | {name: percentile(each[1:], 0.5) for name, each in taken.items()}


async def scrolling(tab: Tab) -> Figures:
    """Back through a channel of 100,000 messages."""
    await tab.open(tab.scene.channel)
    await tab.run(SHOWN)
    await tab.run(FORGET)
    before = await tab.metrics()
    found = await tab.run(SCROLL, [SCROLLED_MESSAGES, SCROLLED_PIXELS, SCROLLING_SECONDS])
    after = await tab.metrics()
    frames, passed = found["frames"], found["passed"]
    used_ms = (after["TaskDuration"] - before["TaskDuration"]) * 1000
    late = sum(each > LATE_FRAME_MS for each in frames)
    await tab.run(FORGET)
    return {
        # A run that takes too long ends before it has passed all messages.
        "web, scrolling over a message, main thread ms": used_ms / passed,
        "web, scrolling, a frame, main thread ms": used_ms / len(frames),
        budgets.LATE_FRAMES: 100 * late / len(frames),
        budgets.NODES: found["nodes"],
        budgets.HEAP: await tab.heap_mb(),
        "web, scrolling, messages passed": passed,
    }


async def idling(tab: Tab) -> Figures:
    """The inbox of an idle user, while others report their presence."""
    await tab.open("#inbox")
    await asyncio.sleep(10)
    people = [tab.scene.client(number) for number in range(2, 2 + IDLE_PINGS)]
    started, before = time.monotonic(), await tab.metrics()
    for each in people:
        await each.post("/users/me/presence", status="active", ping_only=False)
        each.close()
        await asyncio.sleep(IDLE_SECONDS / IDLE_PINGS)
    after = await tab.metrics()
    used = after["ProcessTime"] - before["ProcessTime"]
    return {budgets.IDLE: 100 * used / (time.monotonic() - started)}


async def typing(tab: Tab) -> Figures:
    """Words and mentions, where 10,000 people are to complete from."""
    await tab.open(f"{tab.scene.channel}/topic/typing")
    box = tab.page.get_by_role("textbox", name="Message", exact=True)
    await box.focus()
    await asyncio.sleep(2)
    await tab.run(WATCH_KEYS)
    used: Figures = {}
    async with main_thread(tab, "a key, 10,000 people", sum(map(len, TYPED)), used):
        for text in TYPED:
            await tab.page.keyboard.type(text, delay=KEY_EVERY_MS)
        await asyncio.sleep(0.5)
    taken = await tab.run("() => probe.keys")
    return used | {
        budgets.TYPING_P50: percentile(taken, 0.5),
        budgets.TYPING_P99: percentile(taken, 0.99),
    }


Measure = Callable[[Tab], Awaitable[Figures]]


async def measured(scene: Scene, measures: Sequence[Measure], *options: str) -> Figures:
    """The figures of all of these, one after the other in one tab."""
    figures: Figures = {}
    async with signed_in(scene, *options) as tab:
        for each in measures:
            figures |= await each(tab)
    return figures


@asynccontextmanager
async def main_thread(tab: Tab, what: str, count: int, figures: Figures) -> AsyncIterator[None]:
    """Note what each of so many things uses of a processor: other work beside it does not count."""
    before = await tab.metrics()
    yield
    after = await tab.metrics()
    used = after["TaskDuration"] - before["TaskDuration"]
    figures[f"web, {what}, main thread ms"] = used * 1000 / count


LATENCIES: Sequence[Measure] = (weight, opening, arrivals, echoes, switches)
AT_60_HZ: Sequence[Measure] = (echo_frames, scrolling, idling)
"""Which frames show something or are late, and what is used when nothing happens, depend on their
rate."""


async def all_of(scene: Scene) -> Figures:
    """Everything but typing, which is measured among more people."""
    return await measured(scene, LATENCIES, *UNLIMITED) | await measured(scene, AT_60_HZ)


async def typing_of(scene: Scene) -> Figures:
    """Typing among the people of the scene."""
    return await measured(scene, (typing,), *UNLIMITED)
