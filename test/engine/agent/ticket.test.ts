/** The turns of a lock come in the order of arrival, whatever became of those who came before. */
import { spawn } from 'node:child_process'
import { lutimesSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { statusOf } from '../../../engine/process-status.ts'
import { until } from '../../until.ts'

const LOCK = new URL('../../../engine/agent/clone-lock.js', import.meta.url).href

/** A process that waits for the lock, then adds its name to the list of turns and gives the lock back. */
const WAITER = `
const { withCloneLock } = await import('${LOCK}')
const { appendFileSync } = await import('node:fs')
const [name, lock, turns] = process.argv.slice(1)
let said
const onWait = (others) => {
  if (others !== said) console.log(others)
  said = others
}
const note = (why) => appendFileSync(turns, why)
await withCloneLock({ lock, isOver: () => false, note, onWait }, () => appendFileSync(turns, name))
`

interface Waiter {
  /** Resolves once it has said that so many others come first. */
  readonly waits: (others: number) => Promise<unknown>
  readonly kill: () => void
  readonly ended: Promise<unknown>
}

function place(t: Test) {
  const folder = t.testdir()
  const [lock, turns] = [join(folder, 'x.lock'), join(folder, 'turns')]
  writeFileSync(turns, '')
  const waiter = (name: string): Waiter => {
    const args = ['--input-type=module', '--eval', WAITER, name, lock, turns]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    let said = ''
    child.stdout.setEncoding('utf8').on('data', (text) => {
      said += text
    })
    t.teardown(() => child.kill('SIGKILL'))
    return {
      waits: (others) =>
        until(
          async () => said,
          (text) => text.split('\n').includes(String(others)),
        ),
      kill: () => child.kill('SIGKILL'),
      ended: new Promise((resolve) => child.on('exit', resolve)),
    }
  }
  const left = () => readdirSync(folder).filter((name) => name.startsWith('x.lock'))
  return { lock, waiter, left, turns: () => readFileSync(turns, 'utf8') }
}

const self = (startedAt: string | undefined) => `${hostname()}:${process.pid}:${startedAt}`

t.test('runs get the lock in the order in which they came, without those that were killed meanwhile', async (t) => {
  const { lock, waiter, left, turns } = place(t)
  symlinkSync(self(statusOf(process.pid)?.startedAt), lock)
  const waiters: Waiter[] = []
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    const one = waiter(name)
    await one.waits(waiters.length + 1)
    waiters.push(one)
  }
  const [a, b, c, d, e] = waiters as [Waiter, Waiter, Waiter, Waiter, Waiter]
  b.kill()
  await b.ended
  await Promise.all([c.waits(2), d.waits(3), e.waits(4)])
  rmSync(lock)
  await Promise.all([a.ended, c.ended, d.ended, e.ended])
  t.equal(turns(), 'acde')
  t.strictSame(left(), [], 'the ticket of the killed one is gone, too')
})

t.test('nobody waits behind a ticket that is not renewed, or whose process id belongs to another by now', async (t) => {
  const { lock, waiter, left, turns } = place(t)
  symlinkSync('elsewhere:1:1', `${lock}.7`)
  symlinkSync(self('1'), `${lock}.8`)
  const last = waiter('z')
  await last.waits(2)
  t.equal(turns(), '')
  const before = new Date(Date.now() - 31_000)
  lutimesSync(`${lock}.7`, before, before)
  await last.ended
  t.equal(turns(), 'z')
  t.strictSame(left(), [])
})

t.test('the lock of a killed run whose process id belongs to another by now is taken at once', async (t) => {
  const { lock, waiter, left, turns } = place(t)
  symlinkSync(self('1'), lock)
  await waiter('z').ended
  t.equal(turns(), 'z')
  t.strictSame(left(), [])
})
