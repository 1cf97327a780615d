"""largo.heads.capture on small models with random weights: what it records is what attention used.

Needs torch and transformers, which no package list installs; without them this file skips itself."""

import numpy as np
import pytest

import largo

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="4.53")

SMALL = dict(vocab_size=100, num_hidden_layers=2, num_attention_heads=4, hidden_size=32, intermediate_size=64)


def bert():
    return transformers.BertModel(transformers.BertConfig(**SMALL))


def llama():
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL, num_key_value_heads=2))


def mistral(window=64):
    config = transformers.MistralConfig(**SMALL, num_key_value_heads=2, sliding_window=window)
    return transformers.MistralForCausalLM(config)


@pytest.fixture
def tokens():
    torch.manual_seed(0)
    return torch.randint(0, 100, (1, 20))


@pytest.mark.parametrize("make, causal", [(bert, False), (llama, True), (mistral, True)])
def test_weights_are_those_of_the_model(make, causal, tokens):
    torch.manual_seed(1)
    model = make().eval()
    with torch.no_grad():
        before = model(tokens)[0]
    captured = largo.heads.capture(model, tokens)
    with torch.no_grad():
        assert torch.equal(model(tokens)[0], before)  # nothing of the model has changed
    assert captured.causal == causal
    model.set_attn_implementation("eager")  # which returns its weights
    with torch.no_grad():
        weights = model(tokens, output_attentions=True).attentions
    for layer, truth in enumerate(weights):
        q, k = (x[0].numpy().astype(float) for x in captured.layers[layer][:2])
        scores = captured.scale * np.einsum("hqd,hkd->hqk", q, np.repeat(k, len(q) // len(k), axis=0))
        if causal:
            scores[:, ~np.tri(scores.shape[-1], dtype=bool)] = -np.inf
        p = np.exp(scores - scores.max(axis=-1, keepdims=True))
        p /= p.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(p, truth[0].numpy(), atol=1e-6)


def test_a_file_has_the_same_numbers(tmp_path, tokens):
    inputs = {"input_ids": tokens, "attention_mask": torch.ones(1, 20)}
    captured = largo.heads.capture(llama(), inputs, tmp_path / "heads.safetensors")
    from_file = largo.heads.audit(tmp_path / "heads.safetensors", causal=True, scale=captured.scale)
    from_memory = largo.heads.audit(captured)
    assert len(from_file.kind) == 8
    for name in ("score_std", "P2", "entropy", "error_affine", "error_sinks_affine", "length_measured"):
        np.testing.assert_array_equal(from_file[name], from_memory[name])


@pytest.mark.parametrize(
    "model, inputs, message",
    [
        (lambda: torch.nn.Linear(3, 3), {}, "Linear is no transformer of Hugging Face"),
        (lambda: mistral(8), {}, "a layer sees 8 tokens at a time"),
        (bert, {"attention_mask": torch.tensor([[1] * 19 + [0]])}, "padding"),
    ],
)
def test_what_cannot_be_captured(model, inputs, message, tokens):
    model = model()
    with pytest.raises((TypeError, ValueError), match=message):
        largo.heads.capture(model, {"input_ids": tokens, **inputs})
    if hasattr(model, "config"):
        assert model.config._attn_implementation != "largo_capture"
