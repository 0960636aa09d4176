/**
 * `intendant queue cancel`: cancels items by id, or every waiting item that matches a filter. With a filter it lists the matches and
 * asks before it cancels them, and it never stops an item that has begun.
 */
import { describeRefusal, ServiceRefused } from '../engine/errors.ts'
import { mayHelp } from '../engine/retry.ts'
import type { Document } from './document.ts'
import { CliFailure, EXIT } from './exit.ts'
import { ALL, inStates } from './lists.ts'
import { counted } from './units.ts'
import { itemPath, moveItem, standing } from './work-item-moves.ts'
import { printItems } from './work-item-page.ts'
import type { Cli } from './world.ts'

/** The states in which a filter looks for items. */
export const CANCELLED_BY_FILTER = ['queued', 'held'] as const

export async function cancelItems(cli: Cli, [given]: readonly any[], options: any): Promise<number | undefined> {
  const { project, source, state, reason, discardWork, yes } = options
  const ids = [...new Set<string>(given)]
  const isFiltered = [project, source, state].some((filter) => filter !== undefined)
  if (isFiltered === ids.length > 0)
    throw new CliFailure('Name the items to cancel, or filter them by --project, --source or --state; not both.')
  const body = { reason, discard_work: discardWork }
  if (ids.length === 1) await moveItem(cli, ids[0]!, 'cancel', body)
  if (ids.length > 1) await cancelEach(cli, ids, (id) => cancel(cli, id, body))
  if (!isFiltered) return undefined
  const states = state ?? CANCELLED_BY_FILTER
  const items = await inStates(cli.client, '/api/work-items', states, ALL, { project, source })
  if (items.length > 0 && !(await isSure(cli, items, yes))) return EXIT.failed
  // Hold first: a held item cannot begin, and an item that has begun since it was listed refuses the hold.
  const cancelIfWaiting = async (id: string): Promise<Document> => {
    await cli.client.request('POST', itemPath(id, '/hold'), { body: {} })
    return await cancel(cli, id, body)
  }
  if (items.length === 0 && !cli.json) cli.print.line('No waiting item matches.')
  else
    await cancelEach(
      cli,
      items.map(({ id }) => id),
      cancelIfWaiting,
    )
  return undefined
}

/** Lists what would be cancelled, and asks. Throws CliFailure where there is no terminal to ask at. */
async function isSure(
  { world, json, print }: Cli,
  items: readonly Document[],
  yes: boolean | undefined,
): Promise<boolean> {
  if (yes) return true
  if (json) print.json(items)
  else printItems(print, `${counted(items.length, 'item')} to cancel`, items, ({ submitted_at }) => submitted_at)
  const asked = json ? undefined : world.confirm(`Cancel ${counted(items.length, 'item')}?`)
  if (asked === undefined)
    throw new CliFailure('Nothing was cancelled. To cancel these without being asked, add --yes.')
  const isConfirmed = await asked
  if (!isConfirmed) print.line('Nothing was cancelled.')
  return isConfirmed
}

async function cancel({ client }: Cli, id: string, body: object): Promise<Document> {
  return (await client.request('POST', itemPath(id, '/cancel'), { body })).body
}

/** Cancels one after the other. A refusal does not stop the rest; it makes the command fail at the end. */
async function cancelEach(
  cli: Cli,
  ids: readonly string[],
  cancelOne: (id: string) => Promise<Document>,
): Promise<void> {
  const { json, print, note } = cli
  const done: Document[] = []
  let refused = 0
  for (const id of ids) {
    try {
      const item = await cancelOne(id)
      done.push(item)
      if (!json) print.line(standing(item, print))
    } catch (error) {
      if (!(error instanceof ServiceRefused) || mayHelp(error)) throw error
      refused += 1
      note(`${id} is not cancelled: ${describeRefusal(error)}`)
    }
  }
  if (json) print.json(done)
  if (refused > 0) throw new CliFailure(`${refused} of ${counted(ids.length, 'item')} not cancelled.`, EXIT.refused)
}
