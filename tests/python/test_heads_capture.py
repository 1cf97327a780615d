"""What capture() records of small random transformers gives the attention weights that they report themselves."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("transformers", minversion="4.48")

from largo import heads  # noqa: E402  (after the packages that may be missing)

SMALL = {"vocab_size": 50, "hidden_size": 32, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 4}
MODELS = {
    "bert": lambda: transformers.BertModel(transformers.BertConfig(**SMALL)),
    "llama": lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**SMALL, num_key_value_heads=2)),
    "mistral": lambda: transformers.MistralModel(
        transformers.MistralConfig(**SMALL, num_key_value_heads=1, sliding_window=None)),
    "qwen2": lambda: transformers.Qwen2Model(transformers.Qwen2Config(**SMALL, num_key_value_heads=2)),
}


def inputs():
    return {"input_ids": torch.randint(0, 50, (2, 17), generator=torch.Generator().manual_seed(1))}


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_those_of_the_model(name, tmp_path):
    torch.manual_seed(3)
    model = MODELS[name]().eval()
    with torch.no_grad():
        expected = model(**inputs())[0]
    before = model.config._attn_implementation
    captured = heads.capture(model, inputs(), tmp_path / "c.safetensors")
    assert model.config._attn_implementation == before
    with torch.no_grad():
        assert torch.equal(model(**inputs())[0], expected)
        model.set_attn_implementation("eager")
        weights = model(**inputs(), output_attentions=True).attentions
    assert captured.causal == (name != "bert")
    assert len(captured.layers) == len(weights) == 2
    for (q, k, _), expected_weights in zip(captured.layers, weights):
        k = k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)
        scores = captured.scale * q @ k.transpose(-1, -2)
        if captured.causal:
            scores = scores.masked_fill(torch.ones(17, 17, dtype=torch.bool).triu(1), float("-inf"))
        torch.testing.assert_close(scores.softmax(dim=-1), expected_weights, rtol=1e-4, atol=1e-6)
    report = heads.audit(captured, sinks=[], queries=None)
    assert len(report.kind) == 2 * 2 * 4
    last = np.median([float((w[1, 2, row]**2).sum()) for w in weights[1:] for row in range(17)])
    row = [tuple(x) for x in zip(report["layer"], report["sequence"], report["head"])].index((1, 1, 2))
    assert report["P2"][row] == pytest.approx(last, rel=1e-4)
    again = heads.audit(tmp_path / "c.safetensors", causal=captured.causal, scale=captured.scale, sinks=[], queries=None)
    assert np.array_equal(again["P2"], report["P2"])


def test_mistakes():
    model = MODELS["bert"]()
    mask = torch.ones(2, 17)
    mask[1, 12:] = 0
    with pytest.raises(ValueError, match="padding"):
        heads.capture(model, {**inputs(), "attention_mask": mask})
    training = MODELS["llama"]().train()
    heads.capture(training, inputs())
    assert training.training


def mistral(window):
    return transformers.MistralForCausalLM(transformers.MistralConfig(**SMALL, num_key_value_heads=2, sliding_window=window))


@pytest.mark.parametrize(
    "make, message",
    [(lambda: torch.nn.Linear(3, 3), "Linear is no transformer of Hugging Face"),
     (lambda: mistral(8), "a layer sees 8 tokens at a time")],
)
def test_what_cannot_be_captured(make, message):
    model = make()
    with pytest.raises((TypeError, ValueError), match=message):
        heads.capture(model, inputs())
    if hasattr(model, "config"):
        assert model.config._attn_implementation != "largo_capture"


def test_ids_alone_are_enough():
    model = mistral(64)
    assert heads.capture(model, inputs()["input_ids"]).causal
