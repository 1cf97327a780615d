#!/usr/bin/env python3
"""Captures the heads of two small models on a text, for `largo heads`.

    scripts/models                                               # fetches the models into build/models
    examples/heads/capture_heads.py minilm heads.safetensors [--text FILE] [--tokens 512]
    examples/heads/capture_heads.py stories heads.safetensors   # a story that the model tells, 256 tokens

Needs torch and transformers beside largo. The functions below load the models from what `scripts/models` fetched; for
a model of your own, `largo.heads.capture(model, tokens)` is all that is needed.
"""

import argparse
import dataclasses
import pathlib
import struct

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODELS = ROOT / "build" / "models"
BEGIN = 1  # the token with which stories begin


def minilm(folder=MODELS / "minilm"):
    """all-MiniLM-L6-v2 and its tokenizer."""
    import torch
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast
    from safetensors.torch import load_file

    model = BertModel(BertConfig.from_json_file(folder / "config.json"), add_pooling_layer=False).eval()
    weights = load_file(folder / "model.fp16.safetensors")
    weights = {name: value.to(torch.float32) for name, value in weights.items() if value.is_floating_point()}
    missing, _ = model.load_state_dict(weights, strict=False)
    if [name for name in missing if "position_ids" not in name]:
        raise SystemExit(f"the file of weights lacks {missing[0]}")
    return model, PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))


def stories(folder=MODELS / "stories"):
    """stories15M of llama2.c, as a Llama of transformers."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    data = (folder / "llama2.data").read_bytes()
    dim, hidden, layers, heads, kv_heads, vocabulary, tokens = struct.unpack_from("<7i", data)
    config = LlamaConfig(
        vocab_size=vocabulary, hidden_size=dim, intermediate_size=hidden, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=kv_heads, max_position_embeddings=tokens,
        rms_norm_eps=1e-5, tie_word_embeddings=True,
    )
    at = 28

    def take(*shape):
        nonlocal at
        count = int(np.prod(shape))
        values = np.frombuffer(data, "<f4", count, at).reshape(shape)
        at += 4 * count
        return torch.from_numpy(values.copy())

    def halves(weights, heads):
        # llama2.c turns coordinates 2i and 2i + 1 of a head together, transformers i and i + head_dim/2.
        rows, columns = weights.shape
        return weights.view(heads, rows // heads // 2, 2, columns).transpose(1, 2).reshape(rows, columns)

    # In the file each kind of weight stands for all layers.
    kv = dim * kv_heads // heads
    embedding = take(vocabulary, dim)
    attention_norm, q, k, v, o = (take(layers, *s) for s in [(dim,), (dim, dim), (kv, dim), (kv, dim), (dim, dim)])
    norm, gate, down, up = (take(layers, *s) for s in [(dim,), (hidden, dim), (dim, hidden), (hidden, dim)])
    weights = {"model.embed_tokens.weight": embedding, "lm_head.weight": embedding, "model.norm.weight": take(dim)}
    for i in range(layers):
        weights |= {
            f"model.layers.{i}.{name}.weight": value
            for name, value in {
                "input_layernorm": attention_norm[i], "post_attention_layernorm": norm[i],
                "self_attn.q_proj": halves(q[i], heads), "self_attn.k_proj": halves(k[i], kv_heads),
                "self_attn.v_proj": v[i], "self_attn.o_proj": o[i],
                "mlp.gate_proj": gate[i], "mlp.down_proj": down[i], "mlp.up_proj": up[i],
            }.items()
        }
    model = LlamaForCausalLM(config).eval()
    model.load_state_dict(weights)
    return model


def story(model, tokens=256, seed=1):
    """Token ids of a story that the model tells."""
    import torch

    torch.manual_seed(seed)
    start = torch.tensor([[BEGIN]])
    return model.generate(start, attention_mask=torch.ones_like(start), max_new_tokens=tokens - 1, min_new_tokens=tokens - 1,
                          do_sample=True, temperature=0.8, top_k=50, pad_token_id=0, eos_token_id=None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=["minilm", "stories"])
    parser.add_argument("out", help="the .safetensors file to write")
    parser.add_argument("--text", default=ROOT / "README.md", type=pathlib.Path, help="a text for minilm (default: README.md)")
    parser.add_argument("--tokens", type=int, help="number of tokens (default: 512 for minilm, 256 for stories)")
    parser.add_argument("--layers", type=int, nargs="+", help="keep only these layers")
    parser.add_argument("--heads", type=int, help="keep only so many heads of each layer")
    parser.add_argument("--dtype", default="float32", choices=["float16", "float32"])
    options = parser.parse_args()

    import torch

    import largo

    if options.model == "minilm":
        model, tokenizer = minilm()
        tokens = tokenizer(options.text.read_text(), return_tensors="pt", truncation=True, max_length=options.tokens or 512)
        tokens = {"input_ids": tokens["input_ids"]}
    else:
        model = stories()
        tokens = {"input_ids": story(model, options.tokens or 256)}
    captured = largo.heads.capture(model, tokens)
    dtype = getattr(torch, options.dtype)
    kept = options.layers or range(len(captured.layers))
    layers = [tuple(x[:, : options.heads].to(dtype) for x in captured.layers[i]) for i in kept]
    captured = dataclasses.replace(captured, layers=layers)
    captured.save(options.out)
    print(f"{len(layers)} layers of shape {tuple(layers[0][0].shape)} written to {options.out}")
    causal = " --causal" if captured.causal else ""
    print(f"next: largo heads {options.out}{causal}")


if __name__ == "__main__":
    main()
