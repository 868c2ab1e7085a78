"""What this machine has and allows: processes, GPUs, files, supervision. For any process."""
