#!/usr/bin/env bash
# Loads in Python all that the Rust tests of `models` wrote for it, and compares what is computed with it:
#
#     RETORT_INTEROP_OUT=/absolute/DIR cargo test -p models
#     tests/interop/run_models.sh /absolute/DIR
#
# With `--features golden` (and its variables, see .ci/run) the real models are among it. The packages go to a virtual
# environment under the user's cache, which is made again when a requirement changes: 2.5 GB, of which torch is 2.3, and
# some six minutes of one core in which llama.cpp is built.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(cd "$1" && pwd)

# What is built must also run on another processor that shares the cache, and needs no image encoders.
export CMAKE_ARGS='-DGGML_NATIVE=OFF -DLLAVA_BUILD=OFF'
packages=$(cat "$here/requirements-models.txt" "$here/torch_cpu.py" <(echo "$CMAKE_ARGS"; python3 --version) | sha256sum)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/retort/interop-${packages:0:16}
mkdir -p "$(dirname "$venv")"
exec 9>"$venv.lock"
flock 9 # another run may be making it
if [ ! -e "$venv/complete" ]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir --no-deps \
        -r "$here/requirements-models.txt"
    "$venv/bin/python" "$here/torch_cpu.py"
    touch "$venv/complete"
fi
flock -u 9

HF_HUB_OFFLINE=1 "$venv/bin/python" "$here/load_folders.py" "$out"
