import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { IKernelRecords, ILiveState } from '../../tokens';
import { VerdictMarks } from './verdictMarks';

/** Marks at the lines where ranks are stuck, in every open notebook. */
export const verdictMarksPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:verdict-marks',
  description: 'Marks the lines of cells where ranks are stuck.',
  autoStart: true,
  requires: [ILiveState, IKernelRecords, INotebookTracker],
  optional: [ITranslator],
  activate: (
    _: JupyterFrontEnd,
    model: ILiveState,
    records: IKernelRecords,
    tracker: INotebookTracker,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    new VerdictMarks(model, tracker, records, trans);
  }
};
