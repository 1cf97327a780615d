"""Attention and its replacements as docs/heads.md defines them, directly in float64 NumPy, and captures to try them on."""

import json

import numpy as np


def seen_and_recent(queries, tokens, row, causal, recent):
    """The number of keys that a query sees, and which of them are recent."""
    at = tokens - queries + row
    seen = at + 1 if causal else tokens
    keys = np.arange(seen)
    return seen, np.abs(keys - at) < recent


def audit_head(q, k, v, *, causal=False, scale=None, sinks=(), recent=0):
    """q, k, v: (tokens, head_dim) of one head. Every query is audited. Returns the names of the command line."""
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    scale = 1 / np.sqrt(q.shape[1]) if scale is None else scale
    sinks = sorted({s % len(k) for s in sinks})
    rows, errors, outputs = [], [], []
    for row, query in enumerate(q):
        seen, is_recent = seen_and_recent(len(q), len(k), row, causal, recent)
        keys, values, u = k[:seen], v[:seen], scale * query
        scores = keys @ u
        is_sink = np.isin(np.arange(seen), sinks)
        weights = np.exp(scores - scores.max())
        weights /= weights.sum()
        centred = scores - scores.mean()
        std = centred.std()
        constant = std <= 1e-14 * max(1.0, np.abs(scores).max())
        # In terms that do not cancel when one token has all of the weight.
        gaps = scores.max() - scores
        rest = np.exp(-np.delete(gaps, scores.argmax())).sum()
        output = weights @ values

        def gaussian(who):
            mean, value = keys[who].mean(axis=0), values[who].mean(axis=0)
            from_mean = keys[who] - mean
            spread = from_mean @ u
            return (np.log(who.sum()) + mean @ u + spread @ spread / (2 * who.sum()),
                    value + (values[who] - value).T @ spread / who.sum())

        everyone = np.ones(seen, dtype=bool)
        exact = is_sink | is_recent
        logs, outs = list(scores[exact]), list(values[exact])
        if not exact.all():
            log, value = gaussian(~exact)
            logs.append(log)
            outs.append(value)
        share = np.exp(np.array(logs) - max(logs))
        replaced = share @ np.array(outs) / share.sum()
        rows.append({
            "score_std": 0.0 if constant else std,
            "score_skewness": 0.0 if constant else (centred**3).mean() / std**3,
            "score_kurtosis": 0.0 if constant else (centred**4).mean() / std**4 - 3,
            "P2": (weights**2).sum(),
            "effective_tokens": 1 / (weights**2).sum(),
            "entropy": np.log1p(rest) + (weights * gaps).sum(),
            "max_weight": weights.max(),
            "sink_mass": weights[is_sink].sum(),
            "recent_mass": weights[is_recent].sum(),
        })
        errors.append([((output - other)**2).sum()
                       for other in (values.mean(axis=0), gaussian(everyone)[1], replaced)])
        outputs.append((output**2).sum())
    result = {name: float(np.median([row[name] for row in rows])) for name in rows[0]}
    relative = np.sum(errors, axis=0) / np.sum(outputs)
    result.update(zip(("error_uniform", "error_affine", "error_sinks_affine"), map(float, relative)))
    return result


def captures():
    """20 captures: (name, q, k, v, arguments), each head of q with the head of k and v that it shares."""
    random = np.random.default_rng(7)

    def gaussian(heads, tokens, width, spread=1.0, key_heads=None):
        shape = (key_heads or heads, tokens, width)
        return (spread * random.standard_normal((heads, tokens, width)), random.standard_normal(shape),
                random.standard_normal(shape))

    found = []

    def add(name, tensors, **arguments):
        arguments.setdefault("sinks", ())
        found.append((name, *tensors, arguments))

    add("plain", gaussian(2, 100, 8))
    add("causal", gaussian(2, 100, 8), causal=True)
    add("long", gaussian(1, 1500, 16), causal=True)
    add("two tiles and one", gaussian(1, 513, 5))
    add("grouped", gaussian(4, 70, 8, key_heads=2), causal=True)
    add("one key head", gaussian(3, 70, 8, key_heads=1))
    q, k, v = gaussian(2, 300, 8)
    k[:, 0], v[:, 0] = 3 * q.mean(axis=1) + 2, 0.01
    add("a sink", (q, k, v), causal=True, sinks=(0,))
    add("sinks at both ends", gaussian(2, 300, 8), sinks=(0, -1))
    add("recent", gaussian(2, 300, 8), causal=True, recent=5)
    add("recent on both sides", gaussian(2, 300, 8), recent=3, sinks=(0,))
    add("everything recent", gaussian(1, 40, 8), causal=True, recent=100)
    q, k, v = gaussian(2, 60, 8)
    add("duplicates", (q, np.repeat(k, 5, axis=1), np.repeat(v, 5, axis=1)))
    add("huge scores", gaussian(2, 200, 8, spread=300.0), causal=True)
    q, k, v = gaussian(2, 100, 8)
    add("constant keys", (q, np.ones_like(k), v), causal=True)
    q, k, v = gaussian(2, 100, 8)
    add("constant values", (q, k, np.ones_like(v)))
    add("one token", gaussian(2, 1, 8), causal=True)
    add("two tokens", gaussian(2, 2, 3), sinks=(0,))
    q, k, v = gaussian(2, 200, 8)
    add("few queries", (q[:, -7:], k, v), causal=True)
    add("a scale", gaussian(2, 200, 8), scale=0.1)
    add("a large offset", tuple(x + 5 for x in gaussian(2, 200, 8)), causal=True, sinks=(0, 3))
    assert len(found) == 20
    return found


def write_safetensors(path, tensors):
    """Arrays by name, in the type they have; ("BF16", uint16 array) for what NumPy has no type for."""
    names = {"float16": "F16", "float32": "F32", "float64": "F64"}
    header, data = {}, []
    at = 0
    for name, array in tensors.items():
        dtype, array = array if isinstance(array, tuple) else (names[array.dtype.name], array)
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [at, at + len(raw)]}
        data.append(raw)
        at += len(raw)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(data))


def read_safetensors(path):
    """Arrays by name from a file of float16, float32 or float64 tensors."""
    names = {"F16": "<f2", "F32": "<f4", "F64": "<f8"}
    data = path.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    found = {}
    for name, entry in json.loads(data[8:end]).items():
        if name != "__metadata__":
            first, last = entry["data_offsets"]
            found[name] = np.frombuffer(data[end + first : end + last], names[entry["dtype"]]).reshape(entry["shape"])
    return found


def to_bfloat16(array):
    """The upper halves of float32 numbers, cut off, and the numbers that they stand for."""
    bits = np.asarray(array, dtype=np.float32).view(np.uint32) & 0xFFFF0000
    return (bits >> 16).astype(np.uint16), bits.view(np.float32)
