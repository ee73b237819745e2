#!/usr/bin/env bash
# What is inside a step, made by the tool: switches of three models at two batch sizes, InceptionV3 with and without
# mixed precision, the anatomy of ResNet-50 by batch size in training and inference, and three minutes of soak.
#     benchmarks/step_tables.sh FOLDER [switches|inception|anatomy|soak|pictures] [MODEL BATCH]
# A study that was cut is gone on with. The pictures are drawn from the store in FOLDER, elsewhere too: a bare GPU
# machine cannot draw.
set -euo pipefail
out=${1:?name a folder}; what=${2:-switches inception anatomy soak pictures}; mkdir -p "$out"
run="${PYTHON:-python3} -m traindyno"
store="$out/step_tables.db"
to() { echo --export-json "$out/$1.json" --export-markdown "$out/$1.md" --store "$store" --no-report; }
measure() {  # NAME COMMAND ...: begin the study of that name, or finish it
  local name=$1; shift
  if [ -f "$store" ] && $run studies --store "$store" --json | grep -q "\"$name\""; then
    $run resume "$name" --elsewhere $(to "$name")
  else
    $run "$@" --name "$name" $(to "$name")
  fi
}
case " $what " in *" switches "*)
  for model in ${3:-resnet50 mobilenet_v2 vit_b_16}; do
    # A step of ViT-B/16 at 256 takes 0.64 s in fp32: eight turns of two such steps would take a trial of ten seconds.
    large=256; seconds=1.5s; if [ $model = vit_b_16 ]; then large=128; seconds=2s; fi
    for size in ${4:-$large 32}; do
      measure switches_${model}_${size}_h200 switches --model torchvision:$model --batch-size $size --trial-seconds $seconds
    done
  done
esac
case " $what " in *" inception "*)
  for precision in fp32 bf16 fp16; do
    measure inception_v3_${precision}_h200 throughput --model torchvision:inception_v3 --image-size 299 --batch-size 32,64,128 \
      --precision $precision --trial-seconds 2s
    $run plan --from inception_v3_${precision}_h200 --examples 50000 --epochs 30 --store "$store" \
      --export-markdown "$out/inception_v3_${precision}_30_epochs_h200.md"
  done
  $run compare inception_v3_fp32_h200 inception_v3_bf16_h200 --store "$store" --export-markdown "$out/inception_v3_fp32_against_bf16_h200.md"
esac
case " $what " in *" anatomy "*)
  for mode in train infer; do
    measure anatomy_resnet50_${mode}_h200 anatomy --model torchvision:resnet50 --mode $mode --batch-size 1,8,32,128,256 \
      --repeats 3 --trial-seconds 2s
  done
  # Long enough for the cost of the instruments, and as people would train.
  measure anatomy_resnet50_pinned_h200 anatomy --model torchvision:resnet50 --batch-size 256 --precision bf16 --set memory_format=channels_last \
    --pin-memory --repeats 5 --trial-seconds 6s
esac
case " $what " in *" soak "*)
  measure soak_resnet50_h200 soak --minutes 3 --model torchvision:resnet50 --batch-size 256 --precision bf16 --set memory_format=channels_last
esac
case " $what " in *" pictures "*)
  for document in "$out"/*_h200.json; do
    $run report "$(basename "$document" .json)" "${document%.json}.png" --store "$store"
  done
esac
