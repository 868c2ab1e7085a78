import { Dialog, InputDialog, showDialog } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { RequestError } from '../request/rest';
import { Cluster, Diagnosis, IClusters, StartRequest } from '../tokens';

/** Fields of the start dialog. */
class StartBody
  extends Widget
  implements Dialog.IBodyWidget<Partial<StartRequest>>
{
  constructor(model: IClusters, profile: string, trans: TranslationBundle) {
    super();
    this.addClass('jp-Dtrain-form');
    const names = model.profiles.filter(p => !p.error).map(p => p.name);
    this._profile = this._select(trans.__('Profile'), names, profile);
    this._ranks = this._input(trans.__('Ranks'), 'number', '');
    const usual = String(model.site?.default_ranks ?? 2);
    const propose = (): void => {
      const local = this._profile.value === 'local';
      this._ranks.value = local ? usual : '';
      this._ranks.placeholder = trans.__('as the profile says');
    };
    this._profile.addEventListener('change', propose);
    propose();
    // no bounds here: the dialog would grey out its button and say nothing, the server says why
    this._name = this._input(trans.__('Name'), 'text', '');
    this._name.placeholder = trans.__('chosen for you');
  }

  getValue(): Partial<StartRequest> {
    const ranks = this._ranks.value.trim();
    return {
      profile: this._profile.value,
      ranks: ranks ? Number(ranks) : null,
      name: this._name.value.trim() || null
    };
  }

  private _select(
    label: string,
    names: string[],
    chosen: string
  ): HTMLSelectElement {
    const select = document.createElement('select');
    select.className = 'jp-mod-styled';
    for (const name of names.length ? names : ['local']) {
      select.add(new Option(name, name, false, name === chosen));
    }
    this._row(label, select);
    return select;
  }

  private _input(label: string, type: string, value: string): HTMLInputElement {
    const input = document.createElement('input');
    input.className = 'jp-mod-styled';
    input.type = type;
    input.value = value;
    this._row(label, input);
    return input;
  }

  private _row(label: string, field: HTMLElement): void {
    const row = document.createElement('label');
    const text = document.createElement('span');
    text.textContent = label;
    row.append(text, field);
    this.node.append(row);
  }

  private _profile: HTMLSelectElement;
  private _ranks: HTMLInputElement;
  private _name: HTMLInputElement;
}

/** Ask what to start; null if it was cancelled. */
export async function askStart(
  model: IClusters,
  profile: string,
  trans: TranslationBundle
): Promise<Partial<StartRequest> | null> {
  const result = await showDialog({
    title: trans.__('Start a cluster'),
    body: new StartBody(model, profile, trans),
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.okButton({ label: trans.__('Start') })
    ]
  });
  return result.button.accept ? result.value : null;
}

/** Ask before variables are lost. */
export async function confirmLoss(
  title: string,
  body: string,
  verb: string,
  trans: TranslationBundle
): Promise<boolean> {
  const result = await showDialog({
    title,
    body,
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.warnButton({ label: verb })
    ]
  });
  return result.button.accept;
}

/** Show an error: the sentence as title, what to do below. */
export async function showFailure(
  error: unknown,
  trans: TranslationBundle
): Promise<void> {
  const known = error instanceof RequestError;
  const message = error instanceof Error ? error.message : String(error);
  await showDialog({
    title: known ? error.body.message : trans.__('It did not work.'),
    body: known ? error.body.hint : message,
    buttons: [Dialog.okButton({ label: trans.__('Close') })]
  });
}

/** Show what the threads of each rank do. */
export async function showStacks(
  name: string,
  stacks: { rank: number; text: string | null }[],
  trans: TranslationBundle
): Promise<void> {
  const body = new Widget();
  body.addClass('jp-Dtrain-stacks');
  for (const { rank, text } of stacks) {
    const title = document.createElement('h3');
    title.textContent = trans.__('Rank %1', rank);
    const pre = document.createElement('pre');
    pre.textContent = text ?? trans.__('No answer.');
    body.node.append(title, pre);
  }
  await showDialog({
    title: trans.__('Stacks: %1', name),
    body,
    buttons: [Dialog.okButton({ label: trans.__('Close') })]
  });
}

/** Show what takes a step's time. */
export async function showDiagnosis(
  name: string,
  found: Diagnosis,
  trans: TranslationBundle
): Promise<void> {
  const body = new Widget();
  body.addClass('jp-Dtrain-diagnosis');
  const texts = [
    found.text,
    found.communication?.text,
    found.data?.text,
    ...found.notes
  ];
  for (const text of texts) {
    if (text) {
      const line = document.createElement('p');
      line.textContent = text;
      body.node.append(line);
    }
  }
  await showDialog({
    title: trans.__('Diagnosis: %1', name),
    body,
    buttons: [Dialog.okButton({ label: trans.__('Close') })]
  });
}

/** Ask for another number of ranks; fewer loses the last ones' variables, and says so. */
export async function askSize(
  cluster: Cluster,
  model: IClusters,
  trans: TranslationBundle
): Promise<number | null> {
  const result = await InputDialog.getNumber({
    title: trans.__('How many ranks shall %1 have?', cluster.name),
    label: trans.__(
      'It has %1. Ranks that stay keep their variables; those that go lose them.',
      cluster.world.size
    ),
    value: cluster.world.size,
    okLabel: trans.__('Change size')
  });
  const size = result.button.accept ? result.value : null;
  const most = model.site?.most_ranks;
  return size !== null && most ? Math.min(size, most) : size;
}
