"""The words in which all services of builds and deployments speak: states, durations, topics."""

from typing import Final

from server.integrations.base import Stage
from server.integrations.markdown import text

SUCCEEDED: Final = ":check: succeeded"
_CROSS: Final = ":cross_mark:"
FAILED: Final = f"{_CROSS} failed"
CANCELLED: Final = "was cancelled"
STARTED: Final = "has started"
_PENDING: Final = "is pending"

_WORDS: Final = {
    SUCCEEDED: ("success", "successful", "succeeded", "passed", "ready"),
    FAILED: ("failure", "failed", "error", "errored", "infrastructure_fail", "broken"),
    CANCELLED: ("cancelled", "canceled", "aborted", "stopped"),
    f"{_CROSS} timed out": ("timed_out", "timedout"),
    "succeeded in part": ("partiallysucceeded", "partial"),
    _PENDING: ("pending", "waiting", "queued", "scheduled"),
    STARTED: ("started", "running", "in_progress", "inprogress", "building"),
    "was skipped": ("skipped", "not_run"),
    "is unstable": ("unstable",),
    "completed": ("neutral", "completed"),
    "needs action": ("action_required", "manual"),
    "became stale": ("stale",),
}
_BY_STATE: Final = {state: words for words, states in _WORDS.items() for state in states}


def state_words(state: str, default: str = "") -> str:
    """Return what is said of a build in this state: `has started`, `was cancelled`."""
    return _BY_STATE.get(state.lower().strip(), default) or f"is in the state {text(state or '?')}"


def stage_of(words: str) -> Stage | None:
    """Return the stage of a build of which these words of `state_words` are said.

    None if they are of none: it is in a state of the service's own.
    """
    if words.startswith((STARTED, _PENDING)):
        return Stage.STARTED
    if words.startswith(_CROSS):
        return Stage.FAILED
    return None if words.startswith("is in the state") else Stage.ENDED


def lasted(seconds: float) -> str:
    """Return ` in 3 min 20 s`, to follow a state; empty if unknown."""
    whole = round(seconds) if 0 < seconds < 10**9 else 0
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    units = ((hours, "h"), (minutes, "min"), (rest, "s"))
    shown = " ".join(f"{number} {unit}" for number, unit in units if number)
    return f" in {shown}" if shown else ""
