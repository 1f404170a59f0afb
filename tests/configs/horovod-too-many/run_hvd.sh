#!/bin/bash
module load openmpi/4.1.5 cuda/12.1
export HOROVOD_FUSION_THRESHOLD=67108864
export HOROVOD_CYCLE_TIME=3.5
mpirun -np 32 -H gpu01:4,gpu02:4,gpu03:4,gpu04:4 \
  -bind-to none -map-by slot \
  -x NCCL_DEBUG=WARN -x LD_LIBRARY_PATH -x PATH -x HOROVOD_FUSION_THRESHOLD -x HOROVOD_CYCLE_TIME \
  -mca pml ob1 -mca btl ^openib \
  python pytorch_imagenet_resnet50.py --train-dir /scratch/imagenet/train --batch-size 128 --fp16-allreduce
