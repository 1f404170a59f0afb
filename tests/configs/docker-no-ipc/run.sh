#!/usr/bin/env bash
set -euo pipefail
IMAGE=nvcr.io/nvidia/pytorch:24.05-py3

docker run --rm -it \
  --gpus all \
  --network=host \
  --ulimit memlock=-1 --ulimit stack=67108864 \
  -v /data/imagenet:/data:ro \
  -v "$PWD":/workspace/app -w /workspace/app \
  -e WANDB_API_KEY -e OMP_NUM_THREADS=8 \
  $IMAGE \
  torchrun --standalone --nproc_per_node=8 main.py /data \
    --arch resnet50 --batch-size 256 --workers 12 --amp --channels-last
