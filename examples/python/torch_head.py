"""How linear is a head of PyTorch?

A head of torch.nn.MultiheadAttention and a batch of hidden states: at each prompt length, how far is its softmax attention
from linear attention over the same tokens? largo predicts it from the mean and covariance of the hidden states alone,
as if they were Gaussian, without drawing a prompt; the head itself is then run on prompts drawn from the batch.

    python examples/python/torch_head.py [--quick] [--out FOLDER] [--format svg]
"""

from __future__ import annotations

import math
from typing import Any, Tuple

import numpy as np
import numpy.typing as npt
import torch

import largo
import largo.plot
from figures import Figures, read_command_line

Array = npt.NDArray[np.float64]


def weights_of(attention: Any, head: int) -> Tuple[Array, Array, Array]:
    """K, Q and V of one head (without the output projection), as rows of the joint projection."""
    d, width = attention.embed_dim, attention.head_dim
    joint = attention.in_proj_weight.detach().double().numpy()
    rows = slice(head * width, (head + 1) * width)
    query, key, value = joint[:d][rows], joint[d : 2 * d][rows], joint[2 * d :][rows]
    return key, query, value


def main(figures: Figures) -> None:
    prompts = 20 if figures.quick else 400
    torch.manual_seed(1)
    d, heads, head = 16, 4, 2
    module = torch.nn.MultiheadAttention(d, heads, bias=False, batch_first=True)
    with torch.no_grad():
        module.in_proj_weight.mul_(1.5)  # as after some training: scores of spread around one
    # Hidden states: correlated, centred. Here drawn; yours come from a model.
    mixing = torch.randn(d, d, dtype=torch.float64) / math.sqrt(d)
    states = torch.randn(200_000, d, dtype=torch.float64) @ mixing
    states -= states.mean(0)

    K, Q, V = weights_of(module, head)
    U = K.T @ Q / math.sqrt(module.head_dim)
    everything = largo.Prompt(states)  # no copy: largo reads the tensor's memory
    law = largo.Gaussian(np.zeros(d), everything.covariance())

    # %% Predicted: E‖softmax - linear‖² over prompts of L tokens, averaged over queries of the same law.
    lengths = [16, 64, 256, 1024, 4096]
    predicted = largo.concentration(law, query_law=law, U=U, V=V, L=lengths, exponents=False)
    prediction = predicted.column("softmax_linear")

    # %% Measured: the head itself, on prompts and queries from the batch.
    measured, errors = [], []
    generator = torch.Generator().manual_seed(2)
    # The probe: identity output projection of this head's slice, so that the module returns the head's own output.
    with torch.no_grad():
        module.out_proj.weight.zero_()
        module.out_proj.weight[: module.head_dim, head * module.head_dim : (head + 1) * module.head_dim] = torch.eye(module.head_dim)
    module = module.double()
    for L in lengths:
        distances = []
        for _ in range(prompts):
            prompt = states[torch.randint(len(states), (L,), generator=generator)]
            queries = states[torch.randint(len(states), (16,), generator=generator)]
            with torch.no_grad():
                softmax = module(queries[None], prompt[None], prompt[None])[0][0, :, : module.head_dim].numpy()
            linear = largo.attention(prompt, queries, U=U, V=V, attention="linear")
            distances.append(np.mean(np.sum((softmax - linear) ** 2, axis=1)))
        measured.append(float(np.mean(distances)))
        errors.append(float(np.std(distances) / math.sqrt(prompts)))

    size = float(np.trace(V @ law.covariance() @ U @ law.covariance() @ U.T @ law.covariance() @ V.T))
    print(f"mean square of the head's output over an infinite prompt: {size:.4g}")
    print("      L   predicted    measured           relative")
    for L, one, two, bar in zip(lengths, prediction, measured, errors):
        print(f"{L:7d}   {one:.6f}    {two:.6f} ± {bar:.6f}   {one / size:.3f}")
    enough = largo.length_for_tolerance(law, 0.01 * size, query_law=law, U=U, V=V)
    print(f"linear to one per cent from L = {enough.L:.4g} on" if enough else "never linear to one per cent")

    ax = largo.plot.concentration(predicted, ["softmax_linear"])
    with largo.plot.style():
        ax.lines[0].set_label("predicted")
        ax.errorbar(lengths, measured, errors, fmt="o", color="C1", capsize=1.5, label="measured")
        ax.set_ylabel(r"$E\,\Vert$softmax − linear$\Vert^2$")
        ax.legend()
    figures.save(ax, "torch_head")


if __name__ == "__main__":
    main(read_command_line(__doc__))
