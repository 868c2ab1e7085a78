import {
  actionsPlugin,
  advicePlugin,
  clustersPlugin,
  selectionPlugin,
  sitePlugin
} from './cluster/plugin';
import { commandsPlugin } from './cluster/commands/plugin';
import { noticesPlugin } from './cluster/noticesPlugin';
import { debugPlugin } from './debug/plugin';
import { verdictMarksPlugin } from './debug/marks/verdictsPlugin';
import { jobRequestsPlugin, jobsPlugin } from './job/plugin';
import { notebookPlugin } from './notebook/plugin';
import { pickerPlugin } from './notebook/picker';
import { outputPlugin } from './output/plugin';
import { kernelRecordsPlugin, locationsPlugin } from './locations/plugin';
import { preferencesPlugin } from './preferences/plugin';
import { ranksPlugin } from './ranks/plugin';
import { panelPlugin } from './sidebar/plugin';
import { stacksPlugin } from './stacks/plugin';
import { statusPlugin } from './status/plugin';
import { sweepsPlugin } from './sweeps/plugin';

export default [
  preferencesPlugin,
  sitePlugin,
  kernelRecordsPlugin,
  clustersPlugin,
  selectionPlugin,
  advicePlugin,
  actionsPlugin,
  commandsPlugin,
  noticesPlugin,
  panelPlugin,
  notebookPlugin,
  pickerPlugin,
  outputPlugin,
  ranksPlugin,
  locationsPlugin,
  verdictMarksPlugin,
  stacksPlugin,
  jobRequestsPlugin,
  sweepsPlugin,
  jobsPlugin,
  debugPlugin,
  statusPlugin
];
