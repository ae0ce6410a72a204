"""What a process loads when it starts is there to the end, and is no garbage."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG_OBJECTS = 10_000
"""More of them than have gone are reason to look for garbage. A request is a hundred until it is
answered: by Python's own number each seven were, and a quarter of the time of thousands went to it.
"""


@contextmanager
def loading() -> Iterator[None]:
    """Nobody looks for garbage in what is loaded meanwhile: neither now nor later.

    To look through it again and again is a fifth of the time to load it.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def set_start_apart() -> None:
    """Let Python look for garbage only in what comes from now on, and not in each request in hand.

    To look through what there is takes a twentieth of a second, in which a process answers nobody.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
