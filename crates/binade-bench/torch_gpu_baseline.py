"""PyTorch's figures for the work that Binade does, on one GPU: what to beat, and the machine's ceilings.

    python3 torch_gpu_baseline.py --out torch_gpu.json [--device cuda|cpu] [--scale 1.0] [--only copy,unscale,...]

Times with device events, median of --reps after a warm-up, inputs rotated beyond the L2 cache. Needs torch only.
Rows: copy, unscale, cast, norm, step, scaler, matmul, mlp, gpt. Every row says the least bytes or operations the work needs,
so that a share of the measured ceiling can be computed. --device cpu is for trying the script, not for figures.
"""
import argparse
import json
import statistics
import sys
import time


def skip(why):
    """Ends as `run.sh` takes for a skip, and not for a failure."""
    print(f"skipped: {why}", file=sys.stderr)
    sys.exit(77)


try:
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
except ImportError as error:
    skip(f"{error}; pip install torch")

ap = argparse.ArgumentParser()
ap.add_argument("--out", default="torch_gpu.json")
ap.add_argument("--device", default="cuda")
ap.add_argument("--scale", type=float, default=1.0, help="shrinks every size (for trying the script)")
ap.add_argument("--reps", type=int, default=21)
ap.add_argument("--only", default="")
args = ap.parse_args()
DEV = torch.device(args.device)
CUDA = DEV.type == "cuda"
if CUDA and not torch.cuda.is_available():
    skip(f"PyTorch {torch.__version__} finds no GPU; --device cpu --scale 0.0001 tries the script out")
ONLY = set(filter(None, args.only.split(",")))
ROWS = []


def sync():
    if CUDA:
        torch.cuda.synchronize()


def clock(fn, reps=None, warmup=3):
    """Median seconds of fn(i); i lets the callee rotate its inputs."""
    reps = reps or args.reps
    for i in range(warmup):
        fn(i)
    sync()
    out = []
    for i in range(reps):
        if CUDA:
            a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            a.record()
            fn(i)
            b.record()
            b.synchronize()
            out.append(a.elapsed_time(b) / 1e3)
        else:
            t = time.perf_counter()
            fn(i)
            out.append(time.perf_counter() - t)
    return statistics.median(out), min(out), max(out)


def row(group, name, secs, bytes_=None, flops=None, **more):
    med, lo, hi = secs
    r = dict(group=group, name=name, median_s=med, min_s=lo, max_s=hi, bytes=bytes_, flops=flops, **more)
    if bytes_:
        r["gbs"] = bytes_ / med / 1e9
    if flops:
        r["tflops"] = flops / med / 1e12
    ROWS.append(r)
    write()
    rate = f'{r["gbs"]:10.1f} GB/s' if bytes_ else f'{r["tflops"]:10.2f} TFLOP/s' if flops else ""
    print(f"{group:8s} {name:64s} {med*1e6:12.1f} us {rate}", flush=True)


def write():
    """At once after each row: what comes later may fail, or be stopped."""
    meta = dict(torch=torch.__version__, device=torch.cuda.get_device_name(0) if CUDA else "cpu", cuda=torch.version.cuda,
                cudnn=torch.backends.cudnn.version() if CUDA else None, capability=torch.cuda.get_device_capability(0) if CUDA else None, reps=args.reps, scale=args.scale)
    with open(args.out, "w") as out:
        json.dump(dict(meta=meta, rows=ROWS), out, indent=1)


def wanted(group):
    return not ONLY or group in ONLY


def n_of(x):
    return max(64, int(x * args.scale))


def tensors(total, count, dtype=torch.float32, sets=1):
    per = max(1, total // count)
    return [[torch.randn(per, device=DEV).to(dtype) for _ in range(count)] for _ in range(sets)]


# The shapes of a 124 M-parameter GPT: 148 tensors.
def gpt_shapes(width=768, layers=12, vocab=50304, block=1024):
    shapes = [(vocab, width), (block, width)]
    for _ in range(layers):
        shapes += [(width,), (width,), (3 * width, width), (3 * width,), (width, width), (width,),
                   (width,), (width,), (4 * width, width), (4 * width,), (width, 4 * width), (width,)]
    return shapes + [(width,), (width,)]


if wanted("copy"):
    n = n_of(1 << 30)
    src, dst = torch.randn(n, device=DEV), torch.empty(n, device=DEV)
    row("copy", f"copy f32 {n}", clock(lambda i: dst.copy_(src)), 8 * n)
    row("copy", f"in-place multiply f32 {n}", clock(lambda i: src.mul_(1.0)), 8 * n)
    del src, dst

if wanted("unscale"):
    for total, count in ((1 << 20, 1), (1 << 26, 1), (1 << 26, 1000), (1 << 30, 1), (1 << 30, 1000)):
        total = n_of(total)
        for dt in (torch.float32, torch.float16):
            g = tensors(total, count, dt)[0]
            n = sum(t.numel() for t in g)
            found, inv = torch.zeros(1, device=DEV), [torch.full((1,), v, device=DEV) for v in (0.5, 2.0)]
            row("unscale", f"check+unscale {dt} {n} in {count}",
                clock(lambda i: torch._amp_foreach_non_finite_check_and_unscale_(g, found, inv[i % 2])), 2 * n * g[0].element_size())
            del g

if wanted("cast"):
    n = n_of(1 << 29)
    x = torch.randn(n, device=DEV)
    for dt in (torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        y = torch.empty(n, device=DEV, dtype=dt)
        row("cast", f"f32 -> {dt} {n}", clock(lambda i: y.copy_(x)), n * (4 + y.element_size()))
        row("cast", f"{dt} -> f32 {n}", clock(lambda i: x.copy_(y)), n * (4 + y.element_size()))
    shapes = gpt_shapes()
    ws = [torch.randn(s, device=DEV) for s in shapes]
    hs = [torch.empty(s, device=DEV, dtype=torch.bfloat16) for s in shapes]
    n = sum(w.numel() for w in ws)
    row("cast", f"foreach f32 -> bf16 {n} in {len(ws)}", clock(lambda i: torch._foreach_copy_(hs, ws)), 6 * n)
    del x, y, ws, hs

if wanted("norm"):
    g = [torch.randn(s, device=DEV) for s in gpt_shapes()]
    n = sum(t.numel() for t in g)
    row("norm", f"get_total_norm 2 {n} in {len(g)}", clock(lambda i: torch.nn.utils.get_total_norm(g, foreach=True)), 4 * n)
    row("norm", f"get_total_norm inf {n} in {len(g)}", clock(lambda i: torch.nn.utils.get_total_norm(g, float("inf"), foreach=True)), 4 * n)

if wanted("step"):
    shapes = gpt_shapes()
    for gdt in (torch.float32,):
        ps = [nn.Parameter(torch.randn(s, device=DEV) * 0.02) for s in shapes]
        gs = [torch.randn(s, device=DEV, dtype=gdt) for s in shapes]
        hs = [torch.empty(s, device=DEV, dtype=torch.float16) for s in shapes]
        n = sum(p.numel() for p in ps)
        opt = torch.optim.AdamW(ps, lr=1e-4, fused=CUDA)
        scaler = torch.amp.GradScaler(DEV.type, init_scale=1.0, growth_interval=10**9)  # 1.0: the same gradients are unscaled again and again
        scaler.scale(torch.ones((), device=DEV))
        for p, g in zip(ps, gs):
            p.grad = g

        def whole(i):
            scaler.unscale_(opt)
            torch.nn.utils.clip_grad_norm_(ps, 1.0, foreach=True)
            scaler.step(opt)
            scaler.update()
            torch._foreach_copy_(hs, [p.detach() for p in ps])

        row("step", f"unscale_+clip+AdamW(fused)+update+cast f16, {n} in {len(ps)}", clock(whole), 30 * n, note="bytes: the floor of one fused pass with 16-bit gradients")

        def no_clip(i):
            scaler.step(opt)
            scaler.update()

        row("step", f"GradScaler.step+update AdamW(fused), {n} in {len(ps)}", clock(no_clip), 28 * n)
        row("step", f"AdamW(fused) alone, {n} in {len(ps)}", clock(lambda i: opt.step()), 28 * n)
        del ps, gs, hs, opt

if wanted("scaler"):
    ps = [nn.Parameter(torch.randn(10, device=DEV)) for _ in range(10)]
    for p in ps:
        p.grad = torch.randn_like(p)
    opt = torch.optim.SGD(ps, lr=1e-3)
    scaler = torch.amp.GradScaler(DEV.type, init_scale=1024.0)
    scaler.scale(torch.ones((), device=DEV))

    def small(i):
        scaler.step(opt)
        scaler.update()

    def wall(fn, k=200):
        fn(0)
        sync()
        t = time.perf_counter()
        for i in range(k):
            fn(i)
        sync()
        return (time.perf_counter() - t) / k

    for name, fn in (("GradScaler step+update, SGD, 10 parameters of 10 (wall)", small), ("SGD step alone (wall)", lambda i: opt.step())):
        s = wall(fn)
        row("scaler", name, (s, s, s))

if wanted("matmul"):
    torch.backends.cuda.matmul.allow_tf32 = False
    for n in (512, 1024, 2048, 4096, 8192, 16384):
        n = max(64, int(n * args.scale ** (1 / 3)) // 8 * 8)
        for dt in (torch.float16, torch.bfloat16, torch.float32):
            if dt == torch.float32 and n > 8192:
                continue
            k = 4 if n <= 4096 else 2
            a = [torch.randn(n, n, device=DEV).to(dt) for _ in range(k)]
            b = [torch.randn(n, n, device=DEV).to(dt) for _ in range(k)]
            row("matmul", f"{dt} {n}^3", clock(lambda i: a[i % k] @ b[i % k], reps=15), None, 2 * n**3)
            del a, b


def train_row(group, name, model, batch, loss_fn, dtype, flops=None, graph=False):
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=CUDA, capturable=graph)
    scaler = torch.amp.GradScaler(DEV.type, enabled=dtype == torch.float16, init_scale=1024.0, growth_interval=10**9)

    def step(i):
        opt.zero_grad(set_to_none=True)
        with torch.autocast(DEV.type, dtype=dtype or torch.bfloat16, enabled=dtype is not None):
            loss = loss_fn(model, batch)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()

    if CUDA:
        torch.cuda.reset_peak_memory_stats()
    secs = clock(step, reps=11)
    row(group, name, secs, None, flops, peak_bytes=torch.cuda.max_memory_allocated() if CUDA else None)


if wanted("mlp"):
    w, depth, bs = max(64, int(4096 * args.scale ** 0.5) // 8 * 8), 6, max(8, int(4096 * args.scale ** 0.5))
    for dt in (None, torch.float16, torch.bfloat16):
        m = nn.Sequential(*[x for _ in range(depth) for x in (nn.Linear(w, w), nn.GELU())]).to(DEV)
        x = torch.randn(bs, w, device=DEV)
        y = torch.randn(bs, w, device=DEV)
        train_row("mlp", f"MLP {depth}x{w} batch {bs} train step, autocast {dt}", m, (x, y), lambda m, b: F.mse_loss(m(b[0]).float(), b[1]), dt, 6 * depth * w * w * bs)
        del m


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.heads = heads

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, c)
        x = x + self.proj(a)
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Gpt(nn.Module):
    def __init__(self, vocab, width, layers, heads, block):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, width), nn.Embedding(block, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocab, bias=False)
        self.head.weight = self.tok.weight

    def forward(self, ids):
        x = self.tok(ids) + self.pos.weight[: ids.shape[1]]
        return self.head(self.norm(self.blocks(x)))


if wanted("gpt"):
    layers = 12 if args.scale >= 1 else 2
    width, heads, block, vocab, bs = (768, 12, 1024, 50304, 8) if args.scale >= 1 else (64, 4, 64, 256, 2)
    for dt in (None, torch.float16, torch.bfloat16):
        m = Gpt(vocab, width, layers, heads, block).to(DEV)
        ids = torch.randint(vocab, (bs, block + 1), device=DEV)
        n = sum(p.numel() for p in m.parameters())
        train_row("gpt", f"GPT {n} params, batch {bs}x{block}, train step, autocast {dt}", m, ids,
                  lambda m, ids: F.cross_entropy(m(ids[:, :-1]).float().flatten(0, 1), ids[:, 1:].flatten()), dt, 6 * n * bs * block)
        del m

print("wrote", args.out)
