#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=64
#SBATCH --exclusive
head=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -n1)
srun -N1 -n1 -w $head ray start --head --port=6379 --block &
sleep 20
srun -N3 -n3 -x $head ray start --address=127.0.0.1:6379 --block &
sleep 20
python train_ray.py --num-workers 32
