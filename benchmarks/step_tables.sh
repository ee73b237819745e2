#!/usr/bin/env bash
# What is inside a step, made by the tool: switches of three models at two batch sizes, InceptionV3 with and without
# mixed precision, the anatomy of ResNet-50 by batch size in training and inference, and three minutes of soak.
#     benchmarks/step_tables.sh FOLDER [switches|inception|anatomy|soak] [MODEL BATCH]
set -euo pipefail
out=${1:?name a folder}; what=${2:-switches inception anatomy soak}
run="python3 -m traindyno"
store="$out/step_tables.db"
export_to() { echo --export-json "$out/$1.json" --export-markdown "$out/$1.md" --export-png "$out/$1.png" --store "$store" --no-report --name "$1"; }
case " $what " in *" switches "*)
  for model in ${3:-resnet50 mobilenet_v2 vit_b_16}; do
    for size in ${4:-256 32}; do
      $run switches --model torchvision:$model --batch-size $size --trial-seconds 1.5s $(export_to switches_${model}_${size}_h200)
    done
  done
esac
case " $what " in *" inception "*)
  for precision in fp32 bf16 fp16; do
    $run throughput --model torchvision:inception_v3 --image-size 299 --batch-size 32,64,128 --precision $precision \
      --trial-seconds 2s $(export_to inception_v3_${precision}_h200)
    $run plan --from inception_v3_${precision}_h200 --examples 50000 --epochs 30 --store "$store" \
      --export-markdown "$out/inception_v3_${precision}_30_epochs_h200.md"
  done
  $run compare inception_v3_fp32_h200 inception_v3_bf16_h200 --store "$store" --export-markdown "$out/inception_v3_fp32_against_bf16_h200.md"
esac
case " $what " in *" anatomy "*)
  for mode in train infer; do
    $run anatomy --model torchvision:resnet50 --mode $mode --batch-size 1,8,32,64,128,256 --repeats 2 --trial-seconds 2s \
      $(export_to anatomy_resnet50_${mode}_h200)
  done
esac
case " $what " in *" soak "*)
  $run soak --minutes 3 --model torchvision:resnet50 --batch-size 256 --precision bf16 --set memory_format=channels_last \
    $(export_to soak_resnet50_h200)
esac
