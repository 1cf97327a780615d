#!/usr/bin/env python3
"""largo's descents on a GPU beside JAX and PyTorch on the same GPU, in the same run.

All train the published experiment: in-context regression, d = 5, batches of 128 prompts, factored parameters, plain
descent. JAX runs its steps in one jitted scan, all runs of a length at once under vmap where memory allows; PyTorch
runs eagerly, one run after the other, as the published code does. Prints a table of million tokens per second.

--laws compares descents over covariates on a sphere and of coins instead, with noise, merged parameters and the squared
loss, beside JAX in the same form: the problem of compare_tasks.py.

    benchmarks/compare_cuda.py BENCHMARK_CUDA [--quick] [--laws]
"""

import argparse
import json
import math
import subprocess
import time

D, BATCH, RUNS = 5, 128, 304


def largo(program, *arguments):
    """The objects that benchmark_cuda prints."""
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def jax_rate(L, runs, steps):
    """Tokens per second of a jitted scan."""
    import jax
    import jax.numpy as jnp

    idx = jnp.arange(D)
    S = 0.5 ** jnp.abs(idx[:, None] - idx[None, :])

    def loss(parameters, key):
        K, Q, V, o = parameters
        key_x, key_w, key_q, key_e = jax.random.split(key, 4)
        x = jax.random.normal(key_x, (BATCH, L, D)) @ S
        w = jax.random.normal(key_w, (BATCH, D)) / math.sqrt(D)
        y = jnp.einsum("bld,bd->bl", x, w) + math.sqrt(0.1) * jax.random.normal(key_e, (BATCH, L))
        query = jax.random.normal(key_q, (BATCH, D))
        z = jnp.concatenate([x, y[..., None]], -1)
        zq = jnp.concatenate([query, jnp.zeros((BATCH, 1))], -1)
        scores = jnp.einsum("bld,bd->bl", z @ K.T, zq @ Q.T) / math.sqrt(D + 1)
        output = jnp.einsum("bl,bld,d->b", jax.nn.softmax(scores), z @ V.T, o)
        return jnp.mean((output - (w * query).sum(-1)) ** 2)

    def start(key):
        keys = jax.random.split(key, 4)
        n = D + 1
        shapes = [(n, n), (n, n), (n, n), (n,)]
        return tuple(jax.random.uniform(k, s, minval=-1, maxval=1) / math.sqrt(n) for k, s in zip(keys, shapes))

    return compiled_rate(loss, start, L, runs, steps)


def jax_law_rate(law, L, runs, steps):
    """Tokens per second of a jitted scan over prompts of another law."""
    import jax
    import jax.numpy as jnp

    def draw(key, *shape):
        if law == "rademacher":
            return jax.random.rademacher(key, shape, jnp.float32)
        x = jax.random.normal(key, shape)
        return x * (math.sqrt(D) / jnp.linalg.norm(x, axis=-1, keepdims=True))

    def loss(parameters, key):
        U, v = parameters
        key_x, key_w, key_q, key_e = jax.random.split(key, 4)
        x, query = draw(key_x, BATCH, L, D), draw(key_q, BATCH, D)
        w = jax.random.normal(key_w, (BATCH, D))
        y = jnp.einsum("bld,bd->bl", x, w) + math.sqrt(0.1) * jax.random.normal(key_e, (BATCH, L))
        a = query @ U.T  # without the column that meets the zero of the query
        scores = jnp.einsum("bld,bd->bl", x, a[:, :D]) + y * a[:, D:]
        values = x @ v[:D] + y * v[D]
        output = (jax.nn.softmax(scores) * values).sum(-1)
        return jnp.mean((output - (w * query).sum(-1)) ** 2) / 2

    def start(_):
        return jnp.concatenate([jnp.eye(D), jnp.zeros((1, D))]), jnp.zeros(D + 1).at[D].set(1.0)

    return compiled_rate(loss, start, L, runs, steps)


def compiled_rate(loss, start, L, runs, steps):
    """Tokens per second of all runs under vmap, each a scan of plain descent on loss(parameters, key), compiled before."""
    import jax

    def step(carry, _):
        parameters, key = carry
        key, drawn = jax.random.split(key)
        gradient = jax.grad(loss)(parameters, drawn)
        return (jax.tree.map(lambda p, g: p - 0.01 * g, parameters, gradient), key), None

    def train(parameters, key):
        return jax.lax.scan(step, (parameters, key), None, length=steps)[0][0]

    keys = jax.random.split(jax.random.key(0), runs)
    starts = jax.vmap(start)(keys)
    compiled = jax.jit(jax.vmap(train)).lower(starts, keys).compile()
    jax.block_until_ready(compiled(starts, keys))
    begin = time.perf_counter()
    jax.block_until_ready(compiled(starts, keys))
    return BATCH * L * runs * steps / (time.perf_counter() - begin)


def torch_rate(L, steps):
    """Tokens per second of one eager run."""
    import torch

    device = torch.device("cuda")
    n = D + 1
    idx = torch.arange(D)
    S = (0.5 ** (idx[:, None] - idx[None, :]).abs().float()).to(device)
    parameters = [
        ((2 * torch.rand(shape, device=device) - 1) / math.sqrt(n)).requires_grad_()
        for shape in [(n, n), (n, n), (n, n), (n,)]
    ]
    optimiser = torch.optim.SGD(parameters, lr=0.01)

    def step():
        K, Q, V, o = parameters
        x = torch.randn(BATCH, L, D, device=device) @ S
        w = torch.randn(BATCH, D, device=device) / math.sqrt(D)
        y = torch.einsum("bld,bd->bl", x, w) + math.sqrt(0.1) * torch.randn(BATCH, L, device=device)
        query = torch.randn(BATCH, D, device=device)
        z = torch.cat([x, y[..., None]], -1)
        zq = torch.cat([query, torch.zeros(BATCH, 1, device=device)], -1)
        scores = torch.einsum("bld,bd->bl", z @ K.T, zq @ Q.T) / math.sqrt(n)
        output = torch.einsum("bl,bld,d->b", scores.softmax(-1), z @ V.T, o)
        loss = ((output - (w * query).sum(-1)) ** 2).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()

    for _ in range(5):
        step()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return BATCH * L * steps / (time.perf_counter() - begin)


def at_once(L):
    """Runs whose prompts fit into memory together: some 60 bytes a number of a token."""
    return max(1, min(RUNS, int(60e9 / (BATCH * L * (D + 1) * 60))))


def compare_laws(program, less):
    print(f"{'law':10} {'L':>5} {'largo, 1':>9} {'largo, ' + str(RUNS):>10} {'JAX, 1':>9} {'JAX, all':>9}   Mtokens/s; "
          "ratios: one run, all runs to JAX's scan, all runs to JAX under vmap")
    for L, steps in [(50, 8000), (200, 4000), (1000, 2000)]:
        one, many = (
            {found["laws"]["law"]: found["laws"]["Mtokens_per_s"] for found in largo(program, "laws", L, runs, steps // less)}
            for runs in (1, RUNS)
        )
        for law in one:
            jax_one = jax_law_rate(law, L, 1, 2000 // less) * 1e-6
            jax_all = jax_law_rate(law, L, at_once(L), max(20, 200 // less)) * 1e-6
            print(f"{law:10} {L:>5} {one[law]:>9.0f} {many[law]:>10.0f} {jax_one:>9.0f} {jax_all:>9.0f}   "
                  f"{one[law] / jax_one:.1f} {many[law] / jax_one:.1f} {many[law] / jax_all:.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="build/release/benchmarks/benchmark_cuda")
    parser.add_argument("--quick", action="store_true", help="fewer steps")
    parser.add_argument("--laws", action="store_true", help="other laws of the covariates")
    options = parser.parse_args()
    less = 4 if options.quick else 1
    if options.laws:
        return compare_laws(options.program, less)
    print(f"{'L':>6} {'runs':>5} {'largo':>10} {'JAX, one':>10} {'JAX, all':>10} {'PyTorch':>9} {'largo/JAX':>10}   Mtokens/s")
    for L, steps in [(10, 20000), (100, 20000), (1000, 4000), (10000, 500)]:
        one = largo(options.program, "train", L, 1, steps // less)[0]["train"]["Mtokens_per_s"]
        all_runs = largo(options.program, "train", L, RUNS, steps // less)[0]["train"]["Mtokens_per_s"]
        jax_one = jax_rate(L, 1, 2000 // less) * 1e-6
        jax_all = jax_rate(L, at_once(L), max(20, 200 // less)) * 1e-6
        torch_one = torch_rate(L, 200 // less) * 1e-6
        print(f"{L:>6} {1:>5} {one:>10.0f} {jax_one:>10.0f} {'':>10} {torch_one:>9.1f} {one / jax_one:>10.1f}")
        print(f"{L:>6} {RUNS:>5} {all_runs:>10.0f} {jax_one:>10.0f} {jax_all:>10.0f} {torch_one:>9.1f} "
              f"{all_runs / jax_one:>10.1f}   ({all_runs / jax_all:.1f} times JAX with {at_once(L)} runs under vmap)")
    print(json.dumps(largo(options.program, "sweep", 300000 // less, 1)[0]))
    for line in largo(options.program, "sample", 100000, 4096, 2):
        print(json.dumps(line))


if __name__ == "__main__":
    main()
