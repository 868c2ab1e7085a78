import { INotebookContent } from '@jupyterlab/nbformat';
import { ServerConnection } from '@jupyterlab/services';

import { request } from '../../request/rest';
import {
  IJobs,
  ILogQuery,
  Job,
  JobMetrics,
  JobPlan,
  JobRequest,
  LogMatches,
  LogPiece,
  Slots,
  WantedJob
} from '../../tokens';

/** How long an answer that was asked for ahead may be used, ms: a list in a background tab is drawn much later. */
const FRESH_MS = 2000;

/** An answer about all jobs that was asked for ahead. */
interface IAhead {
  jobs: Promise<Job[]>;
  /** Until when it may be used; unlimited before it has come. */
  until: number;
}

/** Jobs of this user, each call a request to the server. */
export class JobRequests implements IJobs {
  constructor(private _settings: ServerConnection.ISettings) {}

  private _lastAnswer: readonly Job[] = [];
  private _ahead: IAhead | null = null;

  askAhead(): void {
    const ahead: IAhead = { jobs: this._ask(), until: Infinity };
    this._ahead = ahead;
    ahead.jobs.then(
      () => {
        ahead.until = Date.now() + FRESH_MS;
      },
      () => {
        // a view that already waits for the answer learns of the error; a later one asks again
        if (this._ahead === ahead) {
          this._ahead = null;
        }
      }
    );
  }

  all(): Promise<Job[]> {
    const ahead = this._ahead;
    this._ahead = null;
    return ahead && Date.now() < ahead.until ? ahead.jobs : this._ask();
  }

  private async _ask(): Promise<Job[]> {
    const jobs = await request(this._settings, 'GET', '/jobs');
    this._lastAnswer = jobs;
    return jobs;
  }

  get lastAnswer(): readonly Job[] {
    return this._lastAnswer;
  }

  get(id: string): Promise<Job> {
    return request(this._settings, 'GET', '/jobs/{identity}', { id });
  }

  plan(body: WantedJob, ask: boolean): Promise<JobPlan> {
    const query = ask ? { ask: '1' } : {};
    return request(this._settings, 'POST', '/jobs/plan', { query, body });
  }

  submit(notebook: string, plan: string): Promise<Job> {
    const body = { notebook, plan };
    return request(this._settings, 'POST', '/jobs', { body });
  }

  slots(profile: string): Promise<Slots> {
    return request(this._settings, 'GET', '/slots', { query: { profile } });
  }

  stopHolder(id: string, profile: string): Promise<Slots> {
    return request(this._settings, 'DELETE', '/slots/{identity}', {
      id,
      query: { profile }
    });
  }

  async executed(id: string): Promise<INotebookContent> {
    const path = '/jobs/{identity}/notebook';
    const notebook = await request(this._settings, 'GET', path, { id });
    return notebook as INotebookContent;
  }

  requestOf(id: string): Promise<JobRequest> {
    return request(this._settings, 'GET', '/jobs/{identity}/request', { id });
  }

  cancel(id: string): Promise<Job> {
    return request(this._settings, 'POST', '/jobs/{identity}/cancel', { id });
  }

  resume(id: string): Promise<Job> {
    return request(this._settings, 'POST', '/jobs/{identity}/resume', { id });
  }

  remove(id: string): Promise<Job> {
    return request(this._settings, 'DELETE', '/jobs/{identity}', { id });
  }

  metrics(id: string): Promise<JobMetrics> {
    return request(this._settings, 'GET', '/jobs/{identity}/metrics', { id });
  }

  logs(id: string, asked: ILogQuery): Promise<LogPiece> {
    const { offset, ranks, firstError, search, wait } = asked;
    const query = {
      offset,
      ranks: ranks || undefined,
      first_error: firstError ? '1' : undefined,
      search: search || undefined,
      wait: wait ? '1' : undefined
    };
    const path = '/jobs/{identity}/logs';
    return request(this._settings, 'GET', path, { id, query });
  }

  logMatches(id: string, asked: ILogQuery): Promise<LogMatches> {
    const { offset, ranks, search } = asked;
    const query = { offset, ranks: ranks || undefined, search };
    const path = '/jobs/{identity}/logs/matches';
    return request(this._settings, 'GET', path, { id, query });
  }
}
