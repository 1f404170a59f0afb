docker run --rm --gpus '"device=0"' -v $PWD:/w -w /w pytorch/pytorch:2.3.0-cuda12.1-cudnn8-runtime python train.py --epochs 3 --batch-size 32
