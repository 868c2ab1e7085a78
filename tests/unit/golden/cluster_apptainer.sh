#!/bin/bash
#SBATCH --job-name=dtrain-apptainer
#SBATCH --comment=dtl:0a1b2c
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=8
#SBATCH --gres=gpu:2
#SBATCH --output='/work dir/w/launcher.log'
#SBATCH --no-requeue
#SBATCH --signal=B:USR2@60
# Cluster apptainer (0a1b2c): 4 ranks. Made by dtrain-lab; runs by hand, too.
folder='/work dir/w'
cd "$folder" || exit 1
umask 077
# what the submission's shell had belongs to it
unset ${!SLURM_EXPORT*} ${!PMI*}
# and so has the step that this runs in
unset ${!SLURM_STEP*} SLURM_NTASKS SLURM_NPROCS SLURM_NNODES SLURM_TASKS_PER_NODE SLURM_NTASKS_PER_NODE SLURM_CPUS_PER_TASK SLURM_NODEID SLURM_PROCID SLURM_LOCALID SLURM_CPU_BIND ${!SLURM_CPU_BIND_*} SLURM_NODELIST SLURM_JOB_NODELIST SLURM_JOB_NUM_NODES SLURM_DISTRIBUTION SLURM_OVERCOMMIT

trap '' USR2  # until the head listens for it
# the head of the world; it says in a file where it listens, and ends with the world
apptainer exec --nv '/images/torch 2.sif' python3 -P -m dtrain_lab.head "$folder/head.json" &
head=$!
trap 'kill -USR2 $head' USR2  # the time is nearly over, or another job takes the nodes: it asks
# one agent a node, with the CPUs of all its ranks
srun --overlap --relative=0 --job-name=dtl:0a1b2c --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=8 --kill-on-bad-exit=0 \
  apptainer exec --nv '/images/torch 2.sif' python3 -P -m dtrain_lab.node join "$folder/endpoints.json" SLURM_NODEID &
agents=$!
# a signal ends `wait`, not the head
while :; do wait "$head"; code=$?; kill -0 "$head" 2> /dev/null || break; done
[ $code -lt 128 ] || kill $agents  # the head was killed: its agents would wait for it
wait
exit $code
