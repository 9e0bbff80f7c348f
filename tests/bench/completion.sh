#!/usr/bin/env bash
# Compares the completion tools on real packages, in one run for each language, and keeps the tables:
#
#     tests/bench/completion.sh python    # flask, requests, rich, luigi against Jedi: experiments/completion/python.csv
#     tests/bench/completion.sh tools     # the same packages, fewer identifiers, more tools: experiments/completion/tools.csv
#     tests/bench/completion.sh java      # commons-io, commons-lang, jsoup against jdtls: experiments/completion/java.csv
#
# Python's packages come from the package index, Java's libraries are Debian's source packages (`apt-get source`). Half
# an hour each on two quiet cores, most of it for the tools compared with.
set -euo pipefail
cd "$(dirname "$0")/../.."
run=${1:?python, tools or java}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/retort/completion-sources
packages=$cache/$run
language=python
mkdir -p "$packages" experiments/completion
tools=$(tests/oracles/completion.sh)
eval "$tools"

# Puts FOLDER of a source distribution into $packages/NAME/PACKAGE.
python_package() { # NAME VERSION FOLDER PACKAGE
    [ -d "$packages/$1" ] && return
    local work
    work=$(mktemp -d)
    python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary :all: --dest "$work" "$1==$2" >&2
    tar -xzf "$work/$1-$2.tar.gz" -C "$work"
    mkdir -p "$packages/.$1"
    cp -r "$work/$1-$2/$3" "$packages/.$1/$4"
    mv "$packages/.$1" "$packages/$1"
    rm -rf "$work"
}

# Puts the main sources of a Debian source package into $packages/NAME.
java_library() { # SOURCE-PACKAGE FOLDER NAME
    [ -d "$packages/$3" ] && return
    local work lists=/etc/apt/sources.list.d
    work=$(mktemp -d)
    if ! apt-get source --print-uris "$1" >/dev/null 2>&1; then
        # The archive that binary packages come from has the sources too.
        sed 's/^Types: deb$/Types: deb-src/' "$lists/debian.sources" >"$lists/debian-sources.sources"
        apt-get update -qq
    fi
    (cd "$work" && apt-get source --quiet --download-only "$1" >&2 && tar -xf ./*.orig.tar.*)
    mkdir -p "$packages/.$3"
    cp -r "$work"/*/"$2/." "$packages/.$3/"
    mv "$packages/.$3" "$packages/$3"
    rm -rf "$work"
}

case $run in
python)
    python_package flask 3.1.3 src/flask flask
    python_package requests 2.34.2 src/requests requests
    python_package rich 15.0.0 rich rich
    python_package luigi 2.8.13 luigi luigi
    engines=(--engine jedi --engine native)
    sizes=(--intact 0 --online 2000)
    ;;
tools) # needs the packages of `python`; every tool, on fewer identifiers
    packages=$cache/python
    engines=(--engine jedi --engine jedi+placeholder --engine native --engine "lsp:$RETORT_LSP_ZUBAN+placeholder"
        --engine "lsp:$RETORT_LSP_BASEDPYRIGHT+placeholder")
    sizes=(--intact 1000 --online 300)
    ;;
java)
    java_library commons-io src/main/java commons-io
    java_library libcommons-lang3-java src/main/java commons-lang
    java_library jsoup src/main/java jsoup
    language=java
    engines=(--engine "lsp:$RETORT_LSP_JDTLS" --engine native)
    sizes=(--intact 1000 --online 300)
    ;;
*)
    echo "python, tools or java, not $run" >&2
    exit 2
    ;;
esac

cargo run --release -p train -- analyze benchmark "$packages" --language "$language" "${engines[@]}" "${sizes[@]}" \
    --python "$RETORT_JEDI_PYTHON" --deadline-seconds 120 --csv "experiments/completion/$run.csv"
