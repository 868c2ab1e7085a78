import { Dialog } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { Message } from '@lumino/messaging';

import { acceptButton, CLASSES } from '../../jupyterlab/markup';
import { parseRanks, rankSet } from '../../metrics/rankSets';
import { Cluster } from '../../tokens';
import { formatRanks } from '../../metrics/format';
import { Faults, FormBody, setLabel, wrapsBack } from './formDialog';

/** Ranks to restart, and the rank whose variables they get; null for none. */
export interface IRestart {
  ranks: number[];
  source: number | null;
}

/** Ranks whose variables can be copied: living ranks that are not restarted. */
function sources(cluster: Cluster, ranks: readonly number[]): number[] {
  return cluster.ranks
    .filter(({ rank, state }) => !ranks.includes(rank) && state !== 'lost')
    .map(({ rank }) => rank);
}

/** The first rank whose variables can be copied to restarted ranks; null if no other rank lives. */
export function sourceFor(
  cluster: Cluster,
  ranks: readonly number[]
): number | null {
  return sources(cluster, ranks)[0] ?? null;
}

/** Fields for the ranks, and for the rank whose variables they get. */
export class RestartBody extends FormBody<IRestart> {
  constructor(
    private _cluster: Cluster,
    chosen: readonly number[],
    source: number | null,
    private _trans: TranslationBundle
  ) {
    super();
    this._ranks.value = rankSet(chosen);
    this.add('ranks', _trans.__('Ranks'), this._ranks);
    this.add('source', _trans.__('Variables'), this._source);
    this._loss.setAttribute('role', 'status');
    this.node.append(this._loss);
    this._ranks.addEventListener('input', () => this._propose());
    this._source.addEventListener('change', () => this._say());
    this._propose(source);
  }

  getValue(): IRestart {
    return {
      ranks: this._named() ?? [],
      source: this._source.value === '' ? null : Number(this._source.value)
    };
  }

  faults(): Faults {
    const { size } = this._cluster.world;
    return this._named() !== null || !this._ranks.value.trim()
      ? {}
      : { ranks: wrongText(this._ranks.value, size, this._trans) };
  }

  /** Focus the ranks' field if it is empty or invalid; returns whether it was. */
  goToFault(): boolean {
    const wrong = this._named() === null;
    if (wrong) {
      this._ranks.focus();
    }
    return wrong;
  }

  protected override onAfterAttach(message: Message): void {
    super.onAfterAttach(message);
    this._say();
  }

  /** The ranks in the field; null if it is empty or invalid. */
  private _named(): number[] | null {
    const text = this._ranks.value;
    // an empty field must not mean all ranks, whose variables would be lost
    return text.trim() ? parseRanks(text, this._cluster.world.size) : null;
  }

  /** Update the list of source ranks; the selected one is kept if possible. */
  private _propose(chosen = this.getValue().source): void {
    const { ranks } = this.getValue();
    this._source.replaceChildren(new Option(this._trans.__('start empty'), ''));
    for (const rank of sources(this._cluster, ranks)) {
      const text = this._trans.__('copy from rank %1', rank);
      this._source.add(new Option(text, `${rank}`, false, rank === chosen));
    }
    this._say();
  }

  private _say(): void {
    const { ranks, source } = this.getValue();
    const { size } = this._cluster.world;
    const { ranks: fault = '' } = this.faults();
    this.showFault('ranks', fault);
    const living = ranks.filter(r => this._cluster.ranks[r]?.state !== 'lost');
    const trans = this._trans;
    const texts = !ranks.length
      ? [fault ? '' : trans.__('Which ranks? All of them are 0-%1.', size - 1)]
      : [
          living.length
            ? trans._n(
                'The variables of rank %2 are lost.',
                'The variables of ranks %2 are lost.',
                living.length,
                formatRanks(living)
              )
            : '',
          source === null
            ? trans._n(
                'The rank comes back empty: run its set-up cells again.',
                'The ranks come back empty: run their set-up cells again.',
                ranks.length
              )
            : trans._n(
                'The rank gets what can be copied from rank %2: numbers, models, plain values.',
                'The ranks get what can be copied from rank %2: numbers, models, plain values.',
                ranks.length,
                source
              ),
          size > ranks.length
            ? trans.__('The other ranks keep their variables.')
            : ''
        ];
    this._loss.textContent = texts.filter(Boolean).join(' ');
    this._label(ranks);
  }

  /** Update the button, which says what it restarts, and is disabled while that is unknown. */
  private _label(ranks: readonly number[]): void {
    const button = acceptButton(this.node.closest(`.${CLASSES.dialog}`));
    if (button) {
      button.disabled = ranks.length === 0;
      const { size } = this._cluster.world;
      setLabel(button, restartLabel(ranks, size, this._trans));
    }
  }

  private _ranks = document.createElement('input');
  private _source = document.createElement('select');
  private _loss = document.createElement('p');
}

/** What is wrong with ranks: one that does not exist, or no ranks at all. */
function wrongText(
  written: string,
  size: number,
  trans: TranslationBundle
): string {
  if (size === 1) {
    return trans.__('There is only rank 0.');
  }
  const missing = (written.match(/\d+/g) ?? []).find(n => Number(n) >= size);
  if (missing !== undefined) {
    return trans.__(
      'There is no rank %1: the last one is rank %2.',
      missing,
      size - 1
    );
  }
  const example = size > 3 ? '0,2-3' : `0-${size - 1}`;
  return trans.__('Enter ranks like this: %1.', example);
}

/** Label of the button: "Restart rank 3", "Restart 2 ranks", "Restart all 4 ranks". */
function restartLabel(
  ranks: readonly number[],
  size: number,
  trans: TranslationBundle
): string {
  switch (ranks.length) {
    case 0:
      return trans.__('Restart');
    case 1:
      return trans.__('Restart rank %1', ranks[0]);
    case size:
      return trans._n('Restart the rank', 'Restart all %1 ranks', size);
    default:
      return trans._n('Restart %1 rank', 'Restart %1 ranks', ranks.length);
  }
}

/** A dialog that Enter does not close while the ranks are invalid, just as its disabled button. */
class RestartDialog extends Dialog<IRestart> {
  constructor(
    private _restart: RestartBody,
    options: Partial<Dialog.IOptions<IRestart>>
  ) {
    super({ ...options, body: _restart });
    this.node.setAttribute('aria-label', String(options.title));
  }

  override handleEvent(event: Event): void {
    if (!wrapsBack(this.node, event)) {
      super.handleEvent(event);
    }
  }

  override resolve(index = ACCEPT): void {
    if (index !== ACCEPT || !this._restart.goToFault()) {
      super.resolve(index);
    }
  }
}

const ACCEPT = 1;

/**
 * Ask which ranks to restart, and whose variables they get.
 *
 * @param ranks selected initially.
 * @param source the rank whose variables they get, selected initially; null for none.
 * @returns null if it was cancelled, or no rank was named
 */
export async function askRestart(
  cluster: Cluster,
  ranks: readonly number[],
  source: number | null,
  trans: TranslationBundle
): Promise<IRestart | null> {
  const body = new RestartBody(cluster, ranks, source, trans);
  const dialog = new RestartDialog(body, {
    title: trans.__('Restart ranks of %1', cluster.name),
    focusNodeSelector: 'input',
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.warnButton({ label: trans.__('Restart') })
    ]
  });
  const result = await dialog.launch();
  return result.button.accept && result.value?.ranks.length
    ? result.value
    : null;
}
