/** How many files the system lets a process of the benchmarks have open: each connection is one. */
import { execSync } from 'node:child_process'

/** File descriptors that a process needs besides its connections. */
const DESCRIPTORS_BESIDE = 500

/** As many connections as a process may have open. */
export function connectionsMax(): number {
  const limit = execSync('ulimit -n', { encoding: 'utf8' }).trim()
  return (limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit)) - DESCRIPTORS_BESIDE
}
