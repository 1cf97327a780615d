"""Which attention heads of a real model are in the large-prompt regime?

capture(model, inputs) records the queries, keys and values of a Hugging Face transformer, and audit() says of each head
how far it is from its limit: statistics of its scores, the errors of replacing it, the prompt length that it needs, and a
verdict in one word. docs/heads.md has the definitions, and what they do not show.

>>> import numpy as np
>>> from largo import heads
>>> random = np.random.default_rng(0)
>>> q, k, v = random.standard_normal((3, 2, 500, 8)).astype(np.float32)      # 2 heads, 500 tokens, head_dim 8
>>> report = heads.audit(0.5 * q, k, v, causal=True)
>>> report.kind
['affine', 'affine']
>>> report["error_affine"].max() < 0.1
True
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _largo
from ._arguments import Progress, as_frame, as_number, as_progress, as_whole

__all__ = ["Captured", "HeadReport", "audit", "capture"]

_FORMATS = ("float16", "float32", "float64")


def _stored(name: str, value: Any) -> Tuple[Any, str]:
    """A contiguous array with the name of its format; numbers of bfloat16 as the 16 bits that they are."""
    if type(value).__module__.split(".")[0] == "torch":
        value = value.detach().cpu().contiguous()
        if str(value.dtype) == "torch.bfloat16":
            return value.view(sys.modules["torch"].int16).numpy(), "bfloat16"
        value = value.numpy()
    array = np.asarray(value)
    if array.dtype.name not in _FORMATS:
        if array.dtype.kind not in "iuf":
            raise TypeError(f"heads: {name} has dtype {array.dtype}, must be real numbers")
        array = array.astype(np.float64)
    if array.ndim == 2:
        array = array[np.newaxis]
    return np.ascontiguousarray(array), array.dtype.name


class HeadReport(Mapping[str, Any]):
    """What audit() returns: columns with one entry for each head, in the order of layers, prompts and heads.

    report["P2"] is an array, report.kind a list of words, report.sinks a list of positions. `lengths` are the prompt
    lengths of the curves report["error_measured"], report["error_predicted"] and report["error_certified"], one row a head.
    report["score_shares"] has the histogram of the scores, one row a head: the shares of the standardised scores between one
    of report["score_edges"] and the next. to_frame() has everything but the curves and the histogram.
    """

    def __init__(self, columns: Dict[str, Any]) -> None:
        self._columns = columns

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    @property
    def kind(self) -> List[str]:
        """averaging, affine, sink, local, retrieval or mixed, for each head."""
        return list(self._columns["kind"])

    @property
    def sinks(self) -> List[Tuple[int, ...]]:
        """The positions of the sinks of each head, given or found."""
        return list(self._columns["sinks"])

    @property
    def lengths(self) -> Any:
        """The prompt lengths of the curves: 1, 2, 4, …"""
        return self._columns["lengths"]

    def to_frame(self) -> Any:
        """A pandas data frame with one row a head."""
        curves = ("lengths", "error_measured", "error_predicted", "error_certified", "score_edges", "score_shares")
        return as_frame({name: column for name, column in self._columns.items() if name not in curves})

    def __repr__(self) -> str:
        kinds = self._columns["kind"]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds))
        return f"<largo.heads.HeadReport of {len(kinds)} head{'s' if len(kinds) > 1 else ''}: {counts}>"


@dataclass(frozen=True)
class Captured:
    """What capture() returns: (q, k, v) of each layer, whether queries see only what is before them, and the scale."""

    layers: List[Tuple[Any, Any, Any]]
    causal: bool
    scale: float

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the file that `largo heads` reads."""
        header: Dict[str, Any] = {"__metadata__": {"causal": str(self.causal).lower(), "scale": repr(self.scale)}}
        data: List[bytes] = []
        at = 0
        dtypes = {"float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64"}
        for number, layer in enumerate(self.layers):
            for name, value in zip("qkv", layer):
                array, dtype = _stored(name, value)
                raw = array.tobytes()
                header[f"layers.{number}.{name}"] = {"dtype": dtypes[dtype], "shape": list(array.shape),
                                                     "data_offsets": [at, at + len(raw)]}
                data.append(raw)
                at += len(raw)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        part = f"{os.fspath(path)}.part"
        with open(part, "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            file.writelines(data)
        os.replace(part, path)


def audit(q: Any, k: Any = None, v: Any = None, *, causal: Optional[bool] = None, scale: Union[float, str] = "auto",
          sinks: Union[str, Sequence[int]] = "auto", recent: int = 0, queries: Optional[int] = 128,
          tolerance: float = 0.1, layer: int = 0, threads: int = 0, progress: Progress = None) -> HeadReport:
    """Audits attention heads: how far is each from its limit, and how long a prompt does it need?

    q, k, v are arrays or torch tensors (float16, bfloat16, float32, float64) of shape (heads, tokens, head_dim), with one
    more axis for a batch, or one less for one head. There may be fewer heads of keys and values than of queries, and fewer
    queries than tokens, which are then the last ones. q alone may be the name of a capture file, or what capture() returned.

    Scores are scale <q, k>, with 1/√head_dim for "auto". `sinks` are positions (negative ones from the end), [] for none, or
    "auto". Keys less than `recent` tokens from the query's position are recent. `queries` of each head are audited, evenly
    spaced; None is all. Statistics are medians over queries, errors sums of squares over queries divided by that of the
    outputs. Cost: see docs/heads.md; 72 heads of 512 tokens take some seconds.

    >>> import numpy as np
    >>> from largo import heads
    >>> k = np.random.default_rng(0).standard_normal((1, 300, 4))
    >>> report = heads.audit(np.ones((1, 300, 4)), k, k + 1, sinks=[])
    >>> report["score_std"].round(1), report["queries"]
    (array([1.]), array([128.]))
    >>> report
    <largo.heads.HeadReport of 1 head: 1 affine>
    """
    source: Any
    if isinstance(q, Captured):
        if k is not None or v is not None:
            raise ValueError("heads: k and v go with an array q, not with a capture")
        source = [(number, *(_stored(name, x) for name, x in zip("qkv", one))) for number, one in enumerate(q.layers)]
        causal = q.causal if causal is None else causal
        scale = q.scale if scale == "auto" else scale
    elif isinstance(q, (str, os.PathLike)):
        if k is not None or v is not None:
            raise ValueError("heads: k and v go with an array q, not with a file")
        source = os.fspath(q)
    else:
        if k is None or v is None:
            raise ValueError("heads: k and v are missing: give q, k and v, or the name of a capture file")
        source = [(as_whole("layer", layer), _stored("q", q), _stored("k", k), _stored("v", v))]
    if isinstance(scale, str) and scale != "auto":
        raise ValueError(f"heads: scale is {scale!r}, must be a number or 'auto'")
    if isinstance(sinks, str) and sinks != "auto":
        raise ValueError(f"heads: sinks is {sinks!r}, must be a list of positions or 'auto'")
    given = None if isinstance(sinks, str) else [as_whole("sinks", one) for one in sinks]
    count = 0 if queries is None else as_whole("queries", queries)
    if queries is not None and count < 1:
        raise ValueError(f"heads: queries is {count}, must be at least 1 (None is all)")
    return HeadReport(_largo.audit_heads(
        source, bool(causal), None if isinstance(scale, str) else as_number("scale", scale), given,
        as_whole("recent", recent), count, as_number("tolerance", tolerance), threads,
        progress if progress is None else as_progress(progress, "heads")))


def capture(model: Any, inputs: Any, path: Union[None, str, "os.PathLike[str]"] = None) -> Captured:
    """Records the queries, keys and values of every attention layer of a Hugging Face transformer, in one forward pass.

    `model` is a model of transformers (4.48 or later) that takes its attention function from the library, as BERT, Llama,
    Mistral, Qwen and GPT-2 do; rotary positions are applied, and shared key heads stay shared. `inputs` are token ids, or
    those of model(**inputs), prompts of one length without padding. With `path`, the capture is saved there, too. The model
    stays as it was. Needs PyTorch.

    >>> heads.capture(model, tokenizer(text, return_tensors="pt"), "capture.safetensors")        # doctest: +SKIP
    """
    try:
        import torch
        from transformers import AttentionInterface  # type: ignore[import]
    except ImportError as error:
        raise ImportError(f"heads.capture needs PyTorch and transformers 4.48 or later ({error})") from None

    if not hasattr(model, "set_attn_implementation"):
        raise TypeError(f"heads.capture: {type(model).__name__} is no transformer of Hugging Face: give audit() its q, k, v")
    if not hasattr(inputs, "keys"):
        inputs = {"input_ids": torch.as_tensor(inputs)}
    mask = inputs.get("attention_mask")
    if mask is not None and not bool(torch.as_tensor(mask).all()):
        raise ValueError("heads.capture: inputs have padding (zeros in attention_mask): give prompts of one length")
    layers: List[Tuple[Any, Any, Any]] = []
    causal: List[bool] = []
    scales: List[float] = []

    def record(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, scaling: Any = None,
               dropout: float = 0.0, **others: Any) -> Tuple[Any, Any]:
        if query.shape[-2] != key.shape[-2]:
            raise ValueError("heads.capture: a layer attends over other tokens than its own: it cannot be captured")
        window = others.get("sliding_window")
        if window is not None and window < key.shape[-2]:
            raise ValueError(f"heads.capture: a layer sees {window} tokens at a time, fewer than the prompt has: "
                             "give a shorter prompt")
        layers.append(tuple(x.detach().cpu().clone() for x in (query, key, value)))  # type: ignore[arg-type]
        scale = query.shape[-1] ** -0.5 if scaling is None else float(scaling)
        causal.append(bool(others.get("is_causal", getattr(module, "is_causal", False))))
        scales.append(scale)
        groups = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
        scores = query @ key.transpose(-1, -2) * scale
        if causal[-1]:
            rows, columns = scores.shape[-2:]
            later = torch.ones(rows, columns, dtype=torch.bool, device=scores.device).triu(columns - rows + 1)
            scores = scores.masked_fill(later, float("-inf"))
        weights = scores.softmax(dim=-1, dtype=torch.float32).to(value.dtype)
        return (weights @ value).transpose(1, 2).contiguous(), None

    AttentionInterface.register("largo_capture", record)
    before = model.config._attn_implementation
    training = model.training
    model.eval()
    model.set_attn_implementation("largo_capture")
    try:
        with torch.no_grad():
            model(**{name: x for name, x in inputs.items() if name != "attention_mask"}, use_cache=False)
    finally:
        model.set_attn_implementation(before)
        model.train(training)
    if not layers:
        raise ValueError("heads.capture: no attention layer was seen: this model does not take its attention function "
                         "from transformers")
    if len(set(causal)) > 1 or len(set(scales)) > 1:
        raise ValueError("heads.capture: layers differ in their scale or in what a query sees; capture them one by one")
    result = Captured(layers, causal[0], scales[0])
    if path is not None:
        result.save(path)
    return result
