#!/usr/bin/env bash
# The Python package from a clone: installs it into an environment of its own, checks its types, runs its tests, documents
# and notebook. Python 3.10 or later and Rust must be there; everything else comes from the package index.
set -euo pipefail
cd "$(dirname "$0")/../.."

export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}"
environment="${MERCER_VENV:-$CARGO_TARGET_DIR/python-environment}"
step() { printf '\n== python: %s\n' "$*"; }

step "environment"
python="${PYTHON:-python3}"
[ -x "$environment/bin/python" ] || "$python" -m venv "$environment"
export PATH="$environment/bin:$PATH"
"$environment/bin/python" -m pip install -q --disable-pip-version-check maturin

step "build and install"
# Not isolated: maturin and the compiled crates of a former run are used again.
"$environment/bin/python" -m pip install -q --disable-pip-version-check --no-build-isolation "./crates/mercer-python[test]"
# The other two surfaces, whose bits are compared with Python's.
cargo build --release -q -p mercer-cli -p mercer-io --example same_bits --bin mercer

step "types"
(cd crates/mercer-python && "$environment/bin/python" -m mypy --strict python/mercer)
# The stubs of the compiled module against the module itself.
(cd / && "$environment/bin/python" -m mypy.stubtest mercer._core --ignore-disjoint-bases)

step "tests"
(cd crates/mercer-python/tests && "$environment/bin/python" -m pytest -q --durations=5 .)
