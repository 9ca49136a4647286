#!/usr/bin/env bash
# Runs on a machine with an NVIDIA GPU and no cargo: times and profiles the kernels, tests them, compares them with PyTorch, and looks
# for wrong uses of memory. Carried by `.ci/bundle`.
#
#     ./run.sh [kernels|tests|conformance|bench|sanitizer|all]
#
# Results are in the folder `results` beside this script, and after each part in the two files summary.txt and results.tar.gz in $OUT,
# where that names a folder. A call takes under nine minutes. A second call keeps what has ended, and goes on with what has not: where the
# machine was lost, unpack results.tar.gz beside this script first. Remove `results` to start anew.
#
# The last lines are the summary: a line a part, with its seconds. The exit status is 1 if a part failed, 75 if one is missing.
#
# BINADE_DEVICE=ptx and BINADE_DRY_RUN=1 try the script out where the PTX interpreter is on the library path.
set -uo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
results="$here/results"
device="${BINADE_DEVICE:-cuda}"
part="${1:-all}"
most="${BINADE_SECONDS:-530}"
summary="$results/summary.txt"
mkdir -p "$results" "${OUT:-$results}" || exit 1

say() { printf '%s\n' "$*" | tee -a "$summary"; }

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

# attempt NAME SECONDS COMMAND…: runs it unless it has ended before, with its output shown and added to the part's log, and adds how
# it ended to the summary. With 77 it says that it cannot run here.
attempt() {
    local name="$1" limit="$2" log="$results/$part.txt" start="$SECONDS" left="$((most - SECONDS))" end took
    shift 2
    ! grep -qE "^(ok|skipped|FAILED)  *$name:" "$summary" || return 0
    # A part's own limit is for a GPU: an interpreter takes many times as long, and has the whole time.
    [ "$device" = cuda ] || limit="$most"
    [ "$left" -gt 0 ] || { say "missing $name: not begun, the call's $most s were over" && return; }
    printf '\n== %s\n' "$name" | tee -a "$log"
    timeout -k 5 "$((limit < left ? limit : left))" "$@" 2>&1 | tee -a "$log"
    end="${PIPESTATUS[0]}" took="$((SECONDS - start)) s"
    case "$end" in
        0) say "ok      $name: $took" ;;
        77) say "skipped $name: $part.txt says why" ;;
        124 | 137) [ "$limit" -le "$left" ] && say "FAILED  $name: not done in $limit s" || say "missing $name: cut off after $took" ;;
        *) say "FAILED  $name: ended with $end after $took" ;;
    esac
    keep
}

# offered TOOL NAME: true if the tool is there for a GPU; otherwise the part of this name is skipped.
offered() {
    [ "$device" != cuda ] || ! command -v "$1" >/dev/null || return 0
    attempt "$2" 5 sh -c "echo '$1 is not on PATH, or there is no GPU'; exit 77"
    return 1
}

keep() {
    [ -n "${OUT:-}" ] || return 0
    cp "$summary" "$OUT" && tar -czf "$OUT/results.tar.gz" -C "$here" results
}

facts() {
    local commit
    commit="commit $(cat "$here/COMMIT")"
    if [ -s "$summary" ]; then
        [ "$(head -n 1 "$summary")" = "$commit" ] || { echo "$results is of another $(head -n 1 "$summary"): remove it" >&2 && exit 1; }
        # Tried again below.
        sed -i '/^missing /d' "$summary"
    else
        say "$commit"
    fi
    say "on $(date -u +%F), $(nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem,compute_cap --format=csv,noheader ||
        echo 'nvidia-smi is not on PATH')"
}

driver() { nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null | head -n 1; }

# speed NAME SECONDS FILE OPTION…: measures by the program `speed`.
speed() {
    local name="$1" limit="$2" file="$3"
    shift 3
    attempt "$name" "$limit" "$here/speed" --json "$results/$file" --date "$(date -u +%F)" \
        --driver "$(driver)" --commit "$(cat "$here/COMMIT")" ${BINADE_DRY_RUN:+--dry-run} "$@"
}

# The kernels that limit a step: times, then the counters of ncu.
# The cache of compiled kernels is off, so that the time of the first load is that of a first start.
kernels() {
    local -x CUDA_CACHE_DISABLE=1
    speed "kernels" 90 kernels.json "${moved[@]}"
    counters "counters" ncu.csv
}
moved=(--only unscale,norm,cast,gradients,step --elements 16777216,268435456)

# Counters of a launch: time, DRAM, sectors at the L2 cache, instructions, reasons why warps wait. One launch of each configuration is
# enough, and the first is passed over: ncu replays a launch for every few counters.
counters() {
    offered ncu "$1" || return
    local metrics=gpu__time_duration.sum,dram__bytes_read.sum,dram__bytes_write.sum
    metrics+=,lts__t_sectors_op_read.sum,lts__t_sectors_op_write.sum,smsp__inst_executed.sum,smsp__inst_issued.sum
    attempt "$1" 120 ncu --clock-control none --csv --page raw --log-file "$results/$2" --metrics "$metrics" \
        --section SpeedOfLight --section WarpStateStats --section Occupancy --section LaunchStats \
        --filter-mode per-launch-config --launch-skip 1 --launch-count 1 \
        --kernel-name 'regex:^(unscale|axpby|norms|cast|cast_set|adam|sgd|accumulate|materialise|clip_groups|read_only|in_place)$' \
        "$here/speed" "${moved[@]:0:2}" --elements 67108864 --rounds 1
}

tests() {
    local test
    for test in "$here"/test-*; do
        # The device is one and tests share it: in turn, they can be told apart.
        attempt "$(basename "$test")" 240 "$test" --test-threads=1
    done
    # Where cuBLASLt and cuDNN are installed they have multiplied and convolved so far.
    [ "$device" = cuda ] && [ -x "$here/test-device" ] || return
    attempt "test-device, own products" 120 env BINADE_PRODUCTS=own "$here/test-device" --test-threads=1 ops_
}

conformance() {
    attempt conformance 180 "$here/conformance" --device "$device" --json "$results/conformance.json"
    # Where cuBLASLt and cuDNN are installed they have multiplied and convolved so far, as in the tests.
    [ "$device" = cuda ] && attempt "conformance, own products" 120 env BINADE_PRODUCTS=own "$here/conformance" --device cuda
    tensor_cores_take_f32 || return
    # What the silicon drops of f32 where TF32 is chosen, the interpreter can only take for the worst.
    attempt "conformance, f32 by TF32" 90 "$here/conformance" --device "$device" --tf32
}

# From compute capability 8.0 on.
tensor_cores_take_f32() {
    local major
    major="$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | cut -d . -f 1)"
    [ "$device" = cuda ] && [ "${major:-0}" -ge 8 ]
}

# PyTorch's figures, in a file of their own, then Binade's.
bench() {
    attempt torch 150 python3 "$here/torch_gpu_baseline.py" --out "$results/torch_gpu.json"
    attempt "torch, layers and MLP" 60 python3 "$here/torch_rows.py" --out "$results/torch_gpu.json"
    speed "speed" 180 speed.json
}

# The small cases: long runs say nothing more about memory, and take a hundred times as long here.
sanitizer() {
    local tool small=(--test-threads=1 --skip a_hundred_steps --skip every_rule_store --skip a_learning_rate)
    for tool in memcheck racecheck initcheck; do
        offered compute-sanitizer "compute-sanitizer $tool" || continue
        attempt "compute-sanitizer $tool" 90 compute-sanitizer --tool "$tool" --error-exitcode 9 "$here/test-device" "${small[@]}"
    done
}

case "$part" in
    kernels | tests | conformance | bench | sanitizer) facts && "$part" ;;
    # A machine may be taken away at any time: what only a GPU can answer comes first.
    all) facts && for part in kernels tests conformance bench sanitizer; do "$part"; done ;;
    *) echo "no part is called $part: kernels, tests, conformance, bench, sanitizer, all" >&2 && exit 1 ;;
esac

keep
printf '\n== summary\n' && cat "$summary"
! grep -q '^FAILED ' "$summary" || exit 1
! grep -q '^missing ' "$summary" || exit 75
