import { LabIcon } from '@jupyterlab/ui-components';

/** Icons of views in the main area, different for each, so that tabs can be distinguished at a glance. */
const icon = (name: string, shapes: string): LabIcon =>
  new LabIcon({
    name: `dtrain-lab:${name}`,
    svgstr:
      '<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16">' +
      `<g class="jp-icon3" fill="#616161">${shapes}</g></svg>`
  });

/** What runs: a square in a ring. */
export const jobsIcon = icon(
  'jobs',
  '<path fill-rule="evenodd" d="M8 1.2a6.8 6.8 0 1 0 0 13.6A6.8 6.8 0 0 0 8 1.2Zm0 1.5a5.3 5.3 0 1 1 0 10.6A5.3 5.3 0 0 1 8 2.7Z"/>' +
    '<path d="M5.6 5.6h4.8v4.8H5.6Z"/>'
);

/** One job: a page of log, and its end. */
export const jobIcon = icon(
  'job',
  '<path fill-rule="evenodd" d="M2.5 1.5h11v13h-11ZM4 3v10h8V3Z"/>' +
    '<path d="M5.2 4.6h3.2v1.3H5.2Zm0 2.8h5.6v1.3H5.2Zm0 2.8h4.2v1.3H5.2Z"/>'
);

/** All ranks of a cluster: rows with their metrics. */
export const ranksIcon = icon(
  'ranks',
  '<path d="M1.5 2.5h2.6v2.6H1.5Zm0 4.2h2.6v2.6H1.5Zm0 4.2h2.6v2.6H1.5ZM5.8 3.1h8.7v1.4H5.8Zm0 4.2h5.6v1.4H5.8Zm0 4.2h7.4v1.4H5.8Z"/>'
);

/** Call stacks: layers. */
export const stacksIcon = icon(
  'stacks',
  '<path d="M8 1.4 14.8 5 8 8.6 1.2 5Z"/>' +
    '<path d="m1.2 7.9 1.7-.9L8 9.7 13.1 7l1.7.9L8 11.5Zm0 2.9 1.7-.9L8 12.6l5.1-2.7 1.7.9L8 14.4Z"/>'
);

/** Many trials: dots, and a line through the best of them. */
export const sweepIcon = icon(
  'sweep',
  '<path d="M2 2.5h1.5v10H14V14H2Z"/><circle cx="6" cy="5" r="1.4"/><circle cx="9.2" cy="8.4" r="1.4"/>' +
    '<circle cx="12.6" cy="4" r="1.4"/><circle cx="12.4" cy="10.4" r="1.4"/>'
);
