"""Writes `crates/binade-bench/results/model.md`: a model of the time that the kernels take, from their counts. With `--check` it compares instead."""

import json
import sys
from dataclasses import dataclass

import measure
import toolchain
from budgets import Budget, short
from counts import LANES

RESULTS = toolchain.ROOT / "crates/binade-bench/results"
PAGE = RESULTS / "model.md"
KIB, WARPS_OF_BLOCK, BLOCKS, ELEMENTS = 1024, 8, 4096, 1 << 28


@dataclass(frozen=True)
class Gpu:
    """GPU: bytes a second from memory and through the L2 cache, multiprocessors, clock, operations in f64 a clock and multiprocessor."""

    name: str
    arch: int
    memory: float
    cache: float
    processors: int
    clock: float
    f64: int

    def clocked(self, rate):
        """Returns a rate of the GPU in bytes a clock and multiprocessor."""
        return rate / self.processors / self.clock


GPUS = [
    Gpu("H100", 90, 3.35e12, 5.5e12, 132, 1.755e9, 64),
    Gpu("H200", 90, 4.8e12, 5.5e12, 132, 1.755e9, 64),
    Gpu("A100", 80, 2.04e12, 4.0e12, 108, 1.41e9, 32),
    Gpu("RTX 4090", 89, 1.008e12, 4.5e12, 128, 2.52e9, 2),
]
# Share of the memory's rate that reads alone, and reads and writes together, come to.
READS, BOTH = 0.925, 0.9
# Clocks from a load to its use, and from an instruction to the next of a warp. Seconds of a first and a last block; of the join of partial sums.
LATENCY, DEPENDENT, ENDS, JOIN = 600, 4, 2.2e-6, 3.5e-6
# Conversions from and to f64, at a quarter of the rate of the arithmetic or the same.
CONVERSIONS = 16


@dataclass(frozen=True)
class Case:
    """Kernel with a type: the loop by its accesses of 16 bytes and its ratio of sectors read, and the row of `speed`."""

    entry: str
    title: str
    loads: int
    stores: int
    read: int
    per_element: int
    joins: bool
    row: tuple


CASES = [
    Case("unscale", "16 bits", 4, 0, 1, 2, True, ("check and unscale", "bf16")),
    Case("unscale", "f32", 4, 0, 2, 4, True, ("check and unscale", "f32")),
    Case("norms", "16 bits, L2", 4, 0, 1, 2, True, ("L2 norm", "bf16")),
    Case("norms", "f32, L2", 4, 0, 2, 4, True, ("L2 norm", "f32")),
    Case("clip_groups", "16 bits", 4, 0, 1, 2, True, ("clip by groups", "bf16")),
    Case("cast", "f32 to 16 bits", 2, 0, 1, 6, False, ("f32 to bf16", "f32")),
    Case("cast_set", "f32 to 16 bits", 2, 0, 1, 6, False, ("f32 to bf16", "f32")),
    Case("accumulate", "f32", 4, 2, 1, 12, False, ("accumulate", "f32")),
    Case("materialise", "f32", 2, 2, 1, 8, False, ("materialise", "f32")),
    Case("sgd", "momentum, all f32", 6, 6, 1, 24, False, ("SGD alone, fused", "f32")),
    Case("adam", "all f32", 8, 8, 1, 32, False, ("AdamW alone, fused", "f32")),
]


def alone(row):
    """Returns the clocks of a warp's iteration without others in its way."""
    return LATENCY * len(row.counts.rounds) + DEPENDENT * row.counts.slots


def predicted(case, row, gpu):
    """Returns the predicted share of the memory's rate, and the name of what limits it."""
    counts = row.counts
    moved = counts.bytes_moved * LANES
    mixed = counts.least_written > 0
    memory = gpu.clocked(gpu.memory)
    sectors = counts.least_read + counts.sectors_written
    clocks = alone(row)

    def limits(warps):
        f64 = counts.f64 * LANES
        yield memory * (BOTH if mixed else READS), "memory"
        yield moved * 4 / counts.slots, "instructions"
        yield warps * moved / clocks, "latency"
        yield gpu.clocked(gpu.cache) * (counts.least_read + counts.least_written) / sectors, "L2"
        if f64:
            yield moved / (f64 / 2 / gpu.f64 + f64 / 2 / min(CONVERSIONS, gpu.f64)), "f64"

    places = gpu.processors * row.blocks
    rest = BLOCKS % places
    rate, limit = min(limits(row.blocks * WARPS_OF_BLOCK))
    of_block = case.per_element * ELEMENTS / BLOCKS
    clocks_all = of_block * (BLOCKS - rest) / rate / gpu.processors
    if rest:
        busy = min(rest, gpu.processors)
        last, _ = min(limits(-(-rest // gpu.processors) * WARPS_OF_BLOCK))
        clocks_all += of_block * rest / busy / last
    seconds = clocks_all / gpu.clock + ENDS + JOIN * case.joins
    return case.per_element * ELEMENTS / gpu.memory / seconds, limit


def measured(case, gpu, folder=RESULTS):
    """Returns the shares of the memory's rate in the committed runs on the GPU, as text."""
    name, dtype = case.row
    shares = []
    for path in sorted(folder.glob("*/kernels.json")):
        page = json.loads(path.read_text())
        if gpu.name.split()[-1] not in page["meta"]["device"]:
            continue
        rows = [it for it in page["rows"] if it["name"] == name and it["dtype"] == dtype]
        rows = [it for it in rows if case.entry != "cast_set" or it["tensors"] > 1]
        if rows:
            largest = max(rows, key=lambda it: (it["elements"], -it["tensors"]))
            shares.append(f"{largest['queued']['gbs'] * 1e9 / gpu.memory:.0%}")
    return ", ".join(shares)


def rows():
    """Returns the row of each case on each architecture."""
    known = [Budget(it.entry, "", {"loads": it.loads, "stores": it.stores}) for it in CASES]
    texts = {name: text for name, text in toolchain.modules().items() if any(f".entry {it.entry}(" in text for it in CASES)}
    archs = sorted({gpu.arch for gpu in GPUS})
    found = {}
    for row in measure.rows(texts, archs, known, toolchain.ROOT / "target/sass/model"):
        counts = row.counts
        key = (row.entry, row.arch, counts.wide_loads, counts.wide_stores, counts.read_ratio)
        # Of two loops with the same accesses, the one with sums in f64: `norms` has the largest magnitude besides.
        if key not in found or counts.f64 > found[key].counts.f64:
            found[key] = row
    return {(it, arch): found[it.entry, arch, it.loads, it.stores, it.read] for it in CASES for arch in archs}


def line(case, made):
    """Returns the line of a case in the table."""
    row = made[case, 90]
    counts = row.counts
    ratio = "/".join("-" if it is None else short(it) for it in (counts.read_ratio, counts.write_ratio))
    flight = row.blocks * row.resources.threads * max(counts.rounds) / KIB
    clocks = alone(row)
    cells = [f"`{case.entry}` {case.title}", case.per_element, ratio, short(round(counts.slots_for_16, 1)), f"{flight:.0f}", clocks]
    for gpu in GPUS:
        share, limit = predicted(case, made[case, gpu.arch], gpu)
        cells += [f"{share:.0%} {limit}", measured(case, gpu)]
    return f"| {' | '.join(map(str, cells))} |"


TEXT = """\
# Model of the kernels' times

Generated by `python3 kernels/sass/model.py`; CI compares. **Every figure in a column "predicted" is predicted, not measured.** The columns
"measured" are empty until a run on that GPU is committed beside this page: the same call then takes its shares from `kernels.json` of each
folder, which `speed` writes: the median behind other work at the largest size.

Counts are of one iteration of the loop on 9.0, as `cargo xtask sass` finds them in the instructions of ptxas, and certain. A share is of the
memory's rate by the vendor's data sheet, for 2^28 elements in 4,096 blocks.

| column | meaning |
| --- | --- |
| B | bytes an element that must move |
| sectors | sectors that a warp's loads and stores touch, as a multiple of the least |
| slots | instructions issued for each 16 bytes of a lane |
| KiB | bytes that a full multiprocessor has asked for before it uses the first |
| clocks | predicted clocks of a warp's iteration without others in its way |
"""

ASSUMED = """
The predicted rate is the least of five, and its name stands beside the share: **memory** at {reads:.1%} of its rate, {both:.0%} if there are
stores; **instructions**, four a clock and multiprocessor; **latency**, the bytes of all warps' iterations in {latency} clocks a round of loads
and {dependent} an instruction; **L2**, its rate by the sectors written; **f64**, of which half are conversions at {conversions} a clock at most.
The blocks of the last wave run at the rate of so few. Each launch has {ends:.1f} µs for its first and last blocks, and those that sum up
{join:.1f} µs for the join.
Narrow accesses beside 16-bit parameters are left out: `sgd` and `adam` are of f32 throughout. Measured, their copy has 16 bits, and
`clip_groups` has the time and bytes of `materialise` behind it too.

| GPU | memory TB/s | L2 TB/s (assumed) | multiprocessors | GHz | f64 a clock |
| --- | ---: | ---: | ---: | ---: | ---: |
"""


def page():
    """Returns the page."""
    made = rows()
    heads = ["kernel", "B", "sectors", "slots", "KiB", "clocks"]
    heads += [f"{gpu.name} {kind}" for gpu in GPUS for kind in ("predicted", "measured")]
    table = [f"| {' | '.join(heads)} |", "| --- |" + " ---: |" * (len(heads) - 1), *(line(it, made) for it in CASES)]
    assumed = ASSUMED.format(
        reads=READS, both=BOTH, latency=LATENCY, dependent=DEPENDENT, conversions=CONVERSIONS, ends=ENDS * 1e6, join=JOIN * 1e6
    )
    gpus = [f"| {g.name} | {g.memory / 1e12:g} | {g.cache / 1e12:g} | {g.processors} | {g.clock / 1e9:g} | {g.f64} |" for g in GPUS]
    return "\n".join([TEXT, *table]) + "\n" + assumed + "\n".join(gpus) + "\n"


def main():
    """Writes the page, or fails if it differs from the one that is there."""
    text = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(text)
        return 0
    if PAGE.read_text() == text:
        return 0
    print(f"error: {PAGE.relative_to(toolchain.ROOT)} is not of these kernels: run `python3 kernels/sass/model.py`", file=sys.stderr)
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except toolchain.Missing as error:
        sys.exit(f"error: {error}")
