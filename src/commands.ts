import { CommandRegistry } from '@lumino/commands';

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
  export const showChange = 'dtrain-lab:show-change';
  export const tryAdvice = 'dtrain-lab:try-advice';
  export const keepChange = 'dtrain-lab:keep-change';
  export const leaveOutRanks = 'dtrain-lab:leave-out-ranks';
  export const showLastOutput = 'dtrain-lab:show-last-output';
  export const exportHistory = 'dtrain-lab:export-history';
  export const editProfile = 'dtrain-lab:edit-profile';
  export const deleteProfile = 'dtrain-lab:delete-profile';
  export const checkProfile = 'dtrain-lab:check-profile';
  export const openQuickstart = 'dtrain-lab:open-quickstart';
  export const showCell = 'dtrain-lab:show-cell';
  export const attachNotebook = 'dtrain-lab:attach-notebook';
  export const insertSnippet = 'dtrain-lab:insert-snippet';
  export const signIn = 'dtrain-lab:sign-in';
  export const goToLocation = 'dtrain-lab:go-to-place';
  export const goToProblem = 'dtrain-lab:go-to-trouble';
  export const showJobs = 'dtrain-lab:show-jobs';
  export const submitNotebook = 'dtrain-lab:submit-notebook';
  export const openJob = 'dtrain-lab:open-job';
  export const cancelJob = 'dtrain-lab:cancel-job';
  export const resumeJob = 'dtrain-lab:resume-job';
  export const duplicateJob = 'dtrain-lab:duplicate-job';
  export const deleteJob = 'dtrain-lab:delete-job';
  export const openExecuted = 'dtrain-lab:open-executed';
  export const debugJob = 'dtrain-lab:debug-job';
  export const jobStacks = 'dtrain-lab:job-stacks';
  export const sweepNotebook = 'dtrain-lab:sweep-notebook';
  export const openSweep = 'dtrain-lab:open-sweep';
  export const stopSweep = 'dtrain-lab:stop-sweep';
  export const resumeSweep = 'dtrain-lab:resume-sweep';
  export const deleteSweep = 'dtrain-lab:delete-sweep';
  export const debugRank = 'dtrain-lab:debug-rank';
  export const continueRanks = 'dtrain-lab:continue-ranks';
  export const toggleLockstep = 'dtrain-lab:toggle-lockstep';
  export const compareVariable = 'dtrain-lab:compare-variable';
  export const toggleBreakpoint = 'dtrain-lab:toggle-breakpoint';
  export const editBreakpoint = 'dtrain-lab:edit-breakpoint';
  export const copyReport = 'dtrain-lab:copy-report';
  export const ignoreVerdict = 'dtrain-lab:ignore-verdict';
  export const showIgnored = 'dtrain-lab:show-ignored';
}

/** Show the panel, in a front end that has it. */
export async function showPanel(commands: CommandRegistry): Promise<void> {
  if (commands.hasCommand(CommandIDs.showPanel)) {
    await commands.execute(CommandIDs.showPanel, { stay: true });
  }
}

/** Whether this argument of a command names something. */
export function isId(id: unknown): id is string {
  return typeof id === 'string' && id !== '';
}
