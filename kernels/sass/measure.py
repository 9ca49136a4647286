"""Rows of the table from modules in PTX, which are assembled, disassembled and counted."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import counts
import hot
import listing
import resources
import table
import toolchain
import way


def assembled(texts, arch, tools, folder):
    """Returns the instructions and resources of every entry that an architecture can run."""
    chosen = [text for text in texts.values() if toolchain.target(text) <= arch]
    if not chosen:
        return {}, {}
    ptx = toolchain.merged(chosen)
    log, text = toolchain.disassembled(ptx, arch, tools, folder)
    return listing.entries(text), resources.read(log, ptx)


def measured(job):
    """Returns the rows of one entry on one architecture. Each hot loop has the way with the most accesses of 16 bytes, and those that budgets
    select."""
    module, name, arch, code, used, lines = job
    entry = way.Entry.of(*code)
    dynamic = max((int(line.numbers.get("shared", 0)) for line in lines), default=0)
    named = {(line.numbers.get("loads", 0), line.numbers.get("stores", 0)) for line in lines}
    loops, found = hot.hot(entry), []
    # Each way that is the widest of a loop has its row already.
    named -= {(0, 0)} | {(it.loads, it.stores) for it in map(way.widest, loops)}
    for at, ways in enumerate(loops):
        chosen = [way.widest(ways)] + [it for it in ways if (it.loads, it.stores) in named]
        found += [table.Row(module, name, at + 1, arch, used, counts.count(entry, it), dynamic) for it in chosen]
    return found


def rows(texts, archs, known, folder):
    """Returns the rows of modules, in the order of module, entry and architecture. The outputs of the tools stay in `folder`."""
    tools = toolchain.find()
    with ThreadPoolExecutor() as pool:
        made = list(pool.map(lambda arch: assembled(texts, arch, tools, folder), archs))
    jobs = []
    for module, text in texts.items():
        for name in resources.threads(text):
            for arch, (code, used) in zip(archs, made):
                if name in code:
                    jobs.append((module, name, arch, code[name], used[name], [it for it in known if it.entry == name]))
    with ProcessPoolExecutor() as pool:
        return [row for found in pool.map(measured, jobs, chunksize=8) for row in found]
