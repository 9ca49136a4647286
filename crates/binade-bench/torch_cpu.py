"""The side of PyTorch in `cargo xtask bench --peer torch`: does the work of a row when it is asked to.

    python3 torch_cpu.py --threads 2                      answers until its input ends
    python3 torch_cpu.py --threads 2 --memory '{"kind": "mlp", …}'    prints the peak of memory of this row's work, in bytes

A request and an answer are a line of JSON each. Requests: {"version": true}, {"prepare": ROW}, {"run": TIMES}, which is answered with seconds. A ROW has a `kind`, which is a function
below, and its arguments.
"""
import argparse
import json
import pathlib
import sys
import time

import torch
from torch import nn
from torch.nn import functional

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests/data/golden"
sys.path.insert(0, str(GOLDEN))
import gpt as golden_gpt  # noqa: E402

DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn, None: None}


def tensors(elements, count, dtype):
    each = max(elements // count, 1)
    values = torch.rand(each) * 2 - 1
    return [values.to(DTYPES[dtype], copy=True) for _ in range(count)]


def unscale(dtype, elements, tensors: int):
    grads, found, inverse = make(elements, tensors, dtype), torch.zeros(1), torch.ones(1)
    return lambda: torch._amp_foreach_non_finite_check_and_unscale_(grads, found, inverse)


def clip_norm(dtype, elements, tensors: int):
    parameters = [nn.Parameter(it) for it in make(elements, tensors, dtype)]
    for parameter, grad in zip(parameters, make(elements, tensors, dtype)):
        parameter.grad = grad
    unscale, grads = torch._amp_foreach_non_finite_check_and_unscale_, [it.grad for it in parameters]
    found, inverse = torch.zeros(1), torch.ones(1)

    def work():
        unscale(grads, found, inverse)
        nn.utils.clip_grad_norm_(parameters, 3e38)

    return work


def cast(elements, tensors: int, to, **other):
    inputs = make(elements, tensors, other["from"])

    def work():
        for it in inputs:
            it.to(DTYPES[to])

    return work


def cast_into(elements, tensors: int, to, **other):
    inputs, outputs = (make(elements, tensors, it) for it in (other["from"], to))

    def work():
        for it, output in zip(inputs, outputs):
            output.copy_(it)

    return work


def step(dtype, elements, tensors: int):
    """Gradients of the model copied to those of f32 masters, checked and unscaled, clipped; AdamW; the model's copy."""
    masters = [nn.Parameter(it) for it in make(elements, tensors, "f32")]
    model = make(elements, tensors, "bf16" if dtype == "bf16" else "f16")
    grads, own = make(elements, tensors, dtype), dtype == "f32"
    for master, grad in zip(masters, grads):
        master.grad = grad if own else torch.empty_like(master)
    wide = [master.grad for master in masters]
    optimizer, found = torch.optim.AdamW(masters, lr=1e-4, fused=True), torch.zeros(1)
    inverse, scale, tracker = torch.ones(1), torch.full((1,), 1024.0), torch.zeros(1, dtype=torch.int32)

    def work():
        if not own:
            torch._foreach_copy_(wide, grads)
        found.zero_()
        torch._amp_foreach_non_finite_check_and_unscale_(wide, found, inverse)
        nn.utils.clip_grad_norm_(masters, 1.0)
        if not found.item():
            optimizer.step()
        with torch.no_grad():
            torch._foreach_copy_(model, masters)
        torch._amp_update_scale_(scale, tracker, found, 2.0, 0.5, 2**31 - 1)

    return work


def embedding(rows, width, count, sparse):
    """Rows of a table, their mean, backward, Adam or `SparseAdam`; unscaled and checked by a scaler."""
    table = nn.Embedding(rows, width, sparse=sparse)
    nn.init.constant_(table.weight, 0.5)
    rule = torch.optim.SparseAdam if sparse else torch.optim.Adam
    optimizer = rule(table.parameters(), lr=1e-4)
    scaler = torch.amp.GradScaler("cpu", growth_interval=2**31 - 1)
    indices = torch.arange(count) * 2654435769 % 2**32 % rows

    def work():
        optimizer.zero_grad()
        with torch.enable_grad():
            scaler.scale(table(indices).mean()).backward()
        scaler.step(optimizer)
        scaler.update()

    return work


def tiny():
    parameters = [nn.Parameter(torch.ones(8)) for _ in range(10)]
    optimizer, loss = torch.optim.SGD(parameters, lr=1e-4), torch.tensor(1.0)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2**31 - 1)
    grads = [torch.ones(8) for _ in parameters]

    def work():
        for parameter, grad in zip(parameters, grads):
            parameter.grad = grad
        scaler.scale(loss)
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()

    return work


def update():
    scale, tracker, found = torch.full((1,), 1024.0), torch.zeros(1, dtype=torch.int32), torch.zeros(1)
    return lambda: torch._amp_update_scale_(scale, tracker, found, 2.0, 0.5, 2**31 - 1)


def region():
    def work():
        with torch.autocast("cpu", torch.bfloat16):
            pass

    return work


def linear(autocast):
    dtype = torch.float32 if autocast else torch.bfloat16
    layer, x = nn.Linear(8, 8).to(dtype), torch.rand(8, 8, dtype=torch.bfloat16)

    def work(times):
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            for _ in range(times):
                layer(x)

    work.repeats = True
    return work


def matmul(dtype, size):
    a, b = (it.view(size, size) for it in make(2 * size * size, 2, dtype))
    return lambda: a @ b


def attention(dtype, heads, length, backward):
    q, k, v, grad = (it.view(1, heads, length, 64) for it in make(4 * heads * length * 64, 4, dtype))
    if not backward:
        return lambda: functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    for it in q, k, v:
        it.requires_grad_()
    with torch.enable_grad():
        output = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    return lambda: torch.autograd.grad(output, (q, k, v), grad, retain_graph=True)


def trained(model, low, batch, loss, **rule):
    """A step: autocast, scaled loss, clipped norm, fused AdamW."""
    optimizer = torch.optim.AdamW(model.parameters(), fused=True, **rule)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2**31 - 1, enabled=low == "f16")
    inputs, targets = batch

    def work():
        optimizer.zero_grad()
        with torch.enable_grad():
            with torch.autocast("cpu", DTYPES[low] or torch.bfloat16, enabled=low is not None):
                output = model(inputs)
            scaler.scale(loss(output.float(), targets)).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()

    return work


def mlp(widths, batch, low):
    layers = [part for a, b in zip(widths, widths[1:]) for part in (nn.ReLU(), nn.Linear(a, b))][1:]
    data = torch.rand(batch, widths[0]), torch.rand(batch, widths[-1])
    return trained(nn.Sequential(*layers), low, data, functional.mse_loss, lr=1e-4)


def digits(model, low):
    """The two models of the example, on images of 8x8."""
    if model == "mlp":
        layers = [nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)]
    else:
        block = lambda a, b: [nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(), nn.MaxPool2d(2)]
        layers = [nn.Unflatten(1, (1, 8, 8)), *block(1, 16), *block(16, 32), nn.Flatten(), nn.Linear(128, 10)]
    data = torch.rand(32, 64), torch.randint(10, (32,))
    return trained(nn.Sequential(*layers), low, data, functional.cross_entropy, lr=0.004)


def gpt(low):
    """The model of the example, at its default sizes."""
    arguments = {"layers": 3, "heads": 4, "width": 96, "context": 64, "batch": 16, "steps": 1500, "lr": 3e-3, "clip-norm": 1.0, "seed": 0}
    text = golden_gpt.gzip.open(golden_gpt.PLAYS, "rt", newline="").read()
    characters, train = golden_gpt.numbers(text)
    training = golden_gpt.Training(golden_gpt.Gpt(characters, arguments), arguments, DTYPES[low], fused=True)
    numbers = iter(range(10**9))

    def work():
        number = next(numbers)
        with torch.enable_grad():
            training.step(number, *golden_gpt.batch(train, arguments, number))

    return work


make = tensors
KINDS = {it.__name__: it for it in (unscale, clip_norm, cast, cast_into, step, embedding, tiny, update, region, linear, matmul, attention, mlp, digits, gpt)}


def prepare(row):
    """A function that does the row's work as many times as it is told."""
    arguments = dict(row)
    work = KINDS[arguments.pop("kind")](**arguments)
    if getattr(work, "repeats", False):
        return work

    def run(times):
        for _ in range(times):
            work()

    return run


def answer(request, state):
    if "version" in request:
        return torch.__version__
    if "prepare" in request:
        state["run"] = None  # What the last row held is freed first.
        state["run"] = prepare(request["prepare"])
        return True
    began = time.perf_counter()
    state["run"](request["run"])
    return time.perf_counter() - began


def serve():
    state = {}
    for line in sys.stdin:
        try:
            said = {"done": answer(json.loads(line), state)}
        except Exception as error:  # Told to who asked.
            said = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(said), flush=True)


def status(key):
    for line in open("/proc/self/status"):
        if line.startswith(key):
            return int(line.split()[1]) << 10


parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--memory", type=json.loads)
options = parser.parse_args()
torch.set_num_threads(options.threads)
torch.set_grad_enabled(False)
if options.memory:
    # A first step, since PyTorch loads libraries in it, which are no memory of the row.
    prepare({"kind": "mlp", "widths": [8, 8], "batch": 2, "low": "bf16"})(1)
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # The peak begins anew.
    before = status("VmRSS:")
    prepare(options.memory)(2)
    print(status("VmHWM:") - before)
else:
    serve()
