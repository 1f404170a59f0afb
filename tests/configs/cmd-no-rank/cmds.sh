#!/bin/bash
# run on both machines
export NCCL_SOCKET_IFNAME=eno2
torchrun --nnodes=2 --nproc_per_node=8 --master_addr=10.1.0.4 --master_port=12355 train.py --cfg base.yaml
