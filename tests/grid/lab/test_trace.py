from grid.lab.trace import MAX_ENTRIES, MAX_TEXT, Trace, TraceEntry
from tests.grid.lab.labkit import START, HandClock


def test_the_newest_requests_are_kept_and_all_bytes_counted() -> None:
    trace = Trace(HandClock())
    for number in range(MAX_ENTRIES + 5):
        trace.record("adb", f"shell:{number}")
        trace.count_received("adb", 3)
    trace.count_received("wda", 1)

    assert len(trace.entries()) == MAX_ENTRIES
    assert trace.entries()[0] == TraceEntry(at=START, face="adb", text="shell:5")
    assert trace.received() == {"adb": 3 * (MAX_ENTRIES + 5), "wda": 1}


def test_a_long_request_is_cut() -> None:
    trace = Trace(HandClock())

    trace.record("adb", "x" * 10_000)

    assert len(trace.entries()[0].text) == MAX_TEXT
