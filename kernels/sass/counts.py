"""Counts of a way: the columns of the table that follow from the instructions alone."""

from dataclasses import dataclass, field
from fractions import Fraction

import lanes
from way import LOADS, MATRIX, STORES

# Bytes of a sector, the least that moves between a multiprocessor and the L2 cache.
SECTOR = 32
LANES = 32
F64 = ("DADD", "DMUL", "DFMA", "DSETP", "DMNMX")


@dataclass
class Counts:
    """Counts of one iteration of the aligned path."""

    slots: int = 0
    loads: dict = field(default_factory=dict)
    stores: dict = field(default_factory=dict)
    bytes_moved: int = 0
    sectors_read: int = 0
    least_read: int = 0
    sectors_written: int = 0
    least_written: int = 0
    unknown: int = 0
    rounds: list = field(default_factory=list)
    hmma: int = 0
    f64: int = 0
    special: int = 0

    @property
    def wide_loads(self):
        """Number of loads of 16 bytes and more."""
        return sum(count for bits, count in self.loads.items() if bits >= 128)

    @property
    def wide_stores(self):
        """Number of stores of 16 bytes and more."""
        return sum(count for bits, count in self.stores.items() if bits >= 128)

    @property
    def scalar(self):
        """Number of loads and stores of less than 16 bytes."""
        both = list(self.loads.items()) + list(self.stores.items())
        return sum(count for bits, count in both if bits < 128)

    @property
    def read_ratio(self):
        """Ratio of the sectors that loads touch to the fewest that hold their bytes; None without loads."""
        return self.sectors_read / self.least_read if self.least_read else None

    @property
    def write_ratio(self):
        """Ratio of the sectors that stores touch to the fewest that hold their bytes; None without stores."""
        return self.sectors_written / self.least_written if self.least_written else None

    @property
    def slots_for_16(self):
        """Issue slots for each 16 bytes that a lane loads or stores."""
        return self.slots * 16 / self.bytes_moved if self.bytes_moved else None

    @property
    def in_flight(self):
        """Greatest number of bytes that a thread loads before it uses the first of them."""
        return max(self.rounds, default=0)


def sectors(step, size):
    """Returns the number of sectors that a warp touches, if each lane accesses `size` bytes, `step` bytes after the lane before."""
    touched = set()
    for lane in range(LANES):
        start = lane * abs(step)
        touched.update(range(start // SECTOR, (start + size - 1) // SECTOR + 1))
    return len(touched)


def count(entry, way):
    """Returns the counts of `way`."""
    found, flight = Counts(), Flight()
    state = lanes.State(entry.states[way.blocks[0]].values)
    for block in way.blocks:
        # A register that the way has not written has its value at the start of the block, whatever the way.
        state = lanes.State({**entry.states[block].values, **state.values})
        for it in entry.graph.instructions(block):
            found.slots += it.base != "NOP"
            found.hmma += it.base in MATRIX
            found.f64 += it.base in F64 or it.base in ("F2F", "I2F", "F2I") and it.has("F64")
            found.special += it.base == "MUFU"
            if it.address in way.skipped:
                continue
            flight.step(it, it.address in entry.data)
            if it.address in entry.data:
                access(found, it, state)
            state.run(it, on_the_way=True)
    found.rounds = flight.rounds()
    return found


def access(found, it, state):
    """Counts one access to data. If its step is unknown, it counts with the fewest sectors."""
    is_load = it.base in LOADS
    assert is_load or it.base in STORES
    size = it.width // 8
    widths = found.loads if is_load else found.stores
    widths[it.width] = widths.get(it.width, 0) + 1
    found.bytes_moved += size
    step = state.read(it.address_register).step
    found.unknown += step is None
    least = Fraction(LANES * size, SECTOR)
    touched = least if step is None else sectors(step, size)
    if is_load:
        found.sectors_read, found.least_read = found.sectors_read + touched, found.least_read + least
    else:
        found.sectors_written, found.least_written = found.sectors_written + touched, found.least_written + least


class Flight:
    """Loads of data in flight. The first use of a loaded register ends a round: the warp waits for the load."""

    def __init__(self):
        self.pending, self.asked, self.ended = {}, 0, []

    def step(self, it, is_access):
        """Adds the next instruction of the way."""
        # A copy to shared memory has no register to wait for.
        used = set(it.sources) | (set(it.group) if it.base in STORES else set())
        if used & self.pending.keys():
            self.ended.append(self.asked)
            self.pending, self.asked = {}, 0
        if is_access and it.base in LOADS:
            self.asked += it.width // 8
            self.pending.update(dict.fromkeys(it.group, it))

    def rounds(self):
        """Returns the bytes that a thread loads in each round of the way."""
        return self.ended + ([self.asked] if self.asked else [])
