/**
 * How long it takes to read the drift of a large project: 10,000 records that guide runs, with a million observations.
 * The same pages are read of a project of a thousand records, since reading must not get slower as a project grows.
 */
import { Child } from './child.ts'
import type { DriftFilled, DriftFillJob } from './drift-filler.ts'
import type { Context, Finding, Question } from './question.ts'
import { ask, Service } from './service.ts'
import { interleave, median, medianOfRatios, quantile } from './statistics.ts'
import { Connection } from './wire.ts'

const LARGE = 'large'
const SMALL = 'small'
const SMALL_RECORDS = 1_000
/** Every drift status that a record can have. */
const STATUSES = ['contradicted', 'drifted', 'threatened', 'stale', 'unobserved', 'holding']
async function run(context: Context): Promise<readonly Finding[]> {
  const records = context.quick ? 4_000 : 10_000
  const home = context.scratch.home()
  const prepared = await Service.start(home)
  await prepared.createProject(LARGE)
  await prepared.createProject(SMALL)
  await prepared.stop()
  context.say(`filling a home with ${records} records and their observations`)
  const filler = new Child('./drift-filler.js')
  const fill = (job: Omit<DriftFillJob, 'home'>) => filler.ask<DriftFilled>('fill', { home, ...job })
  const filled = await fill({ project: LARGE, records, observationsEach: 118 })
  await fill({ project: SMALL, records: SMALL_RECORDS, observationsEach: 10 })
  await filler.stop()
  context.say(`${filled.observations} observations; ${filled.recordBytes} bytes a record`)
  const service = await Service.start(home)
  const connection = await Connection.open(service.target)
  try {
    await assertWords(connection, service, filled)
    const reads = context.quick ? 100 : 500
    return await context.profiled('drift', service.child, () => measured(connection, service, reads, filled))
  } finally {
    connection.close()
    await service.stop()
  }
}

/** Checks that every record is listed under the status it was made for: a wrong list would be fast, too. */
async function assertWords(connection: Connection, service: Service, { statuses }: DriftFilled): Promise<void> {
  for (const status of STATUSES) {
    let count = 0
    for (let path = `/projects/${LARGE}/drift?status=${status}&limit=500`; ; ) {
      const page = await ask(connection, 'GET', path, service.token)
      count += page.items.filter((item: any) => item.status === status).length
      if (page.next_cursor === undefined) break
      path = `/projects/${LARGE}/drift?status=${status}&limit=500&cursor=${page.next_cursor}`
    }
    if (count !== statuses[status]) throw new Error(`${count} records are ${status}; ${statuses[status]} were made so`)
  }
}

async function measured(
  connection: Connection,
  service: Service,
  reads: number,
  filled: DriftFilled,
): Promise<Finding[]> {
  const paths = {
    'one record': (project: string, n: number) => `/api/projects/${project}/drift/record-${n % SMALL_RECORDS}`,
    'a page of 50, most pressing first': (project: string) => `/projects/${project}/drift`,
    'a page of 50 that hold': (project: string) => `/projects/${project}/drift?status=holding`,
    'a page of 50 that are stale': (project: string) => `/projects/${project}/drift?status=stale`,
    'a page of 100, the most that both have': (project: string) => `/projects/${project}/drift?limit=100`,
  }
  const findings: Finding[] = []
  for (const [what, path] of Object.entries(paths)) {
    const results = await interleave<Read, typeof LARGE | typeof SMALL>(5, {
      [LARGE]: () => readMany(connection, service, reads, (n) => path(LARGE, n)),
      [SMALL]: () => readMany(connection, service, reads, (n) => path(SMALL, n)),
    })
    const cpuMs = (project: typeof LARGE | typeof SMALL) => results[project].map((result) => result.cpuMs)
    const waits = results[LARGE].flatMap((result) => result.waitsMs)
    findings.push({
      measure: `drift: ${what}`,
      value: median(cpuMs(LARGE)),
      unit: 'ms of CPU',
      limit: { what: `of a project of ${SMALL_RECORDS} records`, value: median(cpuMs(SMALL)) },
      ratio: medianOfRatios(cpuMs(LARGE), cpuMs(SMALL)),
      better: 'lower',
      note: `answered in ${median(waits).toFixed(2)} ms, p99 ${quantile(waits, 0.99).toFixed(2)}; ${filled.observations} observations`,
    })
  }
  return findings
}

interface Read {
  /** CPU time of the service per answer. */
  readonly cpuMs: number
  readonly waitsMs: readonly number[]
}

async function readMany(
  connection: Connection,
  service: Service,
  reads: number,
  path: (n: number) => string,
): Promise<Read> {
  const waitsMs: number[] = []
  const before = await service.child.usage()
  for (let n = 0; n < reads; n++) {
    const from = performance.now()
    await ask(connection, 'GET', path(n), service.token)
    waitsMs.push(performance.now() - from)
  }
  const after = await service.child.usage()
  return { cpuMs: (after.cpuMs - before.cpuMs) / reads, waitsMs }
}

export const drift: Question = {
  name: 'drift',
  asks: 'How long does reading the drift of a large project take?',
  run,
}
