import { DEFAULT_PROFILE } from '../../cluster/model/site';
import { JobRequest, Profile, WantedJob } from '../../tokens';
import { parametersOf, withGiven } from './assignments';

/** Fields of the form; texts, as typed. */
export interface IForm {
  profile: string;
  partition: string;
  nodes: string;
  ranksPerNode: string;
  time: string;
  launcher: '' | 'srun' | 'torchrun';
  framework: string;
  name: string;
  parameters: string;
  environment: string;
  files: boolean;
  retries: string;
  warn: string;
  after: string;
  mail: string;
  notify: string;
  network: string;
  options: string;
  stage: string;
}

/** Field of the form for a key of the request. */
export const FIELDS: Readonly<Record<string, keyof IForm>> = {
  profile: 'profile',
  partition: 'partition',
  nodes: 'nodes',
  ranks: 'ranksPerNode',
  ranks_per_node: 'ranksPerNode',
  time: 'time',
  launcher: 'launcher',
  framework: 'framework',
  name: 'name',
  parameters: 'parameters',
  environment: 'environment',
  retries: 'retries',
  warn_s: 'warn',
  after: 'after',
  mail: 'mail',
  notify: 'notify',
  interface: 'network',
  options: 'options',
  stage: 'stage'
};

/** The form of a notebook that was never submitted, filled from its profile. */
export function emptyForm(
  profile: Profile | undefined,
  parameters: string
): IForm {
  const defaults = profile?.profile;
  return {
    profile: profile?.name ?? DEFAULT_PROFILE,
    partition: '',
    nodes: String(defaults?.nodes ?? 1),
    ranksPerNode: defaults?.ranks_per_node
      ? String(defaults.ranks_per_node)
      : '',
    time: defaults?.slurm.time ?? '',
    launcher: '',
    framework: '',
    name: '',
    parameters,
    environment: '',
    files: true,
    retries: '0',
    warn: '60',
    after: '',
    mail: '',
    notify: '',
    network: '',
    options: '',
    stage: ''
  };
}

/** The form of an earlier job, without its name. */
export function formOf(request: JobRequest, parameters: string): IForm {
  return {
    profile: request.profile,
    partition: request.partition ?? '',
    nodes: request.nodes === null ? '' : String(request.nodes),
    ranksPerNode:
      request.ranks_per_node === null
        ? request.ranks === null
          ? ''
          : String(request.ranks)
        : String(request.ranks_per_node),
    time: request.time ?? '',
    launcher: request.launcher === 'agents' ? '' : (request.launcher ?? ''),
    framework: request.framework ?? '',
    name: '',
    parameters: withGiven(parameters, request.parameters),
    environment: request.environment ?? '',
    files: request.files,
    retries: String(request.retries),
    warn: String(request.warn_s),
    after: '',
    mail: request.mail ?? '',
    notify: request.notify ?? '',
    network: request.interface ?? '',
    options: request.options.join('\n'),
    stage: request.stage.join('\n')
  };
}

/**
 * The request to the server for a form without errors.
 *
 * @param defaults - assignments of the notebook's tagged cell
 */
export function wantedOf(
  form: IForm,
  notebook: string,
  defaults = ''
): WantedJob {
  const text = (field: Exclude<keyof IForm, 'files'>): string | null =>
    form[field].trim() || null;
  return {
    notebook,
    profile: form.profile,
    partition: text('partition'),
    nodes: numberOf(form.nodes),
    ranks_per_node: numberOf(form.ranksPerNode),
    time: text('time'),
    launcher: form.launcher || null,
    framework: form.framework || null,
    name: text('name'),
    parameters: parametersOf(form.parameters, defaults),
    environment: text('environment'),
    files: form.files,
    retries: numberOf(form.retries) ?? 0,
    warn_s: numberOf(form.warn) ?? 0,
    after: text('after'),
    mail: text('mail'),
    notify: text('notify'),
    interface: text('network'),
    options: linesIn(form.options),
    stage: linesIn(form.stage)
  };
}

function linesIn(text: string): string[] {
  return text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line);
}

function numberOf(text: string): number | null {
  return text.trim() ? Number(text) : null;
}
