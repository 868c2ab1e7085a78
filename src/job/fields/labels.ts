import { TranslationBundle } from '@jupyterlab/translation';

import { IForm } from '../model/formRequest';

/** Label of a field, also used in findings that link to it. */
export function labelOf(field: keyof IForm, trans: TranslationBundle): string {
  const labels: Record<keyof IForm, string> = {
    profile: trans.__('Profile'),
    partition: trans.__('Partition'),
    nodes: trans.__('Nodes'),
    ranksPerNode: trans.__('Ranks on each'),
    time: trans.__('Time limit'),
    launcher: trans.__('Launcher'),
    framework: trans.__('Framework'),
    name: trans.__('Name'),
    parameters: trans.__('Parameters'),
    environment: trans.__('Environment'),
    files: trans.__('Files'),
    retries: trans.__('Retries'),
    warn: trans.__('Warn before time-out, s'),
    after: trans.__('Start after job'),
    mail: trans.__('Mail'),
    notify: trans.__('Command when it ends'),
    network: trans.__('Network interface'),
    options: trans.__('Scheduler lines'),
    stage: trans.__('Data for each node')
  };
  return labels[field];
}
