"""The table: a row for each hot loop of each entry on each architecture, as Markdown and as comma-separated values."""

import csv
from dataclasses import dataclass

from budgets import short
from counts import Counts
from resources import Resources

# Bytes a second from memory, multiprocessors and clock of the GPU that stands for an architecture in the estimate.
GPUS = {
    75: ("T4", 0.32e12, 40, 1.59e9),
    80: ("A100 80 GB", 2.04e12, 108, 1.41e9),
    86: ("RTX 3090", 0.936e12, 82, 1.70e9),
    89: ("RTX 4090", 1.008e12, 128, 2.52e9),
    90: ("H100 SXM", 3.35e12, 132, 1.755e9),
    100: ("B200", 8.0e12, 148, 1.85e9),
    120: ("RTX 5090", 1.79e12, 170, 2.41e9),
}
SCHEDULERS, LANES, KIB = 4, 32, 1024


@dataclass
class Row:
    """A hot loop of an entry on an architecture."""

    module: str
    entry: str
    loop: int
    arch: int
    resources: Resources
    counts: Counts
    dynamic: int = 0

    @property
    def name(self):
        """The architecture as compute capability, and which of the loops it is."""
        return f"{self.arch / 10} loop {self.loop}"

    @property
    def blocks(self):
        """Blocks that a multiprocessor holds."""
        return self.resources.blocks(self.arch, self.dynamic)

    @property
    def flight(self):
        """KiB that a full multiprocessor has asked for before it uses the first of them; nothing without loads."""
        if self.blocks is None or not self.counts.in_flight:
            return None
        return self.blocks * self.resources.threads * self.counts.in_flight / KIB

    @property
    def issue(self):
        """The share of its issue slots that the GPU of the architecture takes to bring the loop's bytes at memory's full rate."""
        if not self.counts.bytes_moved:
            return None
        _, rate, processors, clock = GPUS[self.arch]
        clocks = self.counts.bytes_moved * LANES / (rate / processors / clock)
        return self.counts.slots / (clocks * SCHEDULERS)


def widths(by_width):
    """Accesses by width, the widest first: `2x16 8x4`, counted and in bytes."""
    return " ".join(f"{by_width[bits]}x{bits // 8}" for bits in sorted(by_width, reverse=True)) or "-"


def ratio(value, unknown):
    """A ratio of sectors; with a question mark where the step of some access is not known, and taken for the least."""
    return "-" if value is None else short(float(value)) + ("?" if unknown else "")


def optional(value):
    """A number, or a dash."""
    return "-" if value is None else short(value)


COLUMNS = [
    ("entry", lambda row: row.entry),
    ("loop", lambda row: row.loop),
    ("arch", lambda row: row.arch / 10),
    ("registers", lambda row: row.resources.registers),
    ("shared", lambda row: row.resources.shared + row.dynamic),
    ("spills", lambda row: row.resources.spills),
    ("blocks", lambda row: optional(row.blocks)),
    ("loads", lambda row: widths(row.counts.loads)),
    ("stores", lambda row: widths(row.counts.stores)),
    ("read", lambda row: ratio(row.counts.read_ratio, row.counts.unknown)),
    ("written", lambda row: ratio(row.counts.write_ratio, row.counts.unknown)),
    ("rounds", lambda row: " then ".join(map(str, row.counts.rounds)) or "-"),
    ("flight KiB", lambda row: optional(row.flight and round(row.flight, 1))),
    ("slots", lambda row: row.counts.slots),
    ("slots/16 B", lambda row: optional(row.counts.slots_for_16 and round(row.counts.slots_for_16, 1))),
    ("HMMA", lambda row: row.counts.hmma),
    ("others/HMMA", lambda row: optional(row.counts.hmma and round(row.counts.slots / row.counts.hmma - 1, 2) or None)),
    ("f64", lambda row: row.counts.f64),
    ("MUFU", lambda row: row.counts.special),
    ("issue % (estimate)", lambda row: optional(row.issue and round(row.issue * 100))),
]

LEGEND = """\
Counted in the instructions, and certain: of one iteration of the aligned path of each hot loop of an entry, which `kernels/sass/way.py`
defines; of ways with as many accesses of 16 bytes the one with the fewest instructions.

| column | what it is |
| --- | --- |
| loop | which of the entry's hot loops, in the order of their code |
| registers, shared, spills | of a thread; bytes of a block, with those that a launch adds; bytes stored and loaded again |
| blocks | that a multiprocessor holds at once, by its limits of registers, shared memory, warps and blocks |
| loads, stores | to data, `COUNTxBYTES` a lane; copies to shared memory are loads |
| read, written | sectors of 32 bytes that a warp's accesses touch, against the least; `?` where a step from lane to lane is not known, and taken for the least |
| rounds | bytes that a thread asks for before it uses the first of them, then those before the next use |
| flight KiB | the largest round of all threads of a multiprocessor that is full |
| slots | instructions issued; slots/16 B for each 16 bytes that a lane loads or stores |
| HMMA, others/HMMA | instructions of Tensor Cores, which an iteration of a product's loop (a K tile) has; all others for each of them |
| f64, MUFU | instructions in f64 or to and from it; approximations of roots, reciprocals and the like |

The last column alone is an estimate: the share of issue slots that go by while memory brings the loop's bytes at its full rate. Above 100
the loop is bound by instructions. It takes every byte to come from memory, and no latency; the GPUs are"""


def assumptions():
    """What the estimate takes for each architecture."""
    return "; ".join(
        f"{arch / 10}: {name}, {rate / 1e12:g} TB/s, {count} multiprocessors at {clock / 1e9:g} GHz"
        for arch, (name, rate, count, clock) in GPUS.items()
    )


def markdown(rows):
    """The table with what its columns mean."""
    head = [f"| {' | '.join(name for name, _ in COLUMNS)} |", "|" + " --- |" * len(COLUMNS)]
    body = [f"| {' | '.join(str(get(row)) for _, get in COLUMNS)} |" for row in rows]
    return "\n".join(["# SASS of the CUDA kernels", "", f"{LEGEND} {assumptions()}.", "", *head, *body, ""])


def write(rows, folder):
    """Writes both forms into `folder`, and returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "table.md", folder / "table.csv"
    paths[0].write_text(markdown(rows))
    with paths[1].open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(name for name, _ in COLUMNS)
        writer.writerows([get(row) for _, get in COLUMNS] for row in rows)
    return paths
