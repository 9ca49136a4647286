#!/usr/bin/env python3
"""Time and memory of a training step of a 7B model on 1 to 1,024 GPUs, on paper.

Prints the tables of the page `src/scaling-model.md`; with `--check` compares them with the page, and with `--write` writes them to it.
Nothing here is measured: what is no arithmetic is one of the assumptions below, each with its unit.
"""

import argparse
import math
import pathlib
import sys

PARAMETERS = 6.7e9
LAYERS = 32
TOKENS = 8192  # a GPU and step
FLOPS = 989e12 * 0.42  # a second: dense bf16 of an H100, of which a good step reaches 42 %
NODE = 8  # GPUs
NVLINK, NIC = 360e9, 42e9  # bytes a second and direction that a collective reaches, for each GPU
NVLINK_LATENCY, NIC_LATENCY = 3e-6, 12e-6  # seconds a message
MESSAGE = 2e-6  # seconds of the sender for each further message of an exchange
MEMORY = 2.8e12  # bytes a second
PCIE, HOST = 25e9, 12e9  # bytes a second between GPU and host, and that a host adds up for each GPU
JITTER = 0.004  # seconds: standard deviation of a rank's step
BUCKET = 50e6  # elements
ADAM = 2 + 3 * 4 + 2 + 3 * 4  # bytes a parameter: gradient, moments and master read; weight, moments and master written

SIZES = [1, 8, 64, 256, 512, 1024]
WAYS = {
    "by the host": dict(engine="host", slices=False, overlap=False),
    "f32 ring, no overlap": dict(engine="ring", slices=False, overlap=False),
    "f32 ring": dict(engine="ring", slices=False, overlap=True),
    "whole": dict(engine="ordered", slices=False, overlap=True),
    "slices": dict(engine="ordered", slices=True, overlap=True),
    "slices, two levels, no overlap": dict(engine="levels", slices=True, overlap=False),
    "slices, two levels": dict(engine="levels", slices=True, overlap=True),
}
PAGE = pathlib.Path(__file__).parent / "src" / "scaling-model.md"


def nodes(gpus):
    return math.ceil(gpus / NODE)


def ring(gpus, size):
    """Seconds to gather, or to reduce and scatter, `size` bytes: around the node, then around the nodes."""
    near = min(gpus, NODE)
    seconds = (near - 1) / near * size / NVLINK + (near - 1) * NVLINK_LATENCY
    if nodes(gpus) > 1:
        seconds += (nodes(gpus) - 1) / nodes(gpus) * size / near / NIC + (nodes(gpus) - 1) * NIC_LATENCY
    return seconds


def tree_latency(gpus):
    """Seconds in which a few bytes go up and down a tree."""
    return 2 * (math.log2(min(gpus, NODE)) * NVLINK_LATENCY + math.log2(nodes(gpus)) * NIC_LATENCY)


def all_reduce(gpus, size):
    """Seconds of the better of a ring and a double tree."""
    tree = 2 * size / NVLINK + (2 * size / min(gpus, NODE) / NIC if nodes(gpus) > 1 else 0)
    return min(2 * ring(gpus, size), tree + tree_latency(gpus))


def exchange(gpus, size, buckets):
    """Seconds in which every GPU hands every other its part of `size` bytes."""
    near = min(gpus, NODE)
    far = gpus - near
    seconds = (near - 1) / gpus * size / NVLINK + far / gpus * size / NIC
    return seconds + buckets * ((NIC_LATENCY if far else NVLINK_LATENCY) + (gpus - 1) * MESSAGE)


def two_levels(gpus, size, buckets):
    """Seconds of an exchange in the node, and of one between nodes of the nodes' sums, which are f32."""
    near = min(gpus, NODE)
    seconds = (near - 1) / near * size / NVLINK + buckets * (NVLINK_LATENCY + (near - 1) * MESSAGE)
    if nodes(gpus) > 1:
        seconds += (nodes(gpus) - 1) / nodes(gpus) * 2 * size / near / NIC
        seconds += buckets * (NIC_LATENCY + (nodes(gpus) - 1) * MESSAGE)
    return seconds


def traffic(gpus, engine, slices):
    """Seconds to average gradients of 2 bytes, and to hand on averages of 4, or of slices new weights of 2."""
    size, buckets = 2 * PARAMETERS, math.ceil(PARAMETERS / BUCKET)
    if engine == "ring":
        return all_reduce(gpus, 2 * size), 0
    if engine == "host":
        return size / PCIE + exchange(gpus, size, buckets) + size / HOST, ring(gpus, 2 * size) + 2 * size / PCIE
    average = exchange if engine == "ordered" else two_levels
    return average(gpus, size, buckets), ring(gpus, size if slices else 2 * size)


def exposed(average, handed_on, compute, slices, overlap):
    """Seconds of the traffic that the step waits for."""
    if not overlap:
        return average + handed_on
    buckets = math.ceil(PARAMETERS / BUCKET)
    backward = compute * 2 / 3 * (1 - 1 / buckets)
    if slices:
        # Weights are handed on behind the next forward pass, but for its first layer.
        last = average / buckets + handed_on / LAYERS
        return max(0, average - backward) + max(0, handed_on - compute / 3) + last
    return max(0, average + handed_on - backward) + (average + handed_on) / buckets


def step(gpus, engine, slices, overlap, tokens=TOKENS):
    """Seconds of a step, of its arithmetic, and of traffic that it waits for."""
    compute = tokens * 6 * PARAMETERS / FLOPS
    optimizer = PARAMETERS * ADAM / MEMORY / (gpus if slices else 1)
    if gpus == 1:
        return compute + optimizer, compute, 0
    waits = exposed(*traffic(gpus, engine, slices), compute, slices, overlap)
    header = 2 * tree_latency(gpus) + 2 * NIC_LATENCY
    # The expected slowest of many normal times.
    slowest = JITTER * math.sqrt(2 * math.log(gpus))
    return compute + optimizer + waits + header + slowest, compute, waits


def memory(gpus, slices):
    """Bytes a GPU without activations: weights, gradients, masters with moments, averages."""
    return PARAMETERS * (2 + 2 + (12 + 4) / (gpus if slices else 1))


def table(heads, rows):
    lines = [heads, ["---", *["---:"] * (len(heads) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def tables():
    """The page's tables, by name."""
    def cell(gpus, way):
        seconds, _, waits = step(gpus, **WAYS[way])
        return f"{1e3 * seconds:.0f}" + (f" [{1e3 * waits:.0f}]" if gpus > 1 else "")

    def share(gpus, way):
        seconds, compute, _ = step(gpus, **WAYS[way], tokens=4e6 / gpus)
        return f"{100 * compute / seconds:.0f} %"

    times = [[f"{gpus:,}", *(cell(gpus, way) for way in WAYS)] for gpus in SIZES]
    sizes = [[f"{gpus:,}", *(f"{memory(gpus, it) / 1e9:.0f}" for it in (False, True))] for gpus in (1, 2, 8, 64, 1024)]
    fixed = [[f"{gpus:,}", share(gpus, "slices"), share(gpus, "slices, two levels")] for gpus in (64, 256, 1024, 2048)]
    return {
        "times": table(["GPUs", *WAYS], times),
        "memory": table(["GPUs", "whole", "slices"], sizes),
        "fixed batch": table(["GPUs", "slices", "slices, two levels"], fixed),
    }


def written(page):
    """The page with these tables, each between its comment and the next empty line."""
    for name, text in tables().items():
        head = f"<!-- {name} -->\n"
        if page.count(head) != 1:
            sys.exit(f"{PAGE}: no place `{head.strip()}` for a table")
        before, after = page.split(head)
        page = before + head + text + "\n" + after[after.index("\n\n") + 1 :]
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail unless the page has these tables")
    parser.add_argument("--write", action="store_true", help="write them to the page")
    options = parser.parse_args()
    if not (options.check or options.write):
        print("\n\n".join(tables().values()))
        return
    page = PAGE.read_text()
    if options.write:
        PAGE.write_text(written(page))
    elif page != written(page):
        sys.exit(f"{PAGE.name} has other tables: run `python3 docs/scaling_model.py --write`")


if __name__ == "__main__":
    main()
