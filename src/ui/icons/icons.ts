import { LabIcon } from '@jupyterlab/ui-components';

const frame = (body: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16">${body}</svg>`;

/** Four ranks around a collective. */
export const distributedIcon = new LabIcon({
  name: 'dtrain-lab:distributed',
  svgstr: frame(
    '<g class="jp-icon3" fill="#616161"><circle cx="8" cy="2.6" r="1.9"/>' +
      '<circle cx="8" cy="13.4" r="1.9"/><circle cx="2.6" cy="8" r="1.9"/>' +
      '<circle cx="13.4" cy="8" r="1.9"/><path d="M8 4.6 11.4 8 8 11.4 4.6 8Z" ' +
      'fill-opacity="0.35"/></g>'
  )
});

/** A paper plane: a notebook leaves as a job. */
export const submitIcon = new LabIcon({
  name: 'dtrain-lab:submit',
  svgstr: frame(
    '<path class="jp-icon3" fill="#616161" d="M14.6 1.2 1 6.9l4.7 2.1L8 14.8Z' +
      'M6.6 8.5l4.7-4.2-3.4 6.6Z" fill-rule="evenodd"/>'
  )
});
