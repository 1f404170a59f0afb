#!/bin/bash
# two ablations side by side on one 8-GPU box
export OMP_NUM_THREADS=8
CUDA_VISIBLE_DEVICES=0,1,2,3 torchrun --nproc_per_node=4 --master_port=29500 train.py --config configs/base.yaml --out runs/base &
CUDA_VISIBLE_DEVICES=4,5,6,7 torchrun --nproc_per_node=4 --master_port=29500 train.py --config configs/wide.yaml --out runs/wide &
wait
