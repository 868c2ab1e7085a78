import { clustersPlugin, panelPlugin } from './cluster/plugin';
import { notebookPlugin } from './notebook/plugin';

export default [clustersPlugin, panelPlugin, notebookPlugin];
