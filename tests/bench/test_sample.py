import pytest
import trio

from tests.bench.sample import Sample, drive_tasks, drive_threads, join, percentile


def test_a_percentile_is_a_value_that_was_seen() -> None:
    values = list(range(100, 0, -1))

    assert (99, 50, 1) == (percentile(values, 0.99), percentile(values, 0.5), percentile(values, 0))
    assert 7 == percentile([7], 0.99)


def test_rounds_are_joined_and_the_middle_rate_counts() -> None:
    joined = join([Sample((1, 9), (10,)), Sample((2,), (30,)), Sample((3,), (20,))])

    assert ((1, 9, 2, 3), 2.5, 9, 20) == (joined.ms, joined.median, joined.worst, joined.per_s)


async def test_each_device_makes_its_calls_one_after_the_other() -> None:
    running = [0, 0]
    made = [0, 0]

    async def call(device: int) -> None:
        running[device] += 1
        assert running[device] == 1
        await trio.sleep(0.001)
        running[device] -= 1
        made[device] += 1

    sample = await drive_tasks([lambda: call(0), lambda: call(1)], 0.03)

    assert sum(made) == len(sample.ms)
    assert min(made) > 0


async def test_an_error_of_a_call_is_never_a_good_latency() -> None:
    def broken() -> None:
        raise ConnectionError("the device is gone")

    async def also_broken() -> None:
        raise ConnectionError("the device is gone")

    with pytest.raises(ConnectionError):
        await drive_threads([broken], 0.01)
    with pytest.RaisesGroup(ConnectionError):
        await drive_tasks([also_broken], 0.01)
