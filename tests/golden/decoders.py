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
    # Three heads to a group, with biases on query, key and value alone.
    "qwen2_tied": dict(
        QWEN2, vocab_size=45, hidden_size=24, intermediate_size=28, num_attention_heads=6, num_key_value_heads=2,
        rms_norm_eps=1e-6, rope_theta=1000000.0, tie_word_embeddings=True,
    ),
    # The first layer sees everything, the second the last five tokens.
    "qwen2_window": dict(
        QWEN2, vocab_size=43, hidden_size=20, intermediate_size=26, num_attention_heads=5, num_key_value_heads=5,
        rms_norm_eps=1e-5, rope_theta=10000.0, use_sliding_window=True, sliding_window=5, max_window_layers=1,
        tie_word_embeddings=False,
    ),
    # Five heads that share one head of keys and values.
    "gpt_bigcode_multi_query": dict(
        GPT_BIGCODE, vocab_size=43, n_embd=20, n_head=5, n_inner=34, activation_function="gelu", multi_query=True,
    ),
    # Query, key and value of one head lie side by side in c_attn; inner size 4 x hidden by default.
    "gpt_bigcode_multi_head": dict(
        GPT_BIGCODE, vocab_size=47, n_embd=18, n_head=3, activation_function="gelu_pytorch_tanh", multi_query=False,
    ),
    # Every layer sees the last five tokens.
    "starcoder2_window": dict(
        STARCODER2, vocab_size=46, hidden_size=24, intermediate_size=30, num_attention_heads=6, num_key_value_heads=2,
        sliding_window=5, use_bias=True, rope_theta=10000.0, tie_word_embeddings=True,
    ),
    "starcoder2_no_bias": dict(
        STARCODER2, vocab_size=42, hidden_size=18, intermediate_size=31, num_attention_heads=3, num_key_value_heads=1,
        sliding_window=None, use_bias=False, rope_theta=500.0, norm_epsilon=3e-4, tie_word_embeddings=False,
    ),
    # One head to each of the four parts of qkv_proj; the first four of six numbers are rotated.
    "codegen_tiny": dict(CODEGEN, vocab_size=41, n_embd=24, n_head=4, rotary_dim=4, activation_function="gelu_new"),
    # Two heads to a part, rotated whole, and an inner size of its own.
    "codegen_whole": dict(
        CODEGEN, vocab_size=44, n_embd=16, n_head=8, rotary_dim=2, n_inner=23, activation_function="gelu",
        layer_norm_epsilon=3e-4,
    ),
}


def write(name, arguments):
    arguments = dict(arguments)
    n_eos = arguments.pop("n_eos", 1)
    config = AutoConfig.for_model(**arguments)
    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    tiny.randomize(model, head_gain=1.0 if config.tie_word_embeddings else 2.0)
    cases = []
    for tokens in tiny.draw_tokens(config.vocab_size, (15, 6, 1)):
        with torch.no_grad():
            logits = model(torch.tensor([tokens])).logits[0]
        cases.append({"tokens": tokens, "logits": tiny.rounded(logits)})
    tiny.save(name, model, {"cases": cases, "generation": tiny.generation(model, n_eos)})


if __name__ == "__main__":
    for name in sys.argv[1:] or TINY:
        write(name, TINY[name])
