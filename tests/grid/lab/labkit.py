"""What the tests of the lab's core and Android face share: a clock, hands on a phone, a shell."""

from collections.abc import Callable
from pathlib import Path
from typing import final

from grid.lab.android import AndroidSystem, LatencyProfile
from grid.lab.appfile import load_app
from grid.lab.node import SimNode
from grid.lab.phone import SimPhone
from grid.lab.shell import Shell
from grid.lab.shell_call import FixedInput, ShellStreams
from grid.lab.shell_table import DEVICE_COMMANDS
from runner.model.ids import Platform

SHOP_FILE = Path(__file__).parents[2] / "support" / "apps" / "keepsake.toml"
SHOP = load_app(SHOP_FILE)
SHOP_ID = "com.sweepgrid.shop"
PASSWORD = "secret-42"
START = 1_750_000_000.0


@final
class HandClock:
    """A clock that is turned by hand."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


def make_phone(
    clock: Callable[[], float] | None = None, *, platform: Platform = "android"
) -> SimPhone:
    """A fresh phone with the shop."""
    return SimPhone(platform=platform, serial="lab-1", app=SHOP, clock=clock or HandClock(), seed=1)


@final
class Hands:
    """A user: looks for things on the screen, touches them, waits."""

    def __init__(self, *, platform: Platform = "android") -> None:
        self.clock = HandClock()
        self.phone = make_phone(self.clock, platform=platform)

    def wait(self, seconds: float) -> None:
        self.clock.now += seconds

    def nodes(self, node_id: str) -> list[SimNode]:
        return [node for node in self.phone.tree().walk() if node.id == node_id]

    def see(self, node_id: str) -> SimNode:
        (found,) = self.nodes(node_id)
        return found

    def tap(self, node_id: str) -> None:
        self.phone.tap(*self.see(node_id).rect.center)

    def go(self, node_id: str) -> None:
        """Tap and wait for the transition."""
        self.tap(node_id)
        self.wait(0.2)

    def texts(self) -> list[str]:
        return [node.label for node in self.phone.tree().walk() if node.kind != "key"]

    def log_in(self, user: str = "ann@example.com", password: str = PASSWORD) -> None:
        self.phone.launch(SHOP_ID)
        self.tap("username")
        self.phone.type_text(user)
        self.tap("password")
        self.phone.type_text(password)
        self.go("login_button")

    def enter_home(self) -> None:
        self.log_in()
        assert self.phone.press_alert("Allow")


@final
class ShellKit:
    """Runs commands on a phone without a wire."""

    def __init__(
        self, hands: Hands | None = None, *, profile: LatencyProfile | None = None
    ) -> None:
        self.hands = hands or Hands()
        self.system = AndroidSystem(self.hands.phone, profile=profile or LatencyProfile())

    @property
    def phone(self) -> SimPhone:
        return self.hands.phone

    async def run(self, text: str, stdin: bytes = b"") -> tuple[str, str, int]:
        """Return stdout, stderr and the exit status."""
        out, err = bytearray(), bytearray()

        async def flush() -> None:
            pass

        streams = ShellStreams(FixedInput(stdin), out.extend, err.extend, flush)
        status = await Shell(self.system, DEVICE_COMMANDS).run(text, streams)
        return out.decode(), err.decode(), status

    async def out(self, text: str) -> str:
        """Return stdout of a command that must succeed."""
        out, err, status = await self.run(text)
        assert (status, err) == (0, "")
        return out
