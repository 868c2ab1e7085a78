import { TranslationBundle } from '@jupyterlab/translation';
import { CommandRegistry } from '@lumino/commands';

import {
  IAdviceState,
  IKernelRecords,
  ILiveState,
  ISelection,
  ISite
} from '../tokens';
import { Ending } from './model/ending';
import { LastSnapshot } from './model/lastSnapshot';

/** What the view draws, and what it acts on. */
export interface IViewProps {
  adviceState: IAdviceState;
  records: IKernelRecords;
  id: string;
  /** Name of the cluster. */
  name: string;
  snapshots: LastSnapshot;
  ending: Ending;
  model: ILiveState;
  site: ISite;
  selection: ISelection;
  commands: CommandRegistry;
  trans: TranslationBundle;
}
