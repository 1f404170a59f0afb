#!/bin/bash -l
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gres=gpu:a100:4
#SBATCH --cpus-per-task=16
#SBATCH --mem=480G
#SBATCH --time=0-12:00:00
#SBATCH --signal=SIGUSR1@90

source activate vit
export NCCL_DEBUG=WARN
export PYTHONFAULTHANDLER=1
# Slurm 22.05 and later no longer hand this on to srun
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
srun python3 main.py fit --config vit.yaml
