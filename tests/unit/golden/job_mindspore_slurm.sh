#!/bin/bash
#SBATCH --job-name='dtrain-train it'
#SBATCH --comment=dtl:0123456789ab
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=6
#SBATCH --output='/work/it'"'"'s here/0123456789ab/launcher.log'
#SBATCH --no-requeue
#SBATCH --signal=B:USR2@60
# Job train it (0123456789ab): 4 ranks. Made by dtrain-lab; runs by hand, too.
folder='/work/it'"'"'s here/0123456789ab'
cd "$folder" || exit 1
umask 077
# what the submission's shell had belongs to it
unset ${!SLURM_EXPORT*} ${!PMI*}
[ ! -e withdrawn ] || exit 1  # cancelled before Slurm said that it has the job
export DTRAIN_JOB='/work/it'"'"'s here/0123456789ab'
export DTRAIN_NOTEBOOK='train it.ipynb'
export DTRAIN_MONITOR=1
export DTRAIN_CHECKPOINT_DIR='/work/it'"'"'s here/0123456789ab/checkpoints'
export DTRAIN_FRAMEWORK='{"name":"mindspore","strategy":null,"roles":[]}'
export OMP_NUM_THREADS=6
mkdir -p -- "$DTRAIN_CHECKPOINT_DIR"
nodes=($(scontrol show hostnames "$SLURM_JOB_NODELIST"))
export MASTER_ADDR=${nodes[0]} DTRAIN_PEER=${nodes[-1]}
export DTRAIN_NODES="${nodes[*]}"

rm -f exit preempted warned failed.* finished.* error.*.json .once.*  # of a run that was requeued
trap 'touch "$folder/warned"' USR2  # the time is nearly over: agents tell the ranks
date +%s.%N > started
head -c 65536 /dev/zero > .reserve  # room to say how it ended, on a full disk
echo ${SLURM_RESTART_COUNT:-0} > attempt

# watches the ranks: metrics, stacks, hangs; the job does not need it
nice /venv/bin/python -P -m dtrain_lab.head observe "$folder" > head.log 2>&1 &
head=$!

# MindSpore's ranks are told by dtrain-lab where the others are
if ! /venv/bin/python -c 'import dtrain_lab' 2> /dev/null; then
  echo "dtrain-lab is not installed here, and the ranks of MindSpore need it" >&2
  kill $head; printf '{"code": %d, "at": %s}\n' 1 "$(date +%s.%N)" > .exit && mv .exit exit; exit 1
fi
# ranks use the fastest network that all nodes share
timeout -k 5 30 srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=1 --kill-on-bad-exit=1 \
  /venv/bin/python -P -m dtrain_lab.node interfaces SLURM_NODEID > interfaces.jsonl || rm -f interfaces.jsonl
rank=(/venv/bin/python -P -m dtrain_lab.node ranks "$folder")
port=$((20000 + SLURM_JOB_ID % 12000))
for _ in {1..12000}; do (: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null || break; port=$((port < 31999 ? port + 1 : 20000)); done
export MASTER_PORT=$port
srun --nodes=2 --ntasks=4 --ntasks-per-node=2 --cpus-per-task=6 --kill-on-bad-exit=0 \
  bash -c 'export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS LOCAL_WORLD_SIZE=2 NODE_RANK=$SLURM_NODEID; exec "$@"' task "${rank[@]}" &
step=$!
# a signal ends `wait`, not the step
while :; do wait "$step"; code=$?; kill -0 "$step" 2> /dev/null || break; done
! scontrol show job -o $SLURM_JOB_ID 2> /dev/null | grep -q 'PreemptTime=[0-9]' || echo 1 > "$folder/preempted"

kill $head 2> /dev/null; wait $head 2> /dev/null
cd "$folder"
rm -f .reserve
printf '{"code": %d, "at": %s}\n' $code "$(date +%s.%N)" > .exit && mv .exit exit
exit $code
