/** The commands of `intendant run-request` by which operators move run requests: one, many, or what a filter finds. */
import type { Command } from 'commander'
import { Option } from 'commander'
import { FAILURE_CLASSES } from '../machines/documents/run-request.ts'
import { isSettledRun, RUN_REQUEST_STATES } from '../machines/run-request/states.ts'
import { DISCARD_WORK, integer } from './arguments.ts'
import type { Done } from './batch.ts'
import { type BatchCommand, batchCommand } from './batch-command.ts'
import { RUNS } from './filters.ts'
import type { Act, Cli } from './world.ts'

const UNSETTLED = RUN_REQUEST_STATES.filter((state) => !isSettledRun(state))
/** States in which a runner has it and has not begun. */
const TAKEN = ['offered', 'accepted']
const UNBEGUN = ['queued', ...TAKEN]

const approve: BatchCommand = {
  name: 'approve',
  description: 'Approve full-throttle runs. To decline one, cancel it.',
  of: RUNS,
  done: 'approved',
  states: [['queued'], ['queued']],
  takes: ({ waiting_because: why }) => why?.code === 'not_approved',
  perform: (cli, { id }) => move(cli, id, 'approve', {}),
}

const cancel: BatchCommand = {
  name: 'cancel',
  description: 'Stop run requests, whatever their state. A filter finds queued ones, unless it names a state.',
  of: RUNS,
  done: 'cancelled',
  states: [UNSETTLED, ['queued']],
  options: (command) => command.option('--reason <text>', 'Why; the runner is told.').option(...DISCARD_WORK),
  takes: ({ state }) => !isSettledRun(state),
  // A filter has listed it as waiting, and many may be cancelled before it: one that has begun since is left alone.
  perform: (cli, { id, found }, { reason, discardWork }) =>
    move(cli, id, 'cancel', {
      ...{ reason, discard_work: discardWork },
      ...(found !== undefined && UNBEGUN.includes(found.state) ? { unless_begun: true } : {}),
    }),
}

const requeue: BatchCommand = {
  name: 'requeue',
  description: 'Hand lost runs out again (if their old runner is gone), or those that wait for their provider.',
  of: RUNS,
  done: 'requeued',
  states: [['lost', 'queued'], ['lost']],
  takes: ({ state, waiting_because: why }) => state === 'lost' || why?.code === 'provider_unavailable',
  perform: (cli, { id }) => move(cli, id, 'requeue', {}),
}

const fail: BatchCommand = {
  name: 'fail',
  description: 'Settle lost runs as failed.',
  of: RUNS,
  done: 'failed',
  states: [['lost'], ['lost']],
  options: (command) =>
    command
      .requiredOption('--message <text>', 'What is known about it.')
      .addOption(new Option('--class <class>', 'The kind of failure.').choices(FAILURE_CLASSES)),
  takes: ({ state }) => state === 'lost',
  perform: (cli, { id }, options) => move(cli, id, 'fail', { class: options.class, message: options.message }),
}

const release: BatchCommand = {
  name: 'release',
  description: 'Take runs back from their runner before the work has begun.',
  of: RUNS,
  done: 'released',
  states: [TAKEN, TAKEN],
  options: (command) =>
    command.option('--attempt <n>', 'Only this attempt. Default: the current one.', integer(1, 1_000_000_000)),
  takes: ({ state }) => TAKEN.includes(state),
  perform: (cli, { id }, { attempt }) => move(cli, id, 'release', { attempt }),
}

export function addRunMoves(group: Command, act: Act): void {
  for (const batch of [approve, cancel, requeue, fail, release]) batchCommand(group, act, batch)
}

async function move({ client, print }: Cli, id: string, name: string, body: object): Promise<Done> {
  const answer = await client.request('POST', `/api/run-requests/${encodeURIComponent(id)}/${name}`, { body })
  const document = answer.body.run_request ?? answer.body
  return { document: answer.body, line: `${document.id} is ${print.state(document.state)}.` }
}
