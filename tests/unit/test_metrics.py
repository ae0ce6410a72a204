"""What a process tells of itself."""

from server.telemetry.metrics import Metrics


def test_methods_that_clients_make_up_are_counted_together():
    metrics = Metrics()
    for number in range(10):
        metrics.request(method=f"BREW{number}", endpoint="none", status=404, seconds=0.1)
    metrics.request(method="GET", endpoint="/events", status=200, seconds=0.1)
    told = metrics.text().decode()
    assert 'parley_request_seconds_count{endpoint="none",method="other",status="4xx"} 10.0' in told
    assert 'parley_request_seconds_count{endpoint="/events",method="GET",status="2xx"} 1.0' in told
    assert "BREW" not in told
