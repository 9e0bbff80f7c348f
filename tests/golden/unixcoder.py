"""Writes the golden values of the ways in which released code runs RoBERTa as UniXcoder: roberta_tiny/unixcoder.json.

    python tests/golden/unixcoder.py                  # after encoders.py, whose roberta_tiny it reads

- `pad_mask`: RLCoder. `AutoModel` and a 1-D mask of what is not padding: every token sees every token.
- `pair_mask`: UniXcoder's own class. `is_decoder` in the configuration and the 2-D mask of pairs that are not padding.
  A mask of pairs replaces the causal one that `is_decoder` would bring, so this gives the same vectors; the script
  holds the two together.
- `causal`: `is_decoder` with the 1-D mask, as when the two are mixed, or as UniXcoder's decoder-only pattern.

Embeddings are means over all tokens but padding, special ones included, then L2-normalized.
"""

import json

import torch
from transformers import AutoModel

import tiny

DIRECTORY = tiny.HERE / "roberta_tiny"
CLS, PAD, SEP, ENCODER_ONLY = 0, 1, 2, 5


def vectors(ids, is_decoder, pairs):
    model = AutoModel.from_pretrained(
        DIRECTORY, is_decoder=is_decoder, add_pooling_layer=False, attn_implementation="eager"
    ).eval()
    mask = ids.ne(PAD)
    with torch.no_grad():
        hidden = model(ids, attention_mask=mask.unsqueeze(1) * mask.unsqueeze(2) if pairs else mask.long())[0]
    means = (hidden * mask.unsqueeze(-1)).sum(1) / mask.sum(-1, keepdim=True)
    return torch.where(mask.unsqueeze(-1), hidden, 0.0), torch.nn.functional.normalize(means, dim=-1)


def main():
    torch.manual_seed(tiny.SEED)
    rows = [[CLS, ENCODER_ONLY, SEP, *row, SEP] for row in tiny.draw_tokens(58, (11, 4, 1))]
    ids = torch.tensor([row + [PAD] * (len(rows[0]) - len(row)) for row in rows])
    golden = {"versions": tiny.versions(), "ids": rows}
    found = {name: vectors(ids, *options) for name, options in
             {"pad_mask": (False, False), "pair_mask": (True, True), "causal": (True, False)}.items()}
    for ours, theirs in zip(found["pad_mask"], found["pair_mask"]):
        assert (ours - theirs).abs().max() < 2e-6, (ours - theirs).abs().max()
    for name, (hidden, embeddings) in found.items():
        hidden = [tiny.rounded(row[: len(tokens)]) for row, tokens in zip(hidden, rows)]
        golden[name] = {"hidden": hidden, "embeddings": tiny.rounded(embeddings)}
    (DIRECTORY / "unixcoder.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")
    apart = (found["pad_mask"][1] - found["causal"][1]).abs().max()
    print(f"pad_mask and pair_mask agree; causal is apart by {apart:.3}")


if __name__ == "__main__":
    main()
