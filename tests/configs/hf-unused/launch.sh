torchrun --standalone --nproc_per_node=8 run_sft.py training_args.json
