import {
  JupyterFrontEnd,
  JupyterFrontEndPlugin
} from '@jupyterlab/application';
import { INotebookTracker } from '@jupyterlab/notebook';
import { ITranslator, nullTranslator } from '@jupyterlab/translation';

import { CommandIDs } from '../commands';
import { IKernelRecords } from '../tokens';
import { followRenames, KernelRecords } from './kernelRecords';
import { ILocation } from './location';
import { openLocation } from './open';

/** What kernels have recorded. */
export const kernelRecordsPlugin: JupyterFrontEndPlugin<IKernelRecords> = {
  id: 'dtrain-lab:kernel-records',
  description: 'Provides what kernels have recorded about their notebooks.',
  autoStart: true,
  provides: IKernelRecords,
  activate: (app: JupyterFrontEnd): IKernelRecords => {
    const records = new KernelRecords();
    followRenames(records, app.serviceManager.contents);
    return records;
  }
};

/** Places in cells and files: a command that opens one. */
export const locationsPlugin: JupyterFrontEndPlugin<void> = {
  id: 'dtrain-lab:places',
  description: 'Opens lines of cells and files.',
  autoStart: true,
  requires: [IKernelRecords],
  optional: [INotebookTracker, ITranslator],
  activate: (
    app: JupyterFrontEnd,
    records: IKernelRecords,
    tracker: INotebookTracker | null,
    translator: ITranslator | null
  ): void => {
    const trans = (translator ?? nullTranslator).load('dtrain_lab');
    const { commands } = app;
    commands.addCommand(CommandIDs.goToLocation, {
      label: trans.__('Go to a Line'),
      caption: trans.__('Show a line of a cell or a file'),
      execute: args =>
        openLocation(
          args as ILocation,
          { commands, tracker, records, trans },
          !!args.byPosition
        ),
      describedBy: {
        args: {
          type: 'object',
          properties: {
            notebook: { type: 'string', description: 'Path of the notebook' },
            cell: {
              type: 'string',
              description: 'Name of the cell, such as [7]'
            },
            cell_id: { type: 'string', description: 'Id of the cell' },
            file: { type: 'string', description: 'Path of a file' },
            line: { type: 'number', description: 'Number of the line, from 1' },
            byPosition: {
              type: 'boolean',
              description: 'Whether cells are numbered by their position'
            }
          }
        }
      }
    });
  }
};
