ray job submit --address http://train-cluster-head-svc:8265 --working-dir . -- \
  python train_ray.py --num-workers 32 --use-gpu --batch-size-per-worker 16 --checkpoint-every 1000
