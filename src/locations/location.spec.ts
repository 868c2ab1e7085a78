import { expect, it } from 'vitest';

import { cellIndex, isNotebook, labPath } from './location';

it('tells notebooks of one name in two folders apart', () => {
  const here = '/home/me/work/train.ipynb';
  const copy = '/home/me/work/old/train.ipynb';
  expect(isNotebook('train.ipynb', here, '/home/me/work')).toBe(true);
  expect(isNotebook('train.ipynb', copy, '/home/me/work')).toBe(false);
  expect(isNotebook('old/train.ipynb', copy, '/home/me/work/')).toBe(true);
  // reached through a link: the longest that is known
  expect(isNotebook('old/train.ipynb', copy, '/mnt/work')).toBe(true);
});

it('opens what lies in the folder of the server only', () => {
  expect(labPath('/home/me/work/lib/data.py', '/home/me/work')).toBe(
    'lib/data.py'
  );
  expect(labPath('/home/me/workshop/data.py', '/home/me/work')).toBeNull();
  expect(labPath('nb/train.ipynb', '/home/me/work')).toBe('nb/train.ipynb');
  // a folder that the page does not know has nothing in it
  expect(labPath('/home/me/work/lib/data.py', '')).toBeNull();
});

it('finds a cell by its id, also while it runs, else by its number', () => {
  const cells = [
    { id: 'a', code: true, count: 6 },
    { id: 'text', code: false, count: null },
    { id: 'b', code: true, count: null },
    { id: 'c', code: true, count: 7 }
  ];
  expect(cellIndex(cells, { cell: '[7]', cell_id: 'b' })).toBe(2);
  expect(cellIndex(cells, { cell: '[7]', cell_id: 'gone' })).toBe(3);
  expect(cellIndex(cells, { cell: '[6]' })).toBe(0);
  expect(cellIndex(cells, { cell: '[9]' })).toBe(-1);
  expect(cellIndex(cells, { file: 'x.py', line: 3 })).toBe(-1);
  expect(cellIndex(cells, { cell: '[2]' }, true)).toBe(2);
});
