#!/bin/bash
source .venv/bin/activate
deepspeed --num_gpus=8 train.py --deepspeed zero2.json
