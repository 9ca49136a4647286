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
    """Row of a hot loop of an entry on an architecture."""

    module: str
    entry: str
    loop: int
    arch: int
    resources: Resources
    counts: Counts
    dynamic: int = 0

    @property
    def name(self):
        """Compute capability of the architecture, and number of the loop."""
        return f"{self.arch / 10} loop {self.loop}"

    @property
    def blocks(self):
        """Number of blocks that a multiprocessor holds."""
        return self.resources.blocks(self.arch, self.dynamic)

    @property
    def flight(self):
        """Number of KiB that a full multiprocessor loads before it uses the first of them; None without loads."""
        if self.blocks is None or not self.counts.in_flight:
            return None
        return self.blocks * self.resources.threads * self.counts.in_flight / KIB

    @property
    def issue(self):
        """Share of issue slots that the loop needs while memory brings its bytes at the full rate."""
        if not self.counts.bytes_moved:
            return None
        _, rate, processors, clock = GPUS[self.arch]
        clocks = self.counts.bytes_moved * LANES / (rate / processors / clock)
        return self.counts.slots / (clocks * SCHEDULERS)


def widths(by_width):
    """Returns accesses by width as text, the widest first: `2x16 8x4` is two of 16 bytes and eight of 4."""
    return " ".join(f"{by_width[bits]}x{bits // 8}" for bits in sorted(by_width, reverse=True)) or "-"


def ratio(value, unknown):
    """Returns a ratio of sectors as text, with `?` if the step of an access is unknown and counted as the least."""
    return "-" if value is None else short(float(value)) + ("?" if unknown else "")


def optional(value):
    """Returns a number as text, or a dash for None."""
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
All columns but the last are counts of instructions. They are of one iteration of the aligned path of each hot loop of an entry, which
`kernels/sass/way.py` defines. Of ways with as many accesses of 16 bytes it is the one with the fewest instructions.

| column | what it is |
| --- | --- |
| loop | number of the hot loop in its entry, in the order of the code |
| registers, shared, spills | registers of a thread; bytes of shared memory of a block, with those that a launch adds; bytes stored and loaded again |
| blocks | blocks that a multiprocessor holds at once, by its limits of registers, shared memory, warps and blocks |
| loads, stores | accesses to data, `COUNTxBYTES` a lane; copies to shared memory are loads |
| read, written | sectors of 32 bytes that a warp's accesses touch, as a multiple of the least; `?` if a step from lane to lane is unknown, and counted as the least |
| rounds | bytes that a thread loads before it uses the first of them, then those before the next use |
| flight KiB | KiB of the largest round, over all threads of a full multiprocessor |
| slots | instructions issued; slots/16 B for each 16 bytes that a lane loads or stores |
| HMMA, others/HMMA | instructions of Tensor Cores in an iteration of a product's loop (a K tile); other instructions for each of them |
| f64, MUFU | instructions in f64 or to and from it; approximations of roots, reciprocals and the like |

The last column is an estimate: the share of issue slots that the loop needs while memory brings its bytes at the full rate. Above 100 the
loop is bound by instructions. The estimate assumes that every byte comes from memory, and no latency. The GPUs are"""


def assumptions():
    """Returns the assumptions of the estimate for each architecture, as text."""
    return "; ".join(
        f"{arch / 10}: {name}, {rate / 1e12:g} TB/s, {count} multiprocessors at {clock / 1e9:g} GHz"
        for arch, (name, rate, count, clock) in GPUS.items()
    )


def markdown(rows):
    """Returns the table with the meaning of its columns."""
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
