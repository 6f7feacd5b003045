# ruff: noqa: ARG001  # The clock fixture acts by being asked for.

import fcntl
import multiprocessing
import os
from pathlib import Path
from stat import S_IMODE

import pytest
import trio
from hypothesis import given, strategies as st
from trio.testing import MockClock

from grid.lease import Lease, LeaseEvent, LeaseStore, Release, Renew, Take, advance, lease_folder
from runner.errors import GridError
from runner.model.ids import Fence

TTL = 1000


def take(at: int, holder: str = "h") -> Take:
    return Take(device="d", holder=holder, at_ms=at, ttl_ms=TTL)


def renew(fence: int, at: int) -> Renew:
    return Renew(device="d", fence=Fence(fence), at_ms=at, ttl_ms=TTL)


def release(fence: int) -> Release:
    return Release(device="d", fence=Fence(fence))


def held_files(folder: Path) -> list[Path]:
    return list(folder.glob("*.json"))


HELD = Lease(device="d", holder="h", fence=Fence(50), expires_ms=2000)


@pytest.mark.parametrize(
    ("before", "event", "after", "done"),
    [
        (None, take(100), Lease(device="d", holder="h", fence=Fence(100), expires_ms=1100), True),
        (HELD, take(1999, "other"), HELD, False),
        (HELD, take(1999), HELD, False),
        (
            HELD,
            take(2000, "other"),
            Lease(device="d", holder="other", fence=Fence(2000), expires_ms=3000),
            True,
        ),
        (
            HELD,
            renew(50, 1999),
            Lease(device="d", holder="h", fence=Fence(50), expires_ms=2999),
            True,
        ),
        (HELD, renew(50, 2000), HELD, False),
        (HELD, renew(49, 1000), HELD, False),
        (None, renew(50, 1000), None, False),
        (HELD, release(50), None, True),
        (HELD, release(49), HELD, False),
        (None, release(50), None, False),
    ],
)
async def test_the_table_of_the_module_holds(
    before: Lease | None, event: LeaseEvent, after: Lease | None, *, done: bool
) -> None:
    assert advance(before, event) == (after, done)


async def test_the_fence_grows_also_when_the_clock_went_back() -> None:
    lease, done = advance(Lease(device="d", holder="h", fence=Fence(9000), expires_ms=10), take(20))

    assert done
    assert lease is not None
    assert lease.fence == 9001


@given(st.lists(st.tuples(st.sampled_from(["take", "renew", "release"]), st.integers(0, 2))))
def test_two_holders_never_hold_at_once(moves: list[tuple[str, int]]) -> None:
    lease: Lease | None = None
    beliefs: dict[int, tuple[Fence, int]] = {}
    fences: list[Fence] = []
    now = 1
    for move, who in moves:
        now += 300
        known = beliefs.get(who)
        if move == "take":
            lease, done = advance(lease, take(now, str(who)))
            if done and lease is not None:
                others = [k for k, (_, end) in beliefs.items() if end > now]

                assert others == []
                beliefs[who] = (lease.fence, lease.expires_ms)
                fences.append(lease.fence)
        elif known is not None and move == "renew":
            lease, done = advance(lease, renew(known[0], now))
            if done:
                beliefs[who] = (known[0], now + TTL)
        elif known is not None:
            lease, _ = advance(lease, release(known[0]))
            del beliefs[who]

    assert fences == sorted(set(fences))


async def test_a_store_keeps_a_lease_as_a_file_and_removes_it(tmp_path: Path) -> None:
    store = LeaseStore(tmp_path / "run" / "leases")
    lease, done = await store.apply(take(100))

    assert done
    assert lease is not None
    assert len(held_files(tmp_path / "run" / "leases")) == 1
    other, done = await LeaseStore(tmp_path / "run" / "leases").apply(take(200, "other"))

    assert (other, done) == (lease, False)
    await store.apply(release(lease.fence))

    assert held_files(tmp_path / "run" / "leases") == []
    assert (tmp_path / "run" / "leases").stat().st_mode & 0o777 == 0o700


async def test_devices_with_awkward_names_have_files_of_their_own(tmp_path: Path) -> None:
    store = LeaseStore(tmp_path)
    for name in ("android:127.0.0.1:5555", "../up", "a/b"):
        _, done = await store.apply(Take(device=name, holder="h", at_ms=1, ttl_ms=TTL))

        assert done
    assert len(held_files(tmp_path)) == 3


async def test_a_store_locked_for_too_long_is_a_typed_error(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    handle = os.open(tmp_path / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        with pytest.raises(GridError) as caught:
            await LeaseStore(tmp_path).apply(take(1))
    finally:
        os.close(handle)

    assert caught.value.reason == "lease_store_failed"
    assert trio.current_time() >= 0.9


@pytest.mark.parametrize("content", [b"", b"{", b'{"device": 1}', b"\xff\xfe"])
async def test_a_damaged_lease_file_holds_no_device(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "d.json").write_bytes(content)

    lease, done = await LeaseStore(tmp_path).apply(take(1))

    assert done
    assert lease is not None
    again, done = await LeaseStore(tmp_path).apply(take(2, "other"))
    assert not done
    assert again == lease


async def test_a_folder_that_cannot_be_made_is_a_typed_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(GridError) as caught:
        await LeaseStore(tmp_path / "file" / "leases").apply(take(1))

    assert caught.value.reason == "lease_store_failed"


def _grab(folder: Path, number: int) -> bool:
    async def main() -> bool:
        _, done = await LeaseStore(folder).apply(take(1000 + number, f"p{number}"))
        return done

    return trio.run(main)


@pytest.mark.slow
def test_of_many_processes_one_gets_the_device(tmp_path: Path) -> None:
    with multiprocessing.get_context("fork").Pool(4) as processes:
        done = processes.starmap(_grab, [(tmp_path, number) for number in range(24)])

    assert sum(done) == 1


async def test_leases_live_in_the_users_runtime_folder() -> None:
    here = lease_folder({"XDG_RUNTIME_DIR": "/run/user/7"}, 7)

    assert here == Path("/run/user/7/sweepgrid/leases")
    assert lease_folder({"TMPDIR": "/scratch"}, 7) == Path("/scratch/sweepgrid-7/leases")


async def test_the_folder_is_made_for_this_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "sweepgrid-7" / "leases"
    await LeaseStore(folder).apply(Take(device="d", holder="h", at_ms=0, ttl_ms=9))

    assert [0o700, 0o700] == [S_IMODE(each.stat().st_mode) for each in (folder.parent, folder)]


@pytest.mark.parametrize("trap", ["link", "open", "file"])
async def test_a_folder_that_others_could_have_laid_is_not_used(tmp_path: Path, trap: str) -> None:
    place = tmp_path / "sweepgrid-7"
    if trap == "link":
        (tmp_path / "elsewhere").mkdir()
        place.symlink_to(tmp_path / "elsewhere")
    elif trap == "open":
        place.mkdir()
        place.chmod(0o777)
    else:
        place.write_text("")
    with pytest.raises(GridError) as caught:
        await LeaseStore(place / "leases").apply(Take(device="d", holder="h", at_ms=0, ttl_ms=9))

    assert "lease_store_failed" == caught.value.reason
    assert not (tmp_path / "elsewhere" / "leases").exists()
