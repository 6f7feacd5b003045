"""What a contract test gets: a device under command, and the truth behind it."""

from dataclasses import dataclass

import trio

from drivers.protocol import Device
from grid.lab.phone import SimPhone
from runner.model.action import FillText, Tap
from runner.model.screen import Node, Snapshot

SHOP_ID = "com.sweepgrid.shop"
USER = "ann@example.com"
PASSWORD = "secret-42"


@dataclass(frozen=True)
class Face:
    """A device as drivers see it, and the phone as only tests may."""

    device: Device
    phone: SimPhone

    async def look(self) -> Snapshot:
        """Capture the screen."""
        return (await self.device.snapshot()).snapshot

    async def find(self, name: str) -> Node:
        """Return the node with this id, waiting as long as a transition may take."""
        with trio.fail_after(5):
            while True:
                for node in (await self.look()).nodes:
                    if name in {node.identifier, node.identifier.rpartition(":id/")[2]}:
                        return node
                await trio.sleep(0.02)

    async def center(self, name: str) -> tuple[float, float]:
        """Return where the node with this id is tapped."""
        node = await self.find(name)
        assert node.rect is not None
        return node.rect.center

    async def tap(self, name: str) -> None:
        """Tap the node with this id."""
        x, y = await self.center(name)
        await self.device.perform(Tap(x=x, y=y))

    async def fill(self, name: str, text: str) -> None:
        """Fill the field with this id."""
        x, y = await self.center(name)
        await self.device.perform(FillText(x=x, y=y, text=text))

    async def log_in(self) -> None:
        """Go from the log-in screen to the prompt that follows it."""
        await self.fill("username", USER)
        await self.fill("password", PASSWORD)
        await self.tap("login_button")
        with trio.fail_after(5):
            while self.phone.alert() is None:  # noqa: ASYNC110  the phone has no event
                await trio.sleep(0.02)
