"""Writes adapter folders as Python's `peft` saves them, with the logits that it computes: peft_*/.

    pip install -r tests/golden/requirements.txt
    python tests/golden/peft_folders.py

Each holds adapter_config.json, adapter_model.safetensors and golden.json; all values are drawn at random.
"""

import json
import shutil

import peft
import torch
from peft import LoraConfig, TrainableTokensConfig, get_peft_model
from transformers import AutoModelForCausalLM

import tiny

COMMON = dict(task_type="CAUSAL_LM")
LORA = dict(r=2, lora_alpha=3, lora_dropout=0.1) | COMMON
ROWS = dict(token_indices=[9, 5]) | COMMON
# Name, base, tokens that are added to the base, configuration.
FOLDERS = [
    ("peft_tied_resized", "llama_grouped", 1, LoraConfig(target_modules=["q_proj"], trainable_token_indices=[61, 5], **LORA)),
    ("peft_untied", "llama_scaled", 0, LoraConfig(
        target_modules="all-linear", use_rslora=True, trainable_token_indices={"embed_tokens": [9, 5], "lm_head": [9, 5]}, **LORA)),
    ("peft_tied_rows", "llama_grouped", 0, TrainableTokensConfig(target_modules=["embed_tokens"], **ROWS)),
    ("peft_conv1d", "gpt2_tiny", 0, LoraConfig(
        target_modules=["c_attn", "c_proj"], fan_in_fan_out=True, trainable_token_indices=[5], **LORA)),
]


def write(name, base, n_added, config):
    torch.manual_seed(tiny.SEED)
    model = AutoModelForCausalLM.from_pretrained(tiny.HERE / base, attn_implementation="eager").eval()
    if n_added:
        model.resize_token_embeddings(model.config.vocab_size + n_added, mean_resizing=False)
    model = get_peft_model(model, config).eval()
    for weight in model.parameters():
        if weight.requires_grad:
            weight.data.normal_(std=0.3)
    directory = tiny.HERE / name
    shutil.rmtree(directory, ignore_errors=True)
    model.save_pretrained(directory)
    (directory / "README.md").unlink(missing_ok=True)
    path = directory / "adapter_config.json"
    stored = json.loads(path.read_text()) | {"base_model_name_or_path": base}
    if isinstance(stored["target_modules"], list):
        stored["target_modules"].sort()
    path.write_text(json.dumps(stored, indent=2, sort_keys=True) + "\n")
    tokens = torch.tensor([[3, 5, 9, model.config.vocab_size - 1, 5, 11]])
    with torch.no_grad():
        logits = tiny.rounded(model(tokens).logits[0])
    golden = {"versions": tiny.versions(peft), "cases": [{"tokens": tokens[0].tolist(), "logits": logits}]}
    (directory / "golden.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    for folder in FOLDERS:
        write(*folder)
