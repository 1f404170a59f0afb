#!/bin/bash
module load openmpi/4.1.5 cuda/12.1
export HOROVOD_FUSION_THRESHOLD=67108864
export HOROVOD_CYCLE_TIME=3.5
export NCCL_SOCKET_IFNAME=ib0
export LD_LIBRARY_PATH=/opt/nccl/lib:$LD_LIBRARY_PATH
mpirun -np 16 -H gpu01:4,gpu02:4,gpu03:4,gpu04:4 \
  -bind-to none -map-by slot \
  -mca pml ob1 -mca btl ^openib \
  python pytorch_imagenet_resnet50.py --train-dir /scratch/imagenet/train --batch-size 128 --fp16-allreduce
