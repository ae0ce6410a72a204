"""Actions on queues: their confirmation texts, and what runs them."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from server.app import App
from server.runtime.formatting import counted
from storage import workers

Run = Callable[[App, str, Sequence[str] | None], Awaitable[int]]
"""Run the action on a queue, for these dead jobs or all."""


@dataclass(frozen=True, slots=True)
class Action:
    """An action on a queue."""

    name: str
    verb: str
    asks: str
    """The question, with {queue} and {jobs}."""
    explains: str
    says: str
    """The result, with {jobs}: the number of jobs."""
    run: Run
    is_about_dead: bool = False
    """Whether it applies to dead jobs, selected ones or all."""
    is_dangerous: bool = False

    def question(self, queue: str, chosen: Sequence[str] | None) -> str:
        jobs = "all dead jobs" if chosen is None else counted(len(chosen), "dead job", "dead jobs")
        return self.asks.format(queue=queue, jobs=jobs)

    def done(self, count: int) -> str:
        return self.says.format(jobs=counted(count, "job", "jobs"))


async def _pause(app: App, queue: str, _ids: Sequence[str] | None) -> int:
    async with app.database.connection() as connection:
        await workers.pause(connection, queue)
    return 0


async def _resume(app: App, queue: str, _ids: Sequence[str] | None) -> int:
    async with app.database.connection() as connection:
        return await workers.resume(connection, queue)


async def _retry(app: App, queue: str, _ids: Sequence[str] | None) -> int:
    return await app.desk.retry(queue)


async def _replay(app: App, queue: str, ids: Sequence[str] | None) -> int:
    return await app.desk.replay(queue, ids)


async def _drop(app: App, queue: str, ids: Sequence[str] | None) -> int:
    return await app.desk.drop(queue, ids)


_ALL: Final = (
    Action(
        "pause",
        "Pause",
        "Pause {queue}?",
        "No worker starts its jobs until it is resumed. Those in hand are finished; jobs are kept.",
        "The queue is paused: workers stop within seconds.",
        _pause,
    ),
    Action(
        "resume",
        "Resume",
        "Resume {queue}?",
        "Workers begin work on it again within seconds.",
        "The queue goes on.",
        _resume,
    ),
    Action(
        "retry",
        "Retry now",
        "Retry now what waits in {queue}?",
        "Jobs that failed and wait for their next attempt are handed out at once.",
        "{jobs} may be tried again now.",
        _retry,
    ),
    Action(
        "replay",
        "Replay",
        "Replay {jobs} of {queue}?",
        "What died goes back into the queue as if new; if the reason is still there, in vain.",
        "{jobs} went back into the queue.",
        _replay,
        is_about_dead=True,
    ),
    Action(
        "drop",
        "Drop",
        "Drop {jobs} of {queue}?",
        "What died is forgotten, and what it was to do is never done. This cannot be undone.",
        "{jobs} forgotten.",
        _drop,
        is_about_dead=True,
        is_dangerous=True,
    ),
)
ACTIONS: Final = {action.name: action for action in _ALL}
