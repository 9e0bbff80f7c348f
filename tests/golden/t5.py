"""Writes the golden values of the encoder-decoder T5 (CodeT5, CodeT5+).

    pip install -r tests/golden/requirements.txt
    python tests/golden/t5.py

Each directory holds a random checkpoint from a fixed seed and golden.json: logits of every decoder position for a
source text, and what `generate` gives for a right-padded batch of two sources, greedily and with beams. Texts are
longer than the farthest relative position, and d_kv is not d_model / num_heads.
"""

import torch
from transformers import T5Config, T5ForConditionalGeneration

import tiny

TINY = {
    # As CodeT5: the head is the embedding, and hidden states are scaled by d_model**-0.5 before it.
    "t5_relu_tied": dict(
        vocab_size=43, d_model=18, d_kv=5, d_ff=31, num_layers=2, num_decoder_layers=2, num_heads=3,
        relative_attention_num_buckets=8, relative_attention_max_distance=12, layer_norm_epsilon=1e-6,
        feed_forward_proj="relu", tie_word_embeddings=True, decoder_start_token_id=0, pad_token_id=0,
    ),
    # A head of its own, without the scale; gated feed-forward; fewer decoder layers; odd start token.
    "t5_gated_untied": dict(
        vocab_size=41, d_model=20, d_kv=6, d_ff=23, num_layers=2, num_decoder_layers=1, num_heads=2,
        relative_attention_num_buckets=10, relative_attention_max_distance=15, layer_norm_epsilon=1e-5,
        feed_forward_proj="gated-gelu", tie_word_embeddings=False, decoder_start_token_id=2, pad_token_id=0,
    ),
}


def write(name, arguments):
    config = T5Config(**arguments)
    config._attn_implementation = "eager"
    model = T5ForConditionalGeneration(config)
    tiny.randomize(model, head_gain=1.0)
    model.decoder.final_layer_norm.weight.data *= 8.0 if config.tie_word_embeddings else 3.0
    cases = []
    for source, target in zip(*(tiny.draw_tokens(config.vocab_size, lengths) for lengths in ((21, 5, 1), (17, 6, 1)))):
        target[0] = config.decoder_start_token_id
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([target])).logits[0]
        cases.append({"source": source, "decoder_tokens": target, "logits": tiny.rounded(logits)})
    tiny.save(name, model, {"cases": cases, "generation": tiny.generation(model)})


if __name__ == "__main__":
    for name, arguments in TINY.items():
        write(name, arguments)
