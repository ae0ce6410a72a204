"""Upper bounds of the browser client's costs, by figure. Frames of 60 Hz take 16.7 ms."""

SCRIPT = "web, JavaScript before the first message, compressed KB"
STYLE = "web, CSS before the first message, compressed KB"
OPENING = "web, from navigation to the newest messages p50 ms"
ARRIVAL_P50 = "web, from an event's bytes to the paint p50 ms"
ARRIVAL_P99 = "web, from an event's bytes to the paint p99 ms"
ECHO_FRAMES = "web, frames from the key to the one with one's own message, most"
HELD = "web, to a narrow held in memory p50 ms"
FETCHED = "web, to a narrow that is fetched p50 ms"
LATE_FRAMES = "web, scrolling, frames later than 32 ms, percent"
NODES = "web, nodes of the feed without bodies' insides"
HEAP = "web, heap after 10,000 messages, MB"
IDLE = "web, an idle tab, percent of a core"
TYPING_P50 = "web, from a key to its paint, 10,000 people, p50 ms"
TYPING_P99 = "web, from a key to its paint, 10,000 people, p99 ms"

BUDGETS = {
    SCRIPT: 60.0,
    STYLE: 15.0,
    OPENING: 400.0,
    ARRIVAL_P50: 16.0,
    ARRIVAL_P99: 33.0,
    ECHO_FRAMES: 1.0,
    HELD: 30.0,
    FETCHED: 120.0,
    LATE_FRAMES: 1.0,
    NODES: 6_000.0,
    HEAP: 60.0,
    IDLE: 0.5,
    TYPING_P50: 16.0,
}
