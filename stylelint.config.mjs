// One sheet per folder of src, and one prefix per sheet: a class can then be defined in one place only.
const parts = {
  cluster: 'Cluster',
  debug: 'Debug',
  job: 'Job',
  notebook: 'Notebook',
  output: 'Output',
  ranks: 'Ranks',
  sidebar: 'Sidebar',
  stacks: 'Stacks',
  status: 'Status',
  sweeps: 'Sweep'
};

/** Each selector of a list is checked, not only the first one; the steps of an animation are none. */
const EACH = { splitList: true, ignore: ['keyframe-selectors'] };

export default {
  extends: 'stylelint-config-recommended',
  rules: {
    'no-duplicate-selectors': true,
    'no-descending-specificity': null
  },
  overrides: [
    ...Object.entries(parts).map(([sheet, part]) => ({
      files: [`style/${sheet}.css`],
      rules: {
        'selector-disallowed-list': [
          [new RegExp(`^(?!\\.jp-Dtrain${part}(?![a-z]))`)],
          {
            ...EACH,
            message: `Selectors of ${sheet}.css begin with .jp-Dtrain${part}`
          }
        ]
      }
    })),
    {
      files: ['style/ui.css'],
      rules: {
        'selector-disallowed-list': [
          [/^(?!:root$|\.jp-Dtrain(Ui)?(?![A-Za-z])|:where\(\.jp-Dtrain)/],
          { ...EACH, message: 'Selectors of ui.css begin with .jp-DtrainUi' }
        ]
      }
    }
  ]
};
