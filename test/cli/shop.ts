/** A service in a process of its own with the project `shop`, and commands against it. */
import type { Test } from 'tap'
import { cli } from './in-process.ts'
import { type Served, serve } from './processes.ts'

export interface Shop {
  readonly service: Served
  /** Runs a command in this process, because starting one takes half a second. */
  readonly run: (...argv: string[]) => ReturnType<typeof cli>
  /** Runs a command that must succeed; returns its output. */
  readonly say: (...argv: string[]) => Promise<string>
}

/** Starts a service with the project `shop`. */
export async function shop(t: Test): Promise<Shop> {
  const service = await serve(t, t.testdir())
  const run = (...argv: string[]) => cli(service.env as Record<string, string>, ...argv)
  const say = async (...argv: string[]): Promise<string> => {
    const { code, out, err } = await run(...argv)
    t.equal(code, 0, `${argv.join(' ')}: ${err}`)
    return out
  }
  await say('project', 'add', '--name', 'Shop')
  return { service, run, say }
}
