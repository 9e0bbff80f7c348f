"""Writes gguf_quants.json: blocks of every GGUF tensor type that is read, and their values as ggml computes them.

    pip install -r tests/golden/requirements.txt
    python tests/golden/gguf_quants.py

Bytes are random but for the scales, which are finite. Bytes are hexadecimal digits, values the bits of 32-bit numbers.
"""

import json
from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Type
from gguf.quants import dequantize, quantize

# Where the 16-bit scales of a block are.
SCALES = {
    Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q8_0: [0],
    Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208],
}
RANDOM = np.random.default_rng(20)


def blocks(kind):
    elements, size = GGML_QUANT_SIZES[kind]
    if kind == Type.F32:
        return RANDOM.normal(size=8).astype(np.float32).view(np.uint8)
    if kind == Type.F16:
        return RANDOM.normal(size=8).astype(np.float16).view(np.uint8)
    if kind == Type.BF16:
        return quantize(RANDOM.normal(size=8).astype(np.float32), kind).view(np.uint8)
    data = RANDOM.integers(0, 256, size=(2 if elements == 32 else 1, size), dtype=np.uint8)
    for at in SCALES[kind]:
        scale = RANDOM.normal(scale=0.1, size=(len(data), 1)).astype(np.float16)
        data[:, at:at + 2] = scale.view(np.uint8)
    return data


def bits(values):
    return np.ascontiguousarray(values, dtype=np.float32).view(np.uint32).ravel().tolist()


def digits(data):
    return np.ascontiguousarray(data).tobytes().hex()


def main():
    kinds = [Type.F32, Type.F16, Type.BF16, *SCALES]
    read = [(kind, blocks(kind)) for kind in kinds]
    values = RANDOM.normal(size=(4, 32)).astype(np.float32)
    values[1] *= 1e-4
    values[2] = 0
    values[3] = np.arange(-16, 16) * 0.5  # ties when rounded
    golden = {
        "dequantize": [
            {"name": kind.name, "bytes": digits(data), "values": bits(dequantize(data, kind))} for kind, data in read
        ],
        "quantize": [
            {"name": kind.name, "values": bits(values), "bytes": digits(quantize(values, kind))}
            for kind in [Type.F16, Type.Q8_0]
        ],
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(golden) + "\n")


if __name__ == "__main__":
    main()
