"""A process, once it has started."""

import gc

from scripts.cli.loading import set_start_apart


def test_what_was_loaded_at_the_start_is_not_looked_through_for_garbage():
    gc.collect()  # what other tests have left is not of the start
    before = len(gc.get_objects())
    try:
        set_start_apart()
        assert gc.get_freeze_count() > before / 2
        assert len(gc.get_objects()) < before / 10
    finally:
        gc.unfreeze()
