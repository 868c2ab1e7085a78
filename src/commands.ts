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
  export const attachNotebook = 'dtrain-lab:attach-notebook';
  export const insertSnippet = 'dtrain-lab:insert-snippet';
  export const goToTrouble = 'dtrain-lab:go-to-trouble';
  export const copyReport = 'dtrain-lab:copy-report';
}
