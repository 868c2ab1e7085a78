/** Ids of all commands. */
export namespace CommandIDs {
  export const showPanel = 'dtrain-lab:show-panel';
  export const startCluster = 'dtrain-lab:start-cluster';
  export const stopCluster = 'dtrain-lab:stop-cluster';
  export const interruptRanks = 'dtrain-lab:interrupt-ranks';
  export const restartRanks = 'dtrain-lab:restart-ranks';
  export const resizeCluster = 'dtrain-lab:resize-cluster';
  export const showRanks = 'dtrain-lab:show-ranks';
  export const showStacks = 'dtrain-lab:show-stacks';
  export const diagnose = 'dtrain-lab:diagnose';
  export const attachNotebook = 'dtrain-lab:attach-notebook';
  export const insertSnippet = 'dtrain-lab:insert-snippet';
  export const signIn = 'dtrain-lab:sign-in';
  export const goToTrouble = 'dtrain-lab:go-to-trouble';
  export const showJobs = 'dtrain-lab:show-jobs';
  export const submitNotebook = 'dtrain-lab:submit-notebook';
  export const openJob = 'dtrain-lab:open-job';
  export const cancelJob = 'dtrain-lab:cancel-job';
  export const resumeJob = 'dtrain-lab:resume-job';
  export const duplicateJob = 'dtrain-lab:duplicate-job';
  export const deleteJob = 'dtrain-lab:delete-job';
  export const debugJob = 'dtrain-lab:debug-job';
  export const jobStacks = 'dtrain-lab:job-stacks';
  export const debugRank = 'dtrain-lab:debug-rank';
  export const toggleLockstep = 'dtrain-lab:toggle-lockstep';
  export const compareVariable = 'dtrain-lab:compare-variable';
  export const copyReport = 'dtrain-lab:copy-report';
}
