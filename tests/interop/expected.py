"""Holds a model of `transformers` against EXPECTED.json; used by load_peft.py and load_merged.py.

A case is `{"tokens": [...], "logits": [[...], ...]}` with a row of logits for every token, or, for an encoder-decoder,
`{"source": [...], "decoder_tokens": [...], "logits": [[...], ...]}`. `added_tokens`, which may be missing, says what the
tokenizer must make of texts that spell new tokens.
"""

import json
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

ERROR_MAX = 1e-4


def load_model(directory):
    """Loads in f32 with eager attention: `sdpa` ignores GPT-2's `scale_attn_by_inverse_layer_idx`."""
    is_encoder_decoder = AutoConfig.from_pretrained(directory).is_encoder_decoder
    auto = AutoModelForSeq2SeqLM if is_encoder_decoder else AutoModelForCausalLM
    model, report = auto.from_pretrained(
        directory, dtype=torch.float32, attn_implementation="eager", output_loading_info=True
    )
    assert not any(report.values()), f"{directory}: {report}"
    return model.eval()


def read_cases(path):
    cases = json.loads(Path(path).read_text())["cases"]
    assert cases, f"{path}: no cases"
    return cases


def check_tokenizer(directory, path):
    """Checks the numbers of the added tokens, if there are any."""
    added = json.loads(Path(path).read_text()).get("added_tokens", {})
    for text, token in added.items():
        found = AutoTokenizer.from_pretrained(directory)(text, add_special_tokens=False)["input_ids"]
        assert found == [token], f"{directory}: {text} is {found}, expected {token}"


def logits(model, case):
    row = lambda name: torch.tensor([case[name]])  # noqa: E731
    inputs = (
        {"input_ids": row("source"), "decoder_input_ids": row("decoder_tokens")}
        if "source" in case
        else {"input_ids": row("tokens")}
    )
    with torch.no_grad():
        return model(**inputs).logits[0]


def max_error(model, cases):
    errors = []
    for case in cases:
        found, expected = logits(model, case), torch.tensor(case["logits"])
        assert found.shape == expected.shape, f"logits {tuple(found.shape)}, expected {tuple(expected.shape)}"
        errors.append((found - expected).abs().max().item())
    return max(errors) if all(error == error for error in errors) else float("nan")


def check(what, error, error_max=ERROR_MAX):
    """Reports the error in one line; a value that is not a number fails too."""
    if not error <= error_max:
        raise SystemExit(f"failed: {what}: max abs error {error:.3g} > {error_max:g}")
    print(f"ok: {what}: max abs error {error:.3g}")
