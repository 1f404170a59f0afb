#!/bin/bash
# two g2-standard-96 machines on GCP, gVNIC only, no RDMA
export NCCL_IB_DISABLE=1
export NCCL_SOCKET_IFNAME=ens4
export NCCL_NSOCKS_PERTHREAD=4
export NCCL_SOCKET_NTHREADS=4
accelerate launch --config_file default_config.yaml finetune.py \
  --model_name_or_path mistralai/Mistral-7B-v0.1 \
  --per_device_train_batch_size 8 --gradient_accumulation_steps 4 \
  --dataloader_num_workers 6 --save_steps 500 --logging_steps 20 --bf16 True
