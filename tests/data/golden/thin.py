#!/usr/bin/env python3
"""Cuts recorded tables down to what tests need: thin.py casts|clip IN OUT, both gzipped JSON."""

import gzip
import json
import sys

MOST_ELEMENTS = 1000


def casts(table):
    # bf16 is the upper half of an f32: its table of 65,536 values is most of the file, and says no more.
    del table["decode"]["bf16"]
    return {key: table[key] for key in ("agree", "boundary", "decode", "meta")}


def clip(table):
    def elements(case):
        return sum(len(grad or []) for grad in case["grads"])

    def without(case):
        return {key: value for key, value in case.items() if key != "per_tensor"}

    table["cases"] = [without(case) for case in table["cases"] if elements(case) <= MOST_ELEMENTS]
    return table


kind, source, target = sys.argv[1:]
with gzip.open(source) as file:
    thinned = {"casts": casts, "clip": clip}[kind](json.load(file))
with open(target, "wb") as file:
    file.write(gzip.compress(json.dumps(thinned, separators=(",", ":")).encode(), 9, mtime=0))
