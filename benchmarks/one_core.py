"""PyTorch, where it is, and NumPy on one core. Comes before both: they read these variables when they are loaded."""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TORCHINDUCTOR_COMPILE_THREADS"):
    os.environ[variable] = "1"

try:
    import torch

    torch.set_num_threads(1)
except ImportError:
    torch = None
