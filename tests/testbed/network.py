"""The testbed's wires: one /24 of private addresses per run, one pair of interfaces per cluster.

Each pair dies with its world. What leads to daint goes through the jump host's world alone; seen from the
host its address is a neighbour that never answers, so no packet leaves this machine.
SPDX-License-Identifier: GPL-3.0-or-later
"""

import random
import subprocess

from tests.testbed.world import World, WorldError

_LINKS = {"lrz": 4, "dfki": 8, "bare": 12, "wilson": 16, "pegasus": 20, "narval": 24}
"""The cluster and the first address of its /30: the host has the next one, the cluster the one after."""


class Network:
    """The addresses of one run: 10.213.N.0/24, with an N that nobody on this machine uses."""

    def __init__(self) -> None:
        """Nothing is made yet."""
        self._number = 0
        self._made: list[str] = []

    def up(self, worlds: dict[str, World]) -> None:
        """Lay the wires."""
        self._claim(worlds["ela"])
        self._address(self._interface("ela"), 129, 24, None)
        self._address("eth0", 130, 26, worlds["ela"])
        _ip("link", "add", "eth1", "netns", str(worlds["ela"].pid), "type", "veth",
            "peer", "name", "eth0", "netns", str(worlds["daint"].pid))  # fmt: skip
        self._address("eth1", 193, 26, worlds["ela"])
        self._address("eth0", 194, 26, worlds["daint"])
        for name, first in _LINKS.items():
            self._pair(name, worlds[name])
            self._address(self._interface(name), first + 1, 30, None)
            self._address("eth0", first + 2, 30, worlds[name])

    def host(self, cluster: str) -> str:
        """Give the address of a cluster's login node."""
        last = {"ela": 130, "daint": 194}.get(cluster) or _LINKS[cluster] + 2
        return f"10.213.{self._number}.{last}"

    def down(self) -> None:
        """Take the host's ends away at once; the kernel would do it a moment after the worlds."""
        for interface in self._made:
            subprocess.run(["ip", "link", "del", interface], capture_output=True, check=False)
        self._made = []

    def _claim(self, ela: World) -> None:
        """Take the first free number; that an interface of this name can be made is the proof."""
        used = subprocess.run(["ip", "-4", "route"], capture_output=True, text=True, check=True).stdout
        numbers = [number for number in range(1, 255) if f"10.213.{number}." not in used]
        random.shuffle(numbers)
        for self._number in numbers:
            try:
                self._pair("ela", ela)
            except WorldError as error:
                if "exists" not in str(error):
                    raise
            else:
                return
        raise WorldError("no free network in 10.213.0.0/16")

    def _interface(self, cluster: str) -> str:
        return f"hob{self._number}{cluster}"

    def _pair(self, cluster: str, world: World) -> None:
        name = self._interface(cluster)
        _ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", str(world.pid))
        self._made.append(name)

    def _address(self, interface: str, last: int, bits: int, world: World | None) -> None:
        orders = f"addr add 10.213.{self._number}.{last}/{bits} dev {interface}\nlink set {interface} up\n"
        if world is None:
            _ip("-batch", "-", text=orders)
        else:
            world.run("ip", "-batch", "-", text=orders)


def _ip(*arguments: str, text: str = "") -> None:
    done = subprocess.run(["ip", *arguments], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        raise WorldError(f"ip {' '.join(arguments)}: {done.stderr.strip()}")
