import { Clipboard, Dialog } from '@jupyterlab/apputils';
import { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';

import { Advice, IKernelRecords } from '../../tokens';
import { cellName } from '../../locations/texts';
import { cellOf, words } from '../../advice/texts';
import { openDialog } from '../../ui/dialog';
import { tellBriefly } from '../../ui/text/toast';

/** A line of a unified diff. */
export interface IDiffLine {
  kind: 'same' | 'added' | 'removed' | 'gap';
  text: string;
}

/** The lines of a unified diff, without its header. */
export function diffLines(diff: string): IDiffLine[] {
  return diff
    .split('\n')
    .filter(line => !line.startsWith('---') && !line.startsWith('+++'))
    .map(line => {
      const text = line.slice(1);
      switch (line[0]) {
        case '+':
          return { kind: 'added', text };
        case '-':
          return { kind: 'removed', text };
        case '@':
          return { kind: 'gap', text: '…' };
        default:
          return { kind: 'same', text };
      }
    });
}

/** The code of advice whose place in the cell is unknown. */
export function addedLines(advice: Advice): IDiffLine[] {
  const code = String(advice.values?.code ?? '').trimEnd();
  return code
    ? code.split('\n').map(text => ({ kind: 'added' as const, text }))
    : [];
}

/** The cell of a change, with its notebook: another one may be in front. */
export function placeOf(
  advice: Advice,
  names: Pick<IKernelRecords, 'notebookName'>,
  trans: TranslationBundle
): string {
  const cell = cellOf(advice);
  if (!cell) {
    return trans.__('your cell');
  }
  const notebook = advice.values?.notebook;
  return typeof notebook === 'string' && notebook
    ? trans.__('%1 of %2', cellName(cell, trans), names.notebookName(notebook))
    : cellName(cell, trans);
}

/** Show the change of advice, without applying it; `kept`: it is already in the cell. */
export async function showChange(
  advice: Advice,
  kept: boolean,
  names: Pick<IKernelRecords, 'notebookName'>,
  trans: TranslationBundle
): Promise<void> {
  const { change, cost } = words(advice, trans);
  const own = advice.diff !== '';
  const cell = cellOf(advice);
  const place = placeOf(advice, names, trans);
  const body = new Widget();
  body.addClass('jp-DtrainCluster-change');
  const note = document.createElement('p');
  note.textContent = kept
    ? trans.__('This change is in %1; Undo reverts it. %2', place, cost)
    : own
      ? trans.__(
          'A change in %1. Nothing is applied automatically. %2',
          place,
          cost
        )
      : trans.__(
          'The place in your cells was not found; these lines make the change. %1',
          cost
        );
  body.node.append(note);
  const lines = own ? diffLines(advice.diff) : addedLines(advice);
  const signs = { added: '+', removed: '−', same: ' ', gap: ' ' };
  const list = document.createElement('pre');
  list.tabIndex = 0;
  for (const { kind, text } of lines) {
    const line = document.createElement('span');
    line.dataset.kind = kind;
    line.textContent = `${signs[kind]} ${text}\n`;
    list.append(line);
  }
  body.node.append(list);
  const { button } = await openDialog({
    title: cell
      ? trans.__('Change in %1: %2', cellName(cell, trans), change)
      : change,
    body,
    buttons: [
      Dialog.cancelButton({ label: trans.__('Close') }),
      Dialog.okButton({ label: trans.__('Copy the new lines') })
    ]
  });
  if (button.accept) {
    const text = lines
      .filter(line => line.kind !== 'removed' && line.kind !== 'gap')
      .map(line => line.text)
      .join('\n');
    Clipboard.copyToSystem(text);
    tellBriefly(trans.__('The new lines are on the clipboard.'));
  }
}
