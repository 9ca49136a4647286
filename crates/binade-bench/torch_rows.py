"""PyTorch's figures for what `speed` measures besides: a linear layer's products, and an MLP's training step, eager and
captured as a CUDA graph.

    python3 torch_rows.py --out torch_gpu.json

Adds its rows to the file, or makes one. Needs torch only. Times are from an idle device, the median of --reps rounds behind
a warm-up; `--device cpu --size 32` tries the script out, without captures and without meaning.
"""
import argparse
import json
import os
import statistics
import sys
import time


def skip(why):
    """Ends as `run.sh` takes for a skip, and not for a failure."""
    print(f"skipped: {why}", file=sys.stderr)
    sys.exit(77)


try:
    import torch
    from torch import nn
    from torch.nn import functional
except ImportError as error:
    skip(f"{error}; pip install torch")

parser = argparse.ArgumentParser()
parser.add_argument("--out", required=True)
parser.add_argument("--device", default="cuda")
parser.add_argument("--size", type=int, default=4096, help="of matrices, of layers, and of the batch")
parser.add_argument("--reps", type=int, default=21)
options = parser.parse_args()
on_gpu = options.device == "cuda"
if on_gpu and not torch.cuda.is_available():
    skip(f"PyTorch {torch.__version__} finds no GPU; --device cpu --size 32 tries the script out")
torch.backends.cuda.matmul.allow_tf32 = False


def seconds(work):
    """Of each round; rounds are numbered, for inputs that take turns."""
    for number in range(3):
        work(number)
    return [once(work, number) for number in range(options.reps)]


def once(work, number):
    if not on_gpu:
        begin = time.perf_counter()
        work(number)
        return time.perf_counter() - begin
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    start.record()
    work(number)
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3


def add(group, name, work):
    """Measures, and writes at once: what comes later may fail."""
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    took = seconds(work)
    peak = torch.cuda.max_memory_allocated() if on_gpu else None
    row = {"group": group, "name": name, "median_s": statistics.median(took), "min_s": min(took), "max_s": max(took)}
    page["rows"].append(row | {"peak_bytes": peak})
    with open(options.out, "w") as out:
        json.dump(page, out, indent=1)
    print(f"{group} {name}: {1e6 * row['median_s']:.1f} us", flush=True)


def known():
    """What the file has, or what it begins with."""
    if os.path.exists(options.out):
        with open(options.out) as earlier:
            return json.load(earlier)
    name = torch.cuda.get_device_name(0) if on_gpu else options.device
    return {"meta": {"torch": torch.__version__, "device": name, "cuda": torch.version.cuda}, "rows": []}


def products(size, dtype):
    """A layer's forward pass, and its gradients: of the input, and of the weight."""
    sets = [[torch.randn(size, size, device=options.device).to(dtype) for _ in range(3)] for _ in range(4)]

    def forward(number):
        a, b, _ = sets[number % 4]
        return functional.linear(a, b)

    def backward(number):
        a, b, c = sets[number % 4]
        return a @ c, a.t() @ b

    add("matmul", f"{dtype} {size}^3 NT", forward)
    add("matmul", f"{dtype} {size}^3 NN and TN", backward)


class Training:
    """The step of an MLP with rectifiers between its layers: autocast, scaled loss, clipped norm, fused AdamW."""

    def __init__(self, layers, width, batch, low):
        parts = [part for _ in range(layers) for part in (nn.ReLU(), nn.Linear(width, width))][1:]
        self.model = nn.Sequential(*parts).to(options.device)
        self.inputs, self.targets = (torch.randn(batch, width, device=options.device) for _ in range(2))
        self.low = low
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=True, capturable=on_gpu)
        scaled = low == torch.float16
        self.scaler = torch.amp.GradScaler(options.device, init_scale=1024.0, growth_interval=2**31 - 1, enabled=scaled)

    def step(self, _=0):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(options.device, dtype=self.low or torch.bfloat16, enabled=self.low is not None):
            output = self.model(self.inputs)
        loss = functional.mse_loss(output.float(), self.targets)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0, foreach=True)
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def captured(self):
        """The step as a graph; warmed up on another stream, as captures want it."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step()
        return lambda _: graph.replay()


def training(layers, width, batch, low):
    for how in ("eager", "graph") if on_gpu else ("eager",):
        run = Training(layers, width, batch, low)
        work = run.step if how == "eager" else run.captured()
        add("mlp", f"ReLU MLP {layers}x{width} batch {batch} {how}, autocast {low}", work)


page = known()
for dtype in (torch.bfloat16, torch.float16):
    products(options.size, dtype)
for low in (None, torch.bfloat16, torch.float16):
    training(6, options.size, options.size, low)
