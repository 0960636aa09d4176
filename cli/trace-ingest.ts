/** `intendant trace ingest`: streams an engine's own recording, of any length, from a file into the log. */
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import type { Document } from './document.ts'
import { EXIT } from './exit.ts'
import { safe } from './print.ts'
import type { Cli } from './world.ts'

const CHUNK_BYTES = 256 * 1024
/** Longest time for the service to take a whole trace, in milliseconds: a day. */
const ANSWER_MS = 24 * 3_600_000

export async function ingest({ client, json, print }: Cli, traceId: string, file: string, options: any) {
  const { body, length } = await opened(file)
  try {
    const answer = await client.request('POST', `/engine/traces/${encodeURIComponent(traceId)}/ingest`, {
      body,
      headers: {
        'content-type': file.endsWith('.json') ? 'application/json' : 'application/x-ndjson',
        ...(length === undefined ? {} : { 'content-length': String(length) }),
      },
      query: { project: options.project },
      answerMs: ANSWER_MS,
    })
    const report: Document = answer.body
    if (json) print.json(report)
    else {
      const { accepted, duplicates, refused_count, refused, marked_count, marked } = report
      print.line(`${accepted} events recorded, ${duplicates} already present, ${refused_count} refused.`)
      tell(print, 'Refused', refused, refused_count)
      tell(print, 'Recorded, although not valid for their type', marked, marked_count)
    }
    return report.refused_count === 0 ? EXIT.ok : EXIT.failed
  } finally {
    body.destroy()
  }
}

interface Opened {
  readonly body: Readable
  /**
   * Length in bytes, if known: a body that is too long is then refused before it is sent, and a short one keeps its
   * connection.
   */
  readonly length?: number
}

/** A file that cannot be read is detected before anything is sent. */
async function opened(file: string): Promise<Opened> {
  if (file === '-') return { body: process.stdin }
  const handle = await open(file)
  const status = await handle.stat()
  if (!status.isFile() || status.size === 0) return { body: handle.createReadStream({ highWaterMark: CHUNK_BYTES }) }
  const body = handle.createReadStream({ highWaterMark: CHUNK_BYTES, end: status.size - 1 })
  return { body, length: status.size }
}

function tell(print: Cli['print'], heading: string, lines: readonly Document[], count: number): void {
  if (count === 0) return
  print.line(`${heading}:`)
  for (const { line, errors } of lines) {
    const faults = errors.map(({ pointer, detail }: Document) => `${pointer} ${detail}`.trim()).join('; ')
    print.line(`  line ${line}: ${safe(faults)}`)
  }
  if (count > lines.length) print.line(`  and ${count - lines.length} more`)
}
