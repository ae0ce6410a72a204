"""What is measured is all that there is."""

from benchmarks.processing.jobs import JOBS
from queue_processors.registry import PROCESSORS


def test_each_queue_processor_is_measured():
    assert [each.queue for each in PROCESSORS if each.job not in JOBS] == []
