#!/usr/bin/env bash
# Installs PyTorch 2.15 from PyPI into a virtual environment, for `cargo xtask bench --peer torch`: some minutes, 5 GB. It is the build for
# CUDA, which runs on a CPU too and needs these libraries to load.
#
#     ./install_torch.sh FOLDER
set -euo pipefail
folder="$1"
python3 -m venv "$folder.new"
pip=("$folder.new/bin/pip" install --quiet)
"${pip[@]}" --no-deps torch==2.15.0
"${pip[@]}" filelock 'typing-extensions>=4.13' 'setuptools>=77.0.3' 'sympy>=1.13.3' networkx jinja2 fsspec numpy
"${pip[@]}" 'cuda-toolkit[cublas,cudart,cufft,cufile,cupti,cusparse,nvjitlink,nvrtc]==13.2.2' nvidia-cudnn-cu13==9.26.0.51 \
    nvidia-cusparselt-cu13==0.8.1 nvidia-nccl-cu13==2.30.7 nvidia-nvshmem-cu13==3.7.2
"$folder.new/bin/python" -c 'import torch'
mv "$folder.new" "$folder"
