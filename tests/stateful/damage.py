"""Damage to files: what disks, copies and careless hands do to them."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Harm = Literal["flip", "truncate", "delete", "swap", "empty", "extend", "zero"]
HARMS: tuple[Harm, ...] = ("flip", "truncate", "delete", "swap", "empty", "extend", "zero")
# What a refusal tells its reader to do.
DELETE_FILE = re.compile(r"^(\S+) is damaged .*Delete that file and run the same command again")
DELETE_FOLDER = re.compile(r"Delete (\S+) and run the same command again\.$")
REPEAT = re.compile(r"Run the same command again")


@dataclass(frozen=True)
class Damage:
    """One harm to a file of a folder: ``where`` and ``amount`` count modulo what there is."""

    harm: Harm
    where: int
    amount: int
    chunk: bool  # else a file of attributes

    def apply(self, folder: Path) -> bool:
        """Do it, and return whether anything has changed."""
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        files = [path for path in files if (path.name != "zarr.json") == self.chunk]
        if not files:
            return False
        file = files[self.where % len(files)]
        content = file.read_bytes()
        if self.harm == "delete":
            file.unlink()
            return True
        if self.harm == "swap":
            other = files[self.amount % len(files)]
            file.write_bytes(other.read_bytes())
            other.write_bytes(content)
            return file.read_bytes() != content
        file.write_bytes(self._harmed(content))
        return file.read_bytes() != content

    def _harmed(self, content: bytes) -> bytes:
        harmed = bytearray(content)
        if not harmed or self.harm == "empty":
            return b""
        at = self.amount % len(harmed)
        if self.harm == "flip":
            harmed[at] ^= 1 << self.amount % 7  # text stays text
        elif self.harm == "truncate":
            del harmed[at:]
        elif self.harm == "extend":
            harmed += harmed[at:]
        else:
            harmed[at : at + 64] = bytes(len(harmed[at : at + 64]))
        return bytes(harmed)


def contents(folder: Path) -> dict[Path, bytes]:
    """Return all files of a folder."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def restore(folder: Path, files: dict[Path, bytes]) -> None:
    """Give a folder the files that it had."""
    shutil.rmtree(folder)
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def undo(folder: Path, before: dict[Path, bytes], after: dict[Path, bytes]) -> None:
    """Repair the files that are still as damaged as they were."""
    for path, content in contents(folder).items():
        if path in before and content == after.get(path):
            path.write_bytes(before[path])


def follow_advice(words: str, inside: Path) -> bool:
    """Do what a refusal advises, and return whether it advised anything."""
    file, folder = DELETE_FILE.search(words), DELETE_FOLDER.search(words)
    if file:
        path = Path(file[1])
        assert inside in path.parents, words
        path.unlink(missing_ok=True)
    elif folder:
        path = Path(folder[1])
        assert inside in path.parents, words
        shutil.rmtree(path, ignore_errors=True)
    return bool(file or folder or REPEAT.search(words))
