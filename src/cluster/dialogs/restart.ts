import { Dialog, showDialog } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { parseRanks } from '../../ui/ranks';
import { Cluster } from '../../tokens';
import { formatRanks } from '../../ui/figures/format';

/** What to restart, and whose variables the new ranks get; null for none. */
export interface IRestart {
  ranks: number[];
  source: number | null;
}

/** Ranks that can give their variables to new ones: those that live, and are not restarted. */
function sources(cluster: Cluster, ranks: readonly number[]): number[] {
  return cluster.ranks
    .filter(({ rank, state }) => !ranks.includes(rank) && state !== 'lost')
    .map(({ rank }) => rank);
}

/** The first rank whose variables others can get as they are restarted; null where no other rank lives. */
export function sourceFor(
  cluster: Cluster,
  ranks: readonly number[]
): number | null {
  return sources(cluster, ranks)[0] ?? null;
}

/** Which ranks, and from which one their variables come. */
export class RestartBody
  extends Widget
  implements Dialog.IBodyWidget<IRestart>
{
  constructor(
    private _cluster: Cluster,
    chosen: readonly number[],
    source: number | null,
    private _trans: TranslationBundle
  ) {
    super();
    this.addClass('jp-DtrainCluster-form');
    const { size } = _cluster.world;
    this._ranks.value = formatRanks(chosen).replace(/–/g, '-');
    this._ranks.placeholder = `0-${size - 1}`;
    this._row(_trans.__('Ranks'), this._ranks);
    this._row(_trans.__('Variables'), this._source);
    this._loss.setAttribute('role', 'status');
    this.node.append(this._loss);
    this._ranks.addEventListener('input', () => this._propose());
    this._source.addEventListener('change', () => this._say());
    this._propose(source);
  }

  getValue(): IRestart {
    return {
      ranks: parseRanks(this._ranks.value, this._cluster.world.size) ?? [],
      source: this._source.value === '' ? null : Number(this._source.value)
    };
  }

  /** Offer the ranks that can give their variables; the chosen one stays, where it still can. */
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
    const valid = parseRanks(this._ranks.value, size) !== null;
    const living = ranks.filter(r => this._cluster.ranks[r]?.state !== 'lost');
    this._ranks.setAttribute('aria-invalid', `${!valid}`);
    const trans = this._trans;
    const texts = !valid
      ? [trans.__('Write ranks as 0,2-3; there are 0 to %1.', size - 1)]
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
  }

  private _row(label: string, field: HTMLElement): void {
    const row = document.createElement('label');
    const text = document.createElement('span');
    text.textContent = label;
    field.className = 'jp-mod-styled';
    row.append(text, field);
    this.node.append(row);
  }

  private _ranks = document.createElement('input');
  private _source = document.createElement('select');
  private _loss = document.createElement('p');
}

/**
 * Ask which ranks to restart, and what they come back with.
 *
 * @param ranks chosen at first.
 * @param source the rank whose variables they get, chosen at first; null for none.
 * @returns null where it was cancelled, or no rank was named
 */
export async function askRestart(
  cluster: Cluster,
  ranks: readonly number[],
  source: number | null,
  trans: TranslationBundle
): Promise<IRestart | null> {
  const result = await showDialog({
    title: trans.__('Restart ranks of %1', cluster.name),
    body: new RestartBody(cluster, ranks, source, trans),
    focusNodeSelector: 'input',
    buttons: [
      Dialog.cancelButton({ label: trans.__('Cancel') }),
      Dialog.warnButton({ label: trans.__('Restart') })
    ]
  });
  return result.button.accept && result.value?.ranks.length
    ? result.value
    : null;
}
