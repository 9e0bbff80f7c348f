"""Writes the golden values of LoRA training: lora.json, from PEFT on the checkpoint llama_grouped/.

    pip install -r tests/golden/requirements.txt
    python tests/golden/lora.py

Rank 3, alpha 6, on `q_proj` and `v_proj`, without dropout. The file holds the drawn A and B of every layer, the mean
NLL of one sequence and its gradients, and A and B after three AdamW steps on that sequence. Names and shapes are those
of PEFT's adapter_model.safetensors: A is [rank, input], B is [output, rank].
"""

import json

import peft
import torch
from peft import LoraConfig, get_peft_model, get_peft_model_state_dict
from transformers import AutoModelForCausalLM

import tiny

RANK, ALPHA, TARGETS = 3, 6, ["q_proj", "v_proj"]
ADAMW = dict(lr=1e-2, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)
STEPS = 3


def state(model):
    return {name: tiny.rounded(tensor) for name, tensor in sorted(get_peft_model_state_dict(model).items())}


def mean_nll(model, tokens):
    return model(tokens, labels=tokens).loss


def main():
    base = AutoModelForCausalLM.from_pretrained(tiny.HERE / "llama_grouped", attn_implementation="eager").eval()
    config = LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules=TARGETS, lora_dropout=0.0, task_type="CAUSAL_LM")
    model = get_peft_model(base, config)
    torch.manual_seed(tiny.SEED)
    tokens = torch.tensor(tiny.draw_tokens(base.config.vocab_size, (13,)))
    weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    for weight in weights.values():
        weight.data.normal_(std=0.3)
        weight.data = torch.tensor(tiny.rounded(weight.data))
    golden = {"versions": tiny.versions(peft), "rank": RANK, "alpha": ALPHA, "target_modules": TARGETS}
    golden |= {"tokens": tokens[0].tolist(), "adamw": ADAMW, "steps": STEPS, "weights": state(model)}

    optimizer = torch.optim.AdamW(weights.values(), **ADAMW)
    golden["nll"] = []
    for step in range(STEPS):
        optimizer.zero_grad()
        nll = mean_nll(model, tokens)
        nll.backward()
        golden["nll"].append(tiny.rounded(nll.item()))
        if step == 0:
            gradients = {name.replace(".default", ""): weight.grad for name, weight in weights.items()}
            golden["gradients"] = {name: tiny.rounded(gradients[name]) for name in golden["weights"]}
        optimizer.step()
    golden["nll"].append(tiny.rounded(mean_nll(model, tokens).item()))
    golden["trained"] = state(model)
    (tiny.HERE / "lora.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    print(f"mean NLL {golden['nll']}, gradients up to {max(g.abs().max() for g in gradients.values()):.3}")


if __name__ == "__main__":
    main()
