import {
  actionsPlugin,
  advicePlugin,
  clustersPlugin,
  preferencesPlugin,
  selectionPlugin,
  sitePlugin
} from './cluster/plugin';
import { debugPlugin } from './debug/plugin';
import { verdictMarksPlugin } from './debug/marks/verdictsPlugin';
import { jobsPlugin } from './job/plugin';
import { notebookPlugin } from './notebook/plugin';
import { pickerPlugin } from './notebook/picker';
import { outputPlugin } from './output/plugin';
import { locationsPlugin } from './locations/plugin';
import { ranksPlugin } from './ranks/plugin';
import { panelPlugin } from './sidebar/plugin';
import { stacksPlugin } from './stacks/plugin';
import { statusPlugin } from './status/plugin';
import { sweepsPlugin } from './sweeps/plugin';

export default [
  preferencesPlugin,
  sitePlugin,
  clustersPlugin,
  selectionPlugin,
  advicePlugin,
  actionsPlugin,
  panelPlugin,
  notebookPlugin,
  pickerPlugin,
  outputPlugin,
  ranksPlugin,
  locationsPlugin,
  verdictMarksPlugin,
  stacksPlugin,
  sweepsPlugin,
  jobsPlugin,
  debugPlugin,
  statusPlugin
];
