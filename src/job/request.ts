import { JobRequest, Profile } from '../tokens';

/** Fields of the form; texts, as they are typed. */
export interface IForm {
  profile: string;
  partition: string;
  nodes: string;
  ranksPerNode: string;
  time: string;
  launcher: '' | 'srun' | 'torchrun';
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

/** A request as the server takes it; defaults may be left out. */
export type Wanted = Partial<JobRequest> & { notebook: string };

/** Which field shows what a request's key is about. */
export const FIELDS: Readonly<Record<string, keyof IForm>> = {
  profile: 'profile',
  partition: 'partition',
  nodes: 'nodes',
  ranks: 'ranksPerNode',
  ranks_per_node: 'ranksPerNode',
  time: 'time',
  launcher: 'launcher',
  name: 'name',
  parameters: 'parameters',
  environment: 'environment',
  retries: 'retries',
  warn_s: 'warn',
  after: 'after',
  mail: 'mail',
  interface: 'network',
  options: 'options',
  stage: 'stage'
};

/** The form of a notebook that was never submitted: as its profile says. */
export function emptyForm(
  profile: Profile | undefined,
  parameters: string
): IForm {
  const known = profile?.profile;
  return {
    profile: profile?.name ?? 'local',
    partition: '',
    nodes: String(known?.nodes ?? 1),
    ranksPerNode: known?.ranks_per_node ? String(known.ranks_per_node) : '',
    time: known?.slurm.time ?? '',
    launcher: '',
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

/** The form of an earlier job; all but the name is remembered. */
export function formOf(request: JobRequest, parameters: string): IForm {
  const given = Object.entries(request.parameters);
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
    name: '',
    parameters: given.length
      ? given.map(([k, v]) => `${k} = ${JSON.stringify(v)}`).join('\n')
      : parameters,
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

/** A form that can't be sent: which field, and why. */
export class FormError extends Error {
  constructor(
    readonly field: keyof IForm,
    message: string
  ) {
    super(message);
  }
}

/**
 * What the server is asked.
 *
 * @throws FormError
 */
export function wantedOf(form: IForm, notebook: string): Wanted {
  const text = (field: Exclude<keyof IForm, 'files'>): string | null =>
    form[field].trim() || null;
  return {
    notebook,
    profile: form.profile,
    partition: text('partition'),
    nodes: numberOf('nodes', form.nodes),
    ranks_per_node: numberOf('ranksPerNode', form.ranksPerNode),
    time: text('time'),
    launcher: form.launcher || null,
    name: text('name'),
    parameters: parametersOf(form.parameters),
    environment: text('environment'),
    files: form.files,
    retries: numberOf('retries', form.retries) ?? 0,
    warn_s: numberOf('warn', form.warn) ?? 0,
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

function numberOf(field: keyof IForm, text: string): number | null {
  if (!text.trim()) {
    return null;
  }
  if (!/^\d+$/.test(text.trim())) {
    throw new FormError(field, `"${text}"`);
  }
  return Number(text);
}

/** A parameter as it is typed; `value` is JSON, as Python writes it, or a plain text. */
export interface IParameter {
  name: string;
  value: string;
}

/**
 * Lines of "name = value", one by one.
 *
 * @throws FormError
 */
export function linesOf(text: string): IParameter[] {
  const found: IParameter[] = [];
  for (const line of text.split('\n')) {
    const bare = line.replace(/\s#.*$/, '').trim();
    if (!bare || bare.startsWith('#')) {
      continue;
    }
    const at = bare.indexOf('=');
    if (at < 1) {
      throw new FormError('parameters', `"${bare}"`);
    }
    const [name, value] = [bare.slice(0, at), bare.slice(at + 1)];
    found.push({ name: name.trim(), value: value.trim() });
  }
  return found;
}

/**
 * Parameters by name.
 *
 * @throws FormError
 */
export function parametersOf(text: string): Record<string, unknown> {
  return Object.fromEntries(
    linesOf(text).map(({ name, value }) => [name, valueOf(value)])
  );
}

/** The text with another value of one parameter; comments and other lines stay. */
export function withValue(text: string, name: string, value: string): string {
  return text
    .split('\n')
    .map(line => {
      const at = line.indexOf('=');
      const comment = /\s+#.*$/.exec(line)?.[0] ?? '';
      return at > 0 && line.slice(0, at).trim() === name
        ? `${name} = ${value}${comment}`
        : line;
    })
    .join('\n');
}

function valueOf(text: string): unknown {
  const python: Record<string, unknown> = {
    True: true,
    False: false,
    None: null
  };
  if (text in python) {
    return python[text];
  }
  const quoted = /^'([^'\\]*)'$/.exec(text);
  if (quoted) {
    return quoted[1];
  }
  try {
    return JSON.parse(text);
  } catch {
    // a bare word is a text
    return text;
  }
}

/** Simple assignments of the cell that is tagged `parameters`. */
export function defaultsOf(source: string): string {
  return source
    .split('\n')
    .filter(line => /^[A-Za-z_]\w*\s*=[^=]/.test(line))
    .join('\n');
}
