"""Records the losses of PyTorch's training of the model of examples/gpt, on the same weights, windows and order of them.

    python3 gpt.py [FILE]     writes gpt.json beside this script, or FILE

Needs torch and numpy. `Gpt`, `batch` and `Training` are imported by what measures the same model.
"""
import gzip
import json
import math
import pathlib
import sys

import numpy
import torch
from torch import nn
from torch.nn import functional

HERE = pathlib.Path(__file__).resolve().parent
PLAYS = HERE.parents[2] / "examples/gpt/data/shakespeare.txt.gz"
ARGUMENTS = {"layers": 2, "heads": 4, "width": 64, "context": 32, "batch": 8, "steps": 50, "lr": 3e-3, "clip-norm": 1.0, "seed": 0}
# Length of the text that is trained and validated on: the first of the embedded plays begins with it.
CHARACTERS = 4000
EPS, BASE, DECAY = 1e-5, 10_000.0, 0.1


class Random:
    """The generator of Rust's crate fastrand 2.5, wyrand of 64 bits."""

    def __init__(self, seed):
        self.state = seed

    def u64(self):
        self.state = (self.state + 0x2D358DCCAA6C78A5) % 2**64
        product = self.state * (self.state ^ 0x8BB84B93962EACC9)
        return (product ^ product >> 64) % 2**64

    def f32(self, count):
        values = numpy.array([self.u64() >> 1 for _ in range(count)], numpy.uint64)
        return values.astype(numpy.float32) * numpy.float32(2.0**-63)

    def below(self, bound):
        """An integer from 0 to below `bound`, by Lemire's method; what it rejects is rarer than 2^-44 here."""
        return self.u64() * bound >> 64


class Gpt(nn.Module):
    """Root mean squares before each part, rotary positions, no biases, one table for both ends."""

    def __init__(self, characters, arguments):
        super().__init__()
        self.layers, self.heads, width = (arguments[it] for it in ("layers", "heads", "width"))
        random, self.values, inner = Random(arguments["seed"]), nn.ParameterDict(), 4 * width
        block = {"norm0": [width], "query": [width, width], "key": [width, width], "value": [width, width], "out": [width, width],
                 "norm1": [width], "up": [inner, width], "down": [width, inner]}
        shapes = {"embedding": [characters, width]}
        shapes |= {f"block{layer}_{name}": shape for layer in range(self.layers) for name, shape in block.items()}
        for name, shape in (shapes | {"norm": [width]}).items():
            self.values[name] = nn.Parameter(torch.from_numpy(self.first(name, shape, random)))

    def first(self, name, shape, random):
        """First values, as the Rust example draws them: in f32, uniform within the square root of 6 over the inputs."""
        if "norm" in name:
            return numpy.ones(shape, numpy.float32)
        one, limit = numpy.float32(1), numpy.sqrt(numpy.float32(6) / numpy.float32(shape[1]))
        residual = one / numpy.sqrt(numpy.float32(2 * self.layers))
        factor = {"embedding": numpy.float32(0.2), "out": residual, "down": residual}.get(name.split("_")[-1], one)
        values = (numpy.float32(2) * random.f32(math.prod(shape)) - one) * limit * factor
        return values.reshape(shape)

    def forward(self, numbers):
        x, p = functional.embedding(numbers, self.values["embedding"]), self.values
        turns = self.turns(numbers.shape[1], x.shape[2] // self.heads // 2)
        for layer in range(self.layers):
            of = {name: p[f"block{layer}_{name}"] for name in ("norm0", "query", "key", "value", "out", "norm1", "up", "down")}
            part = self.attention(functional.rms_norm(x, x.shape[2:], of["norm0"], EPS), of, turns)
            x = x + functional.linear(part, of["out"])
            part = functional.linear(functional.rms_norm(x, x.shape[2:], of["norm1"], EPS), of["up"])
            x = x + functional.linear(functional.gelu(part), of["down"])
        x = functional.rms_norm(x, x.shape[2:], p["norm"], EPS)
        return functional.linear(x, p["embedding"]).flatten(0, 1)

    def attention(self, x, of, turns):
        windows, length, width = x.shape
        heads = lambda name: functional.linear(x, of[name]).view(windows, length, self.heads, -1).transpose(1, 2)
        query, key = turned(heads("query"), *turns), turned(heads("key"), *turns)
        y = functional.scaled_dot_product_attention(query, key, heads("value"), is_causal=True)
        return y.transpose(1, 2).reshape(windows, length, width)

    def turns(self, length, pairs):
        places = torch.arange(length, dtype=torch.float64)[:, None]
        angles = places * BASE ** (-torch.arange(pairs, dtype=torch.float64) / pairs)
        return angles.cos().float(), angles.sin().float()


def turned(x, cos, sin):
    """Rotates the pairs of features half a head apart, in f32."""
    a, b = x.float().chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1).to(x.dtype)


def batch(train, arguments, number):
    """The windows of a micro-batch, and the characters behind each."""
    random, context = Random(arguments["seed"] << 32 | number), arguments["context"]
    places = [random.below(len(train) - context) for _ in range(arguments["batch"])]
    inputs, targets = (torch.stack([train[it + behind:it + behind + context] for it in places]) for behind in (0, 1))
    return inputs, targets.flatten()


def numbers(text):
    """The alphabet's length, and the first nine tenths of the text as numbers."""
    alphabet = {character: number for number, character in enumerate(sorted(set(text)))}
    all_of_it = torch.tensor([alphabet[it] for it in text])
    return len(alphabet), all_of_it[:len(text) - len(text) // 10]


class Training:
    """Autocast, scaled loss, clipped norm, AdamW, and the schedule of the Rust example."""

    def __init__(self, model, arguments, low=None, fused=False):
        self.model, self.arguments, self.low = model, arguments, low
        decays = lambda name: "norm" not in name and not name.endswith("embedding")
        groups = [{"params": [p for name, p in model.named_parameters() if decays(name) == of], "weight_decay": DECAY * of}
                  for of in (True, False)]
        self.optimizer = torch.optim.AdamW(groups, lr=arguments["lr"], betas=(0.9, 0.99), eps=1e-8, fused=fused)
        self.scaler = torch.amp.GradScaler("cpu", enabled=low == torch.float16)

    def rate(self, number):
        peak, steps = self.arguments["lr"], self.arguments["steps"]
        warm_up = steps // 10
        if number < warm_up:
            return peak * (number + 1) / warm_up
        done = min((number - warm_up) / max(steps - warm_up, 1), 1.0)
        return peak * (0.1 + 0.9 * 0.5 * (1 + math.cos(math.pi * done)))

    def step(self, number, inputs, targets):
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate(number)
        with torch.autocast("cpu", self.low or torch.bfloat16, enabled=self.low is not None):
            logits = self.model(inputs)
        loss = functional.cross_entropy(logits.float(), targets)
        self.optimizer.zero_grad()
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.arguments["clip-norm"])
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()


def record(file):
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    text = gzip.open(PLAYS, "rt", newline="").read()[:CHARACTERS]
    characters, train = numbers(text)
    losses = {}
    for name, low in ("O0 f32", None), ("O1 bf16", torch.bfloat16), ("O1 f16", torch.float16):
        training = Training(Gpt(characters, ARGUMENTS), ARGUMENTS, low)
        losses[name] = [training.step(step, *batch(train, ARGUMENTS, step)) for step in range(ARGUMENTS["steps"])]
        print(name, *(f"{it:.4f}" for it in losses[name][::10]), flush=True)
    page = {"torch": torch.__version__, "arguments": ARGUMENTS, "characters": CHARACTERS, "losses": losses}
    pathlib.Path(file).write_text(json.dumps(page, indent=1) + "\n")


if __name__ == "__main__":
    record(sys.argv[1] if len(sys.argv) > 1 else HERE / "gpt.json")
