import { clustersPlugin, panelPlugin } from './cluster/plugin';
import { debugPlugin } from './debug/plugin';
import { jobsPlugin } from './job/plugin';
import { notebookPlugin } from './notebook/plugin';
import { pickerPlugin } from './notebook/picker';
import { outputPlugin } from './output/plugin';
import { ranksPlugin } from './ranks/plugin';
import { statusPlugin } from './status/plugin';

export default [
  clustersPlugin,
  panelPlugin,
  notebookPlugin,
  pickerPlugin,
  outputPlugin,
  ranksPlugin,
  jobsPlugin,
  debugPlugin,
  statusPlugin
];
