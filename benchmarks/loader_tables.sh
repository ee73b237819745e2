#!/usr/bin/env bash
# The table of load time per batch and per epoch that people keep by hand: small and large images × workers × batch.
#     benchmarks/loader_tables.sh FOLDER [WORKERS] [BATCH_SIZES]
set -euo pipefail
out=${1:?name a folder}; workers=${2:-0,1,2,4}; sizes=${3:-64,128,256}
run="python3 -m traindyno"
sets=$(mktemp -d); trap 'rm -rf "$sets"' EXIT
$run data make "$sets/cifar" --like cifar10 --images 12000 -q
$run data make "$sets/places" --like places365 --images 3000 -q
for data in "cifar10:$sets/cifar" "folder:$sets/places"; do
  name=$(basename "$data")
  $run loader --data "$data" --image-size 224 --grid --workers "$workers" --batch-size "$sizes" --trial-seconds 2s \
    --store "$sets/tables.db" --no-report --export-markdown "$out/loader_grid_${name}.md" --export-json "$out/loader_grid_${name}.json"
done
