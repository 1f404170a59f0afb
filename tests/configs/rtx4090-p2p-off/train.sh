#!/bin/bash
# 4x RTX 4090, no P2P on these cards
export NCCL_P2P_DISABLE=1
export NCCL_IB_DISABLE=1
export OMP_NUM_THREADS=8
torchrun --standalone --nproc_per_node=4 finetune.py --per_device_train_batch_size 4 --gradient_accumulation_steps 8 --save_steps 200
