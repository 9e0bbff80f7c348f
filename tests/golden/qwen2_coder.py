"""Writes qwen2_coder.json: what `transformers` makes of the official Qwen2.5-Coder-0.5B-Instruct GGUF file, Q4_K_M.

    pip install -r tests/golden/requirements.txt
    python tests/golden/qwen2_coder.py qwen2.5-coder-0.5b-instruct-q4_k_m.gguf

The file is that of `Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF`, 491,400,064 bytes; its SHA-256 is checked. `transformers`
dequantizes it to f32. The control tokens of code models, which its tokenizer conversion leaves out, are not in the texts.
"""

import hashlib
import sys
from pathlib import Path

import torch
from llama import CODE, HERE, TEXTS, nlls, rounded, write_json
from transformers import AutoModelForCausalLM, AutoTokenizer

SHA256 = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"


def main(path):
    with path.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == SHA256, f"{path} is another file"
    tokenizer = AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name).backend_tokenizer
    model = AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, dtype=torch.float32).eval()
    tokens = tokenizer.encode(CODE, add_special_tokens=False).ids
    with torch.no_grad():
        logits = model(torch.tensor([tokens])).logits[0].float()
    fixed = list(range(0, logits.shape[1], logits.shape[1] // 50))[:50]
    selected = []
    for position in [0, 1, 17, len(tokens) // 2, len(tokens) - 1]:
        indices = sorted(set(torch.topk(logits[position], 20).indices.tolist() + fixed))
        selected.append({"position": position, "tokens": indices, "logits": rounded(logits[position][indices])})
    config = model.config.to_dict()
    keys = ["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
            "max_position_embeddings", "rms_norm_eps", "rope_theta", "vocab_size"]
    write_json(HERE / "qwen2_coder.json", {
        "config": {key: config[key] for key in keys},
        "texts": [{"text": text, "tokens": tokenizer.encode(text, add_special_tokens=False).ids} for text in TEXTS],
        "tokens": tokens,
        "logits": selected,
        "nll": nlls(logits, tokens),
    })


if __name__ == "__main__":
    main(Path(sys.argv[1]))
