/**
 * `intendant otel`: sends a span to an OpenTelemetry collector for each run request, work item and agent session that
 * ends. The cursor is kept after the collector has taken the spans, so a crash between the two sends some again, with
 * the same ids.
 */
import type { Command } from 'commander'
import type { QueryValue } from '../engine/client.ts'
import { ServiceRefused } from '../engine/errors.ts'
import { mayHelpInTime, retrying } from '../engine/retry.ts'
import { watch } from '../engine/watch.ts'
import { collect } from './arguments.ts'
import { CursorFile } from './cursor-file.ts'
import type { Document } from './document.ts'
import { CliFailure } from './exit.ts'
import { stopOn } from './hook.ts'
import { list } from './lists.ts'
import { Collector } from './otel-collector.ts'
import { collectorSettings } from './otel-settings.ts'
import {
  ITEM_ENDS,
  itemSpan,
  RUN_ENDS,
  RUN_EVENTS,
  runSpans,
  SESSION_ENDS,
  type Span,
  sessionSpan,
} from './otel-spans.ts'
import { cursorOf, since } from './since.ts'
import { streamBreaks } from './stream-breaks.ts'
import { type Act, type Cli, proxiesIn } from './world.ts'

/** Ends whose spans are read from the service at the same time. */
const READ_AT_ONCE = 8

const HELP = `
A run request is a span from its creation to its end, with one below it for each time that it waited
(queue) and each attempt on a runner (attempt). It is below the span of its work item, or of the
traceparent that it was created with, and above whatever its command reports under TRACEPARENT.
Agent sessions are below their run, with the tokens and the cost that they reported.

The collector is set as for any exporter: OTEL_EXPORTER_OTLP_ENDPOINT, _HEADERS and _TIMEOUT (or the
same with OTLP_TRACES), OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES. The spans are sent as JSON
over HTTP. While the collector is away they wait in the service's log.

Examples:
  intendant otel --cursor-file otel.cursor
  intendant otel --endpoint https://otel.example.com --since 24h

More is in docs/TRACING.md.`

export function addOtel(program: Command, act: Act): void {
  program
    .command('otel')
    .description('Send a span for each run, work item and agent session to an OpenTelemetry collector.')
    .option('--endpoint <url>', 'The collector (default: the environment’s, else http://localhost:4318).')
    .option('--project <key>', 'Only this project. May be repeated.', collect)
    .option(
      '--since <cursor>',
      'Start after this cursor, at this time or this long ago (24h); or latest, or earliest.',
      since,
      'latest',
    )
    .option('--cursor-file <file>', 'Continue at the cursor in this file if it exists, and keep it there.')
    .addHelpText('after', HELP)
    .action(act(exportSpans))
}

async function exportSpans(cli: Cli, _: readonly any[], options: any): Promise<void> {
  const { client, world, note } = cli
  const collector = new Collector(collectorSettings(options.endpoint, world.env), proxiesIn(world.env), note)
  const filters: Record<string, QueryValue> = {
    event_type: [...RUN_ENDS, ...ITEM_ENDS, ...SESSION_ENDS].join(),
    project: options.project?.join(),
  }
  const place = new CursorFile(options.cursorFile, await cursorOf(client, options.since, filters))
  const { signal } = stopOn(world)
  const breaks = streamBreaks(note)
  try {
    for await (const frame of watch({ client, since: place.cursor, filters, signal, onBreak: breaks.broke })) {
      breaks.heard()
      if (frame.type === 'events') await collector.send(await spansOf(cli, frame.events, signal), signal)
      if (frame.type === 'hello' || frame.cursor !== place.cursor) place.keep(frame.cursor)
    }
  } catch (error) {
    if (signal.aborted && !(error instanceof CliFailure)) return
    throw place.explain(error)
  }
}

/** The spans of what has ended with these events. */
async function spansOf(cli: Cli, events: readonly Document[], signal: AbortSignal): Promise<readonly Span[]> {
  const spans: Span[] = []
  for (let from = 0; from < events.length; from += READ_AT_ONCE) {
    const some = events.slice(from, from + READ_AT_ONCE)
    spans.push(...(await Promise.all(some.map((event) => spansOfEnd(cli, event, signal)))).flat())
  }
  return spans
}

async function spansOfEnd({ client, note }: Cli, end: Document, signal: AbortSignal): Promise<readonly Span[]> {
  const read = <T>(reading: () => Promise<T>) => retrying(reading, { signal, mayHelp: mayHelpInTime })
  const document = async (path: string): Promise<Document> =>
    (await read(() => client.request('GET', path, { signal }))).body
  const eventsOf = async (id: string, types: readonly string[], limit: number): Promise<readonly Document[]> => {
    const query = { run_request_id: id, event_type: types.join() }
    return (await read(() => list(client, '/api/events', limit, query))).items
  }
  const { event_type, payload } = end
  try {
    if (RUN_ENDS.includes(event_type)) {
      const { run_request_id: run } = payload
      const request = await document(`/api/run-requests/${run}`)
      const events = await eventsOf(run, RUN_EVENTS, Number.POSITIVE_INFINITY)
      const spans = runSpans(request, events.slice(0, events.findIndex(({ id }) => id === end.id) + 1))
      if (spans.length === 0)
        note(`${event_type} ${run}: without its end in the log, or a trace, there is no span of it`)
      return spans
    }
    if (ITEM_ENDS.includes(event_type)) {
      const item = await document(`/api/work-items/${payload.item_id}`)
      return item.settled_at === undefined ? [] : [itemSpan(end, item)]
    }
    const session = await document(`/api/agent-sessions/${encodeURIComponent(payload.session_id)}`)
    const { run_request_id: run } = session
    const [begun] = run === undefined ? [] : await eventsOf(run, RUN_EVENTS, 1)
    const span = sessionSpan(session, begun)
    if (span !== undefined) return [span]
    note(`${event_type} ${payload.session_id}: without a trace, so there is no span of it`)
  } catch (error) {
    // Retention has removed it before its end was read here.
    if (!(error instanceof ServiceRefused) || error.problem.status !== 404) throw error
    note(`${event_type} ${end.id}: ${error.message} There is no span of it.`)
  }
  return []
}
