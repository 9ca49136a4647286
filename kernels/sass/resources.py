"""Registers, memory and threads of an entry, and the number of its blocks that a multiprocessor holds at once."""

import re
from dataclasses import dataclass

# Limits of a multiprocessor by architecture: bytes of shared memory, bytes that the system takes for each block, warps, blocks.
LIMITS = {
    75: (65536, 0, 32, 16),
    80: (167936, 1024, 64, 32),
    86: (102400, 1024, 48, 16),
    89: (102400, 1024, 48, 24),
    90: (233472, 1024, 64, 32),
    100: (233472, 1024, 64, 32),
    120: (102400, 1024, 48, 24),
}
REGISTERS, REGISTER_UNIT, SCHEDULERS = 65536, 256, 4

USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
ENTRY = re.compile(r"Compiling entry function '(\w+)'(.*?)(?=Compiling entry function|\Z)", re.S)
THREADS = re.compile(r"\.entry (\w+)\s*\([^)]*\)\s*((?:\.\w+ [\d, ]+\s*)*)\{", re.S)


@dataclass(frozen=True)
class Resources:
    """Resources of an entry as ptxas reports them, and its threads a block: 0 if any number is allowed."""

    registers: int
    shared: int
    spills: int
    threads: int

    def blocks(self, arch, dynamic=0):
        """Returns the number of blocks that a multiprocessor holds at once, if a launch adds `dynamic` bytes of shared memory to each."""
        memory, system, warps, most = LIMITS[arch]
        if not self.threads:
            return None
        of_block = -(-self.threads // 32)
        of_warp = -(-self.registers * 32 // REGISTER_UNIT) * REGISTER_UNIT
        by_registers = REGISTERS // of_warp // SCHEDULERS * SCHEDULERS // of_block
        shared = self.shared + dynamic
        by_memory = memory // (shared + system) if shared else most
        return min(by_registers, warps // of_block, most, by_memory)


def threads(ptx):
    """Returns the threads a block, by entry."""
    found = {}
    for name, directives in THREADS.findall(ptx):
        most = re.search(r"\.(?:max|req)ntid (\d+)", directives)
        found[name] = int(most.group(1)) if most else 0
    return found


def read(log, ptx):
    """Returns the resources of each entry, from the output of `ptxas -v` for `ptx`."""
    of_blocks, found = threads(ptx), {}
    for name, text in ENTRY.findall(log):
        shared, spills = SHARED.search(text), SPILLS.search(text)
        spilled = sum(map(int, spills.groups()[1:])) if spills else 0
        found[name] = Resources(
            int(USED.search(text).group(1)), int(shared.group(1)) if shared else 0, spilled, of_blocks.get(name, 0)
        )
    return found
