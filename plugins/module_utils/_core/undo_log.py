# Copyright: hpc.onboard authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Changes that can be taken back: the old bytes are kept in memory while they are needed, and nowhere else."""

from typing import Any, Callable, List, Optional, cast

from .errors import AccountError
from .host import Host


class Remembering:
    """A Host, real or dry, that remembers what it changed, and can put it back as it was."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._back: List[Callable[[], None]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    def make_folder(self, path: str, mode: int) -> None:
        """As Host's; taken back while nothing else has come into it."""
        self._host.make_folder(path, mode)
        self._back.append(lambda: self._take_out(path))

    def _take_out(self, folder: str) -> None:
        if not self._host.names(folder):
            self._host.remove_folder(folder)

    def make_folders(self, path: str, mode: int) -> None:
        """As Host's, folder by folder."""
        Host.make_folders(cast(Host, self), path, mode)

    def set_mode(self, path: str, mode: int) -> None:
        """As Host's."""
        found = self._host.entry(path)
        self._host.set_mode(path, mode)
        if found:
            self._back.append(lambda: self._host.set_mode(path, found.mode))

    def write(self, path: str, old: Optional[bytes], content: bytes, mode: int, private: bool = False) -> None:
        """As Host's."""
        found = self._host.entry(path)
        self._host.write(path, old, content, mode, private)
        if old is None or found is None:
            self._back.append(lambda: self._host.remove(path))
        else:
            before, was = old, found.mode
            self._back.append(lambda: self._host.write(path, content, before, was, private))

    def remove(self, path: str) -> None:
        """As Host's."""
        content, found = self._host.read(path), self._host.entry(path)
        self._host.remove(path)
        if found:
            self._back.append(lambda: self._host.write(path, None, content, found.mode, True))

    def take_back(self) -> List[str]:
        """Put everything back as it was, the last change first; why some of it could not be."""
        problems = []
        for back in reversed(self._back):
            try:
                back()
            except AccountError as error:
                problems.append(str(error))
        self._back.clear()
        return problems
