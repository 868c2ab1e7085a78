#!/bin/bash -l
#SBATCH --job-name='dtrain-train it'
#SBATCH --comment=dtl:0123456789ab
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --cpus-per-task=6
#SBATCH --mem=64G
#SBATCH --partition=gpu
#SBATCH --account=project
#SBATCH --qos=normal
#SBATCH --constraint=a100
#SBATCH --gres=gpu:4
#SBATCH --time=02:00:00
#SBATCH --output='/work/it'"'"'s here/0123456789ab/launcher.log'
#SBATCH --exclusive
#SBATCH --no-requeue
#SBATCH --signal=B:USR2@60
#SBATCH --mail-user=me@example.org
#SBATCH --mail-type=BEGIN,END,FAIL
# Job train it (0123456789ab): 8 ranks. Made by dtrain-lab; runs by hand, too.
folder='/work/it'"'"'s here/0123456789ab'
cd "$folder" || exit 1
umask 077
# what the submission's shell had belongs to it
unset ${!SLURM_EXPORT*} ${!PMI*}
[ ! -e withdrawn ] || exit 1  # cancelled before Slurm said that it has the job
module load CUDA
export DTRAIN_JOB='/work/it'"'"'s here/0123456789ab'
export DTRAIN_NOTEBOOK='train it.ipynb'
export DTRAIN_MONITOR=1
export DTRAIN_CHECKPOINT_DIR='/work/it'"'"'s here/0123456789ab/checkpoints'
export OMP_NUM_THREADS=6
export NCCL_DEBUG=WARN
WANDB_API_KEY=$(cat "$HOME"/'.wandb key') && export WANDB_API_KEY || {
  echo '{"code": "no_secret", "message": "[environment] secrets: WANDB_API_KEY is not set, because ~/.wandb key can'"'"'t be read on its node.", "hint": "Write its value into that file, readable by you only (chmod 600), where each node can read it.", "final": true}' > waiting.json
  printf '{"code": %d, "at": %s}\n' 1 "$(date +%s.%N)" > .exit && mv .exit exit
  exit 1
}
mkdir -p -- "$DTRAIN_CHECKPOINT_DIR"
nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
export MASTER_ADDR=${nodes[0]} DTRAIN_PEER=${nodes[-1]}

if /scratch/me/venv/bin/python -c 'import dtrain_lab' 2> /dev/null; then
  # a copy of the data on each node's own disk, as long as this runs
  export DTRAIN_STAGED="${SLURM_TMPDIR:-${TMPDIR:-/tmp}}"/dtrain-lab-data-$UID/0123456789ab
  exec 4< <(exec srun --overlap --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=1 --kill-on-bad-exit=1 /scratch/me/venv/bin/python -P -m dtrain_lab.node stage "$folder" "$DTRAIN_STAGED" SLURM_NODEID 2 < /dev/null)
  keeper=$!
  for copy in $(seq 2); do read -r -u 4 || { printf '{"code": %d, "at": %s}\n' 1 "$(date +%s.%N)" > .exit && mv .exit exit; exit 1; }; done
fi
rm -f exit preempted warned failed.* finished.* error.*.json .once.*  # of a run that was requeued
trap 'touch "$folder/warned"' USR2  # the time is nearly over: agents tell the ranks
date +%s.%N > started
head -c 65536 /dev/zero > .reserve  # room to say how it ended, on a full disk
echo ${SLURM_RESTART_COUNT:-0} > attempt

# watches the ranks: metrics, stacks, hangs; the job does not need it
nice /scratch/me/venv/bin/python -P -m dtrain_lab.head observe "$folder" > head.log 2>&1 &
head=$!

# without dtrain-lab on the nodes the plain script runs
if /scratch/me/venv/bin/python -c 'import dtrain_lab' 2> /dev/null; then
  # ranks use the fastest network that all nodes share
  timeout -k 5 30 srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=1 --kill-on-bad-exit=1 \
    /scratch/me/venv/bin/python -P -m dtrain_lab.node interfaces SLURM_NODEID > interfaces.jsonl || rm -f interfaces.jsonl
  rank=(/scratch/me/venv/bin/python -P -m dtrain_lab.node ranks "$folder")
else
  echo "dtrain-lab is not installed here: no metrics, no executed.ipynb" >&2
  cd code; rank=(/scratch/me/venv/bin/python -u dtrain_main.py)
fi
port=$((21000 + SLURM_JOB_ID % 100))
for _ in {1..100}; do (: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null || break; port=$((port < 21099 ? port + 1 : 21000)); done
export MASTER_PORT=$port
for attempt in $(seq 0 2); do
  echo $attempt > attempt; export DTRAIN_ATTEMPT=$attempt
  rm -f error.*.json .once.*
  srun --nodes=2 --ntasks=8 --ntasks-per-node=4 --cpus-per-task=6 --kill-on-bad-exit=0 \
    bash -c 'DTRAIN_STAGED+=.$SLURM_NODEID; export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS LOCAL_WORLD_SIZE=4 NODE_RANK=$SLURM_NODEID; exec "$@"' task "${rank[@]}" &
  step=$!
  # a signal ends `wait`, not the step
  while :; do wait "$step"; code=$?; kill -0 "$step" 2> /dev/null || break; done
  [ $code != 0 ] || break
done
! scontrol show job -o $SLURM_JOB_ID 2> /dev/null | grep -q 'PreemptTime=[0-9]' || echo 1 > "$folder/preempted"

kill $head 2> /dev/null; wait $head 2> /dev/null
[ -z "$keeper" ] || { exec 4<&-; kill -USR1 $keeper; wait $keeper; } 2> /dev/null
cd "$folder"
rm -f .reserve
printf '{"code": %d, "at": %s}\n' $code "$(date +%s.%N)" > .exit && mv .exit exit
bash -c 'say '"'"'done'"'"'' < /dev/null > notify.log 2>&1
{ echo $?; tail -n 20 notify.log | tail -c 2000; } > .notified && mv .notified notified
exit $code
