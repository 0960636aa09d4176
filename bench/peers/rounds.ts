/** Starts the servers and gives every system the same work, in interleaved rounds. */
import { Child } from '../child.ts'
import { say } from '../command.ts'
import type { Scratch } from '../scratch.ts'
import type { PeerJob, PeerResult } from './client.ts'
import { recorded } from './flushes.ts'
import type { PeerServer, RunningServer } from './server.ts'
import type { System } from './systems.ts'

export interface Lengths {
  readonly rounds: number
  readonly clients: readonly number[]
  readonly warmupMs: number
  readonly durationMs: number
}

/** One system under test: its server, and its client process, which is kept for all rounds. */
export interface Rig {
  readonly system: System
  readonly running: RunningServer
  readonly client: Child
  readonly rounds: Record<number, (PeerResult | undefined)[]>
  failure?: string
}

/** Starts the servers. One that does not start is named, and its systems are left out. */
export async function assemble(systems: readonly System[], scratch: Scratch): Promise<Rig[]> {
  const servers = new Map<PeerServer, RunningServer | string>()
  for (const server of new Set(systems.map((system) => system.server))) {
    say(`starting ${server.name} ${server.version()}`)
    servers.set(server, await server.start({ home: scratch.home() }).catch((failure: Error) => failure.message))
  }
  const rigs: Rig[] = []
  for (const system of systems) {
    const running = servers.get(system.server)!
    if (typeof running === 'string') say(`${system.name} is left out: ${running}`)
    else rigs.push({ system, running, client: new Child('./peers/client.js'), rounds: {} })
  }
  return rigs
}

export async function dismantle(rigs: readonly Rig[]): Promise<void> {
  await Promise.all(rigs.map(({ client }) => client.stop()))
  for (const running of new Set(rigs.map((rig) => rig.running))) {
    await running.daemon.stop()
    await running.afterStop?.()
  }
}

function jobOf(rig: Rig, clients: number, warmupMs: number, durationMs: number): PeerJob {
  const { driver } = rig.system
  const { address, daemon } = rig.running
  return { driver, address, clients, warmupMs, durationMs, serverPid: daemon.pid }
}

async function one(rig: Rig, job: PeerJob): Promise<PeerResult | undefined> {
  if (rig.failure !== undefined) return undefined
  try {
    return await rig.client.ask<PeerResult>('run', job)
  } catch (failure) {
    rig.failure = (failure as Error).message
    say(`${rig.system.name} failed: ${rig.failure}`)
    return undefined
  }
}

/** Code that is not compiled yet says nothing about a system. */
export async function warmUp(rigs: readonly Rig[], clients: number, durationMs: number): Promise<void> {
  say('warming up')
  for (const rig of rigs) await one(rig, jobOf(rig, clients, 0, durationMs))
}

/**
 * In each round every system runs in turn with each number of clients, so that what is compared ran in the same
 * minute; every other round goes in the opposite order.
 */
export async function measureRounds(rigs: readonly Rig[], lengths: Lengths, afterRound: () => void): Promise<void> {
  for (let round = 0; round < lengths.rounds; round++) {
    for (const clients of lengths.clients) {
      say(`round ${round + 1} of ${lengths.rounds}, ${clients} clients`)
      for (const rig of round % 2 === 0 ? rigs : [...rigs].reverse()) {
        const result = await one(rig, jobOf(rig, clients, lengths.warmupMs, lengths.durationMs))
        rig.rounds[clients] ??= []
        rig.rounds[clients].push(result)
      }
    }
    afterRound()
  }
}

/**
 * Flushes per cycle of each system, by number of clients: on a server of its own with its calls recorded, since
 * recording costs time.
 */
export async function countFlushes(
  systems: readonly System[],
  scratch: Scratch,
  clients: readonly number[],
  durationMs: number,
): Promise<Map<System, Record<number, number>>> {
  const counted = new Map<System, Record<number, number>>()
  for (const server of new Set(systems.map((system) => system.server))) {
    say(`counting flushes of ${server.name}`)
    const home = scratch.home()
    const flushFile = `${home}/flushes`
    try {
      const running = await server.start({ home, wrapper: recorded(flushFile) })
      for (const system of systems.filter((candidate) => candidate.server === server)) {
        const rig: Rig = { system, running, client: new Child('./peers/client.js'), rounds: {} }
        const flushes: Record<number, number> = {}
        for (const count of clients) {
          const result = await one(rig, { ...jobOf(rig, count, durationMs / 4, durationMs), flushFile })
          if (result?.flushesPerCycle !== undefined) flushes[count] = result.flushesPerCycle
        }
        counted.set(system, flushes)
        await rig.client.stop()
      }
      await running.daemon.stop()
      await running.afterStop?.()
    } catch (failure) {
      say(`not counted: ${(failure as Error).message}`)
    }
    scratch.remove(home)
  }
  return counted
}
