import { expect, it } from 'vitest';

import { objectivesIn } from './objectives';

it('finds what is passed to dt.log, over lines and in any order', () => {
  const cell = `
import dtrain_lab as dt
for step in range(steps):
    dt.log(step, loss=loss.item(), lr=f(x=1, y=[2]))
dt.log(
    step=step,
    accuracy=right / seen,
    average=True,
)
math.log(base=2)
dt.log(step, **values)
`;
  expect(objectivesIn([cell, 'dt.log(0, loss=1)'])).toEqual([
    'loss',
    'lr',
    'accuracy'
  ]);
  expect(objectivesIn(['print(1)', 'dt.log('])).toEqual([]);
});
