/** The commands of `intendant queue` by which owners move items: most of them take one, many, or what a filter finds. */
import type { Command } from 'commander'
import { OPEN_STATES } from '../machines/documents/work-item.ts'
import { DISCARD_WORK, moment } from './arguments.ts'
import { type BatchCommand, batchCommand } from './batch-command.ts'
import { ITEMS } from './filters.ts'
import { afterOption, IdArgument, WORK_ITEM } from './ids.ts'
import { movesOf } from './moves.ts'
import { answerItem, isToRetry, retryItem } from './work-item-anew.ts'
import { continuation, itemPath, moveItem } from './work-item-moves.ts'
import type { Act, Cli } from './world.ts'

/** In these a filter looks for what has not begun. */
const NOT_BEGUN = ['queued', 'held']
const OVER: readonly unknown[] = ['landed', 'cancelled']

const hold: BatchCommand = {
  name: 'hold',
  description: 'Keep queued items from starting until they are released.',
  of: ITEMS,
  done: 'held',
  states: [['queued'], ['queued']],
  takes: ({ state }) => state === 'queued',
  perform: (cli, { id }) => moveItem(cli, id, 'hold', {}),
}

const release: BatchCommand = {
  name: 'release',
  description: 'Return held items, or those blocked by a dependency, to the queue.',
  of: ITEMS,
  done: 'released',
  states: [['held', 'needs_decision'], ['held']],
  takes: ({ state, started_at }) => state === 'held' || (state === 'needs_decision' && started_at === undefined),
  perform: (cli, { id }) => moveItem(cli, id, 'release', {}),
}

const close: BatchCommand = {
  name: 'close',
  description: 'Close preserved, failed or undecided items: nothing more is to be done about them.',
  of: ITEMS,
  done: 'closed',
  states: [OPEN_STATES, ['failed']],
  options: (command) => command.requiredOption('--reason <text>', 'Why nothing more is to be done.'),
  takes: ({ state }) => OPEN_STATES.includes(state),
  perform: (cli, { id }, { reason }) => moveItem(cli, id, 'close', { reason }),
}

const cancel: BatchCommand = {
  name: 'cancel',
  description: 'Cancel items: waiting ones at once, a running one when its run has ended. A filter finds waiting.',
  of: ITEMS,
  done: 'cancelled',
  states: [NOT_BEGUN, NOT_BEGUN],
  options: (command) => command.option('--reason <text>', 'Why.').option(...DISCARD_WORK),
  takes: ({ state }) => !OVER.includes(state),
  async perform(cli, { id, found }, { reason, discardWork }) {
    // Hold first: a held item cannot begin, and an item that has begun since it was found refuses the hold.
    if (found !== undefined) await moveItem(cli, id, 'hold', {})
    return await moveItem(cli, id, 'cancel', { reason, discard_work: discardWork })
  },
}

const retry: BatchCommand = {
  name: 'retry',
  description: 'Submit the work of failed or cancelled items again, as new items, and close the old ones.',
  of: ITEMS,
  done: 'retried',
  states: [['failed', 'cancelled', 'preserved'], ['failed']],
  takes: isToRetry,
  perform: retryItem,
}

export function addItemMoves(group: Command, act: Act): void {
  for (const batch of [hold, release, close, cancel, retry]) batchCommand(group, act, batch)
  const move = movesOf(group, () => new IdArgument('<id>', 'The id, wi_..., or its beginning.', WORK_ITEM))
  move('resume', 'Continue preserved work as a new item.')
    .option('--objective <text>', 'What to do now. Default: the old objective.')
    .addOption(afterOption())
    .option('--not-before <time>', 'Do not start before this time, or this duration from now.', moment)
    .action(act(resume))
  move('answer', 'Answer what a run has asked: a new item continues with the decision, and the old one is closed.')
    .requiredOption(
      '--decision <text>',
      'The decision. It is appended, with the question, to the objective of the new item.',
    )
    .action(act(answerItem))
}

async function resume({ client, json, print }: Cli, [id]: readonly any[], options: any): Promise<void> {
  const { objective, after, notBefore } = options
  const body = { objective, depends_on: after, not_before: notBefore }
  const answer = await client.request('POST', itemPath(id, '/resume'), { body })
  if (json) return print.json(answer.body)
  print.line(continuation(id, answer, print))
}
