/**
 * The limits of the disk and of LMDB alone, in a process of its own: a raw flush, a loop of commits, a range read.
 * Answers requests of the benchmark; each measurement is short and uses a fresh directory.
 */
import { closeSync, fdatasyncSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { open, type RootDatabase } from 'lmdb'
import { answerRequests } from './child.ts'
import { quantile } from './statistics.ts'

export interface Flushes {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

export interface CommitRequest {
  readonly home: string
  /** The text of one event; its digits vary from row to row. */
  readonly text: string
  readonly batch: number
  readonly durationMs: number
}

export interface Commits {
  readonly eventsPerSecond: number
  readonly commitP50Ms: number
}

export interface RangeRequest {
  readonly home: string
  readonly text: string
  readonly rows: number
}

const FLUSH_BYTES = 512
/** Fixed: if the file grew, the file system would have to flush its length, too. */
const FLUSHED_FILE_BYTES = 4 * 1024 * 1024
let directories = 0
let range: { readonly log: RootDatabase<string, number>; readonly rows: number } | undefined

function openLog(home: string): { readonly log: RootDatabase<string, number>; readonly path: string } {
  const path = join(home, `raw-${process.pid}-${++directories}`)
  mkdirSync(path, { recursive: true })
  return { log: open<string, number>({ path, encoding: 'string', keyEncoding: 'uint32', compression: false }), path }
}

/** A text of the same length for each row, with no two alike. */
function textOf(template: string, row: number): string {
  return template.slice(0, -14) + row.toString().padStart(12, '0') + template.slice(-2)
}

/** Overwrites zeros that are on disk already, with an fdatasync each: the least that a durable write costs here. */
function flushes(request: { home: string; durationMs: number }): Flushes {
  const path = join(request.home, `flush-${process.pid}-${++directories}`)
  const file = openSync(path, 'w')
  writeSync(file, Buffer.alloc(FLUSHED_FILE_BYTES))
  fdatasyncSync(file)
  const block = Buffer.alloc(FLUSH_BYTES, 'x')
  const samples: number[] = []
  const from = performance.now()
  const until = from + request.durationMs
  let before = from
  let at = 0
  while (before < until) {
    writeSync(file, block, 0, FLUSH_BYTES, at)
    fdatasyncSync(file)
    at = (at + FLUSH_BYTES) % FLUSHED_FILE_BYTES
    const now = performance.now()
    samples.push(now - before)
    before = now
  }
  closeSync(file)
  rmSync(path)
  return {
    perSecond: (samples.length / (before - from)) * 1000,
    p50Ms: quantile(samples, 0.5),
    p99Ms: quantile(samples, 0.99),
  }
}

/** Commits `batch` texts per transactionSync. */
async function commits(request: CommitRequest): Promise<Commits> {
  const { log, path } = openLog(request.home)
  const samples: number[] = []
  const from = performance.now()
  const until = from + request.durationMs
  let row = 0
  let before = from
  while (before < until) {
    log.transactionSync(() => {
      for (let n = 0; n < request.batch; n++) {
        row++
        log.put(row, textOf(request.text, row))
      }
    })
    const now = performance.now()
    samples.push(now - before)
    before = now
  }
  await log.close()
  rmSync(path, { recursive: true, force: true })
  return { eventsPerSecond: (row / (before - from)) * 1000, commitP50Ms: quantile(samples, 0.5) }
}

/** Fills a log once for `rangeRead`. */
function rangeFill(request: RangeRequest): number {
  const { log } = openLog(request.home)
  for (let row = 1; row <= request.rows; ) {
    log.transactionSync(() => {
      for (let n = 0; n < 10_000 && row <= request.rows; n++, row++) log.put(row, textOf(request.text, row))
    })
  }
  range = { log, rows: request.rows }
  return request.rows
}

/** Reads every text of the filled log in order. @returns texts a second. */
function rangeRead(): number {
  if (range === undefined) throw new Error('nothing was filled')
  const from = performance.now()
  let rows = 0
  let bytes = 0
  for (const { value } of range.log.getRange({ start: 1 })) {
    rows++
    bytes += value.length
  }
  if (rows !== range.rows || bytes === 0) throw new Error(`read ${rows} of ${range.rows}`)
  return (rows / (performance.now() - from)) * 1000
}

answerRequests({ flushes, commits, rangeFill, rangeRead })
