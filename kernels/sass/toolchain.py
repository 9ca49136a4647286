"""Calls of ptxas and nvdisasm, and the PTX for them."""

import lzma
import os
import re
import subprocess
from pathlib import Path

PTXAS, NVDISASM = "V13.0.88", "V13.2.78"
ROOT = Path(__file__).resolve().parents[2]
BUNDLE = ROOT / "crates/binade-cuda/ptx/kernels.ptx.lzma"
# Line numbers of the sources: without them nvdisasm is twice as fast, and ptxas makes the same instructions.
PLACES = re.compile(r"^\s*\.(loc|file)\b")
HEADER = re.compile(r"^\s*\.(version|target|address_size)\b\s*(\S+)")
SHARED_NAME = re.compile(r"^\.(shared|extern|global|const)\b")


class Missing(Exception):
    """Error of a tool that is missing or not of the pinned version, with the remedy."""


def find():
    """Returns the paths of ptxas and nvdisasm: in the folder that BINADE_CUDA_TOOLKIT names, or where `.ci/cuda` installs them."""
    folder = Path(os.environ.get("BINADE_CUDA_TOOLKIT") or ROOT / "target/cuda")
    folders = [folder, ROOT / "target/nvdisasm"]
    places = [place for it in folders for place in (it, *it.glob("lib/python*/site-packages/nvidia/cu13"))]
    return [tool(places, folder, name, pinned) for name, pinned in (("ptxas", PTXAS), ("nvdisasm", NVDISASM))]


def tool(places, folder, name, pinned):
    """Returns the path of one tool of the pinned version."""
    paths = [path for path in (place / "bin" / name for place in places) if path.is_file()]
    for path in paths:
        if pinned in subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout:
            return path
    found = "of another version" if paths else "missing"
    remedy = "unset BINADE_CUDA_TOOLKIT and run `bash .ci/cuda`" if name == "ptxas" else "run `bash .ci/cuda nvdisasm`"
    raise Missing(f"{name} {pinned} is {found} in {folder}: {remedy}")


def modules(folder=None):
    """Returns the PTX of each kernel by name: of the committed bundle, or of the `.ptx` files of a folder."""
    if folder:
        return {path.stem: path.read_text() for path in sorted(Path(folder).glob("*.ptx"))}
    parts = ("\n" + lzma.open(BUNDLE).read().decode()).split("\n//// ")[1:]
    return dict(part.split("\n", 1) for part in parts)


def target(ptx):
    """Returns the least architecture that a module names."""
    return int(re.search(r"^\.target sm_(\d+)", ptx, re.M).group(1))


def merged(texts):
    """Returns one module with the contents of many. Names of their own contain the entry's name; shared declarations are written once."""
    lines, declared, header = [], set(), {"version": [], "target": []}
    for text in texts:
        for line in text.splitlines():
            found = HEADER.match(line)
            if line.startswith(".section"):
                break
            if found:
                header.setdefault(found.group(1), []).append(found.group(2))
            elif not PLACES.match(line) and not (SHARED_NAME.match(line) and line in declared):
                declared.add(line)
                lines.append(line)
    version = max(header["version"], key=lambda it: [int(part) for part in it.split(".")])
    arch = max(header["target"], key=lambda it: int(it[3:]))
    return "\n".join([f".version {version}", f".target {arch}", ".address_size 64", *lines, ""])


def disassembled(ptx, arch, tools, folder):
    """Returns the log of ptxas for an architecture, and the instructions that it makes. Both also stay in `folder`."""
    ptxas, nvdisasm = tools
    folder.mkdir(parents=True, exist_ok=True)
    source, cubin = folder / f"{arch}.ptx", folder / f"{arch}.cubin"
    source.write_text(ptx)
    log = output_of([ptxas, "-v", f"-arch=sm_{arch}", "-o", cubin, source])
    text = output_of([nvdisasm, "-c", cubin])
    (folder / f"{arch}.log").write_text(log)
    (folder / f"{arch}.sass").write_text(text)
    return log, text


def output_of(command):
    """Returns the output of a program on both streams. If it fails, the error contains the output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


if __name__ == "__main__":
    find()
