"""Times our networks and PyTorch's on the same shapes in one run, in turn, with two threads each.

    cargo build --release -p models --example speed
    RETORT_MINILM=DIRECTORY RETORT_SMOLLM2=FILE.gguf python tests/bench/compare.py target/release/examples/speed

needs torch, transformers and gguf. `RETORT_MINILM` is the directory of all-MiniLM-L6-v2, `RETORT_SMOLLM2` a GGUF file
of SmolLM2-135M. Prints a table in Markdown, row by row: the median wall time of each side and the ratio PyTorch / ours
(above 1: ours is faster), the ratio of the least CPU times, and the peak memory of the processes, each of which runs
one workload only. `--rounds N` (3), `--threads N` (2), `--only NAME ...`, `--no-bf16`.

`--llama PYTHON` adds llama.cpp's times for reading and writing: an interpreter that imports llama_cpp, which multiplies
in the types of `RETORT_SMOLLM2_LLAMA` (by default the same file).
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

WORKLOADS = {
    "encode": "MiniLM embeddings, 32 x 256",
    "contrastive": "MiniLM contrastive step, 16 x (1 + 11) x 256, dropout",
    "prefill_1x512": "SmolLM2 last logits, 1 x 512",
    "prefill_8x512": "SmolLM2 last logits, 8 x 512",
    "score_8x512": "SmolLM2 NLL of the last 32, 8 x 512",
    "decode": "SmolLM2 greedy decode, 48 after 128",
    "lora": "SmolLM2 LoRA step, r 16 on q, k, v, o, 4 x 512",
}


class Side:
    """A process that runs the workload each line names and answers with its seconds of wall and CPU time."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
        )

    def run(self, workload):
        self.process.stdin.write(workload + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if not answer or answer[0] == "error":
            return None
        return float(answer[0]), float(answer[1])

    def peak_mib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def start(side, options):
    threads = str(options.threads)
    if side == "ours":
        return Side([options.binary, threads], {"RAYON_NUM_THREADS": threads})
    python = options.llama if side == "llama.cpp" else sys.executable
    kind = {"f32": "float32", "bf16": "bfloat16"}.get(side, side)
    return Side([python, __file__, "--serve", kind, "--threads", threads], {"OMP_NUM_THREADS": threads})


def compare(options):
    sides = ["ours", "f32"] + ([] if options.no_bf16 else ["bf16"]) + (["llama.cpp"] if options.llama else [])
    head(sides)
    raw = {}
    for name in options.only or WORKLOADS:
        times, memory = measure(name, sides, options)
        row(name, sides, times, memory)
        raw[name] = {"times": times, "peak_mib": memory}
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(raw, indent=1))


def measure(name, sides, options):
    """Returns the times and the peak memory of every side's process."""
    processes = {side: start(side, options) for side in sides}
    times = {side: [] for side in sides}
    for round_index in range(options.rounds + 1):
        for side, process in processes.items():
            result = process.run(name)
            if result and round_index > 0:  # The first round loads and warms up.
                times[side].append(result)
    memory = {side: process.peak_mib() for side, process in processes.items() if times[side]}
    for process in processes.values():
        process.close()
    return times, memory


def head(sides):
    columns = ["workload", "ours, s", "f32, s", "ratio", "CPU ratio", "peak MiB", "f32 peak MiB"]
    for side in sides[2:]:
        columns += [f"{side}, s", f"ratio to {side}", f"{side} peak MiB"]
    print("| " + " | ".join(columns) + " |\n|" + "---|" * len(columns), flush=True)


def row(name, sides, times, memory):
    wall = {side: statistics.median(w for w, _ in times[side]) for side in sides if times[side]}
    cpu = {side: min(c for _, c in times[side]) for side in sides if times[side]}
    ratio = lambda of, side: f"{of[side] / of['ours']:.2f}" if of.get(side) and of.get("ours") else "-"
    show = lambda of, side, form: format(of[side], form) if side in of else "-"
    cells = [WORKLOADS[name], show(wall, "ours", ".3f"), show(wall, "f32", ".3f"), ratio(wall, "f32")]
    cells += [ratio(cpu, "f32"), show(memory, "ours", ".0f"), show(memory, "f32", ".0f")]
    for side in sides[2:]:
        cells += [show(wall, side, ".3f"), ratio(wall, side), show(memory, side, ".0f")]
    print("| " + " | ".join(cells) + " |", flush=True)


def networks(kind, threads):
    if kind == "llama.cpp":
        return LlamaCpp(threads)
    import torch

    torch.set_num_threads(threads)
    torch.manual_seed(0)
    return Torch(torch, getattr(torch, kind))


def serve(kind, threads):
    models = networks(kind, threads)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Libraries print to standard output.
    for line in sys.stdin:
        workload = getattr(models, line.strip(), None)
        try:
            if workload is None:
                raise ValueError("no such workload")
            workload(prepare_only=True)
            begin, cpu = time.perf_counter(), time.process_time()
            workload()
            answers.write(f"{time.perf_counter() - begin:.4f} {time.process_time() - cpu:.4f}\n")
        except Exception as error:
            answers.write(f"error {type(error).__name__}: {str(error).splitlines()[0]}\n")
            print(error, file=sys.stderr)
        answers.flush()


class Torch:
    """The workloads in PyTorch, as a user of transformers writes them."""

    def __init__(self, torch, dtype):
        self.torch, self.dtype = torch, dtype
        self.loaded = {}

    def load(self, name, make):
        if name not in self.loaded:
            self.loaded[name] = make()
        return self.loaded[name]

    def encoder(self):
        from transformers import AutoModel

        path = os.environ["RETORT_MINILM"]
        make = lambda: AutoModel.from_pretrained(path, dtype=self.dtype, add_pooling_layer=False)
        return self.load("encoder", make)

    def decoder(self):
        from transformers import AutoModelForCausalLM

        path = pathlib.Path(os.environ["RETORT_SMOLLM2"])
        make = lambda: AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, dtype=self.dtype)
        return self.load("decoder", lambda: make().eval())

    def tokens(self, rows, length, vocabulary):
        return self.torch.randint(999, vocabulary, (rows, length))

    def embed(self, model, tokens):
        hidden = model(input_ids=tokens, attention_mask=self.torch.ones_like(tokens)).last_hidden_state
        return self.torch.nn.functional.normalize(hidden.mean(1), dim=1)

    def encode(self, prepare_only=False):
        model = self.encoder().eval()
        if not prepare_only:
            with self.torch.inference_mode():
                self.embed(model, self.tokens(32, 256, 30000))

    def contrastive(self, prepare_only=False):
        model = self.encoder().train()
        if prepare_only:
            return
        # One graph of all 192 sequences takes 10 GB; two halves are as fast.
        optimizer = self.torch.optim.AdamW(model.parameters(), lr=1e-5)
        for _ in range(2):
            embeddings = self.embed(model, self.tokens(96, 256, 30000)).view(8, 12, -1)
            similarities = (embeddings[:, :1] @ embeddings[:, 1:].transpose(1, 2)).squeeze(1) / 0.05
            targets = self.torch.zeros(8, dtype=self.torch.long)
            (self.torch.nn.functional.cross_entropy(similarities.float(), targets) / 2).backward()
        optimizer.step()
        optimizer.zero_grad()

    def score(self, rows, length, n_targets, prepare_only):
        model = self.decoder()
        if prepare_only:
            return
        tokens = self.tokens(rows, length + 1, 49000)
        with self.torch.inference_mode():
            logits = model(tokens[:, :-1], logits_to_keep=n_targets, use_cache=False).logits.float()
            self.torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, -n_targets:].flatten())

    def prefill_1x512(self, prepare_only=False):
        self.score(1, 512, 1, prepare_only)

    def prefill_8x512(self, prepare_only=False):
        self.score(8, 512, 1, prepare_only)

    def score_8x512(self, prepare_only=False):
        self.score(8, 512, 32, prepare_only)

    def decode(self, prepare_only=False):
        model = self.decoder()
        if prepare_only:
            return
        with self.torch.inference_mode():
            output = model(self.tokens(1, 128, 49000), logits_to_keep=1, use_cache=True)
            for _ in range(48):
                token = output.logits[:, -1:].argmax(-1)
                output = model(token, past_key_values=output.past_key_values, use_cache=True)

    def lora(self, prepare_only=False):
        model = self.load("lora", self.make_lora)
        if prepare_only:
            return
        trainable = [parameter for parameter in model.parameters() if parameter.requires_grad]
        optimizer = self.torch.optim.AdamW(trainable, lr=1e-4)
        tokens = self.tokens(4, 512, 49000)
        model(tokens, labels=tokens, use_cache=False).loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    def make_lora(self):
        """SmolLM2 with factored adapters, as peft computes them; peft itself need not be installed."""
        from transformers import AutoModelForCausalLM

        torch = self.torch
        path = pathlib.Path(os.environ["RETORT_SMOLLM2"])
        model = AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, dtype=self.dtype)
        model.requires_grad_(False)

        class Adapted(torch.nn.Module):
            def __init__(self, base):
                super().__init__()
                self.base = base
                self.a = torch.nn.Linear(base.in_features, 16, bias=False, dtype=base.weight.dtype)
                self.b = torch.nn.Linear(16, base.out_features, bias=False, dtype=base.weight.dtype)

            def forward(self, x):
                return self.base(x) + 2.0 * self.b(self.a(torch.nn.functional.dropout(x, 0.05, self.training)))

        for layer in model.model.layers:
            for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
                setattr(layer.self_attn, name, Adapted(getattr(layer.self_attn, name)))
        return model.train()


class LlamaCpp:
    """Reading and writing in llama.cpp."""

    def __init__(self, threads):
        from llama_cpp import Llama

        path = os.environ.get("RETORT_SMOLLM2_LLAMA", os.environ["RETORT_SMOLLM2"])
        # Two micro-batches would read the weights twice.
        options = {"n_ctx": 1024, "n_batch": 512, "n_ubatch": 512, "verbose": False}
        self.model = Llama(path, n_threads=threads, n_threads_batch=threads, **options)

    def read(self, n_texts, n_tokens):
        for text in range(n_texts):
            self.model.reset()
            self.model.eval([999 + (text * 7919 + index * 104729) % 48000 for index in range(n_tokens)])

    def prefill_1x512(self, prepare_only=False):
        if not prepare_only:
            self.read(1, 512)

    def prefill_8x512(self, prepare_only=False):
        if not prepare_only:
            self.read(8, 512)

    def decode(self, prepare_only=False):
        if prepare_only:
            return
        self.read(1, 128)
        for _ in range(48):
            self.model.eval([self.model.sample(temp=0.0)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", nargs="?")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=WORKLOADS)
    parser.add_argument("--no-bf16", action="store_true")
    parser.add_argument("--llama", metavar="PYTHON", help="an interpreter that imports llama_cpp")
    parser.add_argument("--json", help="where the raw times go")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.threads)
    elif options.binary:
        compare(options)
    else:
        parser.error("name the binary of the example `speed`")


if __name__ == "__main__":
    main()
