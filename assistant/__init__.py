"""ncclinic: a diagnostic assistant for distributed training."""

__version__ = "0.1.0"
