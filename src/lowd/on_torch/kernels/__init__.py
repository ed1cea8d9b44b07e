"""Triton kernels: imported only where torch has Triton and a GPU."""
