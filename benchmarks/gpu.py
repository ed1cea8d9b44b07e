"""The torch backend on a GPU: times beside their bars, peers, and agreement with the CPU.

Usage: python benchmarks/gpu.py speed [PATTERN]    times; "on the device" without copies to it
       python benchmarks/gpu.py parity [PATTERN]   per method, CPU against GPU
       python benchmarks/gpu.py peers [PATTERN]    TorchDR and FAISS in the same run
       python benchmarks/gpu.py report             GPU.md from results/gpu.json

Times are medians of several calls after a first one, which is stated beside them. Rows are
Gaussian mixtures (30 clusters, axes of standard deviation (1 + j)^-0.5 in a basis of each cluster),
and MNIST from the folder LOWD_DATA where there is one. Without a GPU it all runs on the CPU, for
trying. GPU_PROFILE=1 prints where whole fits spend their time.
"""

from __future__ import annotations

import sys

from gpu_parity import parity
from gpu_peers import peers
from gpu_report import report
from gpu_speed import speed

if __name__ == "__main__":
    commands = {"speed": speed, "parity": parity, "peers": peers, "report": report}
    commands[sys.argv[1]](*sys.argv[2:])
