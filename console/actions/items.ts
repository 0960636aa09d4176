/** What can be done to work items, to the lanes in which they wait, to the labels that they require and to their projects. */
import { LANES } from '../../machines/run-request/lanes.ts'
import {
  type Anew,
  anew,
  isForItsSource,
  isRetried,
  objectiveAnswered,
  questionIn,
} from '../../machines/work-item/anew.ts'
import type { Document } from '../document.ts'
import { type Action, discard, type Field, inState, project, type Requests, reason, whyRequired } from './action.ts'

const item = (move: string) => (of: Document) => `api/work-items/${of.id}/${move}`

const opensItem = (made: Document): readonly string[] => ['items', made.id]

/** Makes the new item, and then closes the old one with its id. If that fails, sending it again makes no other item. */
async function sendAnew(api: Requests, { path, body, idempotencyKey, closing }: Anew): Promise<Document> {
  const made = await api.change('POST', path.slice(1), body, { idempotencyKey })
  const close = closing?.(made.id)
  if (close !== undefined) await api.change('POST', close.path.slice(1), close.body)
  return made
}

async function answer(api: Requests, { decision }: Document, old: Document): Promise<Document> {
  const query = { trace_id: old.trace_id, event_type: 'task_run_completed', order: 'desc', limit: 1 }
  const { items } = await api.get('api/events', query)
  const objective = objectiveAnswered(old, questionIn(items[0]), decision)
  return await sendAnew(api, anew(old, 'answer', objective))
}

async function retry(api: Requests, _: Document, old: Document): Promise<Document> {
  return await sendAnew(api, anew(old, 'retry', old.objective))
}

export const ITEM_ACTIONS: readonly Action[] = [
  {
    label: 'Answer',
    explains: 'A new item continues with the decision, and this one is closed.',
    needs: ['work.submit', 'work.operate'],
    isOffered: (of) => of.state === 'needs_decision' && of.started_at !== undefined && !isForItsSource(of),
    path: () => 'api/work-items',
    fields: [{ name: 'decision', label: 'The decision', type: 'long', isRequired: true }],
    send: answer,
    opens: opensItem,
  },
  {
    label: 'Retry',
    isForMany: true,
    explains: 'The same work is submitted again as a new item, and this one is closed.',
    needs: ['work.submit', 'work.operate'],
    isOffered: (of) => isRetriable(of) && of.state !== 'cancelled',
    path: () => 'api/work-items',
    send: retry,
    opens: opensItem,
  },
  {
    label: 'Retry',
    isForMany: true,
    explains: 'The same work is submitted again as a new item.',
    needs: ['work.submit'],
    isOffered: (of) => isRetriable(of) && of.state === 'cancelled',
    path: () => 'api/work-items',
    send: retry,
    opens: opensItem,
  },
  {
    label: 'Hold',
    isForMany: true,
    explains: 'It does not start until somebody releases it.',
    needs: ['work.operate'],
    isOffered: inState('queued'),
    path: item('hold'),
  },
  {
    label: 'Release',
    isForMany: true,
    explains: 'It returns to the queue.',
    needs: ['work.operate'],
    isOffered: (of) => of.state === 'held' || (of.state === 'needs_decision' && of.started_at === undefined),
    path: item('release'),
  },
  {
    label: 'Resume',
    explains: 'A new item continues from the work that this one has kept.',
    needs: ['work.operate'],
    isOffered: (of) =>
      of.state === 'preserved' &&
      of.disposition?.preservation_ref !== undefined &&
      of.built_upon_by === undefined &&
      !isContinued(of),
    path: item('resume'),
    fields: [
      { name: 'objective', label: 'What to do now', type: 'long', hint: 'Left empty: the same objective.' },
      { name: 'not_before', label: 'Not before', type: 'time' },
    ],
    opens: opensItem,
  },
  {
    label: 'Close',
    isForMany: true,
    explains: 'Nothing more is to be done about it.',
    needs: ['work.operate'],
    isOffered: inState('preserved', 'needs_decision', 'failed'),
    path: item('close'),
    fields: [whyRequired],
    isGrave: true,
  },
  {
    label: 'Cancel',
    isForMany: true,
    explains: 'If it waits, it ends at once; if it is running, when its runner has stopped.',
    needs: ['work.operate'],
    isOffered: inState('submitted', 'queued', 'held', 'running'),
    path: item('cancel'),
    fields: [reason, discard],
    isGrave: true,
  },
]

function isRetriable(of: Document): boolean {
  return isRetried(of) && !isForItsSource(of)
}

function isContinued({ resumptions = [] }: Document): boolean {
  return resumptions.some(({ state }: Document) => state === undefined)
}

export const NEW_TASK: Action = {
  label: 'New task',
  explains: 'It enters the ledger, which starts it as the pacing rules allow.',
  needs: ['work.submit'],
  isOffered: () => true,
  path: () => 'api/work-items',
  fields: [
    project,
    { name: 'objective', label: 'What is to be done', type: 'long', isRequired: true },
    { name: 'lane', label: 'Lane', type: 'choice', choices: LANES, initial: () => 'interactive' },
    { name: 'base_ref', label: 'Starts from', type: 'text', hint: 'A branch or commit. Left empty: trunk.' },
    { name: 'not_before', label: 'Not before', type: 'time' },
  ],
  opens: (made) => ['items', made.id],
}

export function pauseLane(lane: string, isPaused: boolean): Action {
  return {
    label: isPaused ? 'Resume' : 'Pause',
    about: `lane ${lane}`,
    explains: isPaused
      ? `Items of the lane ${lane} start again.`
      : `No item of the lane ${lane} starts; what is running goes on.`,
    needs: ['work.operate'],
    isOffered: () => true,
    path: () => `api/pacing/${isPaused ? 'resume' : 'pause'}`,
    body: () => ({ lanes: [lane] }),
  }
}

const SHARED = 'Runs with the label in all projects count, and what is running goes on.'
const maxRunning: Field = {
  ...{ name: 'max_running', label: 'Runs at the same time', type: 'number', isRequired: true, least: 0 },
  hint: '0: none starts.',
}

export const LIMIT_LABEL: Action = {
  label: 'Limit a label',
  explains: `No more runs that require it are under way at the same time. ${SHARED}`,
  needs: ['work.operate'],
  isOffered: () => true,
  path: () => 'api/pacing/limit',
  fields: [{ name: 'label', label: 'Label', type: 'text', isRequired: true }, maxRunning],
}

/** Of a label that is limited. */
export function limitActions(label: string): readonly Action[] {
  const common = { about: `label ${label}`, needs: ['work.operate'], isOffered: () => true } as const
  return [
    {
      ...common,
      label: 'Change limit',
      explains: `No more runs with the label ${label} are under way at the same time. ${SHARED}`,
      path: () => 'api/pacing/limit',
      fields: [{ ...maxRunning, initial: ({ max_running: max }) => String(max) }],
      body: (fields) => ({ ...fields, label }),
    },
    {
      ...common,
      label: 'End limit',
      explains: `Runs with the label ${label} start, however many are under way.`,
      path: () => 'api/pacing/unlimit',
      body: () => ({ label }),
    },
  ]
}

const weight: Field = {
  ...{ name: 'weight', label: 'Weight', type: 'number', isRequired: true },
  hint: '1 to 100; 1: an equal share.',
}
const SHARES =
  'It gets that many turns while others get one each, when several have work that a free runner could take.'

export const WEIGH_PROJECT: Action = {
  label: 'Weigh a project',
  explains: SHARES,
  needs: ['work.operate'],
  isOffered: () => true,
  path: () => 'api/pacing/weigh',
  fields: [project, weight],
}

/** Of a project that has a weight. */
export function weightActions(key: string): readonly Action[] {
  const common = { about: `project ${key}`, needs: ['work.operate'], isOffered: () => true } as const
  return [
    {
      ...common,
      label: 'Change weight',
      explains: SHARES,
      path: () => 'api/pacing/weigh',
      fields: [{ ...weight, initial: (of) => String(of.weight) }],
      body: (fields) => ({ ...fields, project: key }),
    },
    {
      ...common,
      label: 'End weight',
      explains: `The project ${key} gets as many turns as others.`,
      path: () => 'api/pacing/weigh',
      body: () => ({ project: key, weight: 1 }),
    },
  ]
}
