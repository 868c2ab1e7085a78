import { AcrossRow } from './compareVariables';
import { Refused } from './kernelRequest';

/** Error code for an expression that is not valid Python (`dtrain_lab/services/debugger/across.py`). */
const UNREADABLE = 'unreadable_expression';

/** What the expressions need of the debugger. */
interface IDebugged {
  /** Whether ranks are debugged now. */
  isOn: () => boolean;
  /** Requests an expression's value on all ranks; null if they are no longer debugged. */
  across: (expression: string) => Promise<AcrossRow | null>;
  /** Called when the expressions or their answers have changed. */
  tell: () => void;
}

/** Expressions whose values are compared between ranks, with their last answers. */
export class ComparedExpressions {
  constructor(private _of: IDebugged) {}

  /** The expressions in order; null for those without an answer. */
  get rows(): readonly { expression: string; row: AcrossRow | null }[] {
    return this._expressions.map(expression => ({
      expression,
      row: this._rows.get(expression) ?? null
    }));
  }

  /** Compare one more expression; an error if it is not valid Python. */
  async add(expression: string): Promise<void> {
    const text = expression.trim();
    if (!text || this._expressions.includes(text)) {
      return;
    }
    this._expressions.push(text);
    this._of.tell();
    const refused = await this._evaluate(text);
    if (refused?.code === UNREADABLE) {
      this.forget(text);
      throw refused;
    }
  }

  /** Compare these expressions instead, such as those of another notebook. */
  restore(expressions: readonly string[]): void {
    this._expressions = [...new Set(expressions)];
    this._rows.clear();
    this._latest.clear();
    this.evaluate(); // if ranks are debugged
    this._of.tell();
  }

  /** Compare an expression no longer. */
  forget(expression: string): void {
    this._expressions = this._expressions.filter(e => e !== expression);
    this._rows.delete(expression);
    this._latest.delete(expression);
    this._of.tell();
  }

  /** Drop the answers, which are outdated. */
  dropAnswers(): void {
    this._rows.clear();
  }

  /** Request the values of all expressions. */
  evaluate(): void {
    this._expressions.forEach(each => void this._evaluate(each));
  }

  /** @returns the kernel's refusal, which is displayed instead of values; null if it answered. */
  private async _evaluate(expression: string): Promise<Refused | null> {
    if (!this._of.isOn()) {
      return null;
    }
    let refused: Refused | null = null;
    const number = (this._asked += 1);
    this._latest.set(expression, number);
    let row: AcrossRow;
    try {
      const answer = await this._of.across(expression);
      if (!answer) {
        return null;
      }
      row = answer;
    } catch (error) {
      refused = error instanceof Refused ? error : null;
      row = {
        expression,
        same: false,
        groups: [],
        first: '',
        differing: 0,
        total: 0,
        running: [],
        comparable: true,
        text: error instanceof Error ? error.message : String(error)
      };
    }
    if (this._latest.get(expression) === number) {
      this._rows.set(expression, row);
      this._of.tell();
    }
    return refused;
  }

  private _asked = 0;
  private _expressions: string[] = [];
  /** Expression → number of its latest evaluation; answers to earlier ones are ignored. */
  private _latest = new Map<string, number>();
  private _rows = new Map<string, AcrossRow>();
}
