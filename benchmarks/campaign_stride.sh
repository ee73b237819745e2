#!/usr/bin/env bash
# What a first convolution of stride 2 costs in accuracy and gains in speed, on a small IR backbone: one round with the
# learning rate tuned for each stride, decided by fresh seeds. For a GPU, one process alone, so that times can be compared.
#     benchmarks/campaign_stride.sh FOLDER [run|adopt|pictures]
# The pictures are drawn from the store in FOLDER, elsewhere too: a bare GPU machine cannot draw.
set -euo pipefail
out=${1:?name a folder}; part=${2:-run adopt pictures}; mkdir -p "$out"; cd "$out"
dyno="${PYTHON:-python3} -m traindyno"; data=${DATA:-/tmp/traindyno-stride}
[ "$part" = pictures ] || [ -d "$data/set" ] || $dyno data make "$data/set" --like imagenet --images 6000 --classes 20 --quiet
[ "$part" = pictures ] || [ -d "$data/prepared" ] || $dyno data prepare "folder:$data/set" "$data/prepared" --shorter-side 256 --quiet
cat > stride.toml <<TOML
name = "stride"
campaign = "ir"
minimum_gain = 0.005
[goal]
kind = "effect"
question = "What does a first convolution of stride 2 cost on a small IR backbone?"
[job]
model = "ir:18"
data = "prepared:$data/prepared"
image_size = 224
batch_size = 128
epochs = 6
schedule = "cosine"
precision = "bf16"
num_workers = 12
[budget]
trials = 10
[seeds]
gate = 3
adopt = 6
[target.conv1_stride]
values = [1, 2]
[nuisance.learning_rate]
low = 0.0003
high = 0.3
scale = "log"
[fixed.momentum]
value = 0.9
[fixed.weight_decay]
value = 0.0005
[fixed.label_smoothing]
value = 0.0
[incumbent]
learning_rate = 0.01
conv1_stride = 1
TOML
case " $part " in *" run "*) $dyno round run stride.toml --export-json stride.json --export-markdown stride.md ;; esac
case " $part " in *" adopt "*) $dyno round adopt stride --export-json stride.adopt.json --export-markdown stride.adopt.md ;; esac
case " $part " in *" pictures "*) $dyno report stride stride.png; $dyno report stride.adopt stride.adopt.png ;; esac
