"""Tiny random checkpoints and what `transformers` computes from them; used by decoders.py, t5.py and lora.py."""

import copy
import itertools
import json
from pathlib import Path

import torch
import transformers

HERE = Path(__file__).parent
SEED = 20
PROMPT_LENGTHS = (9, 4)
NEW_TOKENS_MAX = 12
BEAMS = [
    {"num_beams": 3, "length_penalty": 1.0, "early_stopping": False},
    {"num_beams": 3, "length_penalty": 1.0, "early_stopping": True},
]
SEARCHES = [{}, *BEAMS]

torch.set_num_threads(1)


def versions(*modules):
    return {module.__name__: module.__version__.split("+")[0] for module in (torch, transformers, *modules)}


def randomize(model, head_gain):
    """Draws weights so large that a missing bias, norm, scale or mask shows in the first digits of the logits."""
    torch.manual_seed(SEED)
    with torch.no_grad():
        for module in model.modules():
            for name, parameter in module.named_parameters(recurse=False):
                values = torch.randn_like(parameter)
                if parameter.dim() == 1:
                    parameter.copy_(values * 0.3 + (0.0 if name == "bias" else 1.0))
                elif isinstance(module, torch.nn.Embedding):
                    parameter.copy_(values * 0.5)
                else:
                    n_inputs = parameter.shape[0 if isinstance(module, transformers.pytorch_utils.Conv1D) else 1]
                    parameter.copy_(values * 1.5 / n_inputs**0.5)
    model.get_output_embeddings().weight.data *= head_gain
    return model.eval()


def rounded(values):
    """Keeps 7 significant digits of a number or of nested lists of numbers."""
    if isinstance(values, torch.Tensor):
        values = values.tolist()
    return [rounded(value) for value in values] if isinstance(values, list) else float(f"{values:.7g}")


def draw_tokens(vocab_size, lengths):
    return [torch.randint(3, vocab_size, (length,)).tolist() for length in lengths]


def new_tokens(sequence, skipped, eos):
    """Cuts off what was given and what follows the first end token, which is kept."""
    tokens = sequence.tolist()[skipped:]
    ends = [index for index, token in enumerate(tokens) if token in eos]
    return tokens[: ends[0] + 1] if ends else tokens


def generate(model, inputs, eos, **options):
    """Returns the new tokens of every row, and the scores of beam search."""
    with torch.no_grad():
        output = model.generate(
            **inputs, do_sample=False, max_new_tokens=NEW_TOKENS_MAX, eos_token_id=eos or None, pad_token_id=0,
            return_dict_in_generate=True, output_scores=True, **options,
        )
    skipped = 1 if model.config.is_encoder_decoder else inputs["input_ids"].shape[1]
    return [new_tokens(row, skipped, eos) for row in output.sequences], output.get("sequences_scores")


def padded(prompts, side):
    """Makes one batch of prompts, padded with token 0."""
    length = max(map(len, prompts))
    pad = [[0] * (length - len(prompt)) for prompt in prompts]
    mask = [[1] * len(prompt) for prompt in prompts]
    both = [(p + t, p + m) if side == "left" else (t + p, m + p) for p, t, m in zip(pad, prompts, mask)]
    return {"input_ids": torch.tensor([t for t, _ in both]), "attention_mask": torch.tensor([m for _, m in both])}


def choose(model, side, n_eos):
    """Draws prompts and end tokens with which every search stops one row early and runs the other to the limit.

    Prefers a draw in which all searches give different tokens.
    """
    acceptable = None
    for draw in range(100):
        prompts = draw_tokens(model.config.vocab_size, PROMPT_LENGTHS)
        batch = padded(prompts, side)
        endless = generate(model, batch, [])[0]
        for first in sorted(set(itertools.chain(*(row[2:-2] for row in endless)))):
            eos = [(first + 7 * index) % model.config.vocab_size for index in range(n_eos)]
            runs = [generate(model, batch, eos, **options)[0] for options in SEARCHES]
            if runs[1] == runs[0] or any(not 2 < min(map(len, rows)) < NEW_TOKENS_MAX for rows in runs):
                continue
            if any(len(row) > 5 and len(set(row)) < 4 for rows in runs for row in rows):
                continue
            if max(map(len, runs[0])) == NEW_TOKENS_MAX:
                acceptable = acceptable or (prompts, eos)
                if runs[1] != runs[2]:
                    return prompts, eos
        if acceptable and draw > 10:
            return acceptable
    raise ValueError("no prompts and end tokens make some rows stop early")


def perturbed(model):
    """Copies the model with weights changed by about 1e-5, more than rounding can: no golden choice may be so close."""
    model = copy.deepcopy(model)
    for parameter in model.parameters():
        parameter.data *= 1.0 + 1e-5 * torch.randn_like(parameter)
    return model


def generation(model, n_eos=1):
    """Generates from a padded batch, and holds it against single prompts, no cache and slightly other weights."""
    side = "right" if model.config.is_encoder_decoder else "left"
    prompts, eos = choose(model, side, n_eos)
    batch = padded(prompts, side)
    golden = {"prompts": prompts, "eos_token_id": eos, "max_new_tokens": NEW_TOKENS_MAX}
    golden["greedy"], _ = generate(model, batch, eos)
    golden["beams"] = []
    for options in BEAMS:
        rows, scores = generate(model, batch, eos, **options)
        golden["beams"].append({**options, "new_tokens": rows, "scores": rounded(scores)})
    near = perturbed(model)
    for options, rows in zip(SEARCHES, [golden["greedy"]] + [beams["new_tokens"] for beams in golden["beams"]]):
        single = [generate(model, padded([prompt], side), eos, **options)[0][0] for prompt in prompts]
        uncached, _ = generate(model, batch, eos, use_cache=False, **options)
        assert rows == single == uncached == generate(near, batch, eos, **options)[0], (rows, single, uncached)
    model.config.eos_token_id = eos if n_eos > 1 else eos[0]
    return golden


def save(name, model, golden, *modules):
    directory = HERE / name
    model.save_pretrained(directory, safe_serialization=True)
    (directory / "generation_config.json").unlink(missing_ok=True)
    golden = {"versions": versions(*modules), **golden}
    (directory / "golden.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    largest = max(abs(x) for case in golden["cases"] for x in itertools.chain(*case["logits"]))
    lengths = [[len(row) for row in rows["new_tokens"]] for rows in golden["generation"]["beams"]]
    print(f"{name}: logits up to {largest:.3}, greedy {[len(row) for row in golden['generation']['greedy']]}, beams {lengths}")
