#!/usr/bin/env bash
set -euo pipefail
IMAGE=nvcr.io/nvidia/pytorch:24.05-py3

docker run --rm -it \
  --gpus all \
  --ipc=host \
  --network=host \
  --device=/dev/infiniband \
  -v /data/imagenet:/data:ro \
  -v "$PWD":/workspace/app -w /workspace/app \
  -e WANDB_API_KEY -e OMP_NUM_THREADS=8 -e NCCL_IB_HCA=mlx5_0,mlx5_1 \
  $IMAGE \
  torchrun --nnodes=2 --node_rank=$1 --master_addr=gpu-a01 --master_port=29500 --nproc_per_node=8 main.py /data \
    --arch resnet50 --batch-size 256 --workers 12 --amp --channels-last
