"""Compare the events that the clients received with those that they had to receive."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from testkit.faults.history import ID_BITS, Evidence, QueueHistory, SendRecord
from testkit.faults.oracle import Expected, Ledger, foretell
from testkit.faults.world import World

SHOWN = 5


def check(world: World, ledger: Ledger, evidence: Evidence) -> list[str]:
    """Every violation, one sentence each; nothing if all is well."""
    expected, problems = foretell(world, ledger, evidence.sends, evidence.queues)
    violations = [*evidence.violations, *problems]
    violations += _check_log(ledger)
    violations += _check_sends(ledger, evidence.sends)
    for queue in evidence.queues:
        wanted = expected.get(queue.queue_id)
        if wanted is not None:
            violations += _check_queue(ledger, evidence, queue, wanted)
    return violations


def _check_log(ledger: Ledger) -> Iterator[str]:
    """Positions are dense, of one epoch, and the clock stands at the last."""
    if ledger.log and ledger.log[0].first != 1:
        yield f"the log begins at {ledger.log[0].first}"
    for before, after in pairwise(ledger.log):
        if after.first != before.position + 1:
            yield f"position {after.first} follows {before.position} in the log"
    last = ledger.log[-1].position if ledger.log else 0
    if ledger.position != last:
        yield f"the clock stands at {ledger.position}, the log ends at {last}"
    if epochs := {entry.epoch for entry in ledger.log} - {ledger.epoch}:
        yield f"entries of other epochs: {sorted(epochs)}"
    announced = {entry.position for entry in ledger.log if entry.kind == "message"}
    for message_id in sorted(ledger.messages.keys() - announced)[:SHOWN]:
        yield f"message {message_id} is in no entry of the log"


def _check_sends(ledger: Ledger, sends: Sequence[SendRecord]) -> Iterator[str]:
    """Accepted ones are there exactly once, as they were sent; others at most once."""
    copies = Counter(message.content for message in ledger.messages.values())
    known = {send.token for send in sends}
    for token in sorted(copies.keys() - known)[:SHOWN]:
        yield f"{token!r} was never sent"
    for send in sends:
        found = copies[send.token]
        if found > 1:
            yield f"{send.token} is there {found} times"
        if send.message_id is not None:
            yield from _check_accepted(ledger, send)
        elif send.refusal is not None and found and send.attempts == 1:
            yield f"{send.token} was refused ({send.refusal}) and is there"


def _check_accepted(ledger: Ledger, send: SendRecord) -> Iterator[str]:
    assert send.message_id is not None
    message = ledger.messages.get(send.message_id)
    if message is None:
        yield f"{send.token} was accepted as {send.message_id} and is not there"
        return
    where = (
        ledger.dm_groups[message.conversation_id]
        if message.channel_id is None
        else message.channel_id
    )
    if (message.content, message.sender_id, where) != (send.token, send.sender_id, send.where):
        yield f"{send.token} was accepted as {send.message_id}, which is {message}"
    if send.message_id <= send.floor:
        yield f"{send.token} has id {send.message_id}, below {send.floor}, accepted before"


def _check_queue(
    ledger: Ledger, evidence: Evidence, queue: QueueHistory, wanted: Expected
) -> Iterator[str]:
    who = f"queue {queue.queue_id} of user {queue.user_id} (base {wanted.base})"
    if queue.base is not None and queue.base != wanted.base:
        yield f"{who} gave its events ids as if it began at {queue.base}"
    if wanted.base < queue.floor:
        yield f"{who} begins before {queue.floor}, which was accepted before it was registered"
    if queue.subscribed is not None and queue.subscribed != wanted.subscribed:
        yield (
            f"{who}: register says channels {sorted(queue.subscribed)},"
            f" the log {sorted(wanted.subscribed)}"
        )
    due = bisect_right(wanted.ids, queue.reached)
    if queue.is_finished:
        finish = next(
            m.message_id for m in ledger.messages.values() if m.content == evidence.finish
        )
        due = max(due, bisect_right(wanted.ids, (finish - wanted.base) << ID_BITS))
    elif not queue.ids and queue.reached < 0:
        return
    seen = len(queue.ids)
    if seen == due and queue.ids == wanted.ids[:due] and queue.marks == wanted.marks[:due]:
        return
    yield from _differences(who, queue, wanted, due)


def _differences(who: str, queue: QueueHistory, wanted: Expected, due: int) -> Iterator[str]:
    """Differences between what a queue saw and what it should have seen."""
    seen = dict(zip(queue.ids, queue.marks, strict=True))
    must = dict(zip(wanted.ids[:due], wanted.marks[:due], strict=True))
    if len(seen) != len(queue.ids):
        yield f"{who} saw {len(queue.ids) - len(seen)} events twice"
    for name, ids in (
        ("never saw", must.keys() - seen.keys()),
        ("must not have seen", seen.keys() - must.keys()),
        ("saw something else at", {i for i in must.keys() & seen.keys() if must[i] != seen[i]}),
    ):
        if ids:
            positions = [wanted.base + (i >> ID_BITS) for i in sorted(ids)[:SHOWN]]
            yield f"{who} {name} {len(ids)} events, the first at positions {positions}"
