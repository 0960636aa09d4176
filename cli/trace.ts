/** `intendant trace`: everything recorded under one trace, including runs that never ended. */
import type { Command } from 'commander'
import { ORIGIN } from './arguments.ts'
import type { Document } from './document.ts'
import { printEvents } from './event-line.ts'
import { IdArgument, RUN_REQUEST, WORK_ITEM } from './ids.ts'
import { ingest } from './trace-ingest.ts'
import type { Act, Cli } from './world.ts'

/** Deeper spans are not indented further, to leave room for their lines. */
const DEPTH_SHOWN_MAX = 20

const operand = (): IdArgument =>
  new IdArgument('<id>', 'A trace id; or a work item or run request, for its trace.', WORK_ITEM, RUN_REQUEST)

export function addTrace(program: Command, act: Act): void {
  const group = program
    .command('trace')
    .description('Show a trace: its events in order, and its runs. With ingest: record one.')
    .usage('<id> [options]  |  trace ingest <id> [file] ...')
    .addArgument(operand())
    .option('--flat', 'Do not indent what an event caused.')
    .option('--verbose', 'Show whole payloads.')
    .addHelpText(
      'after',
      '\nExamples:\n  intendant trace wi_0a1b2c3d4e5f60718293a4b5\n  intendant trace 4bf92f3577b34da6a3ce929d0e0e4736 --verbose',
    )
    .action(act(trace))
  group
    .command('ingest')
    .description('Record a whole trace of an engine. It triggers nothing; sending it again adds what is missing.')
    .addArgument(operand())
    .argument('[file]', 'One event per line, or an array in a .json file. Default, or -: standard input.', '-')
    .option('--project <key>', 'The project of events that name none. Default: that of the trace’s run.')
    .option(...ORIGIN)
    .action(act(async (cli, [id, file], options) => await ingest(cli, await traceOf(cli, id), file, options)))
}

async function trace({ client, json, print }: Cli, [id]: readonly any[], { flat, verbose }: any): Promise<void> {
  const traceId = await traceOf({ client }, id)
  const path = `/api/traces/${encodeURIComponent(traceId)}`
  const { body } = await client.request('GET', path, { query: { limit: 500 } })
  const events: Document[] = body.events
  for (let cursor = body.next_cursor; cursor !== undefined; ) {
    const page = await client.request('GET', path, { query: { limit: 500, cursor } })
    events.push(...page.body.events)
    cursor = page.body.next_cursor
  }
  const { next_cursor: _, ...whole } = body
  if (json) return print.json({ ...whole, events })
  const runs = body.run_requests.map(({ id: run, state }: Document) => `${run} ${print.state(state)}`).join(', ')
  print.fields([
    ['trace', body.trace_id],
    ['runs', runs],
    [
      'complete',
      body.complete
        ? 'yes'
        : print.tint('no: a run is open, was stopped, or ended without a final report from its runner', 'warn'),
    ],
  ])
  print.line()
  const depths = flat ? undefined : depthsOf(events)
  for (const event of events) {
    const indent = '  '.repeat(Math.min(depths?.get(event.span_id) ?? 0, DEPTH_SHOWN_MAX))
    printEvents([event], print, indent)
    if (verbose)
      for (const line of JSON.stringify(event.payload, null, 2).split('\n')) print.line(`${indent}    ${line}`)
  }
}

async function traceOf({ client }: Pick<Cli, 'client'>, id: string): Promise<string> {
  if (id.startsWith('wi_'))
    return (await client.request('GET', `/api/work-items/${encodeURIComponent(id)}`)).body.trace_id
  if (!id.startsWith('runreq_')) return id
  return (await client.request('GET', `/api/run-requests/${encodeURIComponent(id)}`)).body.trace_id
}

/**
 * The depth of each span below the trace's first ones. Each is visited once, however deep; a cycle ends where it began.
 */
function depthsOf(events: readonly Document[]): ReadonlyMap<string, number> {
  const parents = new Map<string, string | null>()
  for (const { span_id, parent_span_id } of events) if (span_id !== null) parents.set(span_id, parent_span_id)
  const depths = new Map<string, number>()
  for (const span of parents.keys()) {
    const path: string[] = []
    let at: string | null | undefined = span
    while (typeof at === 'string' && parents.has(at) && !depths.has(at)) {
      path.push(at)
      depths.set(at, 0)
      at = parents.get(at)
    }
    let depth = typeof at === 'string' ? (depths.get(at) ?? -1) : -1
    for (const one of path.reverse()) depths.set(one, ++depth)
  }
  return depths
}
