/** Takes CPU profiles of a server during a measurement, and prints where its time went. */
import { join } from 'node:path'
import type { Child } from './child.ts'
import { say, writeText } from './command.ts'
import { type CpuProfile, selfTimes } from './profile.ts'
import type { Context } from './question.ts'

const FUNCTIONS_SHOWN = 40

/**
 * Profiles the first measurement of each name; later rounds run undisturbed.
 * @param directory where the profiles are written; without one, none are taken.
 */
export function profiler(directory: string | undefined): Context['profiled'] {
  if (directory === undefined) return (_name, _server, measure) => measure()
  const taken = new Set<string>()
  return async (name, server: Child, measure) => {
    if (taken.has(name)) return measure()
    taken.add(name)
    await server.profileStart()
    const result = await measure()
    const profile = (await server.profileStop()) as CpuProfile
    const path = join(directory, `${name}.cpuprofile`)
    writeText(path, JSON.stringify(profile))
    say(`self time, ${name} (${path}):`)
    for (const { what, share } of selfTimes(profile, FUNCTIONS_SHOWN))
      say(`  ${(share * 100).toFixed(1).padStart(5)} %  ${what}`)
    return result
  }
}
