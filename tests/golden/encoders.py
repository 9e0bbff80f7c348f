"""Makes the golden values of the encoders with transformers.

    python encoders.py                 tiny random models: bert_tiny/ and roberta_tiny/
    python encoders.py MODEL_DIRECTORY and, from all-MiniLM-L6-v2, minilm.json

Each tiny directory holds a checkpoint in the layout of Hugging Face and golden.json: the tokens of a batch of
different lengths, the last hidden states of every token and the mean-pooled, L2-normalized embeddings.
"""

import json
import pathlib
import sys

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import (
    AutoModel,
    AutoTokenizer,
    BertConfig,
    BertModel,
    RobertaConfig,
    RobertaForMaskedLM,
)

HERE = pathlib.Path(__file__).parent
LENGTHS = [7, 3, 12, 1]
SNIPPETS = [
    "def add(left, right):\n    return left + right\n",
    "class HTTPServer(Base):\n    def __init__(self, host='0.0.0.0', port=8080):\n        super().__init__()\n",
    "# file path: src/flask/app.py\nimport os",
    "for (int i = 0; i < values.length; i++) { total += values[i]; }",
    'raise ValueError(f"größer als {limit!r}: naïve café 東京 🚀")',
    "\n\n".join(f"def function_{i}(x):\n    return x * {i}" for i in range(40)),
]


def randomize(model, seed):
    """Gives every parameter visible random values, so that no term of the computation hides."""
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        scale = 0.1 if name.endswith("bias") else 0.4
        values = torch.randn(parameter.shape, generator=generator) * scale
        parameter.data = values + 1.0 if "LayerNorm.weight" in name else values


def embed(model, ids, pad):
    """Returns the hidden states and the embeddings of one padded batch."""
    length = max(map(len, ids))
    tokens = torch.tensor([row + [pad] * (length - len(row)) for row in ids])
    mask = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in ids])
    with torch.no_grad():
        hidden = model(input_ids=tokens, attention_mask=mask).last_hidden_state
    weights = mask.unsqueeze(-1).float()
    mean = (hidden * weights).sum(1) / weights.sum(1)
    return hidden, torch.nn.functional.normalize(mean, dim=-1)


def rounded(tensor, digits):
    return json.loads(json.dumps(tensor.tolist()), parse_float=lambda text: round(float(text), digits))


def write_tiny(directory, model, encoder, vocabulary_size, pad):
    generator = torch.Generator().manual_seed(5)
    ids = [torch.randint(4, vocabulary_size, (n,), generator=generator).tolist() for n in LENGTHS]
    hidden, embeddings = embed(encoder, ids, pad)
    golden = {
        "ids": ids,
        "hidden": [rounded(row[: len(tokens)], 6) for row, tokens in zip(hidden, ids)],
        "embeddings": rounded(embeddings, 7),
    }
    model.save_pretrained(directory)
    (directory / "golden.json").write_text(json.dumps(golden) + "\n")


def write_tokenizer(path, vocabulary, model):
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.decoder = decoders.WordPiece()
    assert tokenizer.get_vocab_size() == len(vocabulary)
    tokenizer.save(str(path))


def tiny_vocabulary(special):
    letters = "abcdefghijklmnopqrstuvwxyz"
    return {token: index for index, token in enumerate(special + list(letters) + ["##" + c for c in letters])}


def bert_tiny():
    vocabulary = tiny_vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=24,
        max_position_embeddings=20,
    )
    model = BertModel(config).eval()
    randomize(model, 1)
    directory = HERE / "bert_tiny"
    write_tiny(directory, model, model, len(vocabulary), config.pad_token_id)
    write_tokenizer(directory / "tokenizer.json", vocabulary, models.WordPiece(vocabulary, unk_token="[UNK]"))


def roberta_tiny():
    vocabulary = tiny_vocabulary(["<s>", "<pad>", "</s>", "<unk>", "<mask>", "<encoder-only>"])
    config = RobertaConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=22,
        type_vocab_size=10,
        layer_norm_eps=1e-5,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
    )
    model = RobertaForMaskedLM(config).eval()
    randomize(model, 2)
    directory = HERE / "roberta_tiny"
    write_tiny(directory, model, model.roberta, len(vocabulary), config.pad_token_id)
    write_tokenizer(directory / "tokenizer.json", vocabulary, models.WordPiece(vocabulary, unk_token="<unk>"))


def minilm(directory):
    tokenizer = AutoTokenizer.from_pretrained(directory)
    model = AutoModel.from_pretrained(directory).eval()
    ids = [tokenizer(text, truncation=True, max_length=512)["input_ids"] for text in SNIPPETS]
    _, embeddings = embed(model, ids, tokenizer.pad_token_id)
    cases = [
        {"text": text, "ids": row, "embedding": rounded(embedding, 6)}
        for text, row, embedding in zip(SNIPPETS, ids, embeddings)
    ]
    (HERE / "minilm.json").write_text(json.dumps({"cases": cases}) + "\n")


if __name__ == "__main__":
    bert_tiny()
    roberta_tiny()
    if len(sys.argv) > 1:
        minilm(sys.argv[1])
