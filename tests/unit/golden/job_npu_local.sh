#!/bin/bash
# Job train it (0123456789ab): 4 ranks. Made by dtrain-lab; runs by hand, too.
folder='/work/it'"'"'s here/0123456789ab'
cd "$folder" || exit 1
umask 077
echo $$ > pid
export DTRAIN_JOB='/work/it'"'"'s here/0123456789ab'
export DTRAIN_NOTEBOOK='train it.ipynb'
export DTRAIN_MONITOR=1
export DTRAIN_CHECKPOINT_DIR='/work/it'"'"'s here/0123456789ab/checkpoints'
export DTRAIN_ACCELERATOR=npu
export OMP_NUM_THREADS=6
export ASCEND_RT_VISIBLE_DEVICES=0,1
mkdir -p -- "$DTRAIN_CHECKPOINT_DIR"
export MASTER_ADDR=127.0.0.1 DTRAIN_SIZE=4 DTRAIN_PEER=''

# wait for room, on all hosts at once
exec 3< <(exec /venv/bin/python -P -m dtrain_lab.node admit "$folder")
read -r first devices <&3 || { printf '{"code": %d, "at": %s}\n' 1 "$(date +%s.%N)" > .exit && mv .exit exit; exit 1; }; exec 3<&-
[ -z "$devices" ] || [ -n "${CUDA_VISIBLE_DEVICES+given}" ] || export CUDA_DEVICE_ORDER=PCI_BUS_ID
[ -z "$devices" ] || export CUDA_VISIBLE_DEVICES=$devices

ended=
trap 'ended=1; touch "$folder/cancelled"' TERM INT HUP
trap 'touch "$folder/warned"' USR2
date +%s.%N > started
head -c 65536 /dev/zero > .reserve  # room to say how it ended, on a full disk

# watches the ranks: metrics, stacks, hangs; the job does not need it
nice /venv/bin/python -P -m dtrain_lab.head observe "$folder" > head.log 2>&1 &
head=$!

for attempt in $(seq 0 0); do
  echo $attempt > attempt
  export DTRAIN_ATTEMPT=$attempt
  port=$((20000 + (first - 20000 + attempt) % 12000))
  for _ in {1..12000}; do (: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null || break; port=$((port < 31999 ? port + 1 : 20000)); done
  export MASTER_PORT=$port
  pids=()
  /venv/bin/python -P -m dtrain_lab.node ranks "$folder" 0 2 & pids+=($!)
  /venv/bin/python -P -m dtrain_lab.node ranks "$folder" 1 2 & pids+=($!)
  code=0
  for pid in "${pids[@]}"; do
    # a signal ends `wait`, not the process
    while :; do wait "$pid"; one=$?; kill -0 "$pid" 2> /dev/null || break; done
    [ $code = 0 ] && code=$one
  done
  [ $code = 0 ] || [ -n "$ended" ] && break
done

kill $head 2> /dev/null; wait $head 2> /dev/null
cd "$folder"
rm -f .reserve
printf '{"code": %d, "at": %s}\n' $code "$(date +%s.%N)" > .exit && mv .exit exit
exit $code
