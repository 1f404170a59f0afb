docker run --rm --gpus all -v $PWD:/w -w /w pytorch/pytorch:2.3.0-cuda12.1-cudnn8-runtime torchrun --nproc_per_node 2 train.py --batch-size 64 --num-workers 8
