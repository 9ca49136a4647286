"""`cargo xtask sass`: counts the instructions that ptxas makes of the kernels, and compares them with the budgets beside the kernels."""

import argparse
import sys
from pathlib import Path

import budgets
import measure
import resources
import table
import toolchain

SOURCES = toolchain.ROOT / "kernels"
OUT = toolchain.ROOT / "target/sass"


def arguments():
    """Returns the options of the command line."""
    parser = argparse.ArgumentParser(prog="cargo xtask sass", description=__doc__)
    every = list(resources.LIMITS)
    parser.add_argument("--arch", type=capability, nargs="+", default=every, help="compute capabilities, as 8.0 9.0; all without it")
    parser.add_argument("--kernel", nargs="+", default=[], help="these kernels alone, by the names of their files")
    parser.add_argument("--ptx", type=Path, help="a folder of .ptx files in place of the committed bundle")
    parser.add_argument("--lines", action="store_true", help="prints the tightest budgets that hold, to be put at the end of the .cu files")
    return parser.parse_args()


def capability(text):
    """Returns the architecture of a compute capability: 90 for `9.0`."""
    known = {f"{arch / 10}": arch for arch in resources.LIMITS}
    if text not in known:
        raise argparse.ArgumentTypeError(f"{text}: expected one of {', '.join(known)}")
    return known[text]


def main():
    """Writes the table, and prints each budget that is exceeded."""
    options = arguments()
    sources = sorted(SOURCES.glob("*.cu"))
    sources = [it for it in sources if not options.kernel or it.stem in options.kernel]
    known = [it for path in sources for it in budgets.read(path)]
    texts = toolchain.modules(options.ptx)
    texts = {name: text for name, text in texts.items() if not options.kernel or name in options.kernel}
    found = measure.rows(texts, options.arch, known, OUT)
    for path in table.write(found, OUT):
        print(path.relative_to(toolchain.ROOT))
    if options.lines:
        for entry in dict.fromkeys(row.entry for row in found):
            print("\n".join(budgets.lines([row for row in found if row.entry == entry])))
        return 0
    faults = list(budgets.broken(found, known))
    for fault in faults:
        print(f"error: kernels/{fault}", file=sys.stderr)
    print(f"{len(found)} loops on {len(options.arch)} architectures, {len(faults)} beyond their budgets")
    return 1 if faults else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (toolchain.Missing, budgets.Malformed, RuntimeError) as error:
        sys.exit(f"error: {error}")
