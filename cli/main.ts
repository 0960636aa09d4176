#!/usr/bin/env -S node --max-semi-space-size=64
/** The package's one binary. All it does is to give the process's streams and signals to the program. */
import { run } from './program.ts'
import type { World } from './world.ts'

const LEFTOVERS_MS = 1_000

const world: World = {
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  onStopSignal(callback) {
    let count = 0
    for (const signal of ['SIGINT', 'SIGTERM'] as const) {
      process.on(signal, () => {
        count += 1
        callback(count)
      })
    }
  },
  exit: (code) => process.exit(code),
}

// `intendant events | head` closes the pipe when it has seen enough: that is no failure.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}

process.exitCode = await run(process.argv.slice(2), world)
// Whatever a failed start has left open must not keep a dead service alive: its supervisor waits for the end.
setTimeout(() => process.exit(), LEFTOVERS_MS).unref()
