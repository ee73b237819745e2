#!/usr/bin/env bash
# A whole tuning campaign on scikit-learn's digits: an initial configuration, then three rounds of which each is decided
# by fresh seeds. Minutes on two cores.
#     benchmarks/campaign_digits.sh FOLDER
set -euo pipefail
out=${1:?name a folder}; mkdir -p "$out"; cd "$out"
run="python3 -m traindyno round"; [ -n "${PYTHON:-}" ] && run="$PYTHON -m traindyno round"
decide() {
  $run run "$1.toml" --processes 2 --export-json "$1.json" --export-png "$1.png" --export-markdown "$1.md"
  $run adopt "$1" --seeds 10 --processes 2 --export-json "$1.adopt.json" --export-png "$1.adopt.png" --export-markdown "$1.adopt.md"
}
$run first --model mlp:16 --data digits: --campaign digits --name first --export-markdown first.md
$run new depth.toml --campaign digits --target model=mlp:16,mlp:64,mlp:64x64 \
  --question "Does a wider network help, or one that is deeper as well?" \
  --epochs 10 --trials 12 --fix momentum=0.9 --fix weight_decay=0 --fix label_smoothing=0
decide depth
$run next depth optimiser.toml
decide optimiser
$run next optimiser regularisation.toml
decide regularisation
$run ledger --campaign digits --json > ledger.json
$run ledger --campaign digits
