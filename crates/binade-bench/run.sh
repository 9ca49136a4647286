#!/usr/bin/env bash
# What a machine with an NVIDIA GPU and no cargo is asked: how fast are the kernels, are they right, and is anything wrong with
# how they use memory. Carried by `.ci/bundle`.
#
#     ./run.sh [bench|tests|conformance|sanitizer|all]
#
# Eight files at most go to $OUT, by default ./results. A part that fails does not stop the others; the last lines tell
# them apart, and the end is bad if one was. All parts together take under nine minutes; what has not begun by then fails.
#
# BINADE_DEVICE=ptx and BINADE_DRY_RUN=1 try the script out where the PTX interpreter is on the library path.
set -uo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
out="${OUT:-results}"
device="${BINADE_DEVICE:-cuda}"
part="${1:-all}"
failed=0
most="${BINADE_SECONDS:-530}"
mkdir -p "$out" || exit 1
: >"$out/summary.txt"

say() { printf '%s\n' "$*" | tee -a "$out/summary.txt"; }

# Folders with CUDA libraries: Python's wheels, then the system's. What is on the path already comes first.
folders() {
    python3 -c '
import glob, os, sys
for folder in sys.path:
    if folder.endswith("-packages"):
        print(*sorted(glob.glob(os.path.join(folder, "nvidia", "*", "lib"))), sep="\n")
' 2>/dev/null | grep .
    printf '%s\n' /usr/local/cuda/lib64 /usr/local/nvidia/lib64
}
LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$(folders | paste -s -d : -)"
export LD_LIBRARY_PATH

# A skip of what must run on this device is a failure.
export BINADE_REQUIRE="$device"

# attempt NAME SECONDS LOG COMMAND…: runs it with its output shown and added to LOG, and remembers how it ended. With 77 it says that
# it cannot run here.
attempt() {
    local name="$1" limit="$2" log="$3" start="$SECONDS" end
    shift 3
    # A part's own limit is for a GPU: an interpreter takes many times as long, and has the whole time.
    [ "$device" = cuda ] || limit="$most"
    [ "$limit" -le "$((most - SECONDS))" ] || limit="$((most - SECONDS))"
    [ "$limit" -gt 0 ] || { failed=1 && say "FAILED  $name: not begun, $most s were over" && return; }
    printf '\n== %s\n' "$name" | tee -a "$out/$log"
    timeout -k 5 "$limit" "$@" 2>&1 | tee -a "$out/$log"
    end="${PIPESTATUS[0]}"
    case "$end" in
        0) say "ok      $name ($((SECONDS - start)) s)" ;;
        77) say "skipped $name: $log says why" ;;
        124 | 137) failed=1 && say "FAILED  $name: not done in $limit s" ;;
        *) failed=1 && say "FAILED  $name: ended with $end ($((SECONDS - start)) s)" ;;
    esac
}

driver() { nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1; }

facts() {
    say "commit $(cat "$here/COMMIT"), $(date -u +%F)"
    if command -v nvidia-smi >/dev/null; then
        say "$(nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem,compute_cap --format=csv,noheader)"
    else
        say "nvidia-smi is not on PATH"
    fi
}

tests() {
    : >"$out/tests.txt"
    local test
    for test in "$here"/test-*; do
        # The device is one and tests share it: in turn, they can be told apart.
        attempt "$(basename "$test")" 240 tests.txt "$test" --test-threads=1
    done
    # Where cuBLASLt and cuDNN are installed they have multiplied and convolved so far.
    [ "$device" = cuda ] && [ -x "$here/test-device" ] || return
    attempt "test-device, own products" 120 tests.txt \
        env BINADE_PRODUCTS=own "$here/test-device" --test-threads=1 ops_
}

conformance() {
    : >"$out/conformance.txt"
    attempt conformance 180 conformance.txt "$here/conformance" --device "$device" --json "$out/conformance.json"
    tensor_cores_take_f32 || return
    # What the silicon drops of f32 where TF32 is chosen, the interpreter can only take for the worst.
    attempt "conformance, f32 by TF32" 90 conformance.txt "$here/conformance" --device "$device" --tf32
}

# From compute capability 8.0 on.
tensor_cores_take_f32() {
    local major
    major="$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | cut -d . -f 1)"
    [ "$device" = cuda ] && [ "${major:-0}" -ge 8 ]
}

# The small cases: long runs say nothing more about memory, and take a hundred times as long here.
sanitizer() {
    : >"$out/sanitizer.txt"
    if ! command -v compute-sanitizer >/dev/null; then
        say "skipped compute-sanitizer: it is not on PATH"
        return
    fi
    local tool small=(--test-threads=1 --skip a_hundred_steps --skip every_rule_store --skip a_learning_rate)
    for tool in memcheck racecheck initcheck; do
        attempt "compute-sanitizer $tool" 90 sanitizer.txt \
            compute-sanitizer --tool "$tool" --error-exitcode 9 "$here/test-device" "${small[@]}"
    done
}

# PyTorch's figures, in a file of their own.
torch() {
    rm -f "$out/torch_gpu.json"
    if [ ! -f "$here/torch_gpu_baseline.py" ]; then
        say "skipped PyTorch's figures: torch_gpu_baseline.py does not lie beside this script"
        return
    fi
    attempt torch 150 speed.txt python3 "$here/torch_gpu_baseline.py" --out "$out/torch_gpu.json"
    attempt "torch, layers and MLP" 60 speed.txt python3 "$here/torch_rows.py" --out "$out/torch_gpu.json"
}

# Registers, local memory and occupancy of each kernel are in the file.
bench() {
    : >"$out/speed.txt"
    torch
    attempt speed 180 speed.txt "$here/speed" --json "$out/speed.json" --date "$(date -u +%F)" \
        --driver "$(driver)" --commit "$(cat "$here/COMMIT")" ${BINADE_DRY_RUN:+--dry-run}
}

facts
case "$part" in
    bench | tests | conformance | sanitizer) "$part" ;;
    # A machine may be taken away at any time: what only a GPU can answer comes first.
    all) for part in bench tests conformance sanitizer; do "$part"; done ;;
    *) failed=1 && say "no part is called $part: bench, tests, conformance, sanitizer, all" ;;
esac

printf '\n== summary\n' && cat "$out/summary.txt"
exit "$failed"
