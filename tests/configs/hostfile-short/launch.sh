#!/bin/bash
deepspeed --hostfile=hostfile --num_nodes 4 --num_gpus 8 --master_addr worker-1 --master_port 29501 \
  train.py --deepspeed_config ds_zero1.json --train-iters 20000 --num-workers 4
