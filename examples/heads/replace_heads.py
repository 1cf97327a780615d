#!/usr/bin/env python3
"""What a model loses when heads are replaced by their limit of long prompts, an affine map of the query.

    scripts/models
    examples/heads/replace_heads.py minilm  [--tolerance 0.1] [--text FILE]    # cosine of the embeddings
    examples/heads/replace_heads.py stories [--tolerance 0.1]                  # perplexity of its own story

The heads are those whose error of `affine` in an audit of the unchanged model, on the same text, is at most the
tolerance. They are replaced all at once: T = mean of v + Cov(v, k) scale q, over the keys that the query sees. So
every number is in sample, and for one text. Needs torch and transformers beside largo.
"""

import argparse
import pathlib

import capture_heads
import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

import largo


def affine_limit(q, k, v, scale, causal):
    """mean v + Cov(v, k) scale q for each query, over all keys or over those up to its own."""
    count = torch.arange(1, k.shape[-2] + 1, dtype=torch.float64)[:, None] if causal else k.shape[-2]
    mean = (lambda x, dim: x.cumsum(dim)) if causal else (lambda x, dim: x.sum(dim, keepdim=True))
    q, k, v = (x.to(torch.float64) for x in (q, k, v))
    k_mean, v_mean = mean(k, -2) / count, mean(v, -2) / count
    products = v[..., :, None] * k[..., None, :]
    cross = mean(products, -3) / (count[..., None] if causal else count) - v_mean[..., :, None] * k_mean[..., None, :]
    return v_mean + scale * (cross @ q[..., None]).squeeze(-1)


def replaced(model, heads):
    """The model with these (layer, head) replaced; `with` puts it back."""

    class Replaced:
        def __enter__(self):
            calls = iter(range(10**9))
            layers = model.config.num_hidden_layers

            def attend(module, query, key, value, attention_mask, **options):
                layer = next(calls) % layers
                output, weights = sdpa_attention_forward(module, query, key, value, attention_mask, **options)
                causal = bool(getattr(module, "is_causal", False))
                share = query.shape[1] // key.shape[1]
                for head in (h for l, h in heads if l == layer):
                    parts = query[:, head], key[:, head // share], value[:, head // share]
                    output[:, :, head] = affine_limit(*parts, options["scaling"], causal).to(output.dtype)
                return output, weights

            AttentionInterface.register("replaced", attend)
            AttentionMaskInterface.register("replaced", sdpa_mask)
            self.before = model.config._attn_implementation
            model.set_attn_implementation("replaced")

        def __exit__(self, *_):
            model.set_attn_implementation(self.before)

    return Replaced()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=["minilm", "stories"])
    parser.add_argument("--tolerance", type=float, default=0.1)
    parser.add_argument("--text", default=capture_heads.ROOT / "README.md", type=pathlib.Path)
    options = parser.parse_args()

    if options.model == "minilm":
        model, tokenizer = capture_heads.minilm()
        text = options.text.read_text()
        tokens = tokenizer(text, return_tensors="pt", truncation=True, max_length=512)["input_ids"]
    else:
        model = capture_heads.stories()
        tokens = capture_heads.story(model)

    def outcome():
        with torch.no_grad():
            if options.model == "minilm":
                return model(tokens)[0][0].mean(0)
            return model(tokens, labels=tokens).loss.exp()

    captured = largo.heads.capture(model, tokens)
    audit = largo.heads.audit(captured, queries=None)
    rows = zip(audit["layer"], audit["head"], audit["error_affine"])
    affine = [(int(layer), int(head)) for layer, head, error in rows if error <= options.tolerance]
    before = outcome()
    with replaced(model, affine):
        after = outcome()
    print(f"{len(affine)} of {len(audit.kind)} heads have an affine error of at most {options.tolerance}")
    if options.model == "minilm":
        print(f"cosine of the embeddings before and after: {torch.cosine_similarity(before, after, dim=0):.4f}")
    else:
        print(f"perplexity before and after: {before:.3f}, {after:.3f}")


if __name__ == "__main__":
    main()
