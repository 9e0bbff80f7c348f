"""Lets torch from PyPI run on the CPU without the CUDA libraries that its Linux wheel links to.

    pip install --no-deps -r tests/interop/requirements-models.txt
    python tests/interop/torch_cpu.py

The wheel does not import without 13 `nvidia-*` packages (4.3 GB installed, with triton 4.9 GB), none of which the CPU
uses. This writes empty stand-ins for their libraries (0.3 MB) into torch/lib: every function returns an error, so
`torch.cuda.is_available()` is false. It needs `cc`, `nm` and `readelf`. Where download.pytorch.org can be reached, torch's
own CPU wheel does without it: `pip install torch==2.9.0 --index-url https://download.pytorch.org/whl/cpu`.
"""

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

SYSTEM = re.compile(r"(lib(c|m|rt|dl|pthread|gcc_s|stdc\+\+)\.so|ld-linux)")
CUDA = re.compile(r"_?_?(cu|nccl|nvshmem|nvml|nvrtc|nvtx)")
ANYWHERE = "libcudart.so.12"
CUDA_ERROR = 35


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def read(library):
    """Returns the libraries needed, which of them defines each version, and the symbols undefined and defined."""
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", library)))
    versions, file = {}, None
    for line in output("readelf", "-VW", library).splitlines():
        if found := re.search(r"File: (\S+)", line):
            file = found[1]
        elif (found := re.search(r"Name: (\S+)", line)) and file:
            versions[found[1]] = file
    symbols = [line.split() for line in output("nm", "-D", library).splitlines()]
    undefined = {fields[-1] for fields in symbols if fields[-2] == "U"}
    return needed, versions, undefined, {fields[-1] for fields in symbols} - undefined


def missing(directory):
    """Maps each missing library to its symbols by version; symbols without a version may be anywhere."""
    libraries = sorted(directory.glob("*.so*"))
    needed, versions, undefined, defined = set(), {}, set(), set()
    for library in libraries:
        of_library = read(library)
        needed |= of_library[0]
        versions |= of_library[1]
        undefined |= of_library[2]
        defined |= {name.split("@")[0] for name in of_library[3]}
    needed = {name for name in needed - {library.name for library in libraries} if not SYSTEM.match(name)}
    found = {name: defaultdict(set) for name in needed}
    for symbol in undefined:
        name, _, version = symbol.partition("@")
        file = versions.get(version.lstrip("@"))
        if file in needed:
            found[file][version].add(name)
        elif not version and name not in defined and CUDA.match(name):
            found[ANYWHERE][""].add(name)
    return found


def compile_stub(path, versions):
    names = sorted(name for names in versions.values() for name in names)
    script = "".join(f"{v} {{ global: {' '.join(f'{n};' for n in sorted(versions[v]))} }};\n" for v in sorted(versions) if v)
    with tempfile.TemporaryDirectory() as directory:
        source, map_file = Path(directory, "stub.c"), Path(directory, "stub.map")
        source.write_text("".join(f"int {name}(void) {{ return {CUDA_ERROR}; }}\n" for name in names))
        map_file.write_text(script)
        options = [f"-Wl,-soname,{path.name}"] + ([f"-Wl,--version-script={map_file}"] if script else [])
        output("cc", "-w", "-shared", "-fPIC", "-fno-builtin", *options, "-o", str(path), str(source))


def main():
    torch = Path(find_spec("torch").origin).parent
    if (torch.parent / "nvidia").exists() or not (torch / "lib" / "libtorch_cuda.so").exists():
        print("nothing to do: torch has what it links to")
        return
    found = missing(torch / "lib")
    if not found:
        print("nothing to do: the stand-ins are there")
        return
    for name in sorted(found):
        compile_stub(torch / "lib" / name, found[name])
    print(f"{len(found)} stand-ins in {torch / 'lib'}")
    print(output(sys.executable, "-c", "import torch; print(torch.__version__, torch.cuda.is_available())").strip())


if __name__ == "__main__":
    main()
