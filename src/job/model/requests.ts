import { INotebookContent } from '@jupyterlab/nbformat';
import { ServerConnection } from '@jupyterlab/services';

import { request } from '../../request/rest';
import {
  Job,
  JobMetrics,
  JobPlan,
  JobRequest,
  LogPiece,
  Slots
} from '../../tokens';
import { Wanted } from './formRequest';

/** Where to read in a log, and of which ranks. */
export interface ILogQuery {
  offset: string;
  ranks?: string;
  firstError?: boolean;
  search?: string;
}

/** Requests about jobs to the server. */
export class JobRequests {
  constructor(private _settings: ServerConnection.ISettings) {}

  private _lastAnswer: readonly Job[] = [];

  async all(): Promise<Job[]> {
    const jobs = await request<Job[]>(this._settings, 'GET', 'jobs');
    this._lastAnswer = jobs;
    return jobs;
  }

  /** The last answer about all jobs, so that a list that is opened again is drawn at once; empty before it. */
  get lastAnswer(): readonly Job[] {
    return this._lastAnswer;
  }

  get(id: string): Promise<Job> {
    return request(this._settings, 'GET', `jobs/${id}`);
  }

  /** `ask`: the scheduler, too. */
  plan(body: Wanted, ask: boolean): Promise<JobPlan> {
    const path = ask ? 'jobs/plan?ask=1' : 'jobs/plan';
    return request(this._settings, 'POST', path, body);
  }

  /** Submit the previewed plan unchanged. */
  submit(notebook: string, plan: string): Promise<Job> {
    return request(this._settings, 'POST', 'jobs', { notebook, plan });
  }

  slots(profile: string): Promise<Slots> {
    const query = new URLSearchParams({ profile });
    return request(this._settings, 'GET', `slots?${query}`);
  }

  /** End a process of the user on a GPU. */
  stopHolder(id: string, profile: string): Promise<Slots> {
    const query = new URLSearchParams({ profile });
    return request(
      this._settings,
      'DELETE',
      `slots/${encodeURIComponent(id)}?${query}`
    );
  }

  /** The notebook with the first rank's output. */
  executed(id: string): Promise<INotebookContent> {
    return request(this._settings, 'GET', `jobs/${id}/notebook`);
  }

  requestOf(id: string): Promise<JobRequest> {
    return request(this._settings, 'GET', `jobs/${id}/request`);
  }

  cancel(id: string): Promise<Job> {
    return request(this._settings, 'POST', `jobs/${id}/cancel`);
  }

  resume(id: string): Promise<Job> {
    return request(this._settings, 'POST', `jobs/${id}/resume`);
  }

  remove(id: string): Promise<Job> {
    return request(this._settings, 'DELETE', `jobs/${id}`);
  }

  metrics(id: string): Promise<JobMetrics> {
    return request(this._settings, 'GET', `jobs/${id}/metrics`);
  }

  logs(id: string, query: ILogQuery): Promise<LogPiece> {
    const asked = new URLSearchParams({ offset: query.offset });
    if (query.ranks) {
      asked.set('ranks', query.ranks);
    }
    if (query.firstError) {
      asked.set('first_error', '1');
    }
    if (query.search) {
      asked.set('search', query.search);
    }
    return request(this._settings, 'GET', `jobs/${id}/logs?${asked}`);
  }
}
