/** What this machine can do with no code of ours involved: the numbers with which everything else is compared. */
import { Child } from './child.ts'
import type { Commits, Flushes } from './lmdb-limits.ts'
import { createBody } from './load-scripts.ts'
import { measure } from './measured.ts'
import type { Context, Finding, Question } from './question.ts'
import type { FanOutResult } from './watch-client.ts'
import { formatRequest, targetOf } from './wire.ts'

/** About as long as a served event. */
const TEXT = `{"event":"${'x'.repeat(430)}00000000000000"}`
const CLIENTS = 64

async function run(context: Context): Promise<readonly Finding[]> {
  const durationMs = context.quick ? 800 : 2_000
  return [...(await disk(context, durationMs)), ...(await http(context, durationMs)), ...(await fanOut(context))]
}

async function disk(context: Context, durationMs: number): Promise<Finding[]> {
  const limits = new Child('./lmdb-limits.js')
  const home = context.scratch.home()
  try {
    const flushes = await limits.ask<Flushes>('flushes', { home, durationMs })
    const findings: Finding[] = [
      {
        measure: '512 B over zeros, and fdatasync',
        value: flushes.perSecond,
        unit: 'flushes/s',
        note: `p50 ${flushes.p50Ms.toFixed(3)} ms, p99 ${flushes.p99Ms.toFixed(3)} ms`,
      },
    ]
    for (const batch of [1, 16, 64, 256]) {
      const commits = await limits.ask<Commits>('commits', { home, text: TEXT, batch, durationMs })
      findings.push({
        measure: `LMDB transactionSync, ${batch} texts a commit`,
        value: commits.eventsPerSecond,
        unit: 'events/s',
        note: `a commit ${commits.commitP50Ms.toFixed(2)} ms (p50)`,
      })
    }
    await limits.ask('rangeFill', { home, text: TEXT, rows: context.quick ? 100_000 : 1_000_000 })
    findings.push({ measure: 'LMDB range read', value: await limits.ask<number>('rangeRead'), unit: 'events/s' })
    return findings
  } finally {
    await limits.stop()
  }
}

async function http(context: Context, durationMs: number): Promise<Finding[]> {
  const load = new Child('./load-client.js')
  const bare = new Child('./bare-server.js')
  try {
    const target = targetOf((await bare.firstLine).listening)
    const poll = formatRequest('GET', '/api/runners/runner-0/run-requests/next', 'x'.repeat(43))
    const post = formatRequest('POST', '/api/projects/bench/run-requests', 'x'.repeat(43), createBody(1))
    const findings: Finding[] = []
    for (const { name, request, status } of [
      { name: 'bare 204', request: poll, status: 204 },
      { name: 'bare JSON POST', request: post, status: 201 },
    ]) {
      context.say(name)
      const measured = await measure(load, bare, {
        target,
        clients: CLIENTS,
        warmupMs: 300,
        durationMs,
        script: { kind: 'repeat', requests: [request], status },
      })
      findings.push({
        measure: `${name}, per CPU second of the server`,
        value: measured.callsPerCpuSecond,
        unit: 'calls/s',
        note: `${Math.round(measured.callsPerSecond)}/s with this client; server busy ${Math.round(measured.serverBusy * 100)} %`,
      })
    }
    return findings
  } finally {
    await Promise.all([load.stop(), bare.stop()])
  }
}

async function fanOut(context: Context): Promise<Finding[]> {
  const client = new Child('./watch-client.js')
  const bare = new Child('./bare-fan-out.js')
  try {
    const target = targetOf((await bare.firstLine).listening)
    const findings: Finding[] = []
    for (const perPost of [1, 10, 100]) {
      context.say(`bare fan-out, ${perPost} events a frame`)
      const result = await client.ask<FanOutResult>('fanOut', {
        target,
        token: 'x',
        paths: ['/api/watch'],
        subscribers: 1_000,
        deaf: false,
        perPost,
        posts: context.quick ? 50 : 200,
        post: { kind: 'frame', length: TEXT.length },
      })
      findings.push({
        measure: `bare ws.send to 1000 sockets, ${perPost} events a frame`,
        value: result.deliveriesPerSecond,
        unit: 'deliveries/s',
        note: `client CPU ${Math.round(result.clientCpu * 100)} %`,
      })
    }
    return findings
  } finally {
    await Promise.all([client.stop(), bare.stop()])
  }
}

export const limits: Question = {
  name: 'limits',
  asks: 'What can the disk, LMDB and the server library do here, with nothing of ours in the way?',
  run,
}
