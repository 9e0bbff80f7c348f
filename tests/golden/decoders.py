"""Writes the golden values of the decoder-only architectures; llama.py has those of plain Llama.

    pip install -r tests/golden/requirements.txt
    python tests/golden/decoders.py [NAME ...]          # without names all of them

Each directory holds a random checkpoint from a fixed seed and golden.json: logits of every position, and what
`generate` gives for a left-padded batch of two prompts, greedily and with beams. eos_token_id is chosen so that some
rows stop early. All is computed in f32 with eager attention.
"""

import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM

import tiny

GPT2 = dict(model_type="gpt2", n_layer=2, n_positions=40, bos_token_id=1)
LLAMA = dict(model_type="llama", num_hidden_layers=2)
QWEN2 = dict(model_type="qwen2", num_hidden_layers=2, max_position_embeddings=64)
GPT_BIGCODE = dict(model_type="gpt_bigcode", n_layer=2, n_positions=40, bos_token_id=1)
STARCODER2 = dict(model_type="starcoder2", num_hidden_layers=2, max_position_embeddings=64, bos_token_id=1)
CODEGEN = dict(model_type="codegen", n_layer=2, n_positions=40, n_ctx=40, bos_token_id=1)

TINY = {
    # Three heads of six; inner size 4 x hidden by default; head tied to the embedding.
    "gpt2_tiny": dict(GPT2, vocab_size=43, n_embd=18, n_head=3, activation_function="gelu_new"),
    # Odd inner size; head of its own; the second layer's attention is divided by 2 as well.
    "gpt2_untied_scaled": dict(
        GPT2, vocab_size=41, n_embd=20, n_head=5, n_inner=33, activation_function="relu", layer_norm_epsilon=3e-4,
        scale_attn_by_inverse_layer_idx=True, tie_word_embeddings=False,
    ),
    # Wave lengths on all three sides of the two limits: kept, blended and divided by the factor.
    "llama3_scaled": dict(
        LLAMA, vocab_size=47, hidden_size=24, intermediate_size=30, num_attention_heads=3, num_key_value_heads=1,
        max_position_embeddings=128, rms_norm_eps=1e-5, rope_theta=500.0, tie_word_embeddings=False, n_eos=2,
        rope_scaling={
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        },
    ),
}


def write(name, arguments):
    arguments = dict(arguments)
    n_eos = arguments.pop("n_eos", 1)
    config = AutoConfig.for_model(**arguments)
    model = tiny.randomize(AutoModelForCausalLM.from_config(config, attn_implementation="eager"))
    cases = []
    for tokens in tiny.draw_tokens(config.vocab_size, (15, 6, 1)):
        with torch.no_grad():
            logits = model(torch.tensor([tokens])).logits[0]
        cases.append({"tokens": tokens, "logits": tiny.rounded(logits)})
    tiny.save(name, model, {"cases": cases, "generation": tiny.generation(model, n_eos)})


if __name__ == "__main__":
    for name in sys.argv[1:] or TINY:
        write(name, TINY[name])
