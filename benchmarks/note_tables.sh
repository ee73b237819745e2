#!/usr/bin/env bash
# The tables that people keep by hand, made by the tool: IR-50 at 224 and 112 px, and the largest batch of twelve models.
#     benchmarks/note_tables.sh FOLDER [ir|models]
set -euo pipefail
out=${1:?name a folder}; what=${2:-ir models}
run="python3 -m traindyno"
store="$out/note_tables.db"
case " $what " in *" ir "*)
  for size in 224 112; do
    $run throughput --model ir:50 --image-size $size --trial-seconds 4s --name ir50-$size --store "$store" --no-report \
      --export-json "$out/ir50_${size}_h200.json" --export-markdown "$out/ir50_${size}_h200.md"
  done
  $run compare ir50-224 ir50-112 --store "$store" --export-markdown "$out/ir50_224_against_112_h200.md"
esac
case " $what " in *" models "*)
  models=(resnet152 resnet101 resnet50 resnet34 resnet18 mobilenet_v2 efficientnet_v2_s efficientnet_v2_l vit_b_16 vit_l_16 vit_b_32 vit_l_32)
  for mode in train infer; do
    limit=(); [ $mode = infer ] && limit=(--limit 16384)
    $run max-batch "${models[@]/#/--model=torchvision:}" --image-size 224 --mode $mode "${limit[@]}" --name twelve-$mode --store "$store" --no-report \
      --export-json "$out/twelve_models_${mode}_h200.json" --export-markdown "$out/twelve_models_${mode}_h200.md"
  done
esac
