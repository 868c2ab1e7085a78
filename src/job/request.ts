import { JobRequest, Profile } from '../tokens';

/** Fields of the form; texts, as they are typed. */
export interface IForm {
  profile: string;
  nodes: string;
  ranksPerNode: string;
  time: string;
  launcher: '' | 'srun' | 'torchrun';
  name: string;
  parameters: string;
  files: boolean;
  retries: string;
  warn: string;
  after: string;
  mail: string;
  notify: string;
}

/** A request as the server takes it; defaults may be left out. */
export type Wanted = Partial<JobRequest> & { notebook: string };

/** The form of a notebook that was never submitted: as its profile says. */
export function emptyForm(
  profile: Profile | undefined,
  parameters: string
): IForm {
  const known = profile?.profile;
  return {
    profile: profile?.name ?? 'local',
    nodes: String(known?.nodes ?? 1),
    ranksPerNode: known?.ranks_per_node ? String(known.ranks_per_node) : '',
    time: known?.slurm.time ?? '',
    launcher: '',
    name: '',
    parameters,
    files: true,
    retries: '0',
    warn: '60',
    after: '',
    mail: '',
    notify: ''
  };
}

/** The form of an earlier job; all but the name is remembered. */
export function formOf(request: JobRequest, parameters: string): IForm {
  const given = Object.entries(request.parameters);
  return {
    profile: request.profile,
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
    files: request.files,
    retries: String(request.retries),
    warn: String(request.warn_s),
    after: '',
    mail: request.mail ?? '',
    notify: request.notify ?? ''
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
  return {
    notebook,
    profile: form.profile,
    nodes: numberOf('nodes', form.nodes),
    ranks_per_node: numberOf('ranksPerNode', form.ranksPerNode),
    time: form.time.trim() || null,
    launcher: form.launcher || null,
    name: form.name.trim() || null,
    parameters: parametersOf(form.parameters),
    files: form.files,
    retries: numberOf('retries', form.retries) ?? 0,
    warn_s: numberOf('warn', form.warn) ?? 0,
    after: form.after.trim() || null,
    mail: form.mail.trim() || null,
    notify: form.notify.trim() || null
  };
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

/** Lines of "name = value"; a value is JSON, as Python writes it, or a plain text. */
export function parametersOf(text: string): Record<string, unknown> {
  const found: Record<string, unknown> = {};
  for (const line of text.split('\n')) {
    const bare = line.replace(/\s#.*$/, '').trim();
    if (!bare || bare.startsWith('#')) {
      continue;
    }
    const at = bare.indexOf('=');
    if (at < 1) {
      throw new FormError('parameters', `"${bare}"`);
    }
    found[bare.slice(0, at).trim()] = valueOf(bare.slice(at + 1).trim());
  }
  return found;
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
